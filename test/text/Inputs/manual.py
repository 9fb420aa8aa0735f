"""Checks that indented text in the manual is in one of the files in the same folder, with `..` for omissions, and runs
these files by the commands in their first lines.

usage: manual.py MANUAL.md FILE.tile...
"""
import pathlib
import re
import subprocess
import sys


def squeeze(text):
    return " ".join(re.sub(r"//.*", "", text).split())


def blocks(text):
    """Indented blocks; fenced blocks are run directly (pages.py)."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [block.group() for block in re.finditer(r"(?:^    .*\n)+", text, re.M)]


def stands_in(block, sources):
    parts = [re.escape(part.strip()) for part in re.split(r"\.\.\.?", squeeze(block))]
    return any(re.search(" ?.*? ?".join(parts), source) for source in sources)


def main():
    files = sys.argv[2:]
    sources = [squeeze(pathlib.Path(file).read_text()) for file in files]
    shown = blocks(pathlib.Path(sys.argv[1]).read_text())
    missing = [block for block in shown if not stands_in(block, sources)]
    for block in missing:
        print("in no file:\n" + block)
    wrong = runs = 0
    for file in files:
        for command in re.findall(r"^// (tile.* %s .*)", pathlib.Path(file).read_text(), re.M):
            ran = subprocess.run(["bash", "-c", command.replace("%s", file)], capture_output=True, text=True)
            runs += 1
            if ran.returncode:
                wrong += 1
                print(f"{command}\n{ran.stdout}{ran.stderr}")
    print(f"{len(shown)} shown, {len(missing)} in no file; {runs} runs, {wrong} wrong")
    return bool(missing or wrong)


sys.exit(main())

"""Runs what a tutorial shows: blocks that begin with `// NAME.tile` are files, the lines of the others are commands.
A line after a command that begins with `> ` is part of the message of a command that fails; others must not fail.

usage: tutorial.py TUTORIAL.md SCRATCH
"""
import pathlib
import re
import subprocess
import sys


def run(line, wanted, folder):
    ran = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)
    said = ran.stdout + ran.stderr
    right = ran.returncode != 0 and wanted in said if wanted else ran.returncode == 0
    if "--check" in line and not wanted:
        right &= ": 0 wrong" in said
    if not right:
        print(f"wrong: {line}\n{said}")
    return right


def main():
    folder, tried, wrong, files = pathlib.Path(sys.argv[2]), 0, 0, 0
    for block in re.findall(r"^```\n(.*?)^```$", pathlib.Path(sys.argv[1]).read_text(), re.M | re.S):
        name = re.match(r"// (\w+\.tile)\n", block)
        if name:
            (folder / name[1]).write_text(block)
            files += 1
            continue
        lines = block.splitlines() + [""]
        for line, behind in zip(lines, lines[1:]):
            if not line.startswith("> "):
                tried += 1
                wrong += not run(line, behind[2:] if behind.startswith("> ") else "", folder)
    print(f"{files} files, {tried} commands, {wrong} wrong")
    return wrong > 0


sys.exit(main())

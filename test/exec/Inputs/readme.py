"""The README's kernel, plan and compute are those of the files, the launch interface that it shows is what is printed,
and its commands on the build's programs run as they are written.

usage: readme.py README ROOT BUILD SCRATCH
"""
import os
import pathlib
import re
import subprocess
import sys


def blocks(text):
    return re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """Lines that begin with a program of the build, with those that they go on in."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("build/bin/"):
                yield line


def sources(text, root):
    """Each block that is a function stands in one of the files that the README names."""
    files = [root / name for name in re.findall(r"(?:tools|test)/[\w/]+\.tile\b", text)]
    for block in blocks(text):
        if block.startswith(("compute ", "kernel ", "plan ")):
            found = any(block in file.read_text() for file in files)
            if not found:
                print(f"in no file:\n{block}")
            yield found


def interfaces(text, outputs):
    """Each block of JSON is a command's output; `...` stands for lines that are left out."""
    for block in blocks(text):
        if block.startswith("{"):
            parts = [re.escape(part) for part in re.split(r"^ *\.\.\.\n", block, flags=re.M)]
            found = any(re.fullmatch("(?:.*\n)+".join(parts), output) for output in outputs)
            if not found:
                print(f"no command prints this:\n{block}")
            yield found


def main():
    text, root = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]).resolve()
    scratch = pathlib.Path(sys.argv[4])
    for name, where in (("tools", root / "tools"), ("test", root / "test"),
                        ("build", pathlib.Path(sys.argv[3]).resolve())):
        if not (scratch / name).is_symlink():
            os.symlink(where, scratch / name)
    found, outputs = list(sources(text, root)), []
    for line in commands(text):
        run = subprocess.run(["bash", "-c", line], cwd=scratch, capture_output=True, text=True)
        found.append(run.returncode == 0)
        outputs.append(run.stdout)
        if run.returncode:
            print(f"{line}\n{run.stderr}")
    found += interfaces(text, outputs)
    wrong = found.count(False)
    print(f"{len(found)} tried, {wrong} wrong")
    return wrong > 0 or len(found) < 8


sys.exit(main())

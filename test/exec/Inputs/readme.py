"""The README's kernel is the file's, and its commands on the build's programs run as they are written.

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


def kernels(text, root):
    """Each block that is a kernel stands in one of the files that come with the tools."""
    files = [path.read_text() for path in (root / "tools" / "kernels").glob("*.tile")]
    for block in blocks(text):
        if block.startswith("kernel "):
            yield any(block in file for file in files)


def main():
    text, root = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]).resolve()
    scratch = pathlib.Path(sys.argv[4])
    for name, where in (("tools", root / "tools"), ("test", root / "test"),
                        ("build", pathlib.Path(sys.argv[3]).resolve())):
        if not (scratch / name).is_symlink():
            os.symlink(where, scratch / name)
    found = list(kernels(text, root))
    for line in commands(text):
        run = subprocess.run(["bash", "-c", line], cwd=scratch, capture_output=True, text=True)
        found.append(run.returncode == 0)
        if run.returncode:
            print(f"{line}\n{run.stderr}")
    wrong = found.count(False)
    print(f"{len(found)} tried, {wrong} wrong")
    return wrong > 0 or len(found) < 8


sys.exit(main())

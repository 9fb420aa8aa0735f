"""Assembles every kernel, plan and compute of tools/kernels that needs no parameters with ptxas for each target, at
the first point that fits, and checks that it has no instruction that the target lacks.

usage: kernels_assemble.py PTXAS FOLDER TARGET[/N],... FILE ...

/N: only each Nth kernel; other targets get other kernels.
"""
import collections
import pathlib
import re
import subprocess
import sys

import shares
from kernels_on_targets import GIVEN

# Instructions that show how a kernel multiplies and copies.
WAYS = ("wgmma", "tcgen05", "mma.sync", "cp.async.bulk", "cp.async")


def emit(file, name, target, ptx):
    """None if parameters must be given; else whether it compiled."""
    command = ["tilec", str(file), f"--kernel={name}", f"--target={target}", "-o", str(ptx)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode and any(text in ran.stderr for text in GIVEN):
        return None
    if ran.returncode:
        print(f"{target}: @{name}: {ran.stderr}")
    return ran.returncode == 0


def parts(text):
    """The kernels of several launches are separate modules."""
    return [part for part in re.split(r"(?m)^(?=// kernel \d+ of \d+: )", text) if part]


def assembles(ptxas, part, target, name, folder):
    path = folder / "part.ptx"
    path.write_text(part)
    command = [ptxas, f"-arch={target}", str(path), "-o", str(folder / "part.cubin")]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        print(f"{target}: @{name}: {ran.stdout}{ran.stderr}")
    return ran.returncode == 0


def ways_of(text):
    rest = text
    for way in WAYS:
        if re.search(rf"\b{re.escape(way)}\b", rest):
            yield way
        rest = rest.replace(way + ".", "")


def main():
    ptxas, folder, targets = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3].split(",")
    folder.mkdir(parents=True, exist_ok=True)
    kernels = [(file, name) for file in sys.argv[4:]
               for name in re.findall(r"(?m)^(?:kernel|plan|compute) @(\w+)", pathlib.Path(file).read_text())]
    for number, target in enumerate(targets):
        target, _, step = target.partition("/")
        step = int(step or 1)
        made = wrong = 0
        ways = collections.Counter()
        for file, name in shares.take(kernels[number % step::step]):
            compiled = emit(file, name, target, folder / "k.ptx")
            if compiled is None:
                continue
            text = (folder / "k.ptx").read_text() if compiled else ""
            fits = [assembles(ptxas, part, target, name, folder) for part in parts(text)]
            made += 1
            wrong += not compiled or not all(fits)
            ways.update(ways_of(text))
        print(f"{target}: {made} assembled, {wrong} refused;", ", ".join(way for way in WAYS if ways[way]))


if __name__ == "__main__":
    main()

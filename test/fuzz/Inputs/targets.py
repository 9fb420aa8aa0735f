"""Every target can run what `schedule` makes of random computes where nothing is given: the passes succeed for each of
them. The computes are those of computes.py and walks.py, and those that tile-random draws.

usage: targets.py FOLDER FIRST COUNT [TARGETS]
"""
import pathlib
import random
import re
import subprocess
import sys

import computes
import walks


def drawn(first, count):
    """The computes among the kernels that tile-random draws."""
    text = subprocess.run(["tile-random", f"--seed={first}", f"--count={count}", "--print"], check=True,
                          capture_output=True, text=True).stdout
    for i, part in enumerate(re.split(r"(?m)^(?=// RUN-OPTIONS)", text)):
        if re.search(r"(?m)^compute @fuzz\b", part):
            yield f"random{first}_{i}", "fuzz", part


def all_computes(first, count):
    for seed in range(first, first + count):
        yield f"compute{seed}", "c", computes.Compute(seed).text()
        yield f"walk{seed}", "c", walks.Walk(random.Random(seed)).text()
    yield from drawn(first, count)


def fails(path, kernel, target):
    """The first error, None if there is none. --emit=tile runs the passes, of all kernels of a plan, and makes no code."""
    ran = subprocess.run(["tilec", str(path), f"--kernel={kernel}", f"--target={target}", "--emit=tile", "-o", "-"],
                         capture_output=True, text=True)
    errors = [line for line in ran.stderr.splitlines() if "error:" in line]
    return (errors or [f"exit status {ran.returncode}"])[0] if ran.returncode else None


def main():
    folder, first, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    targets = sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    done = wrong = 0
    for name, kernel, text in all_computes(first, count):
        path = folder / f"{name}.tile"
        path.write_text(text)
        for target in targets:
            error = fails(path, kernel, target)
            done += 1
            wrong += bool(error)
            if error:
                print(f"{target}: {error}")
    print(f"{done} computes compiled, {wrong} refused")


if __name__ == "__main__":
    main()

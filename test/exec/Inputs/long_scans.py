"""Long scans at every point of their kernels: correct on the CPU device, or compiled for each target.

usage: long_scans.py FILE run LEVEL | long_scans.py FILE compile TARGET..
"""
import itertools
import random
import re
import subprocess
import sys

import shares

# Kernel: arguments; %d stands for their lengths.
ARGUMENTS = {
    "plain": ["a=rand:f32[2,%d]"],
    "exclusive": ["a=int:f32[2,%d]"],
    "back": ["a=rand:f16[2,%d]"],
    "down": ["a=int:i32[%d,37]"],
    "middle": ["a=int:i8[2,%d,33]"],
    "one": ["a=rand:f64[%d]"],
    "both": ["a=int:i32[2,%d]"],
    "soft": ["a=rand:f32[2,%d]"],
    "chained": ["a=int:i32[3,%d]"],
    "known": ["a=int:bf16[2,20000]"],
    "given": ["a=int:i32[5,%d]"],
    "most": ["a=rand:f32[3,%d]"],
    "least": ["a=rand:f32[1,%d]"],
    "times": ["a=rand:f32[2,%d]"],
}
LONGEST = 16384  # elements of a row that its tile always holds


def output(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        sys.exit(" ".join(words) + "\n" + ran.stdout)
    return ran.stdout


def points(file, kernel):
    """The points of the kernel's clauses, as options; a plan runs without options. A tile of several rows has no loop."""
    text = output(["tile-opt", file, "--schedule", f"--kernel={kernel}"])
    if "\nplan " in text:
        return [[]]
    clauses = []
    for names, space in re.findall(r"tune \(?([\w, ]+)\)? in \[(.*)\]", text):
        clauses.append([list(zip(names.split(", "), point.strip("()").split(", ")))
                        for point in re.findall(r"\([^)]*\)|\d+", space)])
    found = [sum(parts, []) for parts in itertools.product(*clauses)]
    return [[f"--param={n}={v}" for n, v in point] for point in found
            if not (("whole", "0") in point and ("rows", "1") not in point) and is_possible(dict(point))]


def is_possible(point):
    """A block for each chunk: of long rows, or of high tiles of columns."""
    if point.get("look_back") != "1":
        return True
    return point.get("whole", "0") == "0" and ("columns" not in point or int(point["rows"]) >= 64)


FEW_CHUNKS = 4  # a block goes along rows of at most as many chunks


def lengths(point, draw, known):
    """The known length, or lengths around the length of a chunk, and of some chunks. A tile of several rows, or of one row of at most LONGEST
    elements, holds its rows; a block goes along longer ones, or each chunk of them has a block. The parameters `whole`
    and `look_back` say which of them a kernel takes."""
    values = {name: int(value) for name, value in (p.removeprefix("--param=").split("=") for p in point)}
    chunk = next((values[name] for name in ("block", "rows") if name in values), 16 if "look_back" in values else 2048)
    if known:
        found = [known]
    elif "block" in values and "rows" in values:
        loops = [LONGEST + 1, LONGEST + chunk, draw.randrange(LONGEST + 2, 2 * LONGEST)] if values["rows"] == 1 else []
        held = [1, chunk - 1, chunk]
        found = {1: held, 0: loops}[values["whole"]] if "whole" in values else held + loops
    else:
        found = [1, chunk - 1, chunk, chunk + 1, draw.randrange(2 * chunk, FEW_CHUNKS * chunk)]
        found += [FEW_CHUNKS * chunk, FEW_CHUNKS * chunk + 1, draw.randrange(5 * chunk, 9 * chunk)]
    if "look_back" not in values:
        return found
    return [length for length in found if (length > FEW_CHUNKS * chunk) == (values["look_back"] == 1)]


def known_length(kernel):
    array = ARGUMENTS[kernel][0]
    return None if "%d" in array else int(re.search(r"(\d+)]", array).group(1))


def run(file, kernel, level, point, draw):
    results = ["y=poison", "z=poison"] if kernel in ("both", "chained") else ["y=poison"]
    for length in lengths(point, draw, known_length(kernel)):
        words = ["tile-run", file, f"--kernel={kernel}", "--device=cpu", f"--level={level}", "--check", *point]
        for argument in ARGUMENTS[kernel] + results:
            words += ["--arg", argument.replace("%d", str(length))]
        checks = re.findall(r"^check .*", output(words), re.M)
        if len(checks) != len(results) or not all(check.endswith(" 0 wrong") for check in checks):
            sys.exit(" ".join(words) + "\n" + "\n".join(checks))


def main():
    file, action, *rest = sys.argv[1:]
    draw = random.Random(7)
    spaces = {kernel: points(file, kernel) for kernel in ARGUMENTS}
    cases = shares.take((kernel, point, each) for kernel in ARGUMENTS for point in spaces[kernel] for each in rest)
    for kernel, point, each in cases:
        if action == "run":
            run(file, kernel, each, point, draw)
        elif lengths(point, draw, known_length(kernel)):
            output(["tilec", file, f"--kernel={kernel}", f"--target={each}", *point])
    for kernel, space in spaces.items():
        print(f"{kernel}: {len(space)} points")
    print(f"{len(cases)} cases, all right")


main()

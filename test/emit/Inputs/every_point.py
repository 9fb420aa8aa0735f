"""Compiles the points of kernels' tune clauses with tilec and assembles each PTX with ptxas.

    every_point.py PTXAS TARGET,... [--first] KERNEL.tile...
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

ptxas, targets = sys.argv[1], sys.argv[2].split(",")
files = [word for word in sys.argv[3:] if word != "--first"]
first_only = "--first" in sys.argv


def points(path):
    """The points of a file's tune clauses as lists of NAME=VALUE, the last clause fastest."""
    clauses = []
    for names, values in re.findall(r"^ *tune +(\(.*?\)|\w+) in\s+\[([^]]*)\]", open(path).read(), re.M):
        names = re.findall(r"\w+", names)
        numbers = re.findall(r"\w+", values)
        rows = [numbers[i:i + len(names)] for i in range(0, len(numbers), len(names))]
        clauses.append([[f"{n}={v}" for n, v in zip(names, row)] for row in rows])
    return [sum(point, []) for point in itertools.product(*clauses)]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode and not re.search("bytes of shared memory|a plan has no code", result.stderr):
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
    return result


def assemble(folder, path, target, params):
    """What tilec says where it makes no PTX; nothing where ptxas has taken it."""
    ptx, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    made = run(["tilec", path, "--target=" + target, *params, "--emit=ptx", "-o", ptx])
    if not made.returncode:
        run([ptxas, "-arch=" + target, ptx, "-o", cubin])
    return made.stderr if made.returncode else ""


def assemble_steps(folder, path, target, params):
    """The point is a plan: its kernels, one after the other."""
    steps = os.path.join(folder, "steps.tile")
    run(["tilec", path, "--target=" + target, *params, "--passes=split-k", "--emit=tile", "-o", steps])
    for kernel in re.findall(r"^kernel @(\w+)", open(steps).read(), re.M):
        refused = assemble(folder, steps, target, ["--kernel=" + kernel])
        if refused:
            return refused
    return ""


count = too_large = 0
with tempfile.TemporaryDirectory() as folder:
    for target, path in itertools.product(targets, files):
        for point in points(path)[:1 if first_only else None]:
            params = [word for pair in point for word in ("--param", pair)]
            refused = assemble(folder, path, target, params)
            if "a plan has no code" in refused:
                refused = assemble_steps(folder, path, target, params)
            if refused:
                too_large += 1
            else:
                count += 1
print(count, "points assembled," if too_large else "points assembled",
      f"{too_large} too large for the target" if too_large else "")

"""Compiles the points of kernels' tune clauses with tilec and assembles each PTX with ptxas, which must not spill.

    every_point.py PTXAS TARGET,... [--first] KERNEL.tile...
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

import shares

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
    if result.returncode and "bytes of shared memory" not in result.stderr:
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
    return result


def assemble(folder, path, target, params):
    """tilec's error if it emits no PTX; nothing if ptxas has accepted it, for each kernel of several launches."""
    ptx, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    made = run(["tilec", path, "--target=" + target, *params, "--emit=ptx", "-o", ptx])
    if made.returncode:
        return made.stderr
    for text in re.split(r"^(?=// kernel \d+ of \d+: )", open(ptx).read(), flags=re.M):
        if text:
            open(ptx, "w").write(text)
            said = run([ptxas, "-v", "-arch=" + target, ptx, "-o", cubin]).stderr
            if re.search(r"[1-9]\d* bytes spill", said):
                sys.exit(" ".join([path, target, *params]) + " spills\n" + said)
    return ""


cases = [(target, path, point) for target, path in itertools.product(targets, files)
         for point in points(path)[:1 if first_only else None]]
count = too_large = 0
with tempfile.TemporaryDirectory() as folder:
    for target, path, point in shares.take(cases):
        params = [word for pair in point for word in ("--param", pair)]
        refused = assemble(folder, path, target, params)
        too_large += bool(refused)
        count += not refused
print(f"{len(cases)} points: {count} assembled, {too_large} too large for the target")

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
    for names, values in re.findall(r"^ *tune +(\(.*?\)|\w+) in \[(.*)\]", open(path).read(), re.M):
        names = re.findall(r"\w+", names)
        numbers = re.findall(r"\w+", values)
        rows = [numbers[i:i + len(names)] for i in range(0, len(numbers), len(names))]
        clauses.append([[f"{n}={v}" for n, v in zip(names, row)] for row in rows])
    return [sum(point, []) for point in itertools.product(*clauses)]


count = too_large = 0
with tempfile.TemporaryDirectory() as folder:
    ptx, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    for target, path in itertools.product(targets, files):
        for point in points(path)[:1 if first_only else None]:
            params = [word for pair in point for word in ("--param", pair)]
            for command in (["tilec", path, "--target=" + target, *params, "--emit=ptx", "-o", ptx],
                            [ptxas, "-arch=" + target, ptx, "-o", cubin]):
                result = subprocess.run(command, capture_output=True, text=True)
                if "bytes of shared memory" in result.stderr:
                    too_large += 1
                    count -= 1
                    break
                if result.returncode:
                    sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
            count += 1
print(count, "points assembled," if too_large else "points assembled",
      f"{too_large} too large for the target" if too_large else "")

"""Compiles the points of kernels' spaces with tilec and assembles each PTX with ptxas, which must not spill.

    every_point.py PTXAS TARGET,... [--first] [--every=N] KERNEL.tile...

With --first only the point that tilec takes by itself is compiled, with --every=N each N-th.
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import shares

ptxas, targets = sys.argv[1], sys.argv[2].split(",")
files = [word for word in sys.argv[3:] if not word.startswith("--")]
first_only = "--first" in sys.argv
every = max([int(word.split("=")[1]) for word in sys.argv if word.startswith("--every=")], default=1)


def points(path, target):
    """The points of the kernel's space that the target can run as lists of NAME=VALUE."""
    listed = run(["tilec", path, "--target=" + target, "--list-points", "--json"])
    kept = [entry["point"] for entry in json.loads(listed.stdout)["points"] if not entry["dropped"]]
    return [[f"{name}={value}" for name, value in point.items()] for point in kept]


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
         for point in ([[]] if first_only else points(path, target)[::every])]
count = too_large = 0
with tempfile.TemporaryDirectory() as folder:
    for target, path, point in shares.take(cases):
        params = [word for pair in point for word in ("--param", pair)]
        refused = assemble(folder, path, target, params)
        too_large += bool(refused)
        count += not refused
print(f"{len(cases)} points: {count} assembled, {too_large} too large for the target")

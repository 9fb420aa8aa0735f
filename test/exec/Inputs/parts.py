"""Runs the kernels of parts.tile over tile shapes of several parts, and stops at the first failure.

    parts.py PARTS.tile --level=3 [--ptxas=FILE]    with ptxas, every shape is only assembled
"""
import argparse
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--level", default="3")
parser.add_argument("--ptxas")
options = parser.parse_args()

SHAPES = [(128, 192, 4), (192, 96, 8), (64, 80, 4), (48, 12, 2), (31, 20, 1)]
COUNT = 0


def run(command, wanted):
    global COUNT
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or wanted not in result.stdout + result.stderr:
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
    COUNT += 1


def fill(scalar, dims, how="int"):
    return f"{how}:{scalar}[{','.join(map(str, dims))}]"


for rows, columns, warps in SHAPES:
    # One size that is a multiple of the tiles, one that is not.
    for m, n in [(rows, 2 * columns), (2 * rows - 5, columns + 16)][:1 if options.ptxas else 2]:
        params = [f"rows={rows}", f"columns={columns}", f"num_warps={warps}"]
        for kernel, scalar, check in [("elements", "f32", "z=min(x,y)*0.5+y"),
                                      ("staged", "f32", "z=transpose(x+y)"),
                                      ("narrow", "i8", "z=x+x"), ("narrow", "f16", "z=x+x")]:
            words = [w for p in params + [f"T={scalar}"] * (kernel == "narrow") for w in ("--param", p)]
            if options.ptxas:
                with tempfile.TemporaryDirectory() as folder:
                    run(["tilec", options.file, "--kernel=" + kernel, *words, "--target=sm_90a", "--emit=cubin",
                         "--ptxas=" + options.ptxas, "-o", os.path.join(folder, "k")], "")
                continue
            n -= n % 16 if kernel == "narrow" else 0
            dims = [3, m, n] if kernel == "narrow" else [m, n]
            last = [n, m] if kernel == "staged" else dims
            args = [f"m={m}", f"n={n}", "x=" + fill(scalar, dims), "z=" + fill(scalar, last, "poison")]
            if kernel != "narrow":
                args.append("y=" + fill(scalar, dims))
            run(["tile-run", options.file, "--kernel=" + kernel, "--device=cpu", "--level=" + options.level, *words,
                 *[w for a in args for w in ("--arg", a)], "--check", check], "equality: 0 wrong")
print(COUNT, "runs, all right")

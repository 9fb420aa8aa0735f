"""Runs products of many types through tile-run and compares for equality with level 1.

    matmul_types.py KERNELS.tile DEVICE [--same] [--level=N] [--target=NAME] KERNEL:A,B,S,C[:name=value ...] ...

--same: random floats instead of small integers, and levels 2 and 3 must give the same bytes.
"""
import os
import subprocess
import sys
import tempfile

import crowd

file, device = sys.argv[1:3]
same = "--same" in sys.argv
more = [word for word in sys.argv[3:] if word.startswith("--") and word != "--same"]
cases = [word for word in sys.argv[3:] if not word.startswith("--")]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or ("0 wrong" not in result.stdout and not same):
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
    return result.stdout


def saved(command, level):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.npy")
        run(command + ["--level=%d" % level, "--save", "c=" + path])
        with open(path, "rb") as data:
            return data.read()


def check(case):
    kernel, types, *params = case.split(":")
    a, b, s, c = types.split(",")
    m, n, k = (70, 65, 72) if kernel == "columns" else (70, 72, 72)
    fill = "rand" if same else "int"
    command = ["tile-run", file, "--kernel=" + kernel, "--device=" + device, *more,
               *(word for pair in zip("ABSC", (a, b, s, c)) for word in ("--param", "%s=%s" % pair)),
               *(word for param in params for word in ("--param", param)),
               "--arg", "m=%d" % m, "--arg", "n=%d" % n, "--arg", "k=%d" % k, "--arg", "a=%s:%s[%d,%d]" % (fill, a, m, k),
               "--arg", "c=poison:%s[%d,%d]" % (c, m, n)]
    shape, product = ((n, k), "matmul(a,transpose(b))") if kernel == "columns" else ((k, n), "matmul(a,b)")
    command += ["--arg", "b=%s:%s[%d,%d]" % (fill, b, *shape)]
    if not same:
        out = run(command + ["--check", "c=" + product])
        if "compared for equality: 0 wrong" not in out:
            sys.exit(" ".join(command) + "\n" + out)
    elif saved(command, 2) != saved(command, 3):
        sys.exit(" ".join(command) + "\nlevels 2 and 3 differ")


crowd.for_each(check, cases)
print(len(cases), "products, all right")

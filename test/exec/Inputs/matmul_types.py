"""Runs products of many types through tile-run and compares for equality with level 1.

    matmul_types.py KERNELS.tile DEVICE [--level=N] [--target=NAME] [--seed=N] KERNEL:A,B,S,C[:name=value ...] ...
"""
import subprocess
import sys

file, device = sys.argv[1:3]
more = [word for word in sys.argv[3:] if word.startswith("--")]
cases = [word for word in sys.argv[3:] if not word.startswith("--")]
for case in cases:
    kernel, types, *params = case.split(":")
    a, b, s, c = types.split(",")
    m, n, k = (70, 65, 72) if kernel == "columns" else (70, 72, 72)
    command = ["tile-run", file, "--kernel=" + kernel, "--device=" + device, *more,
               *(word for pair in zip("ABSC", (a, b, s, c)) for word in ("--param", "%s=%s" % pair)),
               *(word for param in params for word in ("--param", param)),
               "--arg", "m=%d" % m, "--arg", "n=%d" % n, "--arg", "k=%d" % k, "--arg", "a=int:%s[%d,%d]" % (a, m, k)]
    if kernel == "columns":
        command += ["--arg", "b=int:%s[%d,%d]" % (b, n, k), "--check", "c=matmul(a,transpose(b))"]
    else:
        command += ["--arg", "b=int:%s[%d,%d]" % (b, k, n), "--check", "c=matmul(a,b)"]
    command += ["--arg", "c=poison:%s[%d,%d]" % (c, m, n)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or "compared for equality: 0 wrong" not in result.stdout:
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)
print(len(cases), "products, all right")

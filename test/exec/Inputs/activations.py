"""Runs or assembles kernels of activations.tile.

usage: activations.py FILE cpu|cuda|PTXAS [--level=N] KERNEL:C ...      with ptxas, each is only assembled

Sums of the products are exact, so only the epilogue's rounding errors remain: a few of f32, and one of C's
type, which may round in the other direction.
"""
import subprocess
import sys

TOLERANCE = {"f16": 2**-10, "bf16": 2**-7, "f32": 2**-20}


def main():
    path, how, wrong = sys.argv[1], sys.argv[2], 0
    options = [word for word in sys.argv[3:] if word.startswith("--")]
    cases = [word.split(":") for word in sys.argv[3:] if not word.startswith("--")]
    for kernel, scalar in cases:
        assembles = how not in ("cpu", "cuda")
        if assembles:
            command = ["tilec", path, "--target=sm_90a", "--emit=cubin", "--ptxas=" + how, "-o", "/dev/null", *options]
        else:
            command = ["tile-run", path, f"--device={how}", *options, f"--tolerance={TOLERANCE[scalar]}", "--check"]
            for argument in ("m=100", "n=72", "k=40", "scale=0.125", "a=int", "b=int", "bias=rand", "residual=rand",
                             "c=poison"):
                command += ["--arg", argument]
        run = subprocess.run([*command, f"--kernel={kernel}", f"--param=C={scalar}"], capture_output=True, text=True)
        noisy = assembles and run.stderr  # also of ptxas
        if run.returncode or noisy:
            wrong += 1
            print(f"{kernel}, {scalar}:\n{run.stdout}{run.stderr}")
    print(f"{len(cases)} epilogues, {f'{wrong} wrong' if wrong else 'all right'}")
    return bool(wrong)


sys.exit(main())

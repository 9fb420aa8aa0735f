"""Runs products of each layout whose extents are odd, or multiples of 2, 4 or 8 alone, and compares all elements.

    odd_products.py KERNELS.tile OPTION ...

Prints the number of products whose check fails. OPTIONs are passed to tile-run.
"""
import itertools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

SIZES = ((255, 256, 256), (256, 255, 256), (256, 256, 255), (252, 256, 256), (256, 252, 256), (256, 256, 252),
         (254, 256, 250), (255, 253, 251), (264, 264, 264))


def main():
    file, *options = sys.argv[1:]
    cases = shares.take(itertools.product(("nn", "nt", "tn", "tt"), SIZES))
    wrong = 0
    for layout, (m, n, k) in cases:
        ran = subprocess.run(
            ["tile-run", file, f"--kernel=matmul_{layout}", *options, "--check", "--param", "T=f16", "--param", "S=f32",
             "--param", "R=f16", "--param", "block_k=64", "--arg", f"m={m}", "--arg", f"n={n}", "--arg", f"k={k}",
             "--arg", f"a=int:f16[{m},{k}]", "--arg", f"b=int:f16[{k},{n}]", "--arg", f"c=poison:f16[{m},{n}]"],
            capture_output=True, text=True)
        if ran.returncode or "all compared for equality: 0 wrong" not in ran.stdout:
            wrong += 1
            print(f"{layout} {m} x {n} x {k}:\n{ran.stdout}{ran.stderr}")
    print(f"{len(cases)} products, {wrong} wrong")


if __name__ == "__main__":
    main()

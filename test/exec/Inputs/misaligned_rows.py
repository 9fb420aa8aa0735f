"""Runs products with few rows whose operands have rows that begin anywhere, and compares all elements.

    misaligned_rows.py KERNELS.tile OPTION ...

Prints the number of products whose check fails. OPTIONs are passed to tile-run.
"""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

COUNT = 120
TYPES = (("f16", "f32", "f16"), ("bf16", "f32", "bf16"), ("i8", "i32", "i32"), ("e4m3", "f32", "bf16"))
SPLITS = ((1, "serial"), (1, "serial"), (2, "workspace"), (4, "atomic"), (3, "stream_k"), (2, "cluster"), (4, "exchange"))


def draw(seed):
    rng = random.Random(seed)
    types = rng.choice(TYPES)
    half = types[0] in ("f16", "bf16")
    few, many = rng.choice((8, 16, 32, 64)), rng.choice((64, 128))
    depth = rng.choice((64, 128) if half else (128, 256))
    turned = few >= 16 and rng.random() < 0.2
    split, strategy = rng.choice(SPLITS)
    target = rng.choice(("sm_90a", "sm_90a", "sm_90", "sm_80"))
    if target == "sm_80" and (types[0] == "e4m3" or strategy == "cluster"):
        target = "sm_90"
    tiles = (many, few) if turned else (few, many)
    point = dict(zip("TSR", types), block_m=tiles[0], block_n=tiles[1], block_k=depth, stages=rng.choice((3, 4)),
                 num_warps=rng.choice((4, 8)), split=split, strategy=strategy, consumers="cooperative", cluster_m=1, cluster_n=1)
    small, large = rng.choice((1, few - 1, few, few + 3)), rng.randint(1, 2 * many + 40)
    sizes = dict(m=large if turned else small, n=small if turned else large, k=rng.randint(1, 5 * depth))
    bytes_ = 2 if half else 1
    offset = bytes_ * rng.randint(1, 7) if rng.random() < 0.3 else 0
    return rng.choice(("nn", "nt", "tn", "tt")), point, sizes, offset, target


def main():
    file, *options = sys.argv[1:]
    cases = shares.take(range(COUNT))
    wrong = 0
    for seed in cases:
        layout, point, sizes, offset, target = draw(seed)
        command = ["tile-run", file, f"--kernel=matmul_{layout}", *options, "--check"]
        command += [f"--target={target}"] if "--device=cpu" in options else []
        for name, value in point.items():
            command += ["--param", f"{name}={value}"]
        for name, value in sizes.items():
            command += ["--arg", f"{name}={value}"]
        command += ["--arg", "a=int", "--arg", "b=int", "--arg", "c=poison"]
        command += ["--offset", f"b={offset}"] if offset else []
        ran = subprocess.run(command, capture_output=True, text=True)
        if "other points of 'tune' fit" in ran.stderr:  # too much shared memory
            continue
        if ran.returncode or "all compared for equality: 0 wrong" not in ran.stdout:
            wrong += 1
            print(" ".join(command) + "\n" + ran.stdout + ran.stderr)
    print(f"{len(cases)} products, {wrong} wrong")


if __name__ == "__main__":
    main()

"""Runs products with few rows of known extents, whose weights have rows that begin anywhere, and compares all elements.

    interleaved_rows.py FOLDER OPTION ...

Writes the computes to FOLDER. Prints the number of products whose check fails. OPTIONs are passed to tile-run.
"""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

COUNT = 16
TYPES = (("bf16", "f32", 2), ("f16", "f32", 2), ("i8", "i32", 1), ("e4m3", "f32", 1))
SPLITS = ((1, "serial"), (2, "workspace"), (4, "atomic"), (3, "exchange"), (2, "cluster"), (1, "stream_k"))
COMPUTE = """compute @linear(%a: tensor<{t}[{m}, {k}]>, %b: tensor<{t}[{n}, {k}]>, %bias: tensor<{s}[1, {n}]>)
    -> (%c: tensor<{s}[{m}, {n}]>)
{{
  %c = (matmul(%a, %b, trans_rhs) : {s}) + broadcast(%bias) : [{m}, {n}]
}}
"""


def draw(seed):
    rng = random.Random(seed)
    types = rng.choice(TYPES)
    size, few = types[2], rng.choice((8, 16, 32))
    depth = 1024 + rng.randint(1, 90)
    depth += depth % 2 if size == 1 else 0  # a shorter period, and so fewer rows
    aligned = min(16, (depth * size) & -(depth * size))
    rows = 64 * (64 // aligned) - rng.randint(0, 40)
    split, strategy = rng.choice(SPLITS)
    point = dict(block_m=few, block_n=64, block_k=128 // size, stages=rng.choice((3, 4)), num_warps=4, split=split,
                 strategy=strategy, consumers="cooperative", cluster_m=1, cluster_n=1)
    offset = size * rng.randint(1, 7) if rng.random() < 0.3 else 0
    return types, dict(m=rng.randint(1, few), n=rows, k=depth), point, offset, rng.choice(("sm_90a", "sm_90a", "sm_90"))


def main():
    folder, *options = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    wrong = count = 0
    for seed in shares.take(range(COUNT)):
        types, sizes, point, offset, target = draw(seed)
        file = os.path.join(folder, f"{seed}.tile")
        with open(file, "w") as out:
            out.write(COMPUTE.format(t=types[0], s=types[1], **sizes))
        command = ["tile-run", file, *options, "--check"]
        command += [f"--target={target}"] if "--device=cpu" in options else []
        for name, value in point.items():
            command += ["--param", f"{name}={value}"]
        command += ["--arg", "a=int", "--arg", "b=int", "--arg", "bias=int", "--arg", "c=poison"]
        command += ["--offset", f"b={offset}"] if offset else []
        ran = subprocess.run(command, capture_output=True, text=True)
        count += 1
        if ran.returncode or "all compared for equality: 0 wrong" not in ran.stdout:
            wrong += 1
            print(" ".join(command) + "\n" + ran.stdout + ran.stderr)
    print(f"{count} products, {wrong} wrong")


if __name__ == "__main__":
    main()

"""Random computes whose kernels are bound by memory, against level 1 on the CPU device.

usage: memory_bound.py flat|columns|clusters SEED COUNT
"""
import random
import subprocess
import sys
import tempfile

FLOATS = ["f32", "f16", "bf16"]


def tensor(scalar, dims):
    return f"tensor<{scalar}[{', '.join(map(str, dims))}]>"


def flat(r):
    """Element-wise on arrays with rows of any length; some inputs have one element."""
    rank = r.randint(2, 4)
    dims = [r.choice([1, 2, 3, 5, 7, 8, 16, 21, 33]) for _ in range(rank - 1)] + [r.choice([1, 3, 5, 7, 9, 24, 41, 77, 130, 515])]
    inputs = [(f"x{i}", r.choice(FLOATS + ["i8"]), dims if i == 0 or r.random() < 0.7 else [1] * rank) for i in range(r.randint(1, 3))]
    value, lines = "f32(%x0)", []
    for name, _, own in inputs[1:]:
        value = f"({value} {r.choice('+-*')} f32(%{name}))"
    lines.append(f"%v = max({value}, -2.0)")
    results = []
    for i in range(r.randint(1, 2)):
        scalar = r.choice(FLOATS)
        lines.append(f"%y{i} = " + ("%v + 0.0" if scalar == "f32" else f"{scalar}(%v)") if i == 0 else f"%y{i} = {scalar}(%v * 2.0)" if scalar != "f32" else f"%y{i} = %v * 2.0")
        results.append((f"y{i}", scalar, dims))
    return inputs, results, lines, [], None


def columns(r):
    """Scans along an axis that is not the last one."""
    dims = [r.choice([1, 2, 3]), r.choice([2, 17, 64, 65, 200, 257, 300, 700]), r.choice([1, 2, 3, 5, 16, 33, 64])]
    scalar, kind = r.choice(FLOATS), r.choice(["add", "max", "mul", "logsumexp"])
    flags = "".join(f", {flag}" for flag in ("reverse", "exclusive") if r.random() < 0.4)
    inputs, source = [("x", scalar, dims)], "f32(%x)"
    if r.random() < 0.3:
        inputs.append(("k", "i1", dims))
        source = f"select(%k, {source}, {dict(add='0.0', max='-3.0', mul='1.0', logsumexp='-9.0')[kind]})"
    after = r.choice(["{}", "{} * f32(%x)"])
    if kind == "mul":
        source = f"(1.0 + {source} * 0.01)"
    text = after.format(f"scan_{kind}({source}, axis = 1{flags})")
    lines = [f"%s = {text}", f"%y = {scalar}(%s)" if scalar != "f32" else "%y = %s + 0.0"]
    return inputs, [("y", scalar, dims)], lines, [] if kind in ("add", "max") else None, None


def clusters(r):
    """Rows that no tile of a block holds."""
    dims = [r.choice([1, 2, 3]), r.choice([16385, 16640, 18432, 20000, 32768, 32769, 40001, 50257, 65536, 70001, 131072])]
    scalar = r.choice(FLOATS)
    mean = [f"%mean = reduce_add(%v, axis = 1) / {dims[1]}.0", "%d = %v - %mean"]
    kind = r.choice(["softmax", "norm", "range"])
    if kind == "softmax":
        lines = ["%v = f32(%x)", "%e = exp(%v - reduce_max(%v, axis = 1))", "%z = %e / reduce_add(%e, axis = 1)"]
    elif kind == "norm":
        lines = ["%v = f32(%x) + 3.0"] + mean + [f"%z = %d * rsqrt(reduce_add(%d * %d, axis = 1) / {dims[1]}.0 + 1.0e-5)"]
    else:
        lines = ["%v = f32(%x)", "%a = reduce_min(%v, axis = 1)", "%z = (%v - %a) * (reduce_max(%v, axis = 1) - %a)"]
    results = [("y", scalar, dims)]
    if kind == "norm" and r.random() < 0.5:
        results.append(("mean", "f32", [dims[0], 1]))
    lines.append(f"%y = {scalar}(%z)" if scalar != "f32" else "%y = %z + 0.0")
    return [("x", scalar, dims)], results, lines, ["--target=sm_90"], "cluster ["


def run(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode, ran.stdout


def main():
    make, seed, count = {"flat": flat, "columns": columns, "clusters": clusters}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    for number in range(seed, seed + count):
        r = random.Random(number)
        inputs, results, lines, options, wanted = make(r)
        exact = options is not None  # in whole numbers
        options = options or []
        text = "compute @c({}) -> ({})\n{{\n  {}\n}}\n".format(
            ", ".join(f"%{n}: {tensor(s, d)}" for n, s, d in inputs),
            ", ".join(f"%{n}: {tensor(s, d)}" for n, s, d in results), "\n  ".join(lines))
        with tempfile.NamedTemporaryFile("w", suffix=".tile") as file:
            file.write(text)
            file.flush()
            words = ["tile-run", file.name, "--device=cpu", f"--level={r.choice([2, 3])}", f"--seed={number}", "--check", *options]
            fill = r.choice(["int", "rand"]) if exact else "rand"
            words += [f"--arg={n}={'int' if s in ('i1', 'i8') else fill}" for n, s, _ in inputs]
            words += [f"--arg={n}=poison" for n, _, _ in results]
            code, output = run(words)
            if wanted:
                scheduled = run(["tile-opt", file.name, "--schedule", *options])[1]
                if wanted not in scheduled:
                    sys.exit(f"case {number}: no `{wanted}` in\n{scheduled}")
        if code or output.count(": 0 wrong") != len(results):
            sys.exit(f"case {number}\n{text}{' '.join(words)}\n{output}")
    print(f"{count} cases, all right")


main()

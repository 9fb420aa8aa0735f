"""Runs random pairs of products of one left operand on the CPU device, at random points of one kernel, and compares all
elements with level 1.

    dual_products.py PREFIX [SEED COUNT]

Types, layouts, extents, batches and epilogues are random; so is whether the right operands are parts of one array.
Prints a line for each failure, and the number of kernels.
"""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

TYPES = ("f16", "bf16", "e4m3", "i8", "f32")
EPILOGUES = {"gate": "%a * sigmoid(%a) * %b", "relu": "max(%a, 0.0) * %b", "product": "%a * %b + %a",
             "bias": "tanh(%a + f32(%c)) * (%b - f32(%c))"}


def view(draw, rows, columns):
    """The dims of an array, and whether a product reads it transposed."""
    return (f"{columns}, {rows}", True) if draw.random() < 0.5 else (f"{rows}, {columns}", False)


def text(draw):
    kind = draw.choice(TYPES)
    total = "i32" if kind == "i8" else "f32"
    epilogue = draw.choice(("relu", "product") if kind == "i8" else sorted(EPILOGUES))
    unit = 16 if kind in ("e4m3", "i8") else 8
    dims = [draw.choice((1, unit)) * draw.randint(1, 40) for _ in range(3)]
    dims[0] = max(dims[0], 2)
    dims[1] = max(dims[1], 2)
    m, n, k = dims
    batch = draw.choice(("", "", "b, "))
    packed = not batch and draw.random() < 0.3
    x, x_turned = view(draw, "m", "k")
    g, g_turned = view(draw, "k", "2 * n" if packed else "n")
    u, u_turned = view(draw, "k", "n")
    if kind in ("e4m3", "i8"):  # bytes must have one order
        u, u_turned = g, g_turned

    def product(right, turned):
        words = ["trans_lhs"] * x_turned + ["trans_rhs"] * turned + ["precision = tf32"] * (kind == "f32")
        return f"matmul({', '.join(['%x', right] + words)}) : {total}"
    value = EPILOGUES[epilogue]
    if kind == "i8":
        value = value.replace("0.0", "0")
    exact = epilogue in ("relu", "product")  # f16 does not hold all of these numbers
    result = "i32" if kind == "i8" else "f32" if exact else draw.choice(("f32", "f16"))
    args = [f"%x: tensor<{kind}[{batch}{x}]>", f"%g: tensor<{kind}[{batch}{g}]>"]
    if not packed:
        args.append(f"%u: tensor<{kind}[{batch}{u}]>")
    if epilogue == "bias":
        args.append("%c: tensor<f16[n]>")
    lines = [f"  %a = {product('%g', g_turned)}", f"  %b = {product('%u', u_turned)}"]
    if packed:
        first = draw.choice((("0", "n"), ("n", "0")))
        whole = product("%g", g_turned)
        if total == "f32" and draw.random() < 0.5:
            args.append("%d: tensor<f16[2 * n]>")
            whole = f"f32(f16(({whole}) + f32(%d)))"
        lines = [f"  %p = {whole}"] + [
            f"  %{name} = slice %p, [0, {at}] : [m, n]" for name, at in zip("ab", first)]
    lines.append(f"  %y = {result}({value})" if result != total else f"  %y = {value}")
    head = f"compute @dual<b: int = {draw.randint(2, 3)}, m: int = {m}, n: int = {n}, k: int = {k}>"
    names = [re.match("%([a-z]+)", arg).group(1) for arg in args]
    body = "\n".join(lines)
    return f"{head}(\n    {', '.join(args)})\n    -> (%y: tensor<{result}[{batch}m, n]>)\n{{\n{body}\n}}\n", names


def points(path):
    listed = subprocess.run(["tilec", path, "--target=sm_90a", "--list-points"], capture_output=True, text=True)
    return [line.split() for line in listed.stdout.splitlines() if "dropped" not in line]


def run(path, draw, names):
    """A report if the pair is wrong, or several kernels."""
    scheduled = subprocess.run(["tile-opt", path, "--pass-pipeline=schedule", "--target=sm_90a"], capture_output=True,
                               text=True)
    if scheduled.returncode or scheduled.stdout.count("\nkernel @") != 1:
        return f"not one kernel:\n{scheduled.stderr}"
    small = [point for point in points(path) if re.match("block_m=(8|16|32|64|72|80|96|112|128)$", point[0])]
    command = ["tile-run", path, "--device=cpu", "--target=sm_90a", "--check"]
    for value in draw.choice(small):
        command += ["--param", value]
    for name in names:
        command += ["--arg", f"{name}=int"]
    ran = subprocess.run(command, capture_output=True, text=True)
    right = ran.returncode == 0 and ": 0 wrong" in ran.stdout
    return None if right else f"{' '.join(command)}\n{ran.stdout}{ran.stderr}"


def main():
    prefix = sys.argv[1]
    seed, count = (int(value) for value in sys.argv[2:] or (1, 48))
    numbers = shares.take(range(count))
    wrong = 0
    for number in numbers:
        draw = random.Random(seed * 1000003 + number)
        source, names = text(draw)
        path = f"{prefix}{number}.tile"
        with open(path, "w") as file:
            file.write(source)
        report = run(path, draw, names)
        if report:
            wrong += 1
            print(source + report)
    print(f"{len(numbers)} kernels, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

"""Norms and softmaxes of a product's columns in groups, for random programs, against a reference in double.

    norm_pieces.py COUNT [SEED]

The products are exact: their inputs are small whole numbers, and so are the biases. What is left are the rounding
errors of the epilogue and of the result. Points are those for sm_90a: groups of warps that alternate between tiles or
share them, so that tiles are stored piece by piece.
"""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", ".."))
import shares  # noqa: E402

TOLERANCE = {"f16": 2**-9, "bf16": 2**-6, "f32": 2**-15}
TILES = [(128, 128, 8, "ping_pong"), (256, 128, 8, "cooperative"), (128, 256, 8, "cooperative"),
         (128, 192, 8, "cooperative"), (64, 128, 4, "cooperative"), (128, 64, 4, "cooperative"),
         (64, 64, 4, "cooperative")]


def pack(scalar, values):
    if scalar == "f32":
        return struct.pack(f"<{len(values)}f", *values)
    if scalar == "f16":
        return struct.pack(f"<{len(values)}e", *values)
    return b"".join(struct.pack("<f", v)[2:] for v in values)  # exact: they have few bits


def unpack(scalar, data, count):
    if scalar == "f32":
        return struct.unpack(f"<{count}f", data[-4 * count:])
    data = data[-2 * count:]
    if scalar == "f16":
        return struct.unpack(f"<{count}e", data)
    return [struct.unpack("<f", b"\0\0" + data[2 * i:2 * i + 2])[0] for i in range(count)]


def write(path, scalar, shape, values):
    kind = {"f32": "'<f4'", "f16": "'<f2'", "bf16": "'|V2'"}[scalar]
    shape = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    header = ("{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (kind, shape)).ljust(128 - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + pack(scalar, values))


class Case:
    def __init__(self, draw):
        self.scalar = draw.choice(["f16", "f16", "bf16", "f32"])
        self.m, self.k = draw.randint(1, 150), 8 * draw.randint(1, 4)
        self.n = draw.choice([64, 96, 128, 128, 192, 256])
        self.width = draw.choice([w for w in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 32, 48, 64, 64, 96, 128, self.n)
                                  if self.n % w == 0])
        self.norm = draw.choice(["norm", "norm", "norm", "softmax", "max"])
        self.bias, self.affine = draw.random() < 0.7, draw.random() < 0.7
        self.before, self.after = draw.choice(["", "relu", "swish"]), draw.choice(["", "swish", "tanh"])
        self.turned, self.flat = draw.random() < 0.5, draw.random() < 0.5
        tiles = [t for t in TILES if (t[1] >= self.n if self.width == self.n else t[1] % self.width == 0)]
        fused = self.width > 1 and (self.width == self.n or self.width & (self.width - 1) == 0)
        swaps = self.scalar == "f32" and not self.turned  # wgmma reads tf32 along k only: a row has lanes of all warps
        self.tile = draw.choice(tiles) if tiles and fused and self.width <= 128 and not swaps else None

    def text(self):
        t, m, n, k, w = self.scalar, self.m, self.n, self.k, self.width
        g = n // w
        right, product = (f"[{n}, {k}]", "matmul(%a, transpose(%w))") if self.turned else (f"[{k}, {n}]", "matmul(%a, %w)")
        lines = [f"%p = {product}" + (" : f32" if t != "f32" else "")]
        if t == "f32":
            lines = [f"%wt = transpose %w {{order = [1, 0]}}" if self.turned else "",
                     f"%p = matmul %a, {'%wt' if self.turned else '%w'} {{precision = tf32}} : tensor<f32[{m}, {n}]>"]
        last = "%p"

        def add(expression):
            nonlocal last
            lines.append(f"%v{len(lines)} = {expression.replace('@', last)}")
            last = f"%v{len(lines) - 1}"

        if self.bias:
            add("@ + f32(%b)")
        add(f"{t}(@)")
        if self.before:
            add({"relu": "max(@, 0.0)", "swish": "@ * (1.0 / (1.0 + exp(-@)))"}[self.before])
        add(f"reshape(f32(@)) : [{f'{m * g}, {w}' if self.flat else f'{m}, {g}, {w}'}]")
        axis = 1 if self.flat else 2
        if self.norm == "norm":
            add(f"@ - reduce_add(@, axis = {axis}) / {float(w)}")
            add(f"@ * rsqrt(reduce_add(@ * @, axis = {axis}) / {float(w)} + 1.0e-5)")
        elif self.norm == "softmax":
            add(f"exp(@ - reduce_max(@, axis = {axis}))")
            add(f"@ / reduce_add(@, axis = {axis})")
        else:
            add(f"@ - reduce_max(@, axis = {axis})")
        add(f"reshape(@) : [{m}, {g}, {w}]")
        if self.affine:
            add(f"@ * f32(reshape(%s) : [1, {g}, {w}])")
            add(f"@ + f32(reshape(%o) : [1, {g}, {w}])")
        add(f"{t}(@)")
        if self.after:
            add({"swish": "@ * (1.0 / (1.0 + exp(-@)))", "tanh": "tanh(@)"}[self.after])
        lines.append(f"%y = reshape({last}) : [{m}, {n}]")
        vectors = "".join(f", %{name}: tensor<{t}[{n}]>" for name in self.vectors())
        body = "\n  ".join(line for line in lines if line)
        return (f"compute @c(%a: tensor<{t}[{m}, {k}]>, %w: tensor<{t}{right}>{vectors}) -> "
                f"(%y: tensor<{t}[{m}, {n}]>)\n{{\n  {body}\n}}\n")

    def vectors(self):
        return ["b"] * self.bias + ["s", "o"] * self.affine

    def reference(self, inputs):
        m, n, k, w = self.m, self.n, self.k, self.width
        a, right = inputs["a"], inputs["w"]
        columns = [right[j * k:j * k + k] if self.turned else right[j::n] for j in range(n)]

        def swish(v):
            return v / (1 + math.exp(-v)) if v > -700 else 0.0

        def round_off(v):
            return unpack(self.scalar, pack(self.scalar, [v]), 1)[0] if self.scalar != "bf16" else v

        for i in range(m):
            row = [sum(x * y for x, y in zip(a[i * k:i * k + k], column)) for column in columns]
            if self.bias:
                row = [v + b for v, b in zip(row, inputs["b"])]
            row = [{"relu": lambda v: max(v, 0.0), "swish": lambda v: round_off(swish(v)), "": float}[self.before](v)
                   for v in row]
            for first in range(0, n, w):
                group = row[first:first + w]
                if self.norm == "norm":
                    mean = sum(group) / w
                    scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in group) / w + 1e-5)
                    group = [(v - mean) * scale for v in group]
                else:
                    group = [v - max(group) for v in group]
                    if self.norm == "softmax":
                        total = sum(map(math.exp, group))
                        group = [math.exp(v) / total for v in group]
                for j, v in enumerate(group):
                    if self.affine:
                        v = v * inputs["s"][first + j] + inputs["o"][first + j]
                    yield {"swish": swish, "tanh": math.tanh, "": float}[self.after](v)

    def check(self, draw, folder):
        shapes = {"a": (self.m, self.k), "w": (self.n, self.k) if self.turned else (self.k, self.n)}
        shapes |= {name: (self.n,) for name in self.vectors()}
        inputs = {name: [float(draw.randint(-2, 2)) for _ in range(math.prod(s))] for name, s in shapes.items()}
        path = os.path.join(folder, "c.tile")
        with open(path, "w") as file:
            file.write(self.text())
        command = ["tile-run", path, "--device=cpu", "--target=sm_90a", "--sms=2", "--arg", "y=poison",
                   "--save", f"y={folder}/y.npy"]
        for name, values in inputs.items():
            write(f"{folder}/{name}.npy", self.scalar, shapes[name], values)
            command += ["--arg", f"{name}=@{folder}/{name}.npy"]
        if self.tile:
            names = ("block_m", "block_n", "num_warps", "consumers")
            for name, value in zip(names, self.tile):
                command += ["--param", f"{name}={value}"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return run.stdout + run.stderr
        with open(f"{folder}/y.npy", "rb") as file:
            found = unpack(self.scalar, file.read(), self.m * self.n)
        # A value that is rounded before its group is normalized is off by as much, times the scale of the group.
        amplified = 8 if self.before == "swish" else 1
        bound = TOLERANCE[self.scalar] * amplified
        for at, (value, exact) in enumerate(zip(found, self.reference(inputs))):
            if not abs(value - exact) <= bound * max(1, abs(exact)):
                return f"element {divmod(at, self.n)} is {value}, not {exact}\n"
        return ""


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wrong = 0
    for number in shares.take(range(count)):
        draw = random.Random(seed * 1000003 + number)
        case = Case(draw)
        with tempfile.TemporaryDirectory() as folder:
            why = case.check(draw, folder)
        if why:
            wrong += 1
            print(f"case {number}, tile {case.tile}:\n{case.text()}{why}")
    print(f"{wrong} wrong")
    return bool(wrong)


sys.exit(main())

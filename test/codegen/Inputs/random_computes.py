"""Compiles random computes at the first point that `schedule` offers, for several targets.

usage: random_computes.py COUNT [--print] [TARGET...]

Reports each compute that is not compiled, those that take more than a second of processor time, and the times. Without targets: sm_80, sm_86,
sm_90a and sm_120a. The computes are products with computed operands and heavy epilogues, sums of taps of windows,
reductions, norms, scans and element-wise chains. A compute depends only on its number.
"""
import os
import random
import subprocess
import sys
import tempfile

import shares

UNARY = ["exp", "log", "tanh", "erf", "sigmoid", "softplus", "log1p", "expm1", "sqrt", "abs", "sin", "cos", "exp2"]
TARGETS = ["sm_80", "sm_86", "sm_90a", "sm_120a"]
TYPES = ["f16", "bf16", "f32"]


class Compute:
    """The text of a compute that is being written."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.arguments, self.lines, self.count = [], [], 0

    def argument(self, scalar, dims):
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: tensor<{scalar}[{', '.join(map(str, dims))}]>")
        return name

    def add(self, value):
        self.count += 1
        self.lines.append(f"  %v{self.count} = {value}")
        return f"%v{self.count}"

    def extent(self, least=1, most=4096):
        """Often a power of two or a multiple of 8, sometimes odd."""
        number = 2 ** self.random.randint(least.bit_length() - 1, most.bit_length() - 1)
        kind = self.random.random()
        if kind < 0.3:
            number = self.random.randint(max(1, least // 8), most // 8) * 8
        elif kind < 0.4:
            number = self.random.randint(least, most)
        return max(least, min(most, number))

    def chain(self, value, dims, length):
        """Element-wise operations on an f32 of these dims."""
        first = value
        for _ in range(length):
            kind = self.random.random()
            if kind < 0.5:
                value = self.add(f"{self.random.choice(UNARY)}({value})")
            elif kind < 0.6:
                value = self.add(f"max({value}, {self.random.choice(['0.0', '-1.0', '0.1'])})")
            elif kind < 0.7:
                value = self.add(f"select({value} > 20.0, {value}, {self.random.choice(UNARY)}({value}))")
            elif kind < 0.8:
                value = self.add(f"{value} {self.random.choice('+-*/')} {first}")
            elif kind < 0.9:
                bias = self.argument(self.random.choice(TYPES), dims[-1:])
                value = self.add(f"{value} {self.random.choice('+*')} f32({bias})")
            else:
                other = self.argument(self.random.choice(TYPES), dims)
                value = self.add(f"{value} {self.random.choice('+-*')} f32({other})")
        return value

    def text(self, value, scalar, dims):
        result = f"%r: tensor<{scalar}[{', '.join(map(str, dims))}]>"
        lines = self.lines + [f"  %r = {scalar}({value})" if scalar != "f32" else f"  %r = {value}"]
        return f"compute @f({', '.join(self.arguments)}) -> ({result})\n{{\n" + "\n".join(lines) + "\n}\n"


def make_operand(c, scalar, dims):
    """An operand of a product: often an argument, sometimes computed."""
    kind = c.random.random()
    if kind < 0.6:
        return c.argument(scalar, dims)
    if kind < 0.8:
        other = c.random.choice(TYPES)
        return c.add(f"{scalar}({c.chain(c.add(f'f32({c.argument(other, dims)})'), dims, c.random.randint(1, 4))})")
    parts = [c.add(f"f32({c.argument(scalar, dims)})") for _ in range(c.random.randint(2, 10))]
    total = parts[0]
    for part in parts[1:]:
        total = c.add(f"{total} + {part}")
    return c.add(f"{scalar}({total})")


def make_product(c):
    m, n, k = c.extent(), c.extent(), c.extent(8)
    scalar = c.random.choice(TYPES)
    product = c.add(f"matmul({make_operand(c, scalar, [m, k])}, {make_operand(c, scalar, [k, n])}) : f32")
    return c.chain(product, [m, n], c.random.randint(0, 8)), [m, n]


def make_taps(c):
    """The taps of a window, added, as the operand of a product."""
    channels, height, width, out = c.extent(8, 128), c.extent(8, 64), c.extent(8, 64), c.extent(8, 256)
    scalar = c.random.choice(TYPES)
    x, w = c.argument(scalar, [channels, height, width]), c.argument(scalar, [out, channels])
    v = c.add(f"window {x}, [1, 1], [1, 1] {{axis = 1}} : tensor<{scalar}[{channels}, {height}, {width}, 3, 3]>")
    u = c.add(f"reshape({v}) : tensor<{scalar}[{channels}, {height * width}, 9]>")
    total = None
    for tap in c.random.sample(range(9), c.random.randint(2, 9)):
        one = c.add(f"slice {u}, [0, 0, {tap}] : tensor<{scalar}[{channels}, {height * width}, 1]>")
        total = c.add(f"f32({one})") if total is None else c.add(f"{total} + f32({one})")
    o = c.add(f"reshape({c.add(f'{scalar}({total})')}) : tensor<{scalar}[{channels}, {height * width}]>")
    product = c.add(f"matmul({w}, {o}) : f32")
    return c.chain(product, [out, height * width], c.random.randint(0, 4)), [out, height * width]


def make_rows(c):
    m, n = c.extent(1, 65536), c.extent(1, 65536)
    x = c.chain(c.add(f"f32({c.argument(c.random.choice(TYPES), [m, n])})"), [m, n], c.random.randint(0, 3))
    axis = c.random.randint(0, 1)
    kind = c.random.randint(0, 3)
    one = [1 if d == axis else e for d, e in enumerate([m, n])]
    if kind == 0:
        return c.add(f"reduce_{c.random.choice(['add', 'max'])}({x}, axis = {axis})"), one
    if kind == 1:
        e = c.add(f"exp({x} - reduce_max({x}, axis = {axis}))")
        return c.add(f"{e} / reduce_add({e}, axis = {axis})"), [m, n]
    if kind == 2:
        mean = c.add(f"reduce_add({x}, axis = {axis}) / {float([m, n][axis])}")
        d = c.add(f"{x} - {mean}")
        s = c.add(f"rsqrt(reduce_add({d} * {d}, axis = {axis}) / {float([m, n][axis])} + 0.00001)")
        return c.chain(c.add(f"{d} * {s}"), [m, n], c.random.randint(0, 3)), [m, n]
    rows = c.add(f"reduce_add({x}, axis = 1)")
    return c.add(f"reduce_add({rows}, axis = 0) / 16.0"), [1, 1]


def make_chain(c):
    dims = [c.extent(1, 1024) for _ in range(c.random.randint(1, 3))]
    x = c.add(f"f32({c.argument(c.random.choice(TYPES), dims)})")
    return c.chain(x, dims, c.random.randint(1, 20)), dims


MAKERS = [make_product, make_product, make_taps, make_rows, make_chain]


def make(number):
    c = Compute(number)
    value, dims = c.random.choice(MAKERS)(c)
    return c.text(value, c.random.choice(TYPES), dims)


def time_of_children():
    used = os.times()
    return used.children_user + used.children_system


def compile_one(text, target, folder):
    path = os.path.join(folder, "compute.tile")
    with open(path, "w") as file:
        file.write(text)
    start = time_of_children()
    ran = subprocess.run(["tilec", path, f"--target={target}", "--no-cache", "-o", os.devnull], stderr=subprocess.PIPE,
                         text=True)
    return time_of_children() - start, ran.stderr if ran.returncode else ""


def main():
    count, targets = int(sys.argv[1]), [word for word in sys.argv[2:] if word != "--print"] or TARGETS
    numbers = shares.take(range(1, count + 1))
    failed, times = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            text = make(number)
            if "--print" in sys.argv:
                print(f"// {number}\n{text}")
                continue
            for target in targets:
                seconds, message = compile_one(text, target, folder)
                times.append(seconds)
                failed += bool(message)
                if seconds > 1:
                    print(f"compute {number} for {target} takes {seconds:.1f} s")
                if message:
                    print(f"compute {number} for {target}: {message}{text}")
    if times:
        times.sort()
        print(f"median {times[len(times) // 2]:.3f} s, 90 % {times[len(times) * 9 // 10]:.3f} s, most {times[-1]:.3f} s")
        print(f"{len(times)} compiled, {failed} failed")


if __name__ == "__main__":
    main()

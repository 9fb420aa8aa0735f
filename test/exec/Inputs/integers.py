"""Random computes on integers of all types, at levels 1, 2 and 3, compared with Python's integers:
integers.py run SEED COUNT | compile SEED COUNT | text SEED
Elements are drawn near 0, 2^31, 2^32, 2^53, 2^63 and 2^64. Each compute applies random operations to random
earlier values. Divisions by 0 and shifts out of range occur, and `select` replaces them.
"""
import array
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import shares

TYPES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = {"f32": (24, -149, 128), "f64": (53, -1074, 1024)}
NPY = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
       "f32": "f", "f64": "d"}
N = 24
NEAR = [0, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 53, 1 << 63, 1 << 64]


def width(t):
    return int(t[1:])


def signed(t):
    return t[0] == "i"


def wrap(t, x):
    bits = width(t)
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed(t) and bits > 1 and x >> (bits - 1) else x


def limits(t):
    return (-(1 << width(t) - 1), (1 << width(t) - 1) - 1) if signed(t) else (0, (1 << width(t)) - 1)


def clamp(t, x):
    low, high = limits(t)
    return max(low, min(high, x))


def to_float(t, x):
    """The float of type t that is nearest to the number; ties to even."""
    digits, least, _ = FLOATS[t]
    x = Fraction(x)
    if not x:
        return 0.0
    size, exponent = abs(x), 0
    while size >= 1 << digits:
        size, exponent = size / 2, exponent + 1
    while size < 1 << (digits - 1) and exponent > least:
        size, exponent = size * 2, exponent - 1
    whole = round(size)  # to even
    return float(Fraction(whole) * Fraction(2) ** exponent) * (1 if x > 0 else -1)


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def draw(rng, t):
    return wrap(t, rng.choice(NEAR) * rng.choice([1, -1]) + rng.randint(-3, 3) if rng.random() < 0.7
                else rng.getrandbits(64) >> rng.randrange(64))


class Value:
    def __init__(self, name, t, elements, shape=f"{N}"):
        self.name, self.t, self.elements, self.shape = name, t, elements, shape


BINARY = {
    "+": lambda t, a, b: a + b, "-": lambda t, a, b: a - b, "*": lambda t, a, b: a * b,
    "&": lambda t, a, b: a & b, "|": lambda t, a, b: a | b, "^": lambda t, a, b: a ^ b,
    "min": lambda t, a, b: min(a, b), "max": lambda t, a, b: max(a, b),
    "mul_hi": lambda t, a, b: a * b >> width(t),
}
DIVIDE = {"div": quotient, "rem": lambda a, b: a - b * quotient(a, b), "mod": lambda a, b: a % b,
          "ceildiv": lambda a, b: -(-a // b)}
SHIFT = {"shl": lambda t, a, b: a << b, "shr": lambda t, a, b: a >> b,
         "ushr": lambda t, a, b: (a & (1 << width(t)) - 1) >> b}
COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
           ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
UNARY = {"neg": lambda t, a: -a, "not": lambda t, a: ~a, "abs": lambda t, a: abs(a),
         "popcount": lambda t, a: bin(a & (1 << width(t)) - 1).count("1"),
         "clz": lambda t, a: width(t) - (a & (1 << width(t)) - 1).bit_length(),
         "sign": lambda t, a: (a > 0) - (a < 0)}
COMBINE = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "min": min, "max": max, "and": lambda a, b: a & b,
           "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


class Compute:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.values, self.results = [], [], []
        self.inputs = [Value(f"x{i}", t, [draw(self.rng, t) for _ in range(N)])
                       for i, t in enumerate(self.rng.choices(TYPES, k=4))]
        self.values += self.inputs
        for _ in range(12):
            self.rng.choice(STEPS)(self)
        self.results = self.results[-16:]  # as many as --save writes
        if not self.results:
            binary(self)

    def add(self, text, t, elements, shape=None, keep=True):
        value = Value(f"v{len(self.lines)}", t, elements, shape or f"{N}")
        self.lines.append(f"  %{value.name} = {text}")
        if shape is None and keep:
            self.values.append(value)
        self.results.append(value)
        return value

    def pick(self, t=None):
        """An earlier value, cast to t."""
        value = self.rng.choice(self.values)
        if t is None or value.t == t:
            return value
        same = [v for v in self.values if v.t == t]
        return self.rng.choice(same) if same else self.add(f"{t}(%{value.name})", t, [wrap(t, x) for x in value.elements])

    def text(self):
        inputs = ", ".join(f"%{v.name}: tensor<{v.t}[{N}]>" for v in self.inputs)
        results = ", ".join(f"%{v.name}: tensor<{v.t}[{v.shape}]>" for v in self.results)
        return f"compute @c({inputs})\n    -> ({results})\n{{\n" + "\n".join(self.lines) + "\n}\n"


def call(name, *operands):
    if name.isalnum() or "_" in name:
        return f"{name}({', '.join(operands)})"
    return f"{operands[0]} {name} {operands[1]}"


def binary(c):
    name, a = c.rng.choice(list(BINARY)), c.pick()
    b = c.pick(a.t)
    c.add(call(name, f"%{a.name}", f"%{b.name}"), a.t,
          [wrap(a.t, BINARY[name](a.t, x, y)) for x, y in zip(a.elements, b.elements)])


def with_number(c):
    """One operand is a number of the type."""
    name, a = c.rng.choice(list(BINARY)), c.pick()
    n = draw(c.rng, a.t)
    c.add(call(name, f"%{a.name}", f"{a.t}({n})"), a.t, [wrap(a.t, BINARY[name](a.t, x, n)) for x in a.elements])


def divide(c):
    name, a = c.rng.choice(list(DIVIDE)), c.pick()
    b, other = c.pick(a.t), c.pick(a.t)
    elements = [wrap(a.t, DIVIDE[name](x, y)) if y else z for x, y, z in zip(a.elements, b.elements, other.elements)]
    c.add(f"select(%{b.name} == 0, %{other.name}, {name}(%{a.name}, %{b.name}))", a.t, elements)


def divide_by_number(c):
    name, a = c.rng.choice(list(DIVIDE)), c.pick()
    n = draw(c.rng, a.t) or 7
    c.add(f"{name}(%{a.name}, {a.t}({n}))", a.t, [wrap(a.t, DIVIDE[name](x, n)) for x in a.elements])


def shift(c):
    name, a = c.rng.choice(list(SHIFT)), c.pick()
    b, other, bits = c.pick(a.t), c.pick(a.t), width(a.t)
    elements = [wrap(a.t, SHIFT[name](a.t, x, y)) if 0 <= y < bits else z
                for x, y, z in zip(a.elements, b.elements, other.elements)]
    fits = f"%{b.name} >= 0 & %{b.name} < {bits}"
    c.add(f"select({fits}, {name}(%{a.name}, %{b.name}), %{other.name})", a.t, elements)


def shift_by_number(c):
    name, a = c.rng.choice(list(SHIFT)), c.pick()
    n = c.rng.choice([0, 1, width(a.t) - 1, c.rng.randrange(width(a.t))])
    c.add(f"{name}(%{a.name}, {n})", a.t, [wrap(a.t, SHIFT[name](a.t, x, n)) for x in a.elements])


def unary(c):
    name, a = c.rng.choice(list(UNARY)), c.pick()
    c.add(f"{name}(%{a.name})", a.t, [wrap(a.t, UNARY[name](a.t, x)) for x in a.elements])


def compare(c):
    name, a = c.rng.choice(list(COMPARE)), c.pick()
    b = c.pick(a.t)
    c.add(f"%{a.name} {name} %{b.name}", "i1", [int(COMPARE[name](x, y)) for x, y in zip(a.elements, b.elements)], keep=False)


def choose(c):
    name, a = c.rng.choice(list(COMPARE)), c.pick()
    b, yes = c.pick(a.t), c.pick()
    no = c.pick(yes.t)
    c.add(f"select(%{a.name} {name} %{b.name}, %{yes.name}, %{no.name})", yes.t,
          [z if COMPARE[name](x, y) else w for x, y, z, w in zip(a.elements, b.elements, yes.elements, no.elements)])


def between(c):
    a = c.pick()
    low, high = c.pick(a.t), c.pick(a.t)
    c.add(f"clamp(%{a.name}, %{low.name}, %{high.name})", a.t,
          [min(max(x, y), z) for x, y, z in zip(a.elements, low.elements, high.elements)])


def cast(c):
    a, t, saturate = c.pick(), c.rng.choice(TYPES), c.rng.random() < 0.5
    if t == a.t:
        return
    c.add(f"{t}(%{a.name}{', saturate' if saturate else ''})", t, [(clamp if saturate else wrap)(t, x) for x in a.elements])


def cast_float(c):
    """To a float, and half of it to an integer."""
    a, f, t = c.pick(), c.rng.choice(list(FLOATS)), c.rng.choice(TYPES)
    floats = [to_float(f, x) for x in a.elements]
    name = c.add(f"{f}(%{a.name})", f, floats, keep=False).name
    c.add(f"{t}(%{name} * 0.5)", t, [clamp(t, int(x * 0.5)) for x in floats])


def bitcast(c):
    a = c.pick()
    t = ("u" if signed(a.t) else "i") + a.t[1:]
    c.add(f"bitcast %{a.name} : {t}", t, [wrap(t, x) for x in a.elements])


def bitcast_float(c):
    """Through a float of the same width; its NaNs stay as they are."""
    a = c.pick(c.rng.choice(["i64", "u64"]))
    t = c.rng.choice(["i64", "u64"])
    c.add(f"bitcast (bitcast(%{a.name}) : f64) : {t}", t, [wrap(t, x) for x in a.elements])


def reduce(c):
    name, a = c.rng.choice(list(COMBINE)), c.pick()
    total = a.elements[0]
    for x in a.elements[1:]:
        total = wrap(a.t, COMBINE[name](total, x))
    c.add(f"reduce_{name}(%{a.name}, axis = 0)", a.t, [total], "1")


def find(c):
    name, a = c.rng.choice(["min", "max"]), c.pick()
    best = (min if name == "min" else max)(a.elements)
    value = Value(f"v{len(c.lines)}", a.t, [best], "1")
    place = Value(f"p{len(c.lines)}", "i32", [a.elements.index(best)], "1")
    c.lines.append(f"  %{value.name}, %{place.name} = reduce_arg_{name} %{a.name} {{axis = 0}}")
    c.results += [value, place]


def scan(c):
    name, a, reverse = c.rng.choice(["add", "mul", "min", "max"]), c.pick(), c.rng.random() < 0.5
    elements = a.elements[::-1] if reverse else list(a.elements)
    for i in range(1, N):
        elements[i] = wrap(a.t, COMBINE[name](elements[i - 1], elements[i]))
    c.add(f"scan_{name}(%{a.name}, axis = 0{', reverse' if reverse else ''})", a.t, elements[::-1] if reverse else elements)


def sort(c):
    a, down = c.pick(), c.rng.random() < 0.5
    c.add(f"sort(%{a.name}, axis = 0{', descending' if down else ''})", a.t, sorted(a.elements, reverse=down))


def product(c):
    """[4, 6] x [6, 4], with sums of the operands' type or of a wider one."""
    a = c.pick()
    b = c.pick(a.t)
    t = c.rng.choice([u for u in ["i32", "i64", "u32", "u64"] if width(u) >= width(a.t) and (signed(u) or not signed(a.t))])
    elements = [wrap(t, sum(a.elements[6 * i + k] * b.elements[4 * k + j] for k in range(6)))
                for i in range(4) for j in range(4)]
    c.add(f"matmul(reshape(%{a.name}) : [4, 6], reshape(%{b.name}) : [6, 4]) : {t}", t, elements, "4, 4")


def gather(c):
    a, at = c.pick(), c.pick("i32")
    c.add(f"gather %{a.name}, mod(%{at.name}, {N}) {{axis = 0}}", a.t, [a.elements[x % N] for x in at.elements])


def concat(c):
    a = c.pick()
    b = c.pick(a.t)
    c.add(f"concat %{a.name}, %{b.name} {{axis = 0}}", a.t, a.elements + b.elements, f"{2 * N}")


def window(c):
    a = c.pick()
    pad = draw(c.rng, a.t)
    around = [pad] + a.elements + [pad]
    c.add(f"window %{a.name}, [1], [1] {{axis = 0, pad = {a.t}({pad})}} : [{N}, 3]", a.t,
          [around[i + j] for i in range(N) for j in range(3)], f"{N}, 3")


def count(c):
    t = c.rng.choice(TYPES)
    start, step = draw(c.rng, t), wrap("i8", c.rng.getrandbits(8))
    text = f"{t}({start})" if start >= 1 << 63 else f"{start}"
    c.add(f"iota(axis = 0, start = {text}, step = {step}) : tensor<{t}[{N}]>", t, [wrap(t, start + step * i) for i in range(N)])


STEPS = [binary, binary, with_number, divide, divide, divide_by_number, shift, shift_by_number, unary, compare, choose,
         between, cast, cast, cast_float, bitcast, bitcast_float, reduce, find, scan, sort, product, gather, concat,
         window, count]


def read(path, t):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + int.from_bytes(data[8:10], "little")
    return list(array.array(NPY[t], data[begin:]))


def check(seed, folder):
    c = Compute(seed)
    path = os.path.join(folder, "c.tile")
    with open(path, "w", encoding="ascii") as file:
        file.write(c.text())
    for level in "123":
        command = ["tile-run", path, "--kernel=c", "--device=cpu", f"--level={level}"]
        for v in c.inputs:
            command += ["--arg", f"{v.name}=values:{v.t}[{N}]={','.join(map(str, v.elements))}"]
        for v in c.results:
            command += ["--save", f"{v.name}={folder}/{v.name}.npy"]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            return f"{c.text()}\nlevel {level}: {ran.stdout}"
        for v in c.results:
            got = read(f"{folder}/{v.name}.npy", v.t)
            if got != v.elements:
                at = next(i for i, (x, y) in enumerate(zip(got, v.elements)) if x != y)
                return f"{c.text()}\nlevel {level}: %{v.name}[{at}] is {got[at]}, expected {v.elements[at]}"
    return None


def compile_ptx(seed, folder):
    path = os.path.join(folder, "c.tile")
    with open(path, "w", encoding="ascii") as file:
        file.write(Compute(seed).text())
    ran = subprocess.run(["tilec", path, "--kernel=c", "--target=sm_90a", "-o", os.path.join(folder, "c.out")],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.stdout if ran.returncode else None


if sys.argv[1] == "text":
    print(Compute(int(sys.argv[2])).text())
    sys.exit()
action = {"run": check, "compile": compile_ptx}[sys.argv[1]]
first, number = int(sys.argv[2]), int(sys.argv[3])
with tempfile.TemporaryDirectory() as work:
    done = 0
    for seed in shares.take(range(first, first + number)):
        wrong = action(seed, work)
        if wrong:
            sys.exit(f"seed {seed}:\n{wrong}")
        done += 1
print(f"{done} computes{', all equal' if action is check else ' compiled'}")

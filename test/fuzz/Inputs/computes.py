"""Schedules random computes, runs them on the CPU device at levels 2 and 3, and compares them with level 1.

    computes.py [--seed=N] [--count=N] [--seconds=S] [--least=N] [--keep=FOLDER] [--go-on] [--ptx] [--rand] [--moves]

All numbers are small integers, so results are compared for equality. With --rand, floats are not integers, and
results must be within rounding errors. Prints how many computes were compared. The first one that differs, is refused
or crashes ends the run, unless --go-on is given, and is kept in the folder. --ptx: also compiles each compute's kernels
to PTX. --moves: mostly products whose operands and results are moved, for sm_90a."""
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import shares

# Expressions that equal the extent {0}.
SPELLINGS = ["1 + ({0} - 1)", "{0} + m - m", "2 * ({0}) - ({0})", "({0}) * 6 / 6", "max({0}, {0})", "n - (n - {0})",
             "-(0 - ({0}))", "(k + 1) * ({0}) - ({0}) * k", "ceildiv(({0}) + ({0}), 2)"]
LARGEST = {"f16": 2048, "f32": 1 << 22, "i32": 1 << 30, "i8": 127}


class Compute:
    def __init__(self, seed, moves=False):
        if moves:
            self.OPERATIONS = self.MOVES
        self.random = random.Random(seed)
        self.spelling = random.Random(seed)
        extents = [1, 2, 3, 5, 7, 8, 16, 17, 20, 33, 40]
        self.extents = {d: self.random.choice(extents) for d in "mnk"}
        self.lines, self.args, self.values, self.results = [], [], [], []
        self.count = 0
        for _ in range(self.random.randint(1, 3)):
            self.argument(self.random.choice(["f16", "f32", "f32", "i32"]),
                          [self.dim() for _ in range(self.random.choice([1, 2, 2, 2, 3]))])
        for _ in range(self.random.randint(1, 8)):
            for _ in range(10):
                if self.random.choice(self.OPERATIONS)(self):
                    break
        for d in self.extents:
            if not any(re.search(rf"[\[,] ?{d}[,\]]", type) for _, type, _ in self.args):
                self.argument("i32", [d])  # determined by the inputs
        self.choose_results()

    def chance(self, p):
        return self.random.random() < p

    def dim(self):
        return self.random.choice(["m", "n", "k", "m", "n", str(self.random.choice([1, 2, 4, 6]))])

    def extent(self, d):
        return eval(d, {}, self.extents)  # a dim, a number, or a product of these

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def type(self, scalar, dims):
        return f"tensor<{scalar}[{', '.join(dims)}]>"

    def argument(self, scalar, dims):
        name = f"%a{len(self.args)}"
        self.args.append((name, self.type(scalar, dims), f"int:{scalar}[{','.join(str(self.extent(d)) for d in dims)}]"))
        self.values.append((name, scalar, tuple(dims), 8))
        return self.values[-1]

    def pick(self, test=lambda v: True):
        fits = [v for v in self.values if test(v)]
        if not fits:
            return None
        late = fits[-3:]
        return self.random.choice(late if self.chance(0.6) else fits)

    def emit(self, text, scalar, dims, bound):
        if bound > LARGEST[scalar]:
            return False
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        self.values.append((name, scalar, tuple(dims), bound))
        return True

    # Operations: each returns whether it was applicable ----------------------------------------------

    def partner(self, a):
        """A value that can be broadcast to a's dims: the same dims, fewer, or extents of 1."""
        def fits(v):
            if v[1] != a[1] or len(v[2]) > len(a[2]):
                return False
            return all(x == y or x == "1" for x, y in zip(v[2], a[2][len(a[2]) - len(v[2]):]))
        b = self.pick(fits)
        if b and self.chance(0.7):
            return b
        dims = [d if self.chance(0.7) else "1" for d in a[2]][self.random.choice([0, 0, 1]):]
        return self.argument(a[1], dims or [a[2][-1]]) if len(self.args) < 6 else b

    def arith(self):
        a = self.pick()
        b = self.partner(a)
        if not b:
            return False
        op, bound = self.random.choice([("+", a[3] + b[3]), ("-", a[3] + b[3]), ("*", a[3] * b[3])])
        if self.chance(0.3):
            word = self.random.choice(["max", "min"])
            return self.emit(f"{word}({a[0]}, {b[0]})", a[1], a[2], max(a[3], b[3]))
        return self.emit(f"{a[0]} {op} {b[0]}", a[1], a[2], bound)

    def choose(self):
        a = self.pick()
        b = self.partner(a)
        if not b or b[2] != a[2]:
            return False
        return self.emit(f"select({a[0]} > {b[0]}, {a[0]}, {b[0]})", a[1], a[2], max(a[3], b[3]))

    def constant(self):
        a = self.pick()
        number = self.random.choice(["2", "3", "1"])
        text = number if a[1].startswith("i") else f"{a[1]}({number}.0)" if a[1] != "f32" else number + ".0"
        return self.emit(f"{a[0]} + {text}", a[1], a[2], a[3] + 3)

    def cast(self):
        a = self.pick()
        to = self.random.choice(["f32", "i32", "f16"])
        return to != a[1] and self.emit(f"{to}({a[0]})", to, a[2], a[3])

    def iota(self):
        a = self.pick(lambda v: v[1] != "f16")
        if not a:
            return False
        axis = self.random.randrange(len(a[2]))
        name = self.name()
        self.lines.append(f"  {name} = iota(axis = {axis}, start = 2, step = 3) : tensor<i32[{', '.join(a[2])}]>")
        return self.emit(f"{a[0]} + {name if a[1] == 'i32' else a[1] + '(' + name + ')'}", a[1], a[2], a[3] + 130)

    def transpose(self):
        a = self.pick(lambda v: len(v[2]) > 1)
        if not a:
            return False
        order = list(range(len(a[2])))
        self.random.shuffle(order)
        dims = [a[2][o] for o in order]
        if order == [1, 0] and self.chance(0.5):
            return self.emit(f"transpose {a[0]}", a[1], dims, a[3])
        return self.emit(f"transpose {a[0]} {{order = [{', '.join(map(str, order))}]}} : {self.type(a[1], dims)}", a[1], dims, a[3])

    def broadcast(self):
        a = self.pick(lambda v: len(v[2]) < 3 or "1" in v[2])
        if not a:
            return False
        dims = [self.dim() if d == "1" else d for d in a[2]]
        if len(dims) < 3 and self.chance(0.5):
            dims = [self.dim()] + dims
        return dims != list(a[2]) and self.emit(f"broadcast {a[0]} : {self.type(a[1], dims)}", a[1], dims, a[3])

    def concat(self):
        a = self.pick()
        b = self.partner(a)
        if not b or b[2] != a[2]:
            return False
        axis = self.random.randrange(len(a[2]))
        if not a[2][axis].isdigit():
            return False
        dims = list(a[2])
        dims[axis] = str(2 * int(dims[axis]))
        return self.emit(f"concat {a[0]}, {b[0]} {{axis = {axis}}}", a[1], dims, max(a[3], b[3]))

    def cut(self):
        a = self.pick(lambda v: any(d in ("4", "6", "8", "12") for d in v[2]))
        if not a:
            return False
        axis = [i for i, d in enumerate(a[2]) if d in ("4", "6", "8", "12")][0]
        half = int(a[2][axis]) // 2
        dims = list(a[2])
        dims[axis] = str(half)
        first = ["0"] * len(dims)
        first[axis] = str(self.random.choice([0, half]))
        return self.emit(f"slice {a[0]}, [{', '.join(first)}] : {self.type(a[1], dims)}", a[1], dims, a[3])

    def reshape(self):
        a = self.pick(lambda v: len(v[2]) < 4)
        if not a:
            return False
        at = self.random.randrange(len(a[2]) + 1)
        dims = list(a[2][:at]) + ["1"] + list(a[2][at:])
        if len(a[2]) == 2 and self.chance(0.5):
            dims = [f"{a[2][0]} * {a[2][1]}" if not a[2][0].isdigit() or not a[2][1].isdigit()
                    else str(int(a[2][0]) * int(a[2][1]))]
            if "*" in dims[0]:
                name = self.name()
                self.lines.append(f"  {name} = reshape {a[0]} : {self.type(a[1], dims)}")
                self.lines.append(f"  {name}_ = {name} + {name}")
                return self.emit(f"reshape {name}_ : {self.type(a[1], a[2])}", a[1], a[2], 2 * a[3])
        return self.emit(f"reshape {a[0]} : {self.type(a[1], dims)}", a[1], dims, a[3])

    def window(self):
        """Windows of one or two dims, unchanged or as the matrix of a convolution."""
        a = self.pick(lambda v: len(v[2]) < 4 and v[3] < LARGEST[v[1]])
        if not a:
            return False
        axis = self.random.randrange(len(a[2]))
        count = self.random.choice([1, 2]) if axis + 1 < len(a[2]) and len(a[2]) < 4 else 1
        windows = [self.random.choice([self.dim(), d, "3", "5"]) for d in a[2][axis:axis + count]]
        places = [self.random.choice(["1", "2", "3", "3", "5"]) for _ in range(count)]
        dims = list(a[2][:axis]) + windows + places + list(a[2][axis + count:])
        def numbers(low, high):
            return "[" + ", ".join(str(self.random.randint(low, high)) for _ in range(count)) + "]"
        lists = f"{numbers(1, 3)}, {numbers(0, 2)}" + (f", {numbers(1, 3)}" if self.chance(0.3) else "")
        pad = self.random.choice(["", "", f", pad = {'3' if a[1].startswith('i') else '-3.0'}"])
        text = f"window {a[0]}, {lists} {{axis = {axis}{pad}}} : {self.type(a[1], dims)}"
        if not self.emit(text, a[1], dims, max(a[3], 3)):
            return False
        name = self.values[-1][0]
        if self.chance(0.6):
            first = axis + count
            order = list(range(len(dims)))
            if self.chance(0.2):
                self.random.shuffle(order)
                dims = [dims[o] for o in order]
                name = self.name()
                self.lines.append(f"  {name} = transpose {self.values[-1][0]} {{order = [{', '.join(map(str, order))}]}} : {self.type(a[1], dims)}")
            flat = [" * ".join(part) for part in (dims[:first], dims[first:])]
            flat = [str(self.extent(d)) if all(x.isdigit() for x in d.split(" * ")) else d for d in flat]
            self.emit(f"reshape {name} : {self.type(a[1], flat)}", a[1], flat, max(a[3], 3))
            if self.chance(0.6) and self.matmul(self.values[-1]) and len(self.values[-1][2]) == 2 and self.chance(0.6):
                product = self.values[-1]
                back = dims[:first] + [product[2][1]]
                if flat[0] == product[2][0]:
                    self.emit(f"reshape {product[0]} : {self.type(product[1], back)}", product[1], back, product[3])
        return True

    def reduce(self):
        a = self.pick()
        axis = self.random.randrange(len(a[2]))
        kind = self.random.choice(["add", "add", "max", "min"])
        dims = list(a[2])
        dims[axis] = "1"
        bound = a[3] * self.extent(a[2][axis]) if kind == "add" else a[3]
        if not self.emit(f"reduce_{kind}({a[0]}, axis = {axis})", a[1], dims, bound):
            return False
        b = self.values[-1]
        if self.chance(0.6):
            self.emit(f"{a[0]} - {b[0]}", a[1], a[2], a[3] + b[3])
        return True

    def find(self):
        a = self.pick()
        axis = self.random.randrange(len(a[2]))
        dims = list(a[2])
        dims[axis] = "1"
        name, place = self.name(), self.name()
        self.lines.append(f"  {name}, {place} = reduce_arg_{self.random.choice(['max', 'min'])} {a[0]} {{axis = {axis}}}")
        self.values.append((name, a[1], tuple(dims), a[3]))
        self.values.append((place, "i32", tuple(dims), 64))
        return True

    def matmul(self, a=None):
        a = a or self.pick(lambda v: len(v[2]) >= 2)
        if not a:
            return False
        turn_a, turn_b = self.chance(0.3), self.chance(0.3)
        m, k = (a[2][-1], a[2][-2]) if turn_a else (a[2][-2], a[2][-1])
        bound = a[3] * 8 * self.extent(k)
        batches = list(a[2][:-2])
        n = self.dim()
        own = [k, n] if not turn_b else [n, k]
        b = self.pick(lambda v: v[1] == a[1] and len(v[2]) == 2 and list(v[2]) == own and v[3] <= 8)
        if not b or self.chance(0.5):
            if len(self.args) >= 6:
                return False
            b = self.argument(a[1], own if not batches or self.chance(0.5) else batches + own)
        result = {"f16": "f32", "f32": "f32", "i32": "i32"}[a[1]]
        words = (", trans_lhs" if turn_a else "") + (", trans_rhs" if turn_b else "")
        return self.emit(f"matmul({a[0]}, {b[0]}{words}) : {result}", result, batches + [m, n], bound)

    OPERATIONS = [arith] * 6 + [choose, constant, cast, cast, iota, transpose, transpose, broadcast, concat, cut,
                  reshape, window, window, reduce, reduce, reduce, find, matmul, matmul, matmul]
    MOVES = [arith, cast] + [transpose, cut, reshape] * 3 + [concat] * 2 + [matmul] * 4

    # The text --------------------------------------------------------------------------------------

    def choose_results(self):
        made = [v for v in self.values if v[0].startswith("%v")] or self.values
        wanted = [made[-1]] + [v for v in made[:-1] if self.chance(0.2)][:3]
        for i, v in enumerate(dict.fromkeys(wanted)):
            self.results.append((f"%r{i}", v))

    def respelled(self, text):
        """Writes some extents of types differently."""
        def extent(text):
            factors = text.split(" * ")
            self.spelling.shuffle(factors)
            chosen = self.spelling.choice(SPELLINGS) if self.spelling.random() < 0.3 else "{0}"
            return chosen.format(" * ".join(factors))
        return re.sub(r"(?<=tensor<)(\w+)\[(.*?)\]>",
                      lambda type: f"{type[1]}[{', '.join(map(extent, type[2].split(', ')))}]>", text)

    def text(self):
        args = ", ".join(f"{name}: {type}" for name, type, _ in self.args)
        results = ", ".join(f"{name}: {self.type(v[1], v[2])}" for name, v in self.results)
        lines = list(self.lines) + [f"  {name} = {v[0]}" for name, v in self.results]
        rest = f"    -> ({results})\n{{\n" + "\n".join(lines) + "\n}\n"
        return f"compute @c<m: dim, n: dim, k: dim>({args})\n{self.respelled(rest)}"

    def arguments(self):
        given = [x for name, _, fill in self.args for x in ("--arg", f"{name[1:]}={fill}")]
        return given + [x for d, e in self.extents.items() for x in ("--arg", f"{d}={e}")]


def run(words):
    try:
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return -1, "does not end"
    return ran.returncode, ran.stdout


def check(compute, path, seed, given):
    """Returns what is wrong, "" if nothing is. With `rand`, floats are not integers."""
    arguments = compute.arguments()
    if "rand" in given:
        arguments = [x.replace("=int:f", "=rand:f") for x in arguments]
    for level in "2", "3":
        target = ["--target=sm_90a"] if "moves" in given else []
        rc, out = run(["tile-run", path, "--kernel=c", "--device=cpu", f"--level={level}", "--check",
                       f"--seed={seed + 1}"] + target + arguments)
        if rc or out.count("0 wrong") < len(compute.results):
            return f"level {level}, rc {rc}:\n{out}"
    if "ptx" in given:
        rc, out = run(["tilec", path, "--kernel=c", f"--target={'sm_90a' if seed % 2 else 'sm_80'}", "-o", path + ".ptx"])
        if rc:
            return f"tilec, rc {rc}:\n{out}"
    return ""


def main():
    given = dict(a[2:].split("=", 1) if "=" in a else (a[2:], "") for a in sys.argv[1:])
    seed, count = int(given.get("seed", 1)), int(given.get("count", 1000000))
    seed, count, least, milliseconds = shares.draw(seed, count, int(given.get("least", 1)),
                                                   round(1000 * float(given.get("seconds", 10))))
    end = time.time() + milliseconds / 1000
    folder = given.get("keep") or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    done = wrong = 0
    while done < count and (time.time() < end or done < least):
        compute = Compute(seed, "moves" in given)
        path = os.path.join(folder, f"{seed}.tile")
        with open(path, "w") as file:
            file.write(compute.text())
        what = check(compute, path, seed, given)
        done += 1
        wrong += bool(what)
        if what:
            print(f"seed {seed}: {' '.join(compute.arguments())}\n{compute.text()}{what}")
            if "go-on" not in given:
                break
        else:
            os.remove(path)
        seed += 1
    print(f"{done} computes compared, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()

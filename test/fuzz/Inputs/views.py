"""Schedules random computes with chains of layout changes, and compares them with level 1 on the CPU device.

    views.py [--seed=N] [--count=N] [--seconds=S] [--least=N] [--keep=FOLDER] [--go-on] [--ptx] [--rand]

Reshapes to other factors, transposes, unit dims, slices, flips and gathers are drawn around element-wise operations,
reductions, scans and products. Numbers are small integers, so results are compared for equality; with --rand they must
be within rounding errors.

    views.py --counts ..

draws chains around one reduction or product of which every layout change is a view: splits and merges of dims, and
transposes that keep runs of 16 elements. Each must be one kernel, as the same compute with all of them moved to the
arguments and the result by hand."""
import os
import random
import subprocess
import sys
import tempfile
import time

import computes
import shares

FACTORS = [1, 2, 2, 3, 4, 4, 5, 8, 8, 16]


class Views(computes.Compute):
    """Extents are numbers, as text."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.args, self.values, self.results = [], [], [], []
        self.count = 0
        self.extents = {}
        for _ in range(self.random.randint(1, 2)):
            self.argument(self.random.choice(["f32", "f32", "f16", "i32"]), self.dims(self.random.randint(2, 4)))
        for _ in range(self.random.randint(3, 9)):
            for _ in range(10):
                if self.random.choice(self.OPERATIONS)(self):
                    break
        self.choose_results()

    def dim(self):
        return str(self.random.choice(FACTORS) * self.random.choice([1, 1, 2, 3]))

    def dims(self, rank):
        while True:
            dims = [self.dim() for _ in range(rank)]
            if 8 <= self.size(dims) <= 6000:
                return dims

    def size(self, dims):
        size = 1
        for d in dims:
            size *= int(d)
        return size

    def extent(self, d):
        return int(d)

    def view(self):
        """A reshape to random factors of the number of elements."""
        a = self.pick(lambda v: len(v[2]) >= 1)
        rest, dims = self.size(a[2]), []
        if self.chance(0.5):  # splits or merges of neighbours
            for d in a[2]:
                d = int(d)
                parts = [p for p in range(2, d) if d % p == 0]
                if dims and self.chance(0.3):
                    dims[-1] *= d
                elif parts and self.chance(0.4):
                    p = self.random.choice(parts)
                    dims += [p, d // p]
                else:
                    dims.append(d)
        else:
            while rest > 1 and len(dims) < 3:
                parts = [p for p in range(1, rest + 1) if rest % p == 0]
                dims.append(self.random.choice(parts))
                rest //= dims[-1]
            dims.append(rest)
        if self.chance(0.2):
            dims.insert(self.random.randrange(len(dims) + 1), 1)
        dims = [str(d) for d in dims]
        if len(dims) > 6 or dims == list(a[2]):
            return False
        return self.emit(f"reshape {a[0]} : {self.type(a[1], dims)}", a[1], dims, a[3])

    def index(self, dims, axis, text):
        """Emits an index tensor computed of an iota along the axis; returns its name."""
        name = self.name()
        self.lines.append(f"  {name}i = iota(axis = {axis}) : {self.type('i32', dims)}")
        self.lines.append(f"  {name} = {text.format(name + 'i')}")
        return name

    def flip(self):
        a = self.pick()
        axis = self.random.randrange(len(a[2]))
        at = self.index(a[2], axis, f"{int(a[2][axis]) - 1} - {{0}}")
        return self.emit(f"gather({a[0]}, {at}, axis = {axis})", a[1], a[2], a[3])

    def take(self):
        """One element, or a few, of each row."""
        a = self.pick()
        axis = self.random.randrange(len(a[2]))
        dims, extent = list(a[2]), int(a[2][axis])
        dims[axis] = str(self.random.choice([1, max(1, extent // 2), extent]))
        if self.chance(0.5) and len(self.args) < 6:
            at = f"%a{len(self.args)}"
            wide = self.random.choice(["i32", "i64"])
            self.args.append((at, self.type(wide, dims), f"zeros:{wide}[{','.join(dims)}]"))
            return self.emit(f"gather({a[0]}, {at}, axis = {axis})", a[1], dims, a[3])
        other = self.random.randrange(len(dims))
        at = self.index(dims, other, f"rem({{0}} * 3 + 1, {extent})")
        return self.emit(f"gather({a[0]}, {at}, axis = {axis})", a[1], dims, a[3])

    def part(self):
        a = self.pick(lambda v: any(int(d) > 2 for d in v[2]))
        if not a:
            return False
        axis = self.random.choice([i for i, d in enumerate(a[2]) if int(d) > 2])
        dims, first = list(a[2]), ["0"] * len(a[2])
        dims[axis] = str(self.random.randint(1, int(dims[axis]) - 1))
        first[axis] = str(self.random.randint(0, int(a[2][axis]) - int(dims[axis])))
        return self.emit(f"slice {a[0]}, [{', '.join(first)}] : {self.type(a[1], dims)}", a[1], dims, a[3])

    def scan(self):
        a = self.pick()
        axis = self.random.randrange(len(a[2]))
        word = self.random.choice(["", "", ", reverse", ", exclusive"])
        return self.emit(f"scan_add({a[0]}, axis = {axis}{word})", a[1], a[2], a[3] * int(a[2][axis]))

    def product(self):
        a = self.pick(lambda v: 2 <= len(v[2]) <= 4)
        return bool(a) and self.matmul(a)

    def choose_results(self):
        super().choose_results()
        for name, v in self.results:
            if all(v[0] != line.split()[0] for line in self.lines):
                self.lines.append(f"  {self.name()} = {v[0]} + {v[0]}")

    OPERATIONS = ([computes.Compute.arith] * 5 + [computes.Compute.choose, computes.Compute.constant] +
                  [view] * 7 + [computes.Compute.transpose] * 4 + [computes.Compute.broadcast, flip, take, part] +
                  [computes.Compute.cast, computes.Compute.reduce, computes.Compute.reduce, computes.Compute.reduce] +
                  [scan, product, product])

    def text(self):
        args = ", ".join(f"{name}: {type}" for name, type, _ in self.args)
        results = ", ".join(f"{name}: {self.type(v[1], v[2])}" for name, v in self.results)
        lines = list(self.lines) + [f"  {name} = {v[0]}" for name, v in self.results]
        return f"compute @c({args})\n    -> ({results})\n{{\n" + "\n".join(lines) + "\n}\n"


class OneKernel(Views):
    """A chain around one reduction, scan or product."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.args, self.values, self.results = [], [], [], []
        self.count = 0
        self.extents = {}
        self.random.choice([self.reduction, self.product_of_views])()
        self.results = [("%r0", self.values[-1])]
        if self.chance(0.3) and len(self.values[-1][2]) < 6:
            self.views(1)
            if self.values[-1][0] != self.results[0][1][0]:
                self.results.append(("%r1", self.values[-1]))

    def pick(self, test=lambda v: True):
        return self.values[-1]

    def views(self, most):
        """Splits and merges of the last value."""
        for _ in range(self.random.randint(0, most)):
            self.view_in_order()

    def view_in_order(self):
        a, dims = self.values[-1], []
        for d in map(int, a[2]):
            parts = [p for p in range(2, d) if d % p == 0]
            if dims and self.chance(0.3):
                dims[-1] *= d
            elif parts and len(a[2]) < 5 and self.chance(0.4):
                p = self.random.choice(parts)
                dims += [p, d // p]
            else:
                dims.append(d)
        if len(dims) < 6 and self.chance(0.2):
            dims.insert(self.random.randrange(len(dims) + 1), 1)
        dims = [str(d) for d in dims]
        return len(dims) <= 6 and dims != list(a[2]) and self.emit(
            f"reshape {a[0]} : {self.type(a[1], dims)}", a[1], dims, a[3])

    def elements(self):
        a = self.values[-1]
        if self.chance(0.5):
            self.constant()
        elif self.chance(0.5):
            self.emit(f"max({a[0]}, {a[0]} - {a[0]})", a[1], a[2], a[3])
        else:
            b = self.argument(a[1], a[2])
            self.values.pop()
            self.emit(f"{a[0]} - {b[0]}", a[1], a[2], a[3] + b[3])

    def reduction(self):
        self.argument("f32", self.dims(self.random.randint(2, 4)))
        self.elements()
        self.views(3)
        a = self.values[-1]
        axis = self.random.randrange(len(a[2]))
        while a[2][axis] == "1":
            axis = self.random.randrange(len(a[2]))
        dims = list(a[2])
        if self.chance(0.2):
            self.emit(f"scan_add({a[0]}, axis = {axis})", a[1], dims, a[3] * int(a[2][axis]))
        else:
            dims[axis] = "1"
            self.emit(f"reduce_add({a[0]}, axis = {axis})", a[1], dims, a[3] * int(a[2][axis]))
            b = self.values[-1]
            if self.chance(0.7):
                self.emit(f"{a[0]} - {b[0]}", a[1], a[2], a[3] + b[3])
        self.views(3)
        if self.chance(0.5):
            self.elements()
            self.views(1)

    def product_of_views(self):
        m, n = (str(16 * self.random.choice([2, 3, 4, 6])) for _ in range(2))
        heads = self.random.choice([2, 4])
        n = str(int(n) * heads)
        self.argument("f16", [m, "32"])
        b = self.argument("f16", ["32", n])
        self.emit(f"matmul({self.values[0][0]}, {b[0]}) : f32", "f32", [m, n], 2000)
        if self.chance(0.5):
            self.elements()
        if self.chance(0.5):
            dims = [m, str(heads), str(int(n) // heads)]
            self.emit(f"reshape {self.values[-1][0]} : {self.type('f32', dims)}", "f32", dims, 2000)
            dims = [dims[1], dims[0], dims[2]]
            self.emit(f"transpose {self.values[-1][0]} {{order = [1, 0, 2]}} : {self.type('f32', dims)}", "f32", dims, 2000)
        self.views(2)
        if self.chance(0.3):
            self.elements()


def count_kernels(path):
    rc, out = computes.run(["tile-opt", path, "--pass-pipeline=schedule"])
    count = sum(line.startswith("kernel") for line in out.splitlines())
    return "" if count == 1 else f"rc {rc}, {count} kernels instead of 1\n"


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
        compute = OneKernel(seed) if "counts" in given else Views(seed)
        path = os.path.join(folder, f"{seed}.tile")
        with open(path, "w") as file:
            file.write(compute.text())
        what = count_kernels(path) if "counts" in given else ""
        what = what or computes.check(compute, path, seed, given)
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

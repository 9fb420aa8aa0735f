"""Random programs of rows with operands that repeat along some dims. Each one is only compiled: it must become kernels
for every target, and at its sizes a launch must have a point.

    row_points.py [--seed=N] [--count=N] [--seconds=S] [--keep=FOLDER]

Extents are numbers or dims, from 1 to 200000. Prints how many programs there were, and each one that failed."""
import argparse
import math
import os
import random
import subprocess
import tempfile
import time

import shares

TARGETS = ["sm_80", "sm_90a"]
LARGEST = 2 ** 31 - 2 ** 17  # elements


class Program:
    """A compute @f of x [n, c, s] and of operands that have some of these dims, and the sizes of its dims."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scalar = self.pick(["f32", "f32", "f16", "bf16"])
        self.groups = self.pick([1, 1, 2, 3, 4, 8, 32])
        c = self.groups * self.draw(1, 40)
        n, s = self.draw(1, max(1, 100000 // c)), self.draw(1, 200000)
        if self.chance(0.5):
            s = max(4, s // 4 * 4)
        while n * c * s > LARGEST:
            n, s = max(1, n // 2), max(1, s // 2)
        self.sizes = {"n": n, "c": c, "s": s}
        self.dims = {d: d if self.chance(0.2) else str(size) for d, size in self.sizes.items()}
        self.args, self.lines = [f"%x: tensor<{self.scalar}[{self.shape('ncs')}]>"], []
        self.build()

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, p):
        return self.random.random() < p

    def draw(self, low, high):
        return round(math.exp(self.random.uniform(math.log(low), math.log(high))))

    def shape(self, dims):
        """[n, 1, s] for "n1s"."""
        return ", ".join(self.dims.get(d, d) for d in dims)

    def operand(self):
        dims = self.pick(["111", "nc1", "1c1", "11s", "n11", "ncs", "1cs"])
        name = f"%w{len(self.args)}"
        flat = dims.replace("1", "") or "1"
        if self.chance(0.5):
            self.args.append(f"{name}: tensor<{self.scalar}[{self.shape(dims)}]>")
            return f"f32({name})"
        self.args.append(f"{name}: tensor<{self.scalar}[{self.shape(flat)}]>")
        return f"f32((reshape({name}) : [{self.shape(dims)}]))"

    def chain(self, value):
        for _ in range(self.random.randint(0, 2)):
            value = f"({value} {self.pick('+-*')} {self.operand()})"
        return value

    def add(self, *lines):
        self.lines += lines

    def reduce(self, v, axis):
        """Adds %e, what is computed of rows. Returns whether it has all their elements."""
        kind = self.pick(["norm", "rms", "softmax", "scan", "sum", "max", "log_sum_exp"])
        if kind == "norm":
            self.add(f"%m = reduce_add({v}, axis = {axis}) * 0.001", f"%d = {v} - %m",
                     f"%v = reduce_add(%d * %d, axis = {axis}) * 0.001", "%e = %d * rsqrt(%v + 1.0e-5)")
        elif kind == "rms":
            self.add(f"%v = reduce_add({v} * {v}, axis = {axis}) * 0.001", f"%e = {v} * rsqrt(%v + 1.0e-5)")
        elif kind == "softmax":
            self.add(f"%p = exp({v} - reduce_max({v}, axis = {axis}))", f"%e = %p / reduce_add(%p, axis = {axis})")
        elif kind == "log_sum_exp":
            self.add(f"%t = reduce_max({v}, axis = {axis})", f"%e = log(reduce_add(exp({v} - %t), axis = {axis})) + %t")
        else:
            self.add(f"%e = {'scan_add' if kind == 'scan' else 'reduce_add' if kind == 'sum' else 'reduce_max'}"
                     f"({v}, axis = {axis})")
        return kind in ("norm", "rms", "softmax", "scan")

    def build(self):
        n, c, s = (self.dims[d] for d in "ncs")
        view = self.pick(["rows", "rows", "group", "all", "columns", "channels"])
        rows = {"rows": [f"{n} * {c}", s], "group": [f"{n} * {self.groups}", f"{c} / {self.groups} * {s}"],
                "all": [n, f"{c} * {s}"]}.get(view)
        axis = 2 if view == "columns" else 1
        self.add(f"%a = {self.chain('f32(%x)')}")
        if rows:
            self.add(f"%b = reshape(%a) : [{', '.join(rows)}]")
        dims = rows or [n, c, s]
        whole = self.reduce("%b" if rows else "%a", axis)
        value = "%e"
        if not whole:
            dims = dims[:axis] + ["1"] + dims[axis + 1:]
        elif not rows or self.chance(0.7):
            value = self.chain(f"(reshape(%e) : [{n}, {c}, {s}])" if rows else "%e")
            dims = [n, c, s]
        self.add(f"%y = {self.scalar}({value} * 1.0)")
        self.result = f"%y: tensor<{self.scalar}[{', '.join(dims)}]>"

    def text(self):
        open_dims = ", ".join(f"{d}: dim" for d in "ncs" if self.dims[d] == d)
        lines = "\n  ".join(self.lines)
        return (f"compute @f{'<' + open_dims + '>' if open_dims else ''}({', '.join(self.args)})\n"
                f"    -> ({self.result})\n{{\n  {lines}\n}}\n")


def tilec(path, target, *options):
    return subprocess.run(["tilec", path, f"--target={target}", "--no-cache", *options], capture_output=True, text=True)


def find_fault(program, path):
    """None, or what is wrong."""
    sizes = [f"--arg={d}={program.sizes[d]}" for d in "ncs" if program.dims[d] == d]
    for target in TARGETS:
        compiled = tilec(path, target, "-o", os.devnull)
        if compiled.returncode:
            return f"{target}: {compiled.stderr.splitlines()[0]}"
        listed = tilec(path, target, "--list-points", *sizes)
        points = listed.stdout.splitlines()
        if listed.returncode or (points and all("  dropped:" in point for point in points)):
            return f"{target}, {' '.join(sizes)}: no point: {(listed.stderr + listed.stdout).splitlines()[0]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    for name, kind, default in [("seed", int, 1), ("count", int, 100), ("seconds", float, 1e9), ("keep", str, None)]:
        parser.add_argument("--" + name, type=kind, default=default)
    o = parser.parse_args()
    seed, count, seconds = shares.draw(o.seed, o.count, o.seconds)
    folder = o.keep or tempfile.mkdtemp()
    end, checked, wrong = time.time() + seconds, 0, 0
    for i in range(seed, seed + count):
        if time.time() > end and checked >= 8:
            break
        program, path = Program(i), os.path.join(folder, f"rows_{i}.tile")
        with open(path, "w") as file:
            file.write(program.text())
        fault = find_fault(program, path)
        checked += 1
        wrong += fault is not None
        if fault:
            print(f"seed {i}: {fault}\n{program.text()}")
        elif not o.keep:
            os.remove(path)
    print(f"{checked} programs, {wrong} wrong")


if __name__ == "__main__":
    main()

"""Random reductions over windows beside loops: at level 1, and as kernels.

usage: windows.py SEED COUNT FOLDER
"""
import functools
import itertools
import math
import operator
import random
import subprocess
import sys

import shares
from npy_i32 import read, write

KINDS = {"add": sum, "max": max, "min": min, "mul": math.prod, "xor": lambda numbers: functools.reduce(operator.xor, numbers)}


def run(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode == 0, " ".join(words) + "\n" + ran.stdout


def dims(shape, first=0):
    """With `first`, the first extent is a multiple of the dim n, whose value is `first`: with unknown extents, threads
    compute several neighbors even of small results."""
    texts = list(map(str, shape))
    if first:
        texts[0] = "n" if shape[0] == first else "n * %d" % (shape[0] // first)
    return "[%s]" % ", ".join(texts)


def tensor(name, shape, first=0):
    return "tensor<%s%s>" % (name, dims(shape, first))


class Windows:
    """A window operation of an array [before.., spatial.., after..], and a reduction of its positions. far: a stride of
    several elements along the last spatial dim, and as many positions."""

    def __init__(self, draw, shape, axis, spatial, far=False):
        self.shape, self.axis, self.spatial = shape, axis, spatial
        draws = lambda low, high: [draw.randint(low, high) for _ in range(spatial)]
        self.strides = draws(1, 3) if draw.random() < 0.5 else [1] * spatial
        self.dilations = draws(1, 3) if draw.random() < 0.3 else [1] * spatial
        self.pads = [0] * spatial if draw.random() < 0.3 else draws(-2, 3)
        self.positions = draws(1, 4 if spatial < 3 else 3)
        if far:
            self.strides[-1], self.dilations[-1] = draw.randint(3, 9), 1
            self.positions[-1] = draw.choice([self.strides[-1], draw.randint(4, 2 * self.strides[-1])])
        self.windows = []
        for i in range(spatial):
            spread = shape[axis + i] + 2 * self.pads[i] - (self.positions[i] - 1) * self.dilations[i] - 1
            self.windows.append(max(1, spread // self.strides[i] + 1) + (draw.random() < 0.1))
        self.before, self.after = shape[:axis], shape[axis + spatial:]
        self.kind = draw.choice(["add", "add", "max", "max", "min", "mul", "xor"])
        self.pad = 0 if self.kind == "add" and draw.random() < 0.7 else draw.choice([0, -100, 100, 1])
        self.form = draw.choice(["folded", "flat", "twice"])
        if self.form == "flat" and self.after:
            self.form = "folded"
        self.weights = draw.random() < 0.25 and self.kind == "add"
        self.index = self.kind in ("max", "min") and self.form != "twice" and draw.random() < 0.2
        self.nan = self.kind in ("max", "min") and not self.index and draw.random() < 0.5
        self.result = self.before + self.windows + self.after

    def pad_of(self, kind, element):
        if element == "i32":
            return str(self.pad)
        if self.pad == -100 and kind == "max" and element != "i8" and not self.index:
            return "-inf"
        return str(max(-1, min(1, self.pad))) + ("" if element == "i8" else ".0")

    def text(self, source, kind, element, out, n):
        """Lines that compute the value `out` of the source's value, whose shape is self.result."""
        whole = self.before + self.windows + self.positions + self.after
        count = math.prod(self.positions)
        folded = self.before + self.windows + [count] + self.after
        lines = ["%%v%s = window %s, %s, %s, %s {axis = %d, pad = %s} : %s" % (
            out, source, dims(self.strides), dims(self.pads), dims(self.dilations), self.axis,
            self.pad_of(kind, element), dims(whole, n))]
        at = self.axis + self.spatial
        flag = ", nan" if self.nan and not element.startswith("i") else ""
        name = "arg_" + kind if self.index else kind
        results = "%%s%s, %%i%s" % (out, out) if self.index else "%%s%s" % out
        if self.form == "twice":
            value = "%%v%s" % out
            if self.weights:
                value = "%%m%s" % out
                lines.append("%%w%s = reshape(%%w) : %s" % (out, dims([1] * at + self.positions + [1] * len(self.after))))
                lines.append("%s = %%v%s * (broadcast(%%w%s) : %s)" % (value, out, out, dims(whole, n)))
            for i in reversed(range(self.spatial)):
                lines.append("%%t%s_%d = reduce_%s %s {axis = %d%s}" % (out, i, kind, value, at + i, flag))
                value = "%%t%s_%d" % (out, i)
            lines.append("%%%s = reshape %s : %s" % (out, value, dims(self.result, n)))
            return lines
        shape = folded if self.form == "folded" else [math.prod(self.before + self.windows), count]
        axis = at if self.form == "folded" else 1
        lines.append("%%f%s = reshape %%v%s : %s" % (out, out, dims(shape, n)))
        value = "%%f%s" % out
        if self.weights:
            ones = [count if i == axis else 1 for i in range(len(shape))]
            lines.append("%%w%s = reshape %%w : %s" % (out, dims(ones)))
            lines.append("%%m%s = %s * (broadcast(%%w%s) : %s)" % (out, value, out, dims(shape, n)))
            value = "%%m%s" % out
        lines.append("%s = reduce_%s %s {axis = %d%s}" % (results, name, value, axis, flag))
        lines.append("%%%s = reshape %%s%s : %s" % (out, out, dims(self.result, n)))
        return lines

    def compute(self, elements, weights):
        """The loops of the definition."""
        result = []
        for at in itertools.product(*map(range, self.result)):
            numbers = []
            for p, tap in enumerate(itertools.product(*map(range, self.positions))):
                place, inside = 0, True
                for d, extent in enumerate(self.shape):
                    i, own = d - self.axis, at[d]
                    if 0 <= i < self.spatial:
                        own = own * self.strides[i] + tap[i] * self.dilations[i] - self.pads[i]
                    inside &= 0 <= own < extent
                    place = place * extent + own
                number = elements[place] if inside else self.pad
                numbers.append(number * weights[p] if self.weights else number)
            result.append(KINDS[self.kind](numbers))
        return result


class Case:
    def __init__(self, draw, number):
        self.number = number
        spatial = draw.choice([1, 1, 2, 2, 2, 3])
        before = draw.choice([[draw.randint(1, 3)], [draw.randint(1, 3)], [draw.randint(1, 2), draw.randint(1, 3)]])
        after = draw.choice([[], [], [draw.choice([1, 3, 8, 16, 40])]])
        high = {1: 70, 2: 20, 3: 7}[spatial]
        far = draw.random() < 0.4
        inner = [draw.randint(1, high) for _ in range(spatial)]
        if far:
            inner[-1] = draw.randint(9, 150 if spatial < 3 else 40)
            after = draw.choice([[], [], after])
        if len(before) + 2 * spatial + len(after) > 8:
            before = before[:1]
        self.shape = before + inner + after
        self.first = Windows(draw, self.shape, len(before), spatial, far)
        self.second = None
        if draw.random() < 0.25:
            self.second = Windows(draw, self.first.result, len(before), spatial)
            self.second.index = self.second.weights = False
        self.before_text = draw.choice([None, None, "max", "square"])
        self.after_text = draw.choice([None, "add"])
        self.merged = draw.random() < 0.3
        self.named = draw.random() < 0.7
        self.elements = [draw.randint(-9, 9) for _ in range(math.prod(self.shape))]
        self.weights = [draw.randint(-3, 3) for _ in range(math.prod(self.first.positions))]

    def compute(self):
        numbers = self.elements
        if self.before_text == "max":
            numbers = [max(n, 1) for n in numbers]
        if self.before_text == "square":
            numbers = [n * n for n in numbers]
        wrap = lambda n: (n + (1 << 31)) % (1 << 32) - (1 << 31)
        numbers = [wrap(n) for n in self.first.compute(numbers, self.weights)]
        if self.second:
            numbers = [wrap(n) for n in self.second.compute(numbers, [])]
        return [wrap(n + 3) for n in numbers] if self.after_text else numbers

    def text(self, name, element, floats):
        lines, source = [], "%x"
        n = self.shape[0] if self.named and self.first.before else 0
        kind = lambda w: "add" if floats and w.kind in ("xor", "mul") else w.kind
        if self.before_text:
            lines.append("%%b = %s" % ("max(%x, %x * 0 + 1)" if self.before_text == "max" else "%x * %x"))
            source = "%b"
        lines += self.first.text(source, kind(self.first), element, "p", n)
        last, shape = "%p", self.first.result
        if self.second:
            lines += self.second.text("%p", kind(self.second), element, "q", n)
            last, shape = "%q", self.second.result
        if self.after_text:
            lines.append("%e = " + last + " + 3")
            last = "%e"
        if self.merged and len(shape) > 1:
            shape = [shape[0] * shape[1]] + shape[2:]
            lines.append("%%o = reshape %s : %s" % (last, dims(shape, n)))
            last = "%o"
        results = [("y", element, shape)]
        lines.append("%%y = %s" % last)
        if self.first.index:
            count = self.first.before + self.first.windows + [1] + self.first.after
            results.append(("k", "i32", count if self.first.form == "folded" else [math.prod(self.first.before + self.first.windows), 1]))
            lines.append("%k = %ip")
        weights = ", %%w: %s" % tensor(element, [len(self.weights)]) if self.first.weights else ""
        return "compute @%s%s(%%x: %s%s) -> (%s)\n{\n%s\n}\n" % (
            name, "<n: dim>" if n else "", tensor(element, self.shape, n), weights,
            ", ".join("%%%s: %s" % (r, tensor(e, s, n)) for r, e, s in results), "\n".join("  " + line for line in lines))


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = 0
    for number, c in shares.take([(i, Case(draw, i)) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        element = ["f32", "f16", "bf16", "i8", "f64"][number % 5]
        with open(file, "w") as text:
            text.write(c.text("whole", "i32", False) + "\n" + c.text("other", element, element != "i8"))
        write("%s/%d.x.npy" % (folder, number), c.shape, c.elements)
        write("%s/%d.w.npy" % (folder, number), [len(c.weights)], c.weights)
        names = ["x"] + (["w"] if c.first.weights else [])
        given = ["--arg=%s=@%s/%d.%s.npy" % (n, folder, number, n) for n in names]
        results = ["--arg=y=poison"] + (["--arg=k=poison"] if c.first.index else [])
        saved = "%s/%d.y.npy" % (folder, number)
        ok, said = run(["tile-run", file, "--kernel=whole", "--device=cpu", "--level=1", "--save", "y=" + saved] + given)
        if ok and read(saved) != c.compute():
            ok, said = False, file + ": level 1 differs from the loops"
        for level in 2, 3:
            if ok:
                ok, said = run(["tile-run", file, "--kernel=whole", "--device=cpu", "--check", "--level=%d" % level] + given + results)
            if ok:
                ok, said = run(["tile-run", file, "--kernel=other", "--device=cpu", "--check", "--level=%d" % level] +
                               ["--arg=%s=int:%s[%s]" % (n, element, ",".join(map(str, shape)))
                                for n, shape in zip("xw", [c.shape, [len(c.weights)]]) if n in names] + results)
        if not ok:
            failed += 1
            print(said)
    print("%d windows, %d failed" % (tried, failed))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

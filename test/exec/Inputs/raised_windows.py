"""Random products of windows, which `schedule` turns into convolutions: level 1 computes the windows, the kernels do not.

usage: raised_windows.py SEED COUNT FOLDER
"""
import math
import random
import sys

import raised
import shares


class Case:
    """Windows of [n, c, ..] or of [n, .., c], moved to a matrix, and multiplied by a filter with two dims."""

    def __init__(self, draw):
        s = self.spatial = draw.choice([1, 2, 2, 2])
        self.taps = [draw.randint(1, 3) for _ in range(s)]
        self.strides = [draw.choice([1, 1, 2]) for _ in range(s)]
        self.dilations = [draw.choice([1, 1, 2, -1]) for _ in range(s)]
        self.between = [draw.choice([1, 1, 1, 2]) for _ in range(s)]
        self.n, self.c, self.k = draw.randint(1, 2), draw.choice([4, 8, 24, 64]), draw.choice([5, 8, 16])
        # Enough elements that moving the channels pays.
        wanted = 560000 // (self.n * self.c * math.prod(self.taps))
        last = draw.choice([8, 17, 40])
        self.places = [max(2, wanted // last), last] if s == 2 else [max(2, wanted)]
        self.inputs, self.pads = [], []
        for i in range(s):
            pad = draw.randint(-1, 2)
            reach = (self.places[i] - 1) * self.strides[i] + (self.taps[i] - 1) * abs(self.dilations[i]) + 1 - pad - draw.randint(0, 2)
            self.inputs.append(max(1, (reach - 1) // self.between[i] + 1))
            self.pads.append(pad + (self.taps[i] - 1) * (self.dilations[i] if self.dilations[i] < 0 else 0))
        self.channels_first = draw.random() < 0.7
        self.windows_first = draw.random() < 0.4  # the windows are lhs
        self.merged = draw.random() < 0.5  # n is one of the places
        self.turned = [draw.random() < 0.3 for _ in range(2)]
        self.terms = draw.choice(["c345", "345c"])
        self.type = draw.choice(["f16", "f16", "bf16", "i8", "tf32"])

    def text(self):
        s = self.spatial
        extents = {"n": self.n, "c": self.c, "k": self.k}
        for i in range(s):
            extents[str(i)], extents[str(3 + i)] = self.places[i], self.taps[i]
        digits, positions = "012"[:s], "345"[:s]
        own = "nc" + digits + positions if self.channels_first else "n" + digits + positions + "c"
        terms = self.terms.replace("345", positions)
        places = ("n" if self.merged else "") + digits
        last = self.windows_first != self.turned[not self.windows_first]
        order = ("" if self.merged else "n") + (places + terms if last else terms + places)
        size = lambda letters: math.prod(extents[letter] for letter in letters)
        matrix = ([] if self.merged else [self.n]) + ([size(places), size(terms)] if last else [size(terms), size(places)])
        k_first = self.turned[1] if self.windows_first else not self.turned[0]
        filters = [self.k, size(terms)] if k_first else [size(terms), self.k]
        result = ([] if self.merged else [self.n]) + ([size(places), self.k] if self.windows_first else [self.k, size(places)])
        src = [self.n, self.c] + self.inputs if self.channels_first else [self.n] + self.inputs + [self.c]
        memory = "f32" if self.type == "tf32" else self.type
        sums = "i32" if self.type == "i8" else "f32"
        shape = lambda numbers: "[%s]" % ", ".join(map(str, numbers))
        attributes = "axis = %d" % (2 if self.channels_first else 1)
        if self.between != [1] * s:
            attributes += ", input_dilations = %s" % self.between
        lines = ["%%v = window %%x, %s, %s, %s {%s} : %s" % (self.strides, self.pads, self.dilations, attributes, shape(extents[d] for d in own))]
        matrix_name = "%v"
        if order != own:
            lines.append("%%t = transpose(%%v, order = %s)" % [own.index(d) for d in order])
            matrix_name = "%t"
        lines.append("%%m = reshape(%s) : %s" % (matrix_name, shape(matrix)))
        names = ["%m", "%f"] if self.windows_first else ["%f", "%m"]
        if self.type == "tf32":
            names = ["tf32(%s)" % name for name in names]
        turned = self.turned[:]
        windows = 0 if self.windows_first else 1
        turned[windows] = last != (windows == 0)
        turned[1 - windows] = k_first != (windows == 1)
        flags = ["trans_lhs"] * turned[0] + ["trans_rhs"] * turned[1]
        lines.append("%%y = matmul(%s) : %s" % (", ".join(names + flags), sums))
        return "compute @f(%%x: tensor<%s%s>, %%f: tensor<%s%s>) -> (%%y: tensor<%s%s>)\n{\n  %s\n}\n" % (
            memory, shape(src), memory, shape(filters), sums, shape(result), "\n  ".join(lines))


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = several = 0
    for number, text in shares.take([(i, Case(draw).text()) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        right, many = raised.check(text, file)
        failed += not right
        several += many > 1
    print("%d products of windows, %d failed" % (tried, failed))
    print("%d of several kernels" % several, file=sys.stderr)
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

"""Random convolutions beside the loops of their definition: at level 1, and as kernels.

usage: convolutions.py SEED COUNT FOLDER
"""
import itertools
import math
import random
import subprocess
import sys

import shares
from npy_i32 import read, write

LETTERS = "abdefghijlmopqrstuvwxyz"  # of spatial dims


def shuffled(draw, letters):
    """The letters in any order; digits keep theirs, as lists go by the order in which spatial dims appear."""
    places = draw.sample(range(len(letters)), len(letters))
    spatial = iter(sorted(c for c in letters if c.isdigit()))
    mixed = [letters[i] for i in places]
    return "".join(next(spatial) if c.isdigit() else c for c in mixed)


class Convolution:
    def __init__(self, draw):
        self.spatial = s = draw.choice([1, 1, 2, 2, 2, 3])
        digits = "".join(map(str, range(s)))
        common = [("n%sc" % digits, "%sck" % digits, "n%sk" % digits), ("nc%s" % digits, "kc%s" % digits, "nk%s" % digits),
                  ("n%sc" % digits, "k%sc" % digits, "n%sk" % digits)]
        self.orders = draw.choice(common) if draw.random() < 0.6 else tuple(
            shuffled(draw, letters) for letters in ("nc" + digits, "ck" + digits, "nk" + digits))
        self.groups, self.batch_groups = draw.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (40, 1)])
        c = draw.choice([1, 1, 2, 3, 5, 8, 16])  # channels of a group; 8 and more may be moved to the last dim
        self.extents = {"n": draw.randint(1, 2) * self.batch_groups, "c": c * self.groups,
                        "k": draw.randint(1, 4) * self.groups * self.batch_groups}
        draws = lambda low, high: [draw.randint(low, high) for _ in range(s)]
        self.strides = draws(1, 3) if draw.random() < 0.5 else [1] * s
        self.dilations = draws(1, 2) if draw.random() < 0.4 else [1] * s
        self.between = draws(1, 3) if draw.random() < 0.4 else [1] * s
        self.reverse = draws(0, 1) if draw.random() < 0.4 else [0] * s
        self.pads = [(0, 0)] * s if draw.random() < 0.3 else [(draw.randint(-1, 3), draw.randint(-1, 3)) for _ in range(s)]
        self.inputs = draws(1 if s < 3 else 2, 7 if s < 3 else 4)
        self.taps = draws(1, 3)
        # A batch of unknown extent counts as large, so that lhs gets contiguous channels.
        self.batch = "n" if self.batch_groups == 1 and draw.random() < 0.5 else None
        self.places = []
        for i in range(s):
            spread = (self.inputs[i] - 1) * self.between[i] + 1 + sum(self.pads[i])
            covered = (self.taps[i] - 1) * self.dilations[i] + 1
            self.places.append(max(0, (spread - covered) // self.strides[i] + 1) if spread >= covered else 0)

    def shape(self, array):
        sizes = [self.inputs, self.taps, self.places][array]
        extents = dict(self.extents, **{str(i): sizes[i] for i in range(self.spatial)})
        if array == 1:
            extents["c"] //= self.groups
        if array == 2:
            extents["n"] //= self.batch_groups
        return [extents[letter] for letter in self.orders[array]]

    def typed(self, name, array):
        """The type; the batch is a dim if it has a name."""
        shape = [self.batch if letter == "n" and self.batch else extent for letter, extent in zip(self.orders[array], self.shape(array))]
        return "tensor<%s[%s]>" % (name, ", ".join(map(str, shape)))

    def dims(self):
        names = [{str(i): LETTERS[(7 * a + i) % len(LETTERS)] for i in range(self.spatial)} for a in range(3)]
        texts = ["".join(names[a].get(c, c) for c in self.orders[a]) for a in range(3)]
        return "%s,%s->%s" % tuple(texts)

    def attributes(self):
        lists = {"strides": self.strides, "dilations": self.dilations, "input_dilations": self.between,
                 "reverse": self.reverse, "pads": [p for pair in self.pads for p in pair]}
        texts = ['dims = "%s"' % self.dims()]
        for name, numbers in lists.items():
            if any(n != (1 if name.endswith(("strides", "dilations")) else 0) for n in numbers):
                texts.append("%s = %s" % (name, numbers))
        for name in "groups", "batch_groups":
            if getattr(self, name) != 1:
                texts.append("%s = %d" % (name, getattr(self, name)))
        return ", ".join(texts)

    def at(self, elements, array, coordinates):
        place = 0
        for letter, extent in zip(self.orders[array], self.shape(array)):
            place = place * extent + coordinates[letter]
        return elements[place]

    def compute(self, x, f):
        """The loops of the definition."""
        result, shape = [], self.shape(2)
        batch = self.extents["n"] // self.batch_groups
        filters = self.extents["k"] // (self.groups * self.batch_groups)
        channels = self.extents["c"] // self.groups
        for at in itertools.product(*map(range, shape)):
            at = dict(zip(self.orders[2], at))
            group = at["k"] // filters
            total = 0
            for tap in itertools.product(*map(range, self.taps)):
                source = {}
                for i, t in enumerate(tap):
                    position = at[str(i)] * self.strides[i] + t * self.dilations[i] - self.pads[i][0]
                    if position % self.between[i] or not 0 <= position // self.between[i] < self.inputs[i]:
                        break
                    source[str(i)] = position // self.between[i]
                else:
                    own = {str(i): self.taps[i] - 1 - t if self.reverse[i] else t for i, t in enumerate(tap)}
                    n = at["n"] + (group * batch if self.batch_groups > 1 else 0)
                    first = group * channels if self.groups > 1 else 0
                    for c in range(channels):
                        total += (self.at(x, 0, dict(source, n=n, c=first + c)) * self.at(f, 1, dict(own, c=c, k=at["k"])))
            result.append(total)
        return result


def run(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode == 0, " ".join(words) + "\n" + ran.stdout


def draw_case(draw, number):
    convolution = Convolution(draw)
    shapes = [convolution.shape(a) for a in range(3)]
    arrays = [[draw.randint(-4, 4) for _ in range(math.prod(shape))] for shape in shapes[:2]]
    return number, convolution, shapes, arrays


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = 0
    for number, c, shapes, arrays in shares.take([draw_case(draw, i) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as text:
            for name, inputs, sums in ("whole", "i32", "i32"), ("half", "f16", "f32"):
                text.write("compute @%s%s(%%x: %s, %%f: %s) -> (%%y: %s)\n{\n  %%y = convolve %%x, %%f {%s} : %s\n}\n\n" % (
                    name, "<n: dim>" if c.batch else "", c.typed(inputs, 0), c.typed(inputs, 1), c.typed(sums, 2), c.attributes(), sums))
        for name, shape, elements in zip("xf", shapes, arrays):
            write("%s/%d.%s.npy" % (folder, number, name), shape, elements)
        saved = "%s/%d.y.npy" % (folder, number)
        sizes = ["--arg=n=%d" % c.extents["n"]] if c.batch else []
        ok, said = run(["tile-run", file, "--kernel=whole", "--device=cpu", "--level=1", "--save", "y=" + saved] +
                       ["--arg=%s=@%s/%d.%s.npy" % (name, folder, number, name) for name in "xf"])
        if ok and read(saved) != c.compute(*arrays):
            ok, said = False, file + ": level 1 differs from the loops"
        if ok and 0 not in shapes[2]:
            ok, said = run(["tile-run", file, "--kernel=half", "--device=cpu", "--arg=x=int", "--arg=f=int", "--arg=y=poison",
                            "--check"] + sizes)
        if not ok:
            failed += 1
            print(said)
    print("%d convolutions, %d failed" % (tried, failed))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

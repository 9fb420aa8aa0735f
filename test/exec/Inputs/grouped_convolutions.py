"""Random convolutions in groups with few channels, and gradients of filters, as kernels compared with level 1.

Half of the groups have infinities and NaN, which must not reach the other ones.

usage: grouped_convolutions.py SEED COUNT FOLDER
"""
import random
import subprocess
import sys

import shares

TYPES = [("f16", "%x, %f", ""), ("f16", "%x, %f", ""), ("bf16", "%x, %f", ""), ("f32", "%x, %f", ""),
         ("f32", "tf32(%x), tf32(%f)", ""), ("f32", "%x, %f", "precision = tf32")]


def tensor(element, shape):
    return "tensor<%s[%s]>" % (element, ", ".join(map(str, shape)))


class Case:
    """The convolution of x and f. finite: along this dim of x so many indices are finite, and so many are not."""

    def text(self):
        element, operands, precision = self.element
        attributes = self.attributes + [precision] * bool(precision)
        body = "convolve(%s, %s) : f32" % (operands, ", ".join(attributes))
        return "compute @f(%%x: %s, %%f: %s) -> (%%y: %s)\n{\n  %%y = %s\n}\n" % (
            tensor(element, self.x), tensor(element, self.f), tensor(element, self.y),
            body if element == "f32" else "%s(%s)" % (element, body))

    def words(self):
        words = ["--arg=f=int", "--arg=y=poison"]
        if self.finite:
            shape = ",".join(map(str, self.x))
            return words + ["--arg=x=int:%s[%s]:finite@%d=%d" % ((self.element[0], shape) + self.finite)]
        return words + ["--arg=x=int"]


class Groups(Case):
    def __init__(self, draw):
        self.element = draw.choice(TYPES)
        spatial, last = draw.choice([1, 2, 2, 3]), draw.random() < 0.75
        groups = draw.choice([2, 3, 4, 6, 7, 8, 12, 14, 16])
        channels, filters = draw.choice([4, 4, 8, 16, 16, 20, 32, 64]), draw.choice([4, 4, 8, 8, 12, 16, 32])
        while groups > 2 and groups * max(channels, filters) > 256:
            groups //= 2
        one = lambda low, high: [draw.randint(low, high) for _ in range(spatial)]
        taps, strides, dilations = one(1, 3), one(1, 2), one(1, 2)
        pads = [draw.randint(0, 2) for _ in range(2 * spatial)]
        inputs = [(t - 1) * d + draw.randint(1, 40 if spatial == 1 else 5) for t, d in zip(taps, dilations)]
        places = [(h + sum(pads[2 * i:2 * i + 2]) - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1
                  for i, h in enumerate(inputs)]
        order = lambda outer, inner, middle: [outer] + middle + [inner] if last else [outer, inner] + middle
        self.x = order(draw.randint(1, 2), groups * channels, inputs)
        self.f = order(groups * filters, channels, taps)
        self.y = order(self.x[0], groups * filters, places)
        names = ["abd"[:spatial], "ijl"[:spatial], "pqr"[:spatial]]
        dims = ("n%sc,k%sc->n%sk" if last else "nc%s,kc%s->nk%s") % tuple(names)
        self.attributes = ['dims = "%s"' % dims, "groups = %d" % groups, "strides = %s" % strides,
                           "dilations = %s" % dilations, "pads = %s" % pads]
        self.finite = (spatial + 1 if last else 1, channels) if draw.random() < 0.5 else None


class Gradient(Case):
    """The images are channels of the convolution, and the strides of the layer its dilations."""

    def __init__(self, draw):
        self.element = draw.choice(TYPES)
        spatial, images = draw.choice([1, 2, 2, 3]), draw.randint(1, 4)
        channels, filters = draw.choice([8, 12, 16, 40]), draw.choice([8, 16, 20, 72])
        one = lambda low, high: [draw.randint(low, high) for _ in range(spatial)]
        taps, strides, dilations, places = one(1, 3), one(1, 2), one(1, 2), one(2, 20 if spatial == 1 else 5)
        if draw.random() < 0.2:  # 1 x 1, and images of a multiple of 16 bytes
            taps, strides, dilations, places = [1] * spatial, [1] * spatial, [1] * spatial, [4 * draw.randint(1, 3)] * spatial
        inputs, pads = [], []
        for i in range(spatial):
            spread = (places[i] - 1) * strides[i] + 1 + (taps[i] - 1) * dilations[i]
            first = draw.randint(0, min(2, spread - 1)) if max(taps) > 1 else 0
            inputs.append(max(1, spread - first - (draw.randint(0, 2) if max(taps) > 1 else 0)))
            pads += [first, spread - first - inputs[-1]]
        p, r, s = "abd"[:spatial], "ijl"[:spatial], "uvw"[:spatial]
        order = draw.choice(["k%sn", "%skn", "%snk", "n%sk"]) % s
        extents = dict(zip(s, taps), k=filters, n=channels)
        last = draw.random() < 0.7
        self.x = [images] + inputs + [channels] if last else [images, channels] + inputs
        self.f = [images] + places + [filters] if last else [images, filters] + places
        self.y = [extents[letter] for letter in order]
        dims = ("c%sn,c%sk->%s" if last else "cn%s,ck%s->%s") % (p, r, order)
        self.attributes = ['dims = "%s"' % dims, "strides = %s" % dilations,
                           "dilations = %s" % strides, "pads = %s" % pads]
        self.finite = (spatial + 1 if last else 1, channels // 2) if draw.random() < 0.3 else None


def main(seed, count, folder):
    draw = random.Random(seed)
    cases = [(i, draw.choice([Groups, Gradient])(draw)) for i in range(count)]
    tried = failed = 0
    for number, case in shares.take(cases):
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as text:
            text.write(case.text())
        for target in "sm_90a", "sm_80":
            words = ["tile-run", file, "--device=cpu", "--target=" + target, "--check"] + case.words()
            ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            tried += 1
            if ran.returncode:
                failed += 1
                print(" ".join(words) + "\n" + case.text() + ran.stdout)
    print("%d kernels, %d failed" % (tried, failed))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

"""Transposed convolutions as tracers write them, in random forms: zeros are put between the elements, the filter is
reversed, and windows are multiplied. Level 1 does all that. The kernels must be those of `convolve`.

usage: transposed_convolutions.py SEED COUNT FOLDER
"""
import math
import random
import re
import subprocess
import sys

import shares


STORED = 1 << 20  # bytes of a product that is stored before its elements are moved
MOST_TERMS = 20_000_000


class Text:
    """The operations of a compute."""

    def __init__(self):
        self.lines = []

    def add(self, operation):
        name = "%%v%d" % len(self.lines)
        self.lines.append("  %s = %s" % (name, operation))
        return name


def shape(numbers):
    return "[%s]" % ", ".join(map(str, numbers))


class Transposed:
    """x: [n, c, ..], w: [c, k / groups, ..], y: [n, k, ..]."""

    def __init__(self, spatial, n, c, k, size, taps, stride=None, pad=None, extra=None, dilation=None, groups=1,
                 element="f16", zeros="flat", flip="flat", windows="one", residual=False):
        one, nothing = [1] * spatial, [0] * spatial
        self.s, self.n, self.c, self.k, self.groups = spatial, n, c, k, groups
        self.size, self.taps, self.stride = size, taps, stride or one
        self.pad, self.extra, self.dilation = pad or nothing, extra or nothing, dilation or one
        self.element, self.zeros, self.flip, self.windows = element, zeros, flip, windows
        self.residual = residual
        self.spread = [(e - 1) * s + 1 for e, s in zip(self.size, self.stride)]
        self.out = [(e - 1) * s - 2 * p + d * (r - 1) + o + 1 for e, s, p, d, r, o in
                    zip(self.size, self.stride, self.pad, self.dilation, self.taps, self.extra)]

    # Zeros between the elements, as one of several texts.

    def insert_zeros(self, t):
        start = "%x"
        if self.stride == [1] * self.s:
            return start, self.size
        return getattr(self, "zeros_" + self.zeros)(t, start)

    def zeros_flat(self, t, x):
        """One gather along all spatial dims, as one dim."""
        to = [e * s for e, s in zip(self.size, self.stride)]
        at = inside = None
        for i in range(self.s):
            own = shape([to[i] if d == i else 1 for d in range(self.s)])
            digit = t.add("iota {axis = %d, start = 0, step = 1} : tensor<i32%s>" % (i, own))
            place = t.add("div %s, %d" % (digit, self.stride[i]))
            rest = t.add("rem %s, %d" % (digit, self.stride[i]))
            even = t.add("eq %s, 0" % rest)
            at = place if at is None else t.add("add %s, %s" % (t.add("mul %s, %d" % (at, self.size[i])), place))
            inside = even if inside is None else t.add("and %s, %s" % (inside, even))
        every = [self.n, self.c, math.prod(to)]
        mask = t.add("broadcast %s : tensor<i1%s>" % (
            t.add("reshape %s : tensor<i1%s>" % (inside, shape([1, 1, math.prod(to)]))), shape(every)))
        at = t.add("broadcast %s : tensor<i32%s>" % (
            t.add("reshape %s : tensor<i32%s>" % (at, shape([1, 1, math.prod(to)]))), shape(every)))
        flat = t.add("reshape %s : tensor<%s%s>" % (x, self.element, shape([self.n, self.c, math.prod(self.size)])))
        taken = t.add("gather %s, %s {axis = 2}" % (flat, at))
        chosen = t.add("select %s, %s, 0.0" % (mask, taken))
        return t.add("reshape %s : tensor<%s%s>" % (chosen, self.element, shape([self.n, self.c] + to))), to

    def zeros_axes(self, t, x):
        """A gather and a select for each dim."""
        now = [self.n, self.c] + self.size
        for i in range(self.s):
            if self.stride[i] == 1:
                continue
            now[2 + i] = self.spread[i]
            own = shape([now[d] if d == 2 + i else 1 for d in range(len(now))])
            digit = t.add("iota {axis = %d, start = 0, step = 1} : tensor<i32%s>" % (2 + i, own))
            place = t.add("broadcast %s : tensor<i32%s>" % (t.add("div %s, %d" % (digit, self.stride[i])), shape(now)))
            even = t.add("eq %s, 0" % t.add("rem %s, %d" % (digit, self.stride[i])))
            taken = t.add("gather %s, %s {axis = %d}" % (x, place, 2 + i))
            mask = t.add("broadcast %s : tensor<i1%s>" % (even, shape(now)))
            x = t.add("select %s, %s, 0.0" % (mask, taken))
        return x, now[2:]

    def zeros_concat(self, t, x):
        """Zeros after each element, of which the last ones are cut off."""
        now = [self.n, self.c] + self.size
        for i in range(self.s):
            s = self.stride[i]
            if s == 1:
                continue
            split = now[:3 + i] + [1] + now[3 + i:]
            x = t.add("reshape %s : tensor<%s%s>" % (x, self.element, shape(split)))
            none = t.add("splat %s(0.0) : tensor<%s%s>" % (self.element, self.element, shape(now[:3 + i] + [s - 1] + now[3 + i:])))
            x = t.add("concat(%s, %s, axis = %d)" % (x, none, 3 + i))
            now[2 + i] *= s
            x = t.add("reshape %s : tensor<%s%s>" % (x, self.element, shape(now)))
            now[2 + i] = self.spread[i]
            x = t.add("slice %s, %s : tensor<%s%s>" % (x, shape([0] * len(now)), self.element, shape(now)))
        return x, now[2:]

    def zeros_window(self, t, x):
        """Windows of one position."""
        to = [self.n, self.c] + self.spread + [1] * self.s
        x = t.add("window %s, %s, %s {axis = 2, input_dilations = %s} : tensor<%s%s>" % (
            x, shape([1] * self.s), shape([0] * self.s), shape(self.stride), self.element, shape(to)))
        return t.add("reshape %s : tensor<%s%s>" % (x, self.element, shape(to[:2 + self.s]))), self.spread

    # The filter with k first and reversed positions.

    def reverse(self, t):
        kg, cg = self.k // self.groups, self.c // self.groups
        w = "%w"
        if self.groups > 1:
            order = [0, 2, 1] + list(range(3, 3 + self.s))
            w = t.add("reshape %s : tensor<%s%s>" % (w, self.element, shape([self.groups, cg, kg] + self.taps)))
            w = t.add("transpose(%s, order = %s)" % (w, order))
            lead = [self.groups, kg, cg]
        else:
            w = t.add("transpose(%s, order = %s)" % (w, [1, 0] + list(range(2, 2 + self.s))))
            lead = [kg, cg]
        if self.flip == "flat":
            all_taps = math.prod(self.taps)
            w = t.add("reshape %s : tensor<%s%s>" % (w, self.element, shape(lead + [all_taps])))
            at = t.add("iota {axis = %d, start = %d, step = -1} : tensor<i32%s>" % (len(lead), all_taps - 1, shape(lead + [all_taps])))
            w = t.add("gather %s, %s {axis = %d}" % (w, at, len(lead)))
        else:
            for i in range(self.s):
                at = t.add("iota {axis = %d, start = %d, step = -1} : tensor<i32%s>" % (len(lead) + i, self.taps[i] - 1, shape(lead + self.taps)))
                w = t.add("gather %s, %s {axis = %d}" % (w, at, len(lead) + i))
        matrix = ([self.groups, kg] if self.groups > 1 else [kg]) + [cg * math.prod(self.taps)]
        return t.add("reshape %s : tensor<%s%s>" % (w, self.element, shape(matrix)))

    # The windows as a matrix, and what the product's dims are.

    def multiply(self, t):
        x, now = self.insert_zeros(t)
        s, n, cg = self.s, self.n, self.c // self.groups
        pads = [d * (r - 1) - p for d, r, p in zip(self.dilation, self.taps, self.pad)]
        dilations = ", " + shape(self.dilation) if self.dilation != [1] * s else ""
        w = self.reverse(t)
        element = self.element
        multiplied = "tf32" if element == "tf32" else None
        memory = "f32" if element == "tf32" else element
        if self.windows == "one" or s == 1 or self.groups > 1:
            x = t.add("window %s, %s, %s%s {axis = 2} : tensor<%s%s>" % (
                x, shape([1] * s), shape(pads), dilations, memory, shape([n, self.c] + self.out + self.taps)))
            order = [0, 1] + list(range(2 + s, 2 + 2 * s)) + list(range(2, 2 + s))
            x = t.add("transpose(%s, order = %s)" % (x, order))
            lead = [n, self.groups] if self.groups > 1 else [n]
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape(lead + [cg * math.prod(self.taps), math.prod(self.out)])))
            result = lead + [self.k // self.groups, math.prod(self.out)]
            y = t.add("matmul(%s, %s) : tensor<f32%s>" % (w, x, shape(result)))
            return t.add("reshape %s : tensor<f32%s>" % (y, shape([n, self.k] + self.out)))
        one = lambda i: "[1], [%d]%s" % (pads[i], ", [%d]" % self.dilation[i] if dilations else "")
        two = lambda a, b: "[1, 1], [%d, %d]%s" % (pads[a], pads[b], ", [%d, %d]" % (self.dilation[a], self.dilation[b]) if dilations else "")
        if s == 2:  # one dim after the other
            x = t.add("window %s, %s {axis = 3} : tensor<%s%s>" % (x, one(1), memory, shape([n, self.c, now[0], self.out[1], self.taps[1]])))
            x = t.add("window %s, %s {axis = 2} : tensor<%s%s>" % (x, one(0), memory, shape([n, self.c, self.out[0], self.taps[0], self.out[1], self.taps[1]])))
            x = t.add("transpose(%s, order = [0, 1, 3, 5, 2, 4])" % x)
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n, self.c * math.prod(self.taps), math.prod(self.out)])))
            y = t.add("matmul(%s, %s) : tensor<f32%s>" % (w, x, shape([n, self.k, math.prod(self.out)])))
            return t.add("reshape %s : tensor<f32%s>" % (y, shape([n, self.k] + self.out)))
        d, h, v = self.out
        td, th, tv = self.taps
        if self.windows == "depth_first":
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n, self.c, now[0], now[1] * now[2]])))
            x = t.add("window %s, %s {axis = 2} : tensor<%s%s>" % (x, one(0), memory, shape([n, self.c, d, td, now[1] * now[2]])))
            x = t.add("transpose(%s, order = [0, 2, 1, 3, 4])" % x)
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n * d, self.c * td, now[1], now[2]])))
            x = t.add("window %s, %s {axis = 2} : tensor<%s%s>" % (x, two(1, 2), memory, shape([n * d, self.c * td, h, v, th, tv])))
            x = t.add("transpose(%s, order = [0, 1, 4, 5, 2, 3])" % x)
        else:  # the images first
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n * self.c * now[0], now[1], now[2]])))
            x = t.add("window %s, %s {axis = 1} : tensor<%s%s>" % (x, two(1, 2), memory, shape([n * self.c * now[0], h, v, th, tv])))
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n * self.c, now[0], h * v * th * tv])))
            x = t.add("window %s, %s {axis = 1} : tensor<%s%s>" % (x, one(0), memory, shape([n * self.c, d, td, h * v * th * tv])))
            x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n, self.c, d, td, h * v, th * tv])))
            x = t.add("transpose(%s, order = [0, 2, 1, 3, 5, 4])" % x)
        x = t.add("reshape %s : tensor<%s%s>" % (x, memory, shape([n * d, self.c * td * th * tv, h * v])))
        y = t.add("matmul(%s, %s) : tensor<f32%s>" % (w, x, shape([n * d, self.k, h * v])))
        y = t.add("reshape %s : tensor<f32%s>" % (y, shape([n, d, self.k, h * v])))
        return t.add("transpose(%s, order = [0, 2, 1, 3])" % y)

    def head(self):
        kg = self.k // self.groups
        result = "tensor<%s%s>" % (self.element, shape([self.n, self.k] + self.out))
        more = ", %%b: tensor<%s[%d]>, %%r: %s" % (self.element, self.k, result) if self.residual else ""
        return "compute @f(%%x: tensor<%s%s>, %%w: tensor<%s%s>%s) -> (%%y: %s)\n{\n" % (
            self.element, shape([self.n, self.c] + self.size), self.element, shape([self.c, kg] + self.taps), more, result)

    def tail(self, sums):
        """What follows the convolution: a cast, or a bias, a residual and a maximum."""
        t, result = self.element, shape([self.n, self.k] + self.out)
        if not self.residual:
            return "  %%y = cast %s : tensor<%s%s>\n}\n" % (sums, t, result)
        return ("  %%b1 = reshape %%b : tensor<%s%s>\n  %%s1 = %s + f32(%%b1)\n  %%s2 = cast %%s1 : tensor<%s%s>\n"
                "  %%s3 = %%s2 + %%r\n  %%y = max(%%s3, 0.0)\n}\n" % (t, shape([1, self.k] + [1] * self.s), sums, t, result))

    def text(self):
        t = Text()
        y = t.add("reshape %s : tensor<f32%s>" % (self.multiply(t), shape([self.n, self.k] + self.out)))
        return self.head() + "\n".join(t.lines) + "\n" + self.tail(y)

    def convolve(self):
        """The same as one operation."""
        s, cg, kg = self.s, self.c // self.groups, self.k // self.groups
        low = [d * (r - 1) - p for d, r, p in zip(self.dilation, self.taps, self.pad)]
        pads = sum(([a, a + o] for a, o in zip(low, self.extra)), [])
        to = "tensor<f32%s>" % shape([self.n, self.k] + self.out)
        letters = ["hij"[:s], "uvw"[:s], "pqt"[:s]]
        attributes = "pads = %s, dilations = %s, input_dilations = %s, reverse = %s" % (
            pads, self.dilation, self.stride, [1] * s)
        lines = []
        if self.groups > 1:
            order = [1, 0, 2] + list(range(3, 3 + s))
            lines = ["%%g = reshape %%w : %s" % shape([self.groups, cg, kg] + self.taps),
                     "%%m = transpose(%%g, order = %s)" % order,
                     "%%f = reshape %%m : %s" % shape([cg, self.k] + self.taps)]
            attributes += ", groups = %d" % self.groups
        lines.append('%%s = convolve %%x, %s {dims = "nc%s,ck%s->nk%s", %s} : %s' % (
            "%f" if lines else "%w", *letters, attributes, to))
        return self.head() + "".join("  %s\n" % line for line in lines) + self.tail("%s")


def plan(file):
    """The kernels and the plan of a text, without the numbers of its values."""
    made = subprocess.run(["tile-opt", file, "--schedule", "--target=sm_90a"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout
    names = {}
    kernels = re.sub(r"\[(?:[01], )+", "[", made[made.find("\nkernel "):])  # dims of extent 1
    return re.sub(r"%part\d+", lambda found: names.setdefault(found.group(), "%%part_%d" % len(names)), kernels)


def draw_case(draw):
    s = draw.choice([1, 2, 2, 3, 3])
    taps = [draw.randint(1, 5 if s < 3 else 3) for _ in range(s)]
    stride = [draw.choice([1, 2, 2, 3, 4, 5, 6, 7]) for _ in range(s)]
    dilation = [draw.choice([1, 1, 1, 2, 3]) for _ in range(s)]
    groups = draw.choice([1, 1, 1, 2])
    size = [draw.randint(2, [40, 9, 4][s - 1]) for _ in range(s)]
    pad = [draw.randint(0, min(2, d * (r - 1))) for d, r in zip(dilation, taps)]
    extra = [draw.randint(0, max(a, d) - 1) if draw.random() < 0.5 else 0 for a, d in zip(stride, dilation)]
    case = Transposed(s, draw.randint(1, 3), groups * draw.choice([1, 3, 8, 16]), groups * draw.choice([1, 5, 8, 16]),
                      size, taps, stride, pad, extra, dilation, groups, draw.choice(["f16", "f16", "bf16", "f32"]),
                      draw.choice(["flat", "axes", "concat", "window"]), draw.choice(["flat", "axes"]),
                      draw.choice(["one", "depth_first", "images_first"]))
    if s == 3 and case.windows == "one":
        case.windows = "depth_first"  # windows of three dims have eight
    case.residual = draw.random() < 0.4
    if min(case.out) > 0 and draw.random() < 0.15:
        # More filters: the phases of a result of a megabyte are interleaved by a kernel of their own.
        places, terms = case.n * math.prod(case.out), case.c // groups * math.prod(taps)
        filters = groups * -(-STORED // (4 * places * groups))
        if filters * places * terms < MOST_TERMS:
            case.k = filters
    return case if min(case.out) > 0 else draw_case(draw)


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = 0
    for number, case in shares.take([(i, draw_case(draw)) for i in range(count)]):
        tried += 1
        file, other = "%s/%d.tile" % (folder, number), "%s/%d_convolve.tile" % (folder, number)
        for name, text in (file, case.text()), (other, case.convolve()):
            with open(name, "w") as to:
                to.write(text)
        words = ["tile-run", file, "--device=cpu", "--arg=x=int", "--arg=w=int", "--arg=y=poison", "--check"]
        words += ["--arg=b=int", "--arg=r=int"] if case.residual else []
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wrong = ran.returncode or ": 0 wrong" not in ran.stdout
        differ = False
        if case.stride != [1] * case.s:
            plans = plan(file), plan(other)
            # Dims of extent 1 may be elsewhere in views, and are not reversed.
            single = min(case.c, case.k) == case.groups or 1 in case.taps
            counts = [made.count("\nkernel ") for made in plans]
            differ = counts[0] > counts[1] if single else plans[0] != plans[1]
        failed += bool(wrong or differ)
        if wrong:
            print(case.text() + " ".join(words) + "\n" + ran.stdout)
        elif differ:
            print("%s and %s: the kernels differ" % (file, other))
    print("%d transposed convolutions, %d failed" % (tried, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

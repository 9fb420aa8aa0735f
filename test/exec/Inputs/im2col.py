"""Random convolutions whose windows a tensor map describes, as kernels of several points, compared with level 1.

usage: im2col.py SEED COUNT FOLDER
"""
import random
import subprocess
import sys

import shares

# Points of the space of products of 16-bit elements: boxes, clusters that share them, split sums, tiles in turns.
POINTS = [{}, {}, {"block_m": 128, "block_n": 64, "cluster_n": 2}, {"block_m": 128, "block_n": 128, "cluster_m": 2}, {"split": 4},
          {"block_m": 192, "block_n": 192}, {"block_m": 128, "block_n": 192, "consumers": "ping_pong"}, {"block_m": 64, "block_n": 64},
          {"block_m": 112, "block_n": 192}, {"block_m": 16, "block_n": 64, "block_k": 128}, {"strategy": "stream_k"}]
TYPES = {"f16": ("f16", "f32"), "bf16": ("bf16", "f32"), "tf32": ("f32", "f32"), "i8": ("i8", "i32"), "e4m3": ("e4m3", "f32")}


class Convolution:
    def __init__(self, draw):
        self.element = draw.choice(["f16", "f16", "f16", "bf16", "tf32", "i8", "e4m3"])
        wide = self.element in ("i8", "e4m3")
        s = draw.choice([1, 2, 2, 2, 3])
        self.channels = 16 * draw.choice([1, 2, 4, 5]) if wide else 8 * draw.choice([1, 2, 3, 4, 8, 9, 16])
        self.filters, self.batch = draw.choice([8, 16, 40, 64, 128]), draw.choice([1, 2, 3])
        self.named = draw.random() < 0.3
        self.extents, self.filter, self.strides, self.dilations, self.pads, self.places = [], [], [], [], [], []
        for _ in range(s):
            self.add_dim(draw, 20 if s < 3 else 7)
        self.tail = draw.choice(["%s", "%s", "max(%s, 0.0)"]) if not wide else "%s"
        self.result = TYPES[self.element][0] if draw.random() < 0.5 and not wide else TYPES[self.element][1]
        self.point = {} if wide or self.element == "tf32" else draw.choice(POINTS)

    def add_dim(self, draw, most):
        while True:
            extent, taps, dilation = draw.randint(1, most), draw.choice([1, 2, 3, 3, 3, 5][:6 if most > 7 else 5]), draw.choice([1, 1, 1, 2])
            pads = [draw.randint(-1, 3), draw.randint(-1, 3)]
            last = extent + sum(pads) - (taps - 1) * dilation - 1
            if last >= 0:
                break
        stride = draw.choice([1, 1, 1, 2, 3])
        for to, number in ((self.extents, extent), (self.filter, taps), (self.strides, stride), (self.dilations, dilation),
                           (self.places, last // stride + 1)):
            to.append(number)
        self.pads += pads

    def text(self):
        memory, sums = TYPES[self.element]
        names = "dhw"[3 - len(self.extents):]
        typed = lambda element, dims: "tensor<%s[%s]>" % (element, ", ".join(map(str, dims)))
        batch = "n" if self.named else self.batch
        value = "convolve(%s, dims = \"n%sc,k%sc->n%sk\", strides = %s, pads = %s, dilations = %s%s) : %s" % (
            "%x, %f", names, names, names, self.strides, self.pads, self.dilations, ", precision = tf32" if self.element == "tf32" else "", sums)
        value = self.tail % value
        if self.result != sums:
            value = "%s(%s)" % (self.result, value)
        return "compute @f%s(%%x: %s, %%f: %s) -> (%%y: %s)\n{\n  %%y = %s\n}\n" % (
            "<n: dim>" if self.named else "", typed(memory, [batch] + self.extents + [self.channels]),
            typed(memory, [self.filters] + self.filter + [self.channels]), typed(self.result, [batch] + self.places + [self.filters]), value)


def run(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode == 0, " ".join(words) + "\n" + ran.stdout


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = windows = 0
    for number, c in shares.take([(i, Convolution(draw)) for i in range(count)]):
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as text:
            text.write(c.text())
        tried += 1
        windowed = "= im2col %" in run(["tile-opt", file, "--schedule"])[1]
        windows += windowed
        common = ["tile-run", file, "--device=cpu", "--arg=x=int", "--arg=f=int", "--arg=y=poison", "--check"]
        common += ["--arg=n=%d" % c.batch] if c.named else []
        point = ["--param=%s=%s" % one for one in c.point.items()] if windowed else []
        for words in (["--level=2"], ["--target=sm_90a"] + point, ["--target=sm_80"]):
            ok, said = run(common + words)
            if not ok:
                failed += 1
                print(said)
    print("%d convolutions, %d failed; windows: %s" % (tried, failed, "most" if 2 * windows > tried else windows))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

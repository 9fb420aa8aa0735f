"""Random convolutions of channels-first images, as kernels: one position with strides and pads, and transposed ones.

usage: convolutions_nchw.py SEED COUNT FOLDER
"""
import random
import subprocess
import sys

import shares

TYPES = ["f16", "bf16", "tf32", "f32"]
IMAGES = [(7, 7), (14, 14), (8, 8), (13, 9), (16, 24), (28, 28), (5, 16), (27, 27)]


def places(extent, between, pad, taps, stride):
    return ((extent - 1) * between + 1 + 2 * pad - taps) // stride + 1


def draw_case(draw, number):
    """The text of a compute."""
    element, images, channels = draw.choice(TYPES), draw.choice([1, 2, 5]), draw.choice([8, 16, 24, 40, 64, 72])
    filters, (height, width) = draw.choice([8, 16, 33, 64, 96]), draw.choice(IMAGES)
    transposed = draw.random() < 0.6
    taps, stride, pad, between = 1, draw.choice([1, 1, 2]), draw.choice([0, 0, 0, 1]), 1
    if transposed:
        taps, stride, between = draw.choice([2, 3, 4]), 1, draw.choice([2, 2, 3])
        pad = draw.choice([0, taps - 1, max(taps - 2, 0)])
    rows, columns = (places(extent, between, pad, taps, stride) for extent in (height, width))
    if rows < 1 or columns < 1:
        return draw_case(draw, number)
    attributes = 'dims = "nchw,%s->nkpq", pads = [%d, %d, %d, %d]' % ("ckrs" if transposed else "kcrs", pad, pad, pad, pad)
    if transposed:
        attributes += ", input_dilations = [%d, %d], reverse = %s" % (between, between, draw.choice(["[1, 1]", "[0, 0]", "[1, 0]"]))
    if stride > 1:
        attributes += ", strides = [%d, %d]" % (stride, stride)
    if element == "tf32":
        attributes += ", precision = tf32"
    memory = "f32" if element == "tf32" else element
    shape = lambda *extents: "tensor<%s[%s]>" % (memory, ", ".join(map(str, extents)))
    value = "convolve(%%x, %%f, %s) : f32" % attributes
    value = value if memory == "f32" else "%s(%s)" % (memory, value)
    f = (channels, filters, taps, taps) if transposed else (filters, channels, taps, taps)
    return number, "compute @c(%%x: %s, %%f: %s) -> (%%y: %s)\n{\n  %%y = %s\n}\n" % (
        shape(images, channels, height, width), shape(*f), shape(images, filters, rows, columns), value)


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = 0
    for number, text in shares.take([draw_case(draw, i) for i in range(count)]):
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as to:
            to.write(text)
        ran = subprocess.run(["tile-run", file, "--device=cpu", "--target=sm_90a", "--arg", "x=int", "--arg", "f=int",
                              "--arg", "y=poison", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        tried += 1
        if ran.returncode or ": 0 wrong" not in ran.stdout:
            failed += 1
            print(file, text, ran.stdout, sep="\n")
    print("%d convolutions, %d failed" % (tried, failed))


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

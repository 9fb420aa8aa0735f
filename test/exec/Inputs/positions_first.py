"""Random convolutions of f32 as products whose terms are positions of the filter and then channels.

A convolution becomes such a product if it is large (lib/ops/convolution.h); these are small.

usage: positions_first.py SEED COUNT FOLDER
"""
import random
import subprocess
import sys

import shares

TILES = [(8, 64, 64), (8, 256, 8), (24, 256, 8), (24, 256, 16), (32, 64, 32), (64, 64, 16), (96, 64, 16), (128, 128, 16)]


def draw_case(draw, number):
    """The text of a compute, and a tile."""
    spatial, images, groups = draw.choice([1, 2, 2]), draw.choice([1, 2, 3]), draw.choice([1, 1, 1, 2])
    channels, filters = draw.choice([8, 16, 24, 32, 40, 64]), draw.choice([8, 12, 24, 33, 48, 96])
    # The windows of one spatial dim are views.
    tile = draw.choice([t for t in TILES if t[2] <= channels]) if spatial > 1 else None
    numbers = lambda *values: [draw.choice(values) for _ in range(spatial)]
    extents, taps = numbers(9, 16, 21, 32), numbers(2, 3, 3, 4)
    strides, pads, dilations, between = numbers(1, 1, 2), numbers(0, 1, 1, 2), numbers(1, 1, 2), numbers(1, 1, 1, 2)
    places = [((e - 1) * b + 2 * p - (t - 1) * d) // s + 1
              for e, b, p, t, d, s in zip(extents, between, pads, taps, dilations, strides)]
    if min(places) < 1:
        return draw_case(draw, number)
    all_of = lambda values: eval("*".join(map(str, values)))
    terms, dims = all_of(taps) * channels, lambda *parts: "tensor<f32[%s]>" % ", ".join(str(i) for p in parts for i in p)
    batch = [images, groups]
    windows = dims(batch, [channels], places, taps)
    split = dims(batch, [channels], extents)
    order = [0, 1] + list(range(3 + spatial, 3 + 2 * spatial)) + [2] + list(range(3, 3 + spatial))
    text = "compute @c(%%x: %s, %%f: %s) -> (%%y: %s)\n{\n" % (
        dims([images, groups * channels], extents), dims([groups, terms, filters]), dims(batch, [filters, all_of(places)]))
    text += "  %%s = reshape %%x : %s\n" % split
    text += "  %%w = window %%s, %s, %s, %s {axis = 3%s} : %s\n" % (
        strides, pads, dilations, ", input_dilations = %s" % between if max(between) > 1 else "", windows)
    text += "  %%t = transpose %%w {order = %s} : %s\n" % (order, dims(batch, taps, [channels], places))
    text += "  %%m = reshape %%t : %s\n" % dims(batch, [terms, all_of(places)])
    text += "  %y = matmul(%f, %m, trans_lhs) : f32\n}\n"
    return number, text, tile


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = 0
    for number, text, tile in shares.take([draw_case(draw, i) for i in range(count)]):
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as to:
            to.write(text)
        point = ["--param=block_%s=%d" % named for named in zip("mnk", tile or ())]
        ran = subprocess.run(["tile-run", file, "--device=cpu", "--target=sm_90a", "--arg", "x=int", "--arg", "f=int",
                              "--arg", "y=poison", "--check"] + point,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        tried += 1
        if ran.returncode or ": 0 wrong" not in ran.stdout:
            failed += 1
            print(file, point, text, ran.stdout, sep="\n")
    print("%d convolutions, %d failed" % (tried, failed))


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

"""Random convolutions of f32 arrays that are cast to tf32: level 1 computes them as they are written.

usage: rounded_convolutions.py SEED COUNT FOLDER
"""
import sys

import convolution_sweep


def make(draw):
    s = draw.choice([1, 2, 2, 2, 3])
    digits = "012"[:s]
    n, c, k = draw.randint(1, 3), draw.choice([4, 8, 12, 16, 20, 32, 36, 48, 64]), draw.choice([8, 24, 32, 48, 64, 72, 128])
    groups = draw.choice([1, 1, 1, 1, 2])
    taps = [draw.randint(1, 3) for _ in range(s)]
    strides = [draw.choice([1, 1, 2]) for _ in range(s)]
    dilations = [draw.choice([1, 1, 2]) for _ in range(s)]
    pads = [(draw.randint(-1, 2), draw.randint(0, 2)) for _ in range(s)]
    all_taps = 1
    for t in taps:
        all_taps *= t
    wanted = 560000000 // (n * c * k * all_taps * groups)  # places, so that the product takes a kernel of its own
    places = {1: [wanted], 2: [max(2, wanted // 40), 40], 3: [3, max(2, wanted // 60), 20]}[s]
    inputs = [max(1, (places[i] - 1) * strides[i] + (taps[i] - 1) * dilations[i] + 1 - sum(pads[i])) for i in range(s)]
    inputs[-1] += -inputs[-1] % draw.choice([1, 4])  # rows of multiples of 16 bytes are shifted
    places = [(inputs[i] + sum(pads[i]) - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(s)]
    orders = draw.choice([("n" + digits + "c", "k" + digits + "c", "n" + digits + "k"), ("n" + digits + "c", "k" + digits + "c", "nk" + digits),
                          ("n" + digits + "c", digits + "ck", "n" + digits + "k"), ("nc" + digits, "kc" + digits, "nk" + digits)])
    names = ["hij", "uvw", "pqo"]
    sizes = [dict(zip(digits, numbers)) for numbers in (inputs, taps, places)]
    for a, size in enumerate(sizes):
        size.update(n=n, c=c if a == 1 else c * groups, k=k * groups)
    shapes = ["[%s]" % ", ".join(str(sizes[a][letter]) for letter in orders[a]) for a in range(3)]
    texts = ["".join(names[a][int(letter)] if letter.isdigit() else letter for letter in orders[a]) for a in range(3)]
    attributes = ['dims = "%s,%s->%s"' % tuple(texts), "strides = %s" % strides, "dilations = %s" % dilations,
                  "pads = %s" % [p for pair in pads for p in pair], "groups = %d" % groups]
    return "compute @f(%%x: tensor<f32%s>, %%f: tensor<f32%s>) -> (%%y: tensor<f32%s>)\n{\n  %%y = convolve(tf32(%%x), tf32(%%f), %s) : tensor<f32%s>\n}\n" % (
        shapes[0], shapes[1], shapes[2], ", ".join(attributes), shapes[2])


sys.exit(convolution_sweep.run(make, int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]) > 0)

"""Random convolutions of few channels, which kernels read from an array whose channels are windows: level 1 computes them
as they are written.

usage: folded_convolutions.py SEED COUNT FOLDER
"""
import subprocess
import sys

import convolution_sweep


def make(draw):
    s = draw.choice([1, 2, 2, 2, 3, 3])
    element = draw.choice(["f16", "f16", "bf16", "tf32", "precision", "i8"])
    memory, sums = ("f32" if element in ("tf32", "precision") else element), ("i32" if element == "i8" else "f32")
    digits = "012"[:s]
    c, k, n = draw.choice([1, 2, 3, 3, 4, 5, 8, 8, 12, 13, 16]), draw.choice([5, 8, 24]), draw.randint(1, 3)
    taps = [draw.randint(1, 4) for _ in range(s)]
    taps[-1] = draw.randint(2, 5)
    strides = [draw.choice([1, 1, 2]) for _ in range(s)]
    dilations = [draw.choice([1, 1, 2]) for _ in range(s)]
    reverse = [draw.choice([0, 0, 1]) for _ in range(s)]
    pads = [(draw.randint(-1, 3), draw.randint(-1, 3)) for _ in range(s)]
    all_taps = 1
    for t in taps:
        all_taps *= t
    wanted = 2600000 // (n * c * all_taps)  # places, so that an array with windows pays
    places = {1: [wanted], 2: [max(2, wanted // 40), 40], 3: [3, max(2, wanted // 60), 20]}[s]
    inputs = [max(1, (places[i] - 1) * strides[i] + (taps[i] - 1) * dilations[i] + 1 - sum(pads[i])) for i in range(s)]
    places = [(inputs[i] + sum(pads[i]) - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(s)]
    orders = draw.choice([("nc" + digits, "kc" + digits, "nk" + digits), ("n" + digits + "c", "k" + digits + "c", "n" + digits + "k"),
                          ("nc" + digits, digits + "ck", "n" + digits + "k"), ("n" + digits + "c", "k" + digits + "c", "nk" + digits)])
    names = ["hij", "uvw", "pqo"]
    sizes = [dict(zip(digits, numbers)) for numbers in (inputs, taps, places)]
    for size in sizes:
        size.update(n=n, c=c, k=k)
    shapes = ["[%s]" % ", ".join(str(sizes[a][letter]) for letter in orders[a]) for a in range(3)]
    texts = ["".join(names[a][int(letter)] if letter.isdigit() else letter for letter in orders[a]) for a in range(3)]
    attributes = ['dims = "%s,%s->%s"' % tuple(texts), "strides = %s" % strides, "dilations = %s" % dilations, "reverse = %s" % reverse,
                  "pads = %s" % [p for pair in pads for p in pair]]
    if element == "precision":
        attributes.append("precision = tf32")
    operands = "tf32(%x), tf32(%f)" if element == "tf32" else "%x, %f"
    return "compute @f(%%x: tensor<%s%s>, %%f: tensor<%s%s>) -> (%%y: tensor<%s%s>)\n{\n  %%y = convolve(%s, %s) : %s\n}\n" % (
        memory, shapes[0], memory, shapes[1], sums, shapes[2], operands, ", ".join(attributes), sums)


def main(seed, count, folder):
    kernels = []

    def schedule(file):
        kernels.append(subprocess.run(["tile-opt", file, "--schedule", "--target=sm_90a"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)

    failed = convolution_sweep.run(make, seed, count, folder, schedule)
    print("%d with copies of windows" % sum("im2col" in k for k in kernels), file=sys.stderr)
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

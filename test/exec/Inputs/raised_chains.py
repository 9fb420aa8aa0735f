"""Random windows of 2 and 3 dims that are made one dim after the other, with reshapes and transposes between, and
multiplied: level 1 computes the windows, the kernels are those of a convolution.

usage: raised_chains.py SEED COUNT FOLDER
"""
import math
import random
import sys

import raised
import shares


class Text:
    """Lines of a compute. A value is a list of dims; a dim is a list of letters, whose extents are known."""

    def __init__(self, element):
        self.lines, self.count, self.extents, self.element = [], 0, {}, element

    def size(self, letters):
        return math.prod(self.extents[letter] for letter in letters)

    def shape(self, dims):
        return "[%s]" % ", ".join(str(self.size(dim)) for dim in dims)

    def add(self, text):
        self.count += 1
        self.lines.append("%%v%d = %s" % (self.count, text))
        return "%%v%d" % self.count

    def reshape(self, value, dims):
        return self.add("reshape %s : tensor<%s%s>" % (value, self.element, self.shape(dims)))

    def transpose(self, value, dims, to):
        order = [dims.index(dim) for dim in to]
        return value if dims == to else self.add("transpose %s {order = %s} : tensor<%s%s>" % (value, order, self.element, self.shape(to)))

    def cast(self, value, dims, element):
        self.element = element
        return self.add("cast %s : tensor<%s%s>" % (value, element, self.shape(dims)))


def make(draw):
    s = draw.choice([2, 3, 3, 3])
    element = draw.choice(["f16", "f16", "bf16", "tf32", "f32", "i8"])
    memory, sums = ("f32" if element == "tf32" else element), ("i32" if element == "i8" else "f32")
    taps = [draw.randint(1, 3) for _ in range(s)]
    strides = [draw.choice([1, 1, 2]) for _ in range(s)]
    dilations = [draw.choice([1, 1, 2, -1]) for _ in range(s)]
    between = [draw.choice([1, 1, 1, 2]) for _ in range(s)]
    places, inputs, pads = [draw.randint(1, 6) for _ in range(s)], [], []
    for i in range(s):
        pad = draw.randint(-1, 2)
        reach = (places[i] - 1) * strides[i] + (taps[i] - 1) * abs(dilations[i]) + 1 - pad - draw.randint(0, 2)
        inputs.append(max(1, (reach - 1) // between[i] + 1))
        pads.append(pad + (taps[i] - 1) * (dilations[i] if dilations[i] < 0 else 0))
    t = Text(memory)
    t.extents = {"n": draw.randint(1, 3), "c": draw.choice([1, 3, 4, 8, 24]), "k": draw.choice([5, 8, 16])}
    digits, positions = "012"[:s], "345"[:s]
    for i in range(s):
        t.extents[digits[i]] = inputs[i]
    letters = "n" + digits + "c" if draw.random() < 0.3 else "nc" + digits
    source = t.shape(letters)
    value, dims = "%x", list(letters)
    first = ["n", "c"] + list(digits)
    value = t.transpose(value, dims, first)
    # The dims that each window has: the depth before the others, or each one alone, or all.
    steps = draw.choice([[digits], [digits[:1], digits[1:]], list(digits), list(reversed(digits))])
    rows, terms = ["n"], ["c"]  # what is folded into the first two dims
    for at, step in enumerate(steps):
        rest = [d for d in digits if d not in "".join(steps[:at])]
        rest_dims = [d for d in rest if d not in step]
        last = at + 1 == len(steps)
        # The windowed dims after the two; the others follow, as one dim.
        begin = ["".join(rows), "".join(terms)] + list(step) + (["".join(rest_dims)] if rest_dims else [])
        moved = ["".join(rows), "".join(terms)] + [d for d in rest]
        if list(rest) != list(step) + rest_dims:
            value = t.transpose(value, moved, begin[:2] + list(step) + rest_dims)
        value = t.reshape(value, begin)
        numbers = [int(d) for d in step]
        lists = ", ".join("%s" % [values[i] for i in numbers] for values in (strides, pads, dilations))
        for d in step:
            t.extents[d], t.extents[str(int(d) + 3)] = places[int(d)], taps[int(d)]
        windowed = begin[:2] + list(step) + [str(int(d) + 3) for d in step] + begin[2 + len(step):]
        attributes = "axis = 2" + (", input_dilations = %s" % [between[i] for i in numbers] if any(between[i] > 1 for i in numbers) else "")
        value = t.add("window %s, %s {%s} : tensor<%s%s>" % (value, lists, attributes, memory, t.shape(windowed)))
        if last:
            break
        # Places of the step become rows, its positions terms.
        to = [windowed[0]] + list(step) + [windowed[1]] + [str(int(d) + 3) for d in step] + begin[2 + len(step):]
        value = t.transpose(value, windowed, to)
        rows += list(step)
        terms += [str(int(d) + 3) for d in step]
        value = t.reshape(value, ["".join(rows), "".join(terms)] + rest_dims)
    step = steps[-1]
    own = ["".join(rows), "".join(terms)] + list(step) + [str(int(d) + 3) for d in step]
    turned = draw.random() < 0.4  # the terms are the last dim
    windows_first = turned and draw.random() < 0.5
    all_terms = terms + [str(int(d) + 3) for d in step]
    to = [own[0]] + ([*step] + [own[1]] + own[2 + len(step):] if turned else [own[1]] + own[2 + len(step):] + [*step])
    value = t.transpose(value, own, to)
    matrix = [own[0], step, "".join(all_terms)] if turned else [own[0], "".join(all_terms), step]
    value = t.reshape(value, matrix)
    filters = [t.extents["k"], t.size(all_terms)]
    filter_name = "%f"
    if element == "tf32":
        value = t.cast(value, matrix, "tf32")
        filter_name = t.add("cast %%f : tensor<tf32[%d, %d]>" % tuple(filters))
    flags = (["trans_rhs"] if windows_first or turned else [])
    operands = [value, filter_name] if windows_first else [filter_name, value]
    result = [own[0], step, "k"] if windows_first else [own[0], "k", step]
    t.element = sums
    value = t.add("matmul(%s) : %s" % (", ".join(operands + flags), sums))
    # In order all positions must come as those of the dims; chains of another order stay windows.
    split = list(rows) + ([*step, "k"] if windows_first else ["k", *step])
    value = t.reshape(value, split)
    value = t.transpose(value, split, ["n", "k"] + list(digits))
    final = ["n", "k", digits]
    value = t.reshape(value, final)
    if sums == "f32":
        value = t.add("max %s, -100.0" % value)
    text = "compute @f(%%x: tensor<%s%s>, %%f: tensor<%s[%d, %d]>) -> (%%y: tensor<%s%s>)\n{\n  %s\n  %%y = %s\n}\n" % (
        memory, source, memory, filters[0], filters[1], sums, t.shape(final), "\n  ".join(t.lines), value)
    return text, list(steps) != list(reversed(digits)) or s == 1


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = left = 0
    for number, (text, raises) in shares.take([(i, make(draw)) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        right, many = raised.check(text, file)
        failed += not right
        if raises and many > 3:
            left += 1
            print("%s: %d kernels" % (file, many))
    print("%d chains of windows, %d failed, %d of more than 3 kernels" % (tried, failed, left))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

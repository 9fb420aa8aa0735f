"""Random computes whose arguments and results have random strides: permuted, padded, spread and repeated dims.

    strided_computes.py FOLDER COUNT [SEED] [OPTION ...]

Each compute is scheduled and runs on the device. All elements of the results are compared with level 1, which has no
strides, and the elements between those of a result must keep their values. FOLDER is for the texts. Prints the number of
computes that are wrong. OPTIONs are passed to tile-run.
"""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

SIZES = {"f16": 2, "f32": 4, "i32": 4}


class Case:
    """The text of a compute, and the arguments of tile-run."""

    def __init__(self, random_numbers):
        self.random = random_numbers
        self.dims, self.args, self.results, self.body, self.fills = {}, [], [], [], []
        self.arrays = {}

    def extent(self, value):
        """An extent as (text, value): a number, or a dim."""
        if self.random.random() < 0.4:
            return str(value), value
        for name, known in self.dims.items():
            if known == value:
                return name, value
        name = f"d{len(self.dims)}"
        self.dims[name] = value
        return name, value

    def strides(self, shape, is_result):
        """Strides as texts and numbers; None: row-major."""
        if self.random.random() < 0.2:
            return None
        order = list(range(len(shape)))
        if self.random.random() < 0.7:
            self.random.shuffle(order)
        texts, values = [None] * len(shape), [0] * len(shape)
        text, value = ("1", 1) if self.random.random() < 0.85 else ("2", 2)
        for d in reversed(order):
            if not is_result and self.random.random() < 0.08:
                texts[d], values[d] = "0", 0
                continue
            texts[d], values[d] = text, value
            pad = self.random.choice((0, 0, 0, 1, 4, 8))
            if self.random.random() < 0.15:  # a dim of its own
                value *= shape[d][1] + pad
                text, _ = self.extent(max(value, 1))
                value = max(value, 1)
                continue
            length = f"({shape[d][0]} + {pad})" if pad else shape[d][0]
            text = length if text == "1" else f"{length} * {text}"
            value *= shape[d][1] + pad
            value, text = (value, text) if value else (1, "1")
        return texts, values

    def declare(self, name, element, shape, is_result):
        strides = self.strides(shape, is_result)
        row_major, step = [0] * len(shape), 1
        for d in reversed(range(len(shape))):
            row_major[d] = step
            step *= shape[d][1]
        self.arrays[name] = (element, [e[1] for e in shape], strides[1] if strides else row_major)
        suffix = f", strides [{', '.join(strides[0])}]" if strides else ""
        return f"%{name}: tensor<{element}[{', '.join(e[0] for e in shape)}]{suffix}>"

    def argument(self, name, element, shape, fill):
        self.args.append(self.declare(name, element, shape, False))
        self.fills += ["--arg", f"{name}={fill}"]

    def result(self, name, element, shape):
        self.results.append(self.declare(name, element, shape, True))
        self.fills += ["--arg", f"{name}=zeros"]

    def text(self):
        dims = f"<{', '.join(f'{name}: dim' for name in self.dims)}>" if self.dims else ""
        return (f"compute @f{dims}({', '.join(self.args)}) -> ({', '.join(self.results)})\n{{\n  " +
                "\n  ".join(self.body) + "\n}\n")


def shape_of(case, rank, most):
    values = [case.random.choice((1, 2, 3, 5, 8, 16, 17, 32, 33, 64)) for _ in range(rank)]
    while eval("*".join(map(str, values))) > most:
        values[case.random.randrange(rank)] = case.random.choice((1, 2, 3))
    return [case.extent(v) for v in values]


def texts(shape):
    return ", ".join(e[0] for e in shape)


def elementwise(case):
    element = case.random.choice(("f32", "f16", "i32"))
    shape = shape_of(case, case.random.randint(1, 5), 20000)
    case.argument("x", element, shape, "int")
    case.argument("w", element, shape, "int")
    case.body.append("%p = %x * %w")
    case.body.append("%y = %p + %x")
    case.result("y", element, shape)
    if case.random.random() < 0.3:
        case.body.append("%z = %p - %x")
        case.result("z", element, shape)


def moved(case):
    shape = shape_of(case, case.random.randint(2, 4), 10000)
    order = list(range(len(shape)))
    case.random.shuffle(order)
    case.argument("x", "f32", shape, "int")
    case.argument("w", "f32", [shape[d] for d in order], "int")
    case.body.append(f"%t = transpose %x {{order = {order}}}")
    case.body.append("%y = %t + %w")
    case.result("y", "f32", [shape[d] for d in order])


def sliced(case):
    shape = shape_of(case, case.random.randint(1, 4), 10000)
    part = [(str(e[1] - e[1] // 3), e[1] - e[1] // 3) for e in shape]
    whole = [(str(e[1]), e[1]) for e in shape]
    first = [case.random.randint(0, w[1] - p[1]) for w, p in zip(whole, part)]
    case.argument("x", "f32", whole, "int")
    case.body.append(f"%s = slice %x, {first} : [{texts(part)}]")
    axis = case.random.randrange(len(shape))
    case.body.append(f"%c = concat %s, %x {{axis = {axis}}}")
    case.body.append("%y = %c + %c")
    length = part[axis][1] + whole[axis][1]
    both = [(str(length), length) if d == axis else (part if False else whole)[d] for d in range(len(shape))]
    if any(part[d][1] != whole[d][1] for d in range(len(shape)) if d != axis):
        case.body[-2:] = ["%y = %s + %s"]
        both = part
    case.result("y", "f32", both)


def reshaped(case):
    r = case.random
    a, b, c = (r.choice((1, 2, 3, 4, 6, 8, 16)) for _ in range(3))
    forms = [([a, b, c], [a * b, c]), ([a, b, c], [a, b * c]), ([a * b, c], [a, b, c]), ([a, b * c], [a, b, c]),
             ([a, b, c], [a * b * c]), ([a * b, c], [a, b * c]), ([a, b, c], [a, 1, b, c])]
    before, after = ([(str(e), e) for e in shape] for shape in r.choice(forms))
    case.argument("x", "f32", before, "int")
    case.argument("w", "f32", after, "int")
    case.body.append(f"%r = reshape %x : tensor<f32[{texts(after)}]>")
    case.body.append("%y = %r * %w")
    case.result("y", "f32", after)
    if r.random() < 0.5:
        case.body.append(f"%z = reshape %y : tensor<f32[{texts(before)}]>")
        case.result("z", "f32", before)


def reduced(case):
    shape = shape_of(case, case.random.randint(1, 4), 20000)
    axis = case.random.randrange(len(shape))
    element = case.random.choice(("f32", "i32"))
    kind = case.random.choice(("add", "max", "min"))
    case.argument("x", element, shape, "int")
    case.body.append(f"%y = reduce %x {{kind = {kind}, axis = {axis}}}")
    case.result("y", element, [("1", 1) if d == axis else e for d, e in enumerate(shape)])


def softmax(case):
    shape = shape_of(case, case.random.randint(1, 4), 20000)
    axis = case.random.randrange(len(shape))
    case.argument("x", case.random.choice(("f32", "f16")), shape, "rand")
    case.body += ["%c = f32(%x)", f"%m = reduce %c {{kind = max, axis = {axis}}}",
                  f"%e = exp(%c - (broadcast(%m) : [{texts(shape)}]))",
                  f"%s = reduce %e {{kind = add, axis = {axis}}}",
                  f"%y = %e / (broadcast(%s) : [{texts(shape)}])"]
    case.result("y", "f32", shape)


def scanned(case):
    shape = shape_of(case, case.random.randint(1, 4), 20000)
    axis = case.random.randrange(len(shape))
    case.argument("x", "f32", shape, "int")
    case.body.append(f"%y = scan %x {{kind = add, axis = {axis}{case.random.choice((', reverse', ''))}}}")
    case.result("y", "f32", shape)


def product(case):
    r = case.random
    m, n, k = (case.extent(r.choice((1, 8, 16, 31, 64, 72, 128, 136))) for _ in range(3))
    batch = [case.extent(r.choice((1, 2, 3)))] if r.random() < 0.4 else []
    lhs, rhs = r.random() < 0.5, r.random() < 0.5
    element = r.choice(("f16", "f32"))
    case.argument("a", element, batch + ([k, m] if lhs else [m, k]), "int")
    case.argument("b", element, batch + ([n, k] if rhs else [k, n]), "int")
    flags = (", trans_lhs" if lhs else "") + (", trans_rhs" if rhs else "")
    case.body.append(f"%p = matmul(%a, %b{flags}) : f32")
    value = "%p"
    if r.random() < 0.5:
        case.argument("c", "f32", batch + [m, n], "int")
        case.body.append("%q = %p + %c")
        value = "%q"
    result = r.choice(("f16", "f32")) if element == "f16" else "f32"
    case.body.append(f"%y = f16({value})" if result == "f16" else f"%y = max({value}, -100000.0)")
    case.result("y", result, batch + [m, n])


def attention(case):
    r = case.random
    heads, m, n, d = (case.extent(v) for v in (r.choice((1, 2, 4)), r.choice((1, 16, 33, 64)),
                                               r.choice((16, 40, 64)), r.choice((16, 64))))
    element = r.choice(("f16", "f32"))
    case.argument("q", element, [heads, m, d], "rand")
    case.argument("k", element, [heads, n, d], "rand")
    case.argument("v", element, [heads, n, d], "rand")
    scores = f"[{texts([heads, m, n])}]"
    case.body += ["%s = matmul(%q, %k, trans_rhs) : f32", "%m = reduce %s {kind = max, axis = 2}",
                  f"%e = exp(%s - (broadcast(%m) : {scores}))", "%l = reduce %e {kind = add, axis = 2}",
                  f"%o = matmul({'f16(%e)' if element == 'f16' else '%e'}, %v) : f32",
                  f"%y = {element}(%o / (broadcast(%l) : [{texts([heads, m, d])}]))"]
    case.result("y", element, [heads, m, d])


def pooled(case):
    r = case.random
    n, c, h = case.extent(r.choice((1, 2, 3))), case.extent(r.choice((1, 4, 8))), r.choice((4, 7, 16))
    size, stride = r.choice((2, 3)), r.choice((1, 2))
    count = (h + 2 - size) // stride + 1
    windows = [n, c, (str(count), count), (str(count), count), (str(size), size), (str(size), size)]
    case.argument("x", "f32", [n, c, (str(h), h), (str(h), h)], "int")
    case.body += [f"%w = window %x, [{stride}, {stride}], [1, 1] {{axis = 2, pad = -9.0}} : [{texts(windows)}]",
                  "%a = reduce %w {kind = max, axis = 5}", "%b = reduce %a {kind = max, axis = 4}",
                  f"%y = reshape(%b) : [{texts(windows[:4])}]"]
    case.result("y", "f32", windows[:4])


def convolved(case):
    r = case.random
    n, c, k, h = r.choice((1, 2)), r.choice((4, 8, 16)), r.choice((8, 16)), r.choice((5, 8, 9))
    number = {"n": n, "c": c, "k": k, "h": h, "w": h, "r": 3, "s": 3, "p": h, "q": h}
    dims = r.choice(("nhwc,rsck->npqk", "nchw,kcrs->nkpq", "nhwc,krsc->npqk"))
    x, f, y = ([(str(number[letter]), number[letter]) for letter in part]
               for part in dims.replace("->", ",").split(","))
    element = r.choice(("f16", "f32"))
    case.argument("x", element, x, "int")
    case.argument("f", element, f, "int")
    case.body += [f'%c = convolve(%x, %f, dims = "{dims}", pads = [1, 1, 1, 1]) : f32', f"%y = {element}(%c)"]
    if element == "f32":
        case.body[-1] = "%y = %c + %c"
    case.result("y", element, y)


KINDS = (elementwise, elementwise, moved, sliced, reshaped, reshaped, reduced, softmax, scanned, product, product,
         attention, pooled, convolved)


def elements(path):
    with open(path, "rb") as file:
        data = file.read()
    return data[10 + struct.unpack("<H", data[8:10])[0]:]


def places(shape, strides):
    found = [0]
    for extent, stride in zip(shape, strides):
        found = [at + i * stride for at in found for i in range(extent)]
    return found


def gaps_are_kept(case, name, path):
    element, shape, strides = case.arrays[name]
    data, size = elements(path), SIZES[element]
    taken = {at for at in places(shape, strides)}
    return all(not any(data[at * size:(at + 1) * size]) for at in range(len(data) // size) if at not in taken)


def check(folder, seed, options):
    """None, or what is wrong."""
    r = random.Random(seed)
    case = Case(r)
    kind = r.choice(KINDS)
    kind(case)
    path = os.path.join(folder, f"strided{seed}.tile")
    with open(path, "w") as file:
        file.write(case.text())
    sizes = [word for name, value in case.dims.items() for word in ("--arg", f"{name}={value}")]
    results = [declared[1:declared.index(":")] for declared in case.results]
    saved = [word for name in results for word in ("--save", f"{name}={path}.{name}.npy")]
    target = [] if r.random() < 0.5 else ["--target=" + r.choice(("sm_80", "sm_90a"))]
    command = ["tile-run", path, *sizes, *case.fills, "--check", *saved, *target, *options]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}\n{kind.__name__}: takes too long"
    if ran.returncode or ": 0 wrong" not in ran.stdout:
        return f"{' '.join(command)}\n{kind.__name__}\n{case.text()}{ran.stdout}{ran.stderr}"
    broken = [name for name in results if not gaps_are_kept(case, name, f"{path}.{name}.npy")]
    for name in results:
        os.remove(f"{path}.{name}.npy")
    if broken:
        return f"{' '.join(command)}\n{kind.__name__}: elements between those of {broken} changed\n{case.text()}"
    os.remove(path)
    return None


def main():
    folder, count, *rest = sys.argv[1:]
    seed = int(rest.pop(0)) if rest and rest[0].isdigit() else 1
    os.makedirs(folder, exist_ok=True)
    seeds = shares.take(range(seed, seed + int(count)))
    found = [wrong for wrong in (check(folder, s, rest) for s in seeds) if wrong]
    for wrong in found:
        print(wrong)
    print(f"{len(seeds)} computes, {len(found)} wrong")


if __name__ == "__main__":
    main()

"""Random scans, as a front end writes them, compared with loops in Python: scans.py run SEED COUNT | compile SEED COUNT

Each compute has one scan: of any kind, axis, direction and type, of short and of long rows, by a kind or a func. It is
written as such, with a mask in front, element-wise functions behind, shifted, between two flips, of transposed arrays,
or as scans of chunks. All of them become one kernel. Elements are whole numbers, so that all sums are exact.
"""
import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile

import shares

FORMAT = {"i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
          "f16": "<e", "bf16": "<H", "f32": "<f", "f64": "<d"}
NPY = {"i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "f16": "<f2", "bf16": "|V2", "f32": "<f4", "f64": "<f8"}
INFINITE = float("inf")
MOST = 30000  # elements
FORMS = ["plain", "plain", "masked", "selected", "shifted", "shifted_source", "padded", "flipped", "flipped_exclusive",
         "chunks", "func", "long", "transposed", "transposed_back", "result"]


def is_float(t):
    return t[0] in "fb"


def wrap(t, x):
    """The element as the type stores it."""
    if t == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
        return struct.unpack("<f", struct.pack("<I", (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16))[0]
    if is_float(t):
        return struct.unpack(FORMAT[t], struct.pack(FORMAT[t], x))[0]
    bits = int(t[1:])
    x &= (1 << bits) - 1
    return x - (1 << bits) if t[0] == "i" and x >> (bits - 1) else x


def identity(t, kind):
    if kind in ("add", "or", "xor"):
        return 0
    if kind == "mul":
        return 1
    if is_float(t):
        return INFINITE if kind == "min" else -INFINITE
    bits = int(t[1:])
    most = (1 << bits - 1) - 1 if t[0] == "i" else (1 << bits) - 1
    least = -most - 1 if t[0] == "i" else 0
    return wrap(t, {"min": most, "max": least, "and": -1}[kind])


COMBINE = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "min": min, "max": max, "and": lambda a, b: a & b,
           "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def scan_row(t, kind, row, exclusive, reverse):
    out, total = [], identity(t, kind)
    for x in reversed(row) if reverse else row:
        before, total = total, COMBINE[kind](total, x)
        if not is_float(t):
            total = wrap(t, total)
        out.append(before if exclusive else total)
    return out[::-1] if reverse else out


def recurrence(a, b, reverse):
    """h = a * h + b, modulo 2^32."""
    out, h = [], 0
    pairs = list(zip(a, b))
    for x, y in reversed(pairs) if reverse else pairs:
        h = wrap("i32", x * h + y)
        out.append(h)
    return out[::-1] if reverse else out


def rows_of(dims, axis):
    """For each row, the positions of its elements in row-major order."""
    strides = [1] * len(dims)
    for d in range(len(dims) - 2, -1, -1):
        strides[d] = strides[d + 1] * dims[d + 1]
    others = [range(n) if d != axis else [0] for d, n in enumerate(dims)]
    for at in itertools.product(*others):
        start = sum(i * s for i, s in zip(at, strides))
        yield [start + i * strides[axis] for i in range(dims[axis])]


def write_npy(path, t, dims, elements):
    shape = ", ".join(map(str, dims)) + ","
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (NPY[t], shape)
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for x in elements:
            file.write(struct.pack("<f", x)[2:] if t == "bf16" else struct.pack(FORMAT[t], x))


def read_npy(path, t):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    if t == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return [x for x, in struct.iter_unpack(FORMAT[t], data)]


class Compute:
    def __init__(self, draw):
        self.draw = draw
        self.t = draw.choice(["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f32", "f64"])
        kinds = ["add", "add", "min", "max"]
        if not is_float(self.t):
            kinds += ["mul", "and", "or", "xor"]
        self.kind = draw.choice(kinds)
        self.exclusive, self.reverse = draw.random() < 0.4, draw.random() < 0.4
        rank = draw.choice([1, 2, 2, 3])
        self.axis = draw.randrange(rank)
        self.dims = [draw.choice([1, 2, 3, 5, 9]) for _ in range(rank)]
        self.dims[self.axis] = draw.choice([1, 2, 7, 31, 64, 100, 257, 600, 1500, 2100])
        others = [d for d in range(rank) if d != self.axis]
        while others and self.count() > MOST:  # they are written in a command line
            self.dims[max(others, key=lambda d: self.dims[d])] -= 1
        self.form = draw.choice(FORMS)
        if self.form == "long":
            self.dims = [1] * (rank - 1) + [draw.choice([16385, 20000, 66000, 70001])]
            self.axis = rank - 1
            self.t = self.t.replace("u", "i")
        if self.form == "chunks":
            self.dims, self.axis, self.chunk = [draw.choice([1, 3, 4]), 0], 1, draw.choice([2, 5, 16, 64])
            self.dims[1] = self.chunk * draw.choice([2, 3, 10, 33])
        if self.form in ("shifted", "shifted_source", "padded"):
            self.dims[self.axis] = max(2, self.dims[self.axis])
        if self.form == "func":
            self.t, self.exclusive = "i32", False
        if self.form in ("transposed", "transposed_back", "result"):
            self.order = draw.sample(range(rank), rank)
        self.known = self.form != "long" or draw.random() < 0.5
        self.tile = ""
        if self.form not in ("long", "chunks", "transposed", "transposed_back") and draw.random() < 0.6:
            tile = [1] * rank
            tile[self.axis] = draw.choice([4, 8, 32])
            if rank > 1 and draw.random() < 0.5:
                beside = draw.choice([d for d in range(rank) if d != self.axis])
                tile[beside] = draw.choice([1, 2, 4])
            self.tile = f", tile = {tile}, warps = {draw.choice([1, 2])}"
        self.known |= not self.tile and self.form != "long"

    def count(self):
        count = 1
        for n in self.dims:
            count *= n
        return count

    def type_of(self, t, dims):
        return f"tensor<{t}[{', '.join(map(str, dims))}]>"

    def scan(self, source, exclusive, reverse, axis=None):
        axis = self.axis if axis is None else axis
        flags = ", exclusive" * exclusive + ", reverse" * reverse
        return f"scan_{self.kind}({source}, axis = {axis}{flags}{self.tile})"

    def number(self, x):
        if x >= 1 << 63 and x != INFINITE:
            return f"{self.t}({x})"
        return {INFINITE: "inf", -INFINITE: "-inf"}.get(x, f"{x}.0" if is_float(self.t) else str(x))

    def one(self, x):
        dims = list(self.dims)
        dims[self.axis] = 1
        return f"  %z = splat {self.number(x)} : {self.type_of(self.t, dims)}\n"

    def part(self, name, source, first):
        """All elements but the first or the last."""
        dims = list(self.dims)
        dims[self.axis] -= 1
        starts = [int(first and d == self.axis) for d in range(len(dims))]
        return f"  %{name} = slice {source}, {starts} : {self.type_of(self.t, dims)}\n"

    def concat(self, parts, reverse):
        return f"concat({', '.join(reversed(parts) if reverse else parts)}, axis = {self.axis})"

    def flip_index(self):
        n = self.dims[self.axis]
        iota = f"iota(axis = {self.axis}) : {self.type_of('i32', self.dims)}"
        return self.draw.choice([f"  %i = {n - 1} - {iota}\n", f"  %j = {iota}\n  %i = -%j + {n - 1}\n",
                                 f"  %j = {iota}\n  %i = %j * -1 + {n} - 1\n"])

    def body(self):
        flip = f"gather(%s, %i, axis = {self.axis})".replace
        whole = self.type_of(self.t, self.dims)
        if self.form == "masked":
            scan = self.scan("%m", self.exclusive, self.reverse)
            return f"  %m = %x * cast(%k) : {whole}\n  %y = {scan}\n"
        if self.form == "selected":
            scan = self.scan("select(%k, %x, %o)", self.exclusive, self.reverse)
            return f"  %o = splat {self.number(0)} : {whole}\n  %s = {scan}\n  %y = select(%k, %s, %x)\n"
        zero = self.one(identity(self.t, self.kind))
        if self.form == "shifted":
            return (f"  %s = {self.scan('%x', False, self.reverse)}\n" + self.part("p", "%s", self.reverse) + zero +
                    f"  %y = {self.concat(['%z', '%p'], self.reverse)}\n")
        if self.form == "shifted_source":
            concat = self.concat(["%z", "%p"], self.reverse)
            text = self.part("p", "%x", self.reverse) + zero + f"  %c = {concat}\n"
            return f"{text}  %y = {self.scan('%c', False, self.reverse)}\n"
        if self.form == "padded":
            concat = self.concat(["%p", "%z"], self.reverse)
            return (self.part("p", "%x", self.reverse) + self.one(0) + f"  %c = {concat}\n" +
                    f"  %s = {self.scan('%c', False, self.reverse)}\n" + self.part("q", "%s", self.reverse) +
                    zero.replace("%z", "%w") + f"  %y = {self.concat(['%w', '%q'], self.reverse)}\n")
        if self.form == "flipped":
            scan = self.scan("%f", self.exclusive, self.reverse)
            return self.flip_index() + (f"  %f = {flip('%s', '%x')}\n  %s = {scan}\n"
                                        f"  %y = {flip('%s', '%s')}\n")
        if self.form == "flipped_exclusive":
            text = f"  %f = {flip('%s', '%x')}\n  %s = {self.scan('%f', False, self.reverse)}\n"
            text += self.part("p", "%s", self.reverse) + zero + f"  %c = {self.concat(['%z', '%p'], self.reverse)}\n"
            return self.flip_index() + text + f"  %y = {flip('%s', '%c')}\n"
        if self.form == "chunks":
            return self.chunk_body(whole)
        if self.form in ("transposed", "transposed_back", "result"):
            return self.transposed_body()
        if self.form == "func":
            flag = ", reverse" * self.reverse
            return f"  %a, %y = scan (%g, %x) {{axis = {self.axis}, combine = @step{flag}{self.tile}}}\n"
        return f"  %y = {self.scan('%x', self.exclusive, self.reverse)}\n"

    def moved(self):
        """The extents of the result of `transposed` and `result`."""
        return [self.dims[d] for d in self.order]

    def transposed_body(self):
        """A scan of what is transposed, which is transposed back, or of which the result is transposed."""
        order, place = f"order = {self.order}", self.order.index(self.axis)
        if self.form == "result":
            return f"  %s = {self.scan('%x', self.exclusive, self.reverse)}\n  %y = transpose(%s, {order})\n"
        scan = self.scan("%f", self.exclusive, self.reverse, place)
        text = f"  %f = transpose(%x, {order})\n"
        if self.form == "transposed":
            return f"{text}  %y = {scan}\n"
        back = [self.order.index(d) for d in range(len(self.order))]
        return f"{text}  %s = {scan}\n  %y = transpose(%s, order = {back})\n"

    def chunk_body(self, whole):
        m, n = self.dims
        c, b = n // self.chunk, self.chunk
        op = {"add": "%s + %b", "mul": "%s * %b", "and": "%s & %b", "or": "%s | %b", "xor": "xor %s, %b"}
        op = op.get(self.kind, f"{self.kind}(%s, %b)")
        rows, totals = self.type_of(self.t, [m, c, b]), self.type_of(self.t, [m * c, b])
        before = self.type_of(self.t, [m, c, 1])
        return (f"  %u = reshape(%x) : {rows}\n  %v = reshape(%x) : {totals}\n  %d = %v + %v\n"
                f"  %r = reshape(reduce_{self.kind}(%d, axis = 1)) : {self.type_of(self.t, [m, c])}\n"
                f"  %e = {self.scan('%r', True, self.reverse, 1)}\n  %g = reshape(%e) : {before}\n"
                f"  %b = broadcast %g : {rows}\n  %h = %u + %u\n"
                f"  %s = {self.scan('%h', self.exclusive, self.reverse, 2)}\n  %t = {op}\n"
                f"  %y = reshape(%t) : {whole}\n")

    def arguments(self):
        """Names, types and elements."""
        count = self.count()
        low = -1 if self.t[0] != "u" else 0
        found = [("x", self.t, [self.draw.randint(low, 1) for _ in range(count)])]
        if self.form in ("masked", "selected"):
            found.append(("k", "i1", [self.draw.randint(0, 1) for _ in range(count)]))
        if self.form == "func":
            found.insert(0, ("g", "i32", [self.draw.choice([0, 1, 1, -1, 2, 3]) for _ in range(count)]))
        return found

    def expected(self, arguments):
        values = {name: elements for name, _, elements in arguments}
        x = list(values["x"])
        exclusive, reverse = self.exclusive, self.reverse
        if "k" in values:
            x = [a * k for a, k in zip(x, values["k"])]
        if self.form in ("shifted", "shifted_source", "padded"):
            exclusive = True
        if self.form == "flipped":
            reverse = not reverse
        if self.form == "flipped_exclusive":
            exclusive, reverse = True, not reverse
        if self.form == "chunks":
            x = [wrap(self.t, 2 * a) for a in x]
        y = [None] * len(x)
        for row in rows_of(self.dims, self.axis):
            elements = [x[i] for i in row]
            if self.form == "func":
                out = recurrence([values["g"][i] for i in row], elements, reverse)
            else:
                out = scan_row(self.t, self.kind, elements, exclusive, reverse)
            for i, e in zip(row, out):
                y[i] = wrap(self.t, e)
        if self.form in ("transposed", "result"):
            strides = [1] * len(self.dims)
            for d in range(len(self.dims) - 2, -1, -1):
                strides[d] = strides[d + 1] * self.dims[d + 1]
            places = itertools.product(*[range(n) for n in self.moved()])
            y = [y[sum(i * strides[d] for i, d in zip(at, self.order))] for at in places]
        if self.form == "selected":
            y = [a if k else b for a, b, k in zip(y, values["x"], values["k"])]
        return y

    def text(self, arguments):
        params, dims = "", list(self.dims)
        if not self.known:
            params, dims = "<n: dim>", self.dims[:-1] + ["n"]
        inputs = ", ".join(f"%{name}: {self.type_of(t, dims)}" for name, t, _ in arguments)
        func = ("func @step(%a: i32, %b: i32, %c: i32, %d: i32) -> (%e: i32, %f: i32)\n{\n  %e = %a * %c\n"
                "  %f = %b * %c + %d\n}\n" if self.form == "func" else "")
        if self.form in ("transposed", "result"):
            dims = self.moved()
        return f"{func}compute @c{params}({inputs}) -> (%y: {self.type_of(self.t, dims)})\n{{\n{self.body()}}}\n"


def output(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode, ran.stdout


def check(action, seed, folder):
    compute = Compute(random.Random(seed))
    arguments = compute.arguments()
    text, path = compute.text(arguments), os.path.join(folder, "c.tile")
    with open(path, "w") as file:
        file.write(text)
    failed, schedule = output(["tile-opt", path, "--schedule"])
    if failed or schedule.count("\nkernel @") != 1:
        return f"{text}{schedule}"
    if action == "compile":
        target = compute.draw.choice(["sm_80", "sm_90a", "sm_100a"])
        failed, said = output(["tilec", path, f"--target={target}", "-o", "/dev/null"])
        return f"{text}{said}" if failed else None
    words = ["tile-run", path, "--device=cpu", f"--level={compute.draw.choice([2, 3])}", "--check",
             f"--seed={seed}", "--save", f"y={folder}/y.npy", "--arg", "y=poison"]
    for name, t, elements in arguments:
        if t not in NPY:
            words += ["--arg", f"{name}=values:{t}{compute.dims}={','.join(map(str, elements))}"]
            continue
        write_npy(f"{folder}/{name}.npy", t, compute.dims, elements)
        words += ["--arg", f"{name}=@{folder}/{name}.npy"]
    failed, said = output(words)
    if failed:
        return f"{text}{' '.join(words)[:800]}\n{said}"
    got, expected = read_npy(f"{folder}/y.npy", compute.t), compute.expected(arguments)
    if got != expected:
        at = next(i for i, (a, b) in enumerate(zip(got, expected)) if a != b)
        return f"{text}{said}%y[{at}] is {got[at]}, expected {expected[at]}\n"
    return None


def main():
    action, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seeds = shares.take(range(first, first + count))
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            fault = check(action, seed, folder)
            if fault:
                sys.exit(f"seed {seed}\n{fault}")
    print(f"{len(seeds)} scans, all equal")


main()

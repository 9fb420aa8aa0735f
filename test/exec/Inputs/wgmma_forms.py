"""Kernels at level 3 with one wgmma each, in every form of the instruction.

    wgmma_forms.py print CASE ...                 their text: a plan that launches all of them
    wgmma_forms.py run DEVICE [OPTION ...] CASE ...   runs and checks them, all in one launch of tile-run

A CASE is LHS,RHS,ACC:N[:word ...]. Words: s128 s64 s32 s0 (swizzle of both; sA-B: of each), kk mk kn mn
(which dim is contiguous: of lhs k or m, of rhs k or n), reg (lhs in registers), wide (strides
twice as large as needed), uu us su (integers read as unsigned), steps=K (K instructions' depths),
cluster (the second block of one stores), neg-lhs neg-rhs neg (of both) (negated operands), high low
(clamped sums that begin near the largest or the smallest i32), sparse sparse1 (of lhs, by the first or the
other threads' bits). i32 is multiplied bit by bit.
`all`, `some`, `columns` (every n), `forms` (operand and sum modifiers) and `sparse` stand for lists
of cases.

Operands are read from global memory row by row, element by element, and stored where the PTX ISA
expects them; sums are written back in the same way. Inputs are -1, 0 and 1, so every sum is exact.
"""
import os
import struct
import subprocess
import sys
import tempfile

import crowd
import shares

SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "i8": 1, "i32": 4}
FLOATS8 = [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")]
TYPES = ([("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
          ("i8", "i8", "i32"), ("i32", "i32", "i32")] + [(a, b, c) for c in ("f32", "f16") for a, b in FLOATS8])
INTEGER_COLUMNS = [8, 16, 24] + list(range(32, 257, 16))


class Case:
    def __init__(self, text):
        types, n, *words = text.split(":")
        self.text = text
        self.a, self.b, self.c = types.split(",")
        self.n, self.size = int(n), SIZES[self.a]
        self.swizzles, self.majors, self.registers, self.steps = (16, 16), ("k", "k"), False, 2
        self.wide, self.signs, self.cluster = 1, "", False
        self.negated, self.bound, self.sparse, self.selector = (), None, False, 0
        for word in words:
            if word == "reg":
                self.registers = True
            elif word == "cluster":
                self.cluster = True
            elif word.startswith("neg"):
                self.negated = (word[4:],) if word[4:] else ("lhs", "rhs")
            elif word.startswith("sparse"):
                self.sparse, self.selector = True, int(word[6:] or 0)
            elif word in ("high", "low"):
                self.bound, self.steps = word, 1  # each instruction clamps
            elif word == "wide":
                self.wide = 2
            elif word in ("uu", "us", "su"):
                self.signs = word
            elif word.startswith("steps="):
                self.steps = int(word[6:])
            elif word[0] == "s":
                pair = word[1:].split("-")
                self.swizzles = tuple(max(int(p), 16) for p in (pair if len(pair) == 2 else pair * 2))
            else:
                self.majors = ("mn" if word[0] == "m" else "k", "mn" if word[1] == "n" else "k")
        self.depth = 32 // self.size
        self.k = self.depth * self.steps
        self.each = 1 if self.size == 4 else 2  # a sparse lhs has one of each group of this many
        self.deep = self.k * (2 if self.sparse else 1)  # of rhs, and of lhs in memory

    def flags(self):
        flags = [word for word, sign in zip(("unsigned_lhs", "unsigned_rhs"), self.signs or "ss") if sign == "u"]
        flags += ["negate_" + operand for operand in self.negated]
        flags += ["selector = %d" % self.selector] * self.sparse
        return flags + ["satfinite"] * bool(self.bound) + ["popc"] * (self.a == "i32")

    def places(self, row, group):
        """The elements of a row's group that are in a sparse lhs."""
        if self.each == 1:
            return [(row + row // 8 + group) % 2]
        first = (row + group) % 3
        return [first, first + 1 + (row // 3 + group) % (3 - first)]

    def mask(self):
        """1 for each element that lhs contains."""
        width = 2 * self.each
        return [float(k % width in self.places(row, k // width)) for row in range(64) for k in range(self.deep)]

    def begin(self):
        """The initial sums; None: there are none."""
        return {None: None, "high": 2 ** 31 - 8, "low": 7 - 2 ** 31}[self.bound]

    def expected(self, a, b):
        """The exact result, as --check computes it."""
        if self.sparse:
            a = "(%s*m%s)" % (a, a[1:])
        if self.signs[:1] == "u":
            a = "select(lt({0},0),{0}+256,{0})".format(a)
        if self.signs[1:] == "u":
            b = "select(lt({0},0),{0}+256,{0})".format(b)
        if self.a == "i32":  # of 0, 1 and 32 ones
            ones = ["select(lt(%s,0),1,0)" % x for x in (a, b)]
            return "matmul(abs(%s),abs(%s))+31*matmul(%s,%s)" % (a, b, *ones)
        product = "matmul(%s,%s)" % (a, b)
        if len(self.negated) == 1:
            product = "neg(%s)" % product
        if self.bound == "high":
            return "%d+min(%s,7)" % (self.begin(), product)
        if self.bound == "low":
            return "%d+max(%s,-7)" % (self.begin(), product)
        return product

    def matrix(self, operand):
        return Matrix(self.swizzles[operand], self.majors[operand], self.size, 64 if operand == 0 else self.n,
                      self.deep if operand else self.k, self.wide, self.sparse and operand == 1)


class Matrix:
    """Blocks of 8 rows of `swizzle` bytes. A row is along k, or along m or n; blocks are stored column after
    column. The next block below is `down` bytes away, the next one beside it `across` bytes."""

    def __init__(self, swizzle, major, size, extent, k, wide, twice):
        self.twice, self.crosses = 2 if twice else 1, swizzle > 16
        self.swizzle, self.major, self.size, self.extent, self.k = swizzle, major, size, extent, k
        rows = extent if major == "k" else k
        columns = (k if major == "k" else extent) * size
        self.down = 8 * swizzle * wide
        self.across = (rows + 7) // 8 * self.down
        self.bytes = -(-columns // swizzle) * self.across

    def offset(self, row, k):
        """Text of the element's offset in elements; row and k are names."""
        along, below = (k, row) if self.major == "k" else (row, k)
        each = self.swizzle // self.size
        return "%s / %d * %d + %s / 8 * %d + rem(%s, 8) * %d + rem(%s, %d)" % (
            along, each, self.across // self.size, below, self.down // self.size, below, each, along, each)

    def cross(self, name):
        """Swizzles the chunks of 16 bytes: XORs bits 4.. of the address with bits 7.. of it."""
        pieces = self.swizzle // 16
        if not self.crosses:
            return name
        return "%s ^ ((%s / %d & %d) * %d)" % (name, name, 128 // self.size, pieces - 1, 16 // self.size)

    def start(self, step):
        """Bytes from the matrix to its part for instruction `step`."""
        if self.major == "k":
            along = step * 32 * self.twice
            return along // self.swizzle * self.across + along % self.swizzle
        return step * 2 * self.twice * self.down

    def attributes(self):
        leading, stride = self.across, self.down
        if self.swizzle == 16 and self.major == "mn":
            leading, stride = stride, leading
        swizzle = "swizzle = %d, " % self.swizzle if self.swizzle > 16 else ""
        return "{%sleading = %d, stride = %d}" % (swizzle, leading, stride)


def find_places(case, row, group, lines, tail=""):
    """See Case.places."""
    names = {"row": row, "group": group, "tail": tail}
    if case.each == 1:
        lines.append("    %%first{tail} = rem({row} + ({row}) / 8 + {group}, 2)".format(**names).replace("%%", "%"))
        return
    lines.append("    %first{tail} = rem({row} + {group}, 3)".format(**names))
    lines.append("    %second{tail} = %first{tail} + 1 + rem(({row}) / 3 + {group}, 3 - %first{tail})".format(**names))


def describe_places(case, step, lines):
    """The 32 bits of each thread; all ones for threads without any."""
    groups = case.depth // case.each
    lines.append("  %%places%d_0 = 0" % step)
    for i in range(8):
        tail = "%d_%d" % (step, i)
        if case.size == 1:
            row, group = "%row + rem(%lane, 2) * 8", "%%lane / 2 * 8 + %d" % (step * groups + i)
        else:
            row, group = "%%row + %d" % (i // 4 * 8), "rem(%%lane, 2) * 4 + %d" % (step * groups + i % 4)
        lines.append("  %%r%s = %s\n  %%g%s = %s" % (tail, row, tail, group))
        find_places(case, "%r" + tail, "%g" + tail, lines, tail)
        bits = "4 + %%first%s * 10" % tail if case.each == 1 else "%%first%s + %%second%s * 4" % (tail, tail)
        lines.append("  %%bits%s = %s\n  %%places%d_%d = %%places%d_%d | %%bits%s * %d" % (
            tail, bits, step, i + 1, step, i, tail, (16 ** i + 2 ** 31) % 2 ** 32 - 2 ** 31))
    mine = "true" if case.size == 1 else "%%lane / 2 == %d" % case.selector
    lines.append("  %%mine%d = %s\n  %%places%d = select(%%mine%d, %%places%d_8, -1)" % (step, mine, step, step, step))


def fill(case, operand, matrix, lines):
    name, rows = "ab"[operand], 64 if operand == 0 else case.n
    scalar = (case.a, case.b)[operand]
    lines.append("  for %%%s0 = %%t to %d step 128 {" % (name, rows * (case.deep if operand else case.k)))
    # lhs is [m, k], rhs is [k, n]
    row, k = ("%%x / %d" % case.k, "rem(%%x, %d)" % case.k) if operand == 0 else (
        "rem(%%x, %d)" % case.n, "%%x / %d" % case.n)
    lines.append("    %%x = %%%s0\n    %%i = %s\n    %%j = %s" % (name, row, k))
    lines.append("    %%at = %s" % matrix.offset("%i", "%j"))
    source = "%x"
    if case.sparse and operand == 0:
        find_places(case, "%i", "%%j / %d" % case.each, lines)
        source = "%%i * %d + %%j / %d * %d + %s" % (case.deep, case.each, 2 * case.each, "%first" if case.each == 1 else (
            "select(rem(%j, 2) == 0, %first, %second)"))
    lines.append("    %%v = ld_global %%%s[%s] : %s" % (name, source, scalar))
    lines.append("    st_shared %%v, %%s%s[%s]\n  }" % (name, matrix.cross("%at")))


def fragment(case, step, lines):
    """16 bytes of lhs: rows lane / 4 and 8 below, 4 bytes each, and the same 16 bytes further on."""
    pack = 4 // case.size
    pieces = []
    for part in range(4):
        name = "%%f%d_%d" % (step, part)
        lines.append("  %s = %s[(%%row + %d) * %d + %%lane * %d + %d] : %s" % (
            name, "ld_shared %sa" if case.sparse else "ld_global %a", part % 2 * 8, case.k, pack, step * case.depth + part // 2 * 4 * pack,
            "vector<%s[%d]>" % (case.a, pack) if pack > 1 else case.a))
        pieces.append(name)
    lines.append("  %%l%d = concat %s" % (step, ", ".join(pieces)))


def kernel(case, name):
    a, b = case.matrix(0), case.matrix(1)
    if case.registers and case.sparse:  # row by row
        a = Matrix(case.k * case.size, "k", case.size, 64, case.k, 1, False)
        a.crosses = False
    base = 0 if case.registers and not case.sparse else -(-a.bytes // 1024) * 1024
    flags = case.flags()
    lines = ["kernel @%s(%%a: ptr<%s> {divisible = 16}, %%b: ptr<%s> {divisible = 16}, %%c: ptr<%s> {divisible = 16})"
             % (name, case.a, case.b, case.c), "    grid [%d]%s  warps 4  level 3" % ((2, "  cluster [2]") if case.cluster else (1, "")), "{",
             "  %t = thread_id", "  %lane = rem(%t, 4)", "  %row = %t / 32 * 16 + rem(%t, 32) / 4"]
    if not case.registers or case.sparse:
        lines.append("  %%sa = alloc_shared {offset = 0} : shared<%s[%d]>" % (case.a, a.bytes // case.size))
        fill(case, 0, a, lines)
    lines.append("  %%sb = alloc_shared {offset = %d} : shared<%s[%d]>" % (base, case.b, b.bytes // case.size))
    fill(case, 1, b, lines)
    lines += ["  fence_async", "  sync"]
    for step in range(case.steps):
        if case.sparse:
            describe_places(case, step, lines)
        if case.registers:
            fragment(case, step, lines)
        else:
            lines.append("  %%l%d = wgmma_descriptor %%sa[%d] %s : descriptor<%s, %s>" % (
                step, a.start(step) // case.size, a.attributes(), case.a, case.majors[0]))
        lines.append("  %%r%d = wgmma_descriptor %%sb[%d] %s : descriptor<%s, %s>" % (
            step, b.start(step) // case.size, b.attributes(), case.b, case.majors[1]))
    begin = "undefined" if case.begin() is None else "splat %d" % case.begin()
    lines += ["  %%p0 = %s : vector<%s[%d]>" % (begin, case.c, case.n // 2), "  wgmma_fence"]
    for step in range(case.steps):
        lines.append("  %%p%d = wgmma %%l%d, %%r%d, %%p%d, %s%s%s" % (
            step + 1, step, step, step, "true" if step or case.bound else "false",
            ", %%places%d" % step if case.sparse else ""," {%s}" % ", ".join(flags) if flags else ""))
    lines += ["  wgmma_commit", "  %%sum = wgmma_wait 0, %%p%d" % case.steps]
    predicate = ""
    if case.cluster:
        lines.append("  %rank = cluster_rank\n  %stores = %rank == 1")
        predicate = ", %stores"
    for i in range(case.n // 4):
        lines.append("  %%e%d = extract %%sum, %d : vector<%s[2]>" % (i, 2 * i, case.c))
        lines.append("  st_global %%e%d, %%c[(%%row + %d) * %d + %d + 2 * %%lane]%s" % (
            i, i % 2 * 8, case.n, i // 2 * 8, predicate))
    return "\n".join(lines + ["}\n"])


def text_of(cases, first=0):
    """A kernel for each case, named by its number starting at `first`, and a plan that launches them."""
    numbered = list(enumerate(cases, first))
    text = "".join(kernel(case, "k%d" % i) for i, case in numbered)
    args = ", ".join("%%a%d: ptr<%s>, %%b%d: ptr<%s>, %%c%d: ptr<%s>%s" % (
        i, c.a, i, c.b, i, c.c, ", %%m%d: ptr<f32>" % i if c.sparse else "") for i, c in numbered)
    return text + "plan @all(%s) {\n%s\n}\n" % (args, "\n".join(
        "  launch @k%d(%%a%d, %%b%d, %%c%d)" % (i, i, i, i) for i, _ in numbered))


def write_mask(case, path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, %d), }" % case.deep
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%df" % (64 * case.deep), *case.mask()))
    return path


def options_of(cases, folder):
    options = []
    for i, c in enumerate(cases):
        a, b = "a%d" % i, "b%d" % i
        options += ["--arg", "%s=int:%s[64,%d]" % (a, c.a, c.deep), "--arg", "%s=int:%s[%d,%d]" % (b, c.b, c.deep, c.n),
                    "--arg", "c%d=poison:%s[64,%d]" % (i, c.c, c.n)]
        if c.sparse:
            options += ["--arg", "m%d=@%s" % (i, write_mask(c, os.path.join(folder, "m%d.npy" % i)))]
        options += ["--check", "c%d=%s" % (i, c.expected(a, b))]
    return options


def every(columns):
    cases = []
    for a, b, c in TYPES:
        for n in columns:
            for s in ("s0", "s32", "s64", "s128"):
                for major in ("kk", "mk", "kn", "mn") if SIZES[a] == 2 else ("kk",):
                    cases.append("%s,%s,%s:%d:%s:%s" % (a, b, c, n, s, major))
                    if major[0] == "k":
                        cases.append("%s,%s,%s:%d:%s:%s:reg" % (a, b, c, n, s, major))
    return cases + ["i8,i8,i32:%d:s128:%s" % (n, signs) for n in columns for signs in ("uu", "us", "su")]


def some():
    """Each type, each swizzle, each major, registers, and a selection of n."""
    cases, n = [], [8, 24, 64, 104, 136, 200, 256]
    for i, (a, b, c) in enumerate(TYPES):
        for j, s in enumerate(("s0", "s32", "s64", "s128")):
            columns = n[(i + 3 * j) % len(n)]
            columns = columns + 8 if c == "i32" and columns > 32 and columns % 16 else columns
            major = ("kk", "mk", "kn", "mn")[(i + j) % 4] if SIZES[a] == 2 else "kk"
            cases.append("%s,%s,%s:%d:%s:%s" % (a, b, c, columns, s, major))
        cases.append("%s,%s,%s:%d:s128:reg:steps=3" % (a, b, c, 48))
        cases.append("%s,%s,%s:%d:s64-128:wide:steps=5" % (a, b, c, 32))
    cases += ["f16,f16,f32:64:s128:kn:cluster", "e4m3,e4m3,f32:64:s128:cluster"]
    return cases + ["i8,i8,i32:24:s32:%s%s" % (signs, reg) for signs in ("uu", "us", "su") for reg in ("", ":reg")]


def every_n():
    """Each n in the ISA, of each of its two lists."""
    cases = ["f16,f16,f32:%d:s128:kn" % n for n in range(8, 257, 8)]
    return cases + ["i8,i8,i32:%d:s128:%s" % (n, reg) for reg in ("kk", "reg") for n in INTEGER_COLUMNS]


def forms():
    """Operand and sum modifiers, in shared memory and in registers."""
    cases = []
    for reg in ("kk", "reg"):
        for types in ("f16,f16,f32", "f16,f16,f16", "bf16,bf16,f32", "tf32,tf32,f32", "e4m3,e5m2,f32",
                      "e5m2,e4m3,f16"):
            cases += ["%s:24:s128:%s:%s" % (types, reg, word) for word in ("neg-lhs", "neg-rhs", "neg")]
        for signs in ("ss", "us", "su", "uu"):
            word = "kk" if signs == "ss" else signs
            cases += ["i8,i8,i32:48:s128:%s:%s:%s" % (reg, word, bound) for bound in ("high", "low")]
        cases += ["i32,i32,i32:%d:s64:%s:steps=3" % (n, reg) for n in (24, 112)]
    return cases + ["f16,f16,f32:64:s128:mn:neg-lhs", "bf16,bf16,f32:64:s128:mk:neg-rhs"]


def sparse():
    """A sparse lhs of each type, in shared memory and in registers."""
    cases, n = [], [8, 24, 64, 128, 256]
    for i, (a, b, c) in enumerate(types for types in TYPES if types[0] != "i32"):
        for j, s in enumerate(("s0", "s32", "s64", "s128")):
            major = ("kk", "mk", "kn", "mn")[(i + j) % 4] if SIZES[a] == 2 else "kk"
            select = "sparse1" if SIZES[a] > 1 and j % 2 else "sparse"
            cases.append("%s,%s,%s:%d:%s:%s:%s" % (a, b, c, n[(i + j) % 5], s, major, select))
        cases.append("%s,%s,%s:48:s128:reg:steps=3:sparse" % (a, b, c))
    cases += ["i8,i8,i32:48:s128:%s:%s:sparse" % (word, reg) for word in ("uu", "us", "su", "high") for reg in ("kk", "reg")]
    return cases + ["f16,f16,f32:24:s128:neg-lhs:sparse1:reg", "e4m3,e5m2,f32:24:s128:neg-rhs:sparse"]


def cases_of(words):
    for word in words:
        if word == "some":
            yield from some()
        elif word == "columns":
            yield from every_n()
        elif word == "sparse":
            yield from sparse()
        elif word == "forms":
            yield from forms()
        elif word.startswith("all"):
            yield from every([int(n) for n in word[4:].split(",")] if len(word) > 3 else [8, 32, 96, 256])
        else:
            yield word


def run(device, options, cases):
    def run_part(part):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "k.tile")
            with open(path, "w") as file:
                file.write(text_of(part))
            ran = subprocess.run(["tile-run", path, "--device=" + device] + options + options_of(part, folder),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            sys.exit("\n".join("k%d %s" % (j, c.text) for j, c in enumerate(part)) + "\n" + ran.stdout)
    taken = shares.take(cases)
    crowd.for_each(run_part, [taken[i:i + 16] for i in range(0, len(taken), 16)])
    print("%d of %d products, all right" % (len(taken), len(cases)))


def main():
    if sys.argv[1] == "print":
        print(text_of([Case(text) for text in cases_of(sys.argv[2:])]))
    else:
        words = sys.argv[3:]
        options = [word for word in words if word.startswith("--")]
        run(sys.argv[2], options, [Case(t) for t in cases_of(w for w in words if not w.startswith("--"))])


if __name__ == "__main__":
    main()

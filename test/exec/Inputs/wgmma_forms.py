"""Kernels at level 3 around one wgmma each, in every form that the instruction has.

    wgmma_forms.py print CASE ...                 their text: a plan that launches all of them
    wgmma_forms.py run DEVICE [OPTION ...] CASE ...   runs and checks them, all in one launch of tile-run

A CASE is LHS,RHS,ACC:N[:word ...]. Words: s128 s64 s32 s0 (swizzle of both; sA-B: of each), kk mk kn mn
(what follows each other in memory: of lhs k or m, of rhs k or n), reg (lhs in registers), wide (strides
twice as large as needed), uu us su (integers read as unsigned), steps=K (K instructions' depths),
cluster (the second block of one stores), neg-lhs neg-rhs neg (of both) (negated operands), high low
(clamped sums that begin near the largest or the least i32). i32 is multiplied bit by bit.
`all`, `some`, `columns` (every n) and `forms` (what is done to operands and sums) stand for lists of
cases.

Operands come from global memory row by row, element by element, to where the PTX ISA says that they
are; sums go out the same way. Inputs are -1, 0 and 1, so that every sum is exact.
"""
import subprocess
import sys
import tempfile

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
        self.negated, self.bound = (), None
        for word in words:
            if word == "reg":
                self.registers = True
            elif word == "cluster":
                self.cluster = True
            elif word.startswith("neg"):
                self.negated = (word[4:],) if word[4:] else ("lhs", "rhs")
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

    def flags(self):
        flags = [word for word, sign in zip(("unsigned_lhs", "unsigned_rhs"), self.signs or "ss") if sign == "u"]
        flags += ["negate_" + operand for operand in self.negated]
        return flags + ["satfinite"] * bool(self.bound) + ["popc"] * (self.a == "i32")

    def begin(self):
        """The sums before the first product; none: nothing."""
        return {None: None, "high": 2 ** 31 - 8, "low": 7 - 2 ** 31}[self.bound]

    def expected(self, a, b):
        """As --check computes it, exactly."""
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
                      self.k, self.wide)


class Matrix:
    """Blocks of 8 rows of `swizzle` bytes. A row goes along k, or along m or n; column after column of
    blocks, of which `down` bytes lead to the next below, and `across` to the next beside."""

    def __init__(self, swizzle, major, size, extent, k, wide):
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
        """Exchanges the pieces of 16 bytes: bits 4.. of the address with bits 7.. of it."""
        pieces = self.swizzle // 16
        if pieces == 1:
            return name
        return "%s ^ ((%s / %d & %d) * %d)" % (name, name, 128 // self.size, pieces - 1, 16 // self.size)

    def start(self, step):
        """Bytes from the matrix to its part of instruction `step`."""
        if self.major == "k":
            return step * 32 // self.swizzle * self.across + step * 32 % self.swizzle
        return step * 2 * self.down

    def attributes(self):
        leading, stride = self.across, self.down
        if self.swizzle == 16 and self.major == "mn":
            leading, stride = stride, leading
        swizzle = "swizzle = %d, " % self.swizzle if self.swizzle > 16 else ""
        return "{%sleading = %d, stride = %d}" % (swizzle, leading, stride)


def fill(case, operand, matrix, lines):
    name, rows = "ab"[operand], 64 if operand == 0 else case.n
    scalar = (case.a, case.b)[operand]
    lines.append("  for %%%s0 = %%t to %d step 128 {" % (name, rows * case.k))
    # lhs is [m, k], rhs is [k, n]
    row, k = ("%%x / %d" % case.k, "rem(%%x, %d)" % case.k) if operand == 0 else (
        "rem(%%x, %d)" % case.n, "%%x / %d" % case.n)
    lines.append("    %%x = %%%s0\n    %%i = %s\n    %%j = %s" % (name, row, k))
    lines.append("    %%at = %s" % matrix.offset("%i", "%j"))
    lines.append("    %%v = ld_global %%%s[%%x] : %s" % (name, scalar))
    lines.append("    st_shared %%v, %%s%s[%s]\n  }" % (name, matrix.cross("%at")))


def fragment(case, step, lines):
    """16 bytes of lhs: rows lane / 4 and 8 below, 4 bytes each, and again 16 bytes further."""
    pack = 4 // case.size
    pieces = []
    for part in range(4):
        name = "%%f%d_%d" % (step, part)
        lines.append("  %s = ld_global %%a[(%%row + %d) * %d + %%lane * %d + %d] : %s" % (
            name, part % 2 * 8, case.k, pack, step * case.depth + part // 2 * 4 * pack,
            "vector<%s[%d]>" % (case.a, pack) if pack > 1 else case.a))
        pieces.append(name)
    lines.append("  %%l%d = concat %s" % (step, ", ".join(pieces)))


def kernel(case, name):
    a, b = case.matrix(0), case.matrix(1)
    base = 0 if case.registers else -(-a.bytes // 1024) * 1024
    flags = case.flags()
    lines = ["kernel @%s(%%a: ptr<%s> {divisible = 16}, %%b: ptr<%s> {divisible = 16}, %%c: ptr<%s> {divisible = 16})"
             % (name, case.a, case.b, case.c), "    grid [%d]%s  warps 4  level 3" % ((2, "  cluster [2]") if case.cluster else (1, "")), "{",
             "  %t = thread_id", "  %lane = rem(%t, 4)", "  %row = %t / 32 * 16 + rem(%t, 32) / 4"]
    if not case.registers:
        lines.append("  %%sa = alloc_shared {offset = 0} : shared<%s[%d]>" % (case.a, a.bytes // case.size))
        fill(case, 0, a, lines)
    lines.append("  %%sb = alloc_shared {offset = %d} : shared<%s[%d]>" % (base, case.b, b.bytes // case.size))
    fill(case, 1, b, lines)
    lines += ["  fence_async", "  sync"]
    for step in range(case.steps):
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
        lines.append("  %%p%d = wgmma %%l%d, %%r%d, %%p%d, %s%s" % (
            step + 1, step, step, step, "true" if step or case.bound else "false", " {%s}" % ", ".join(flags) if flags else ""))
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


def text_of(cases):
    text = "".join(kernel(case, "k%d" % i) for i, case in enumerate(cases))
    args = ", ".join("%%a%d: ptr<%s>, %%b%d: ptr<%s>, %%c%d: ptr<%s>" % (i, c.a, i, c.b, i, c.c)
                     for i, c in enumerate(cases))
    return text + "plan @all(%s) {\n%s\n}\n" % (args, "\n".join(
        "  launch @k%d(%%a%d, %%b%d, %%c%d)" % (i, i, i, i) for i in range(len(cases))))


def options_of(cases):
    options = []
    for i, c in enumerate(cases):
        a, b = "a%d" % i, "b%d" % i
        options += ["--arg", "%s=int:%s[64,%d]" % (a, c.a, c.k), "--arg", "%s=int:%s[%d,%d]" % (b, c.b, c.k, c.n),
                    "--arg", "c%d=poison:%s[64,%d]" % (i, c.c, c.n)]
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
    """Each type, each swizzle, each major, registers, and a spread of n."""
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
    """Each n that the ISA has, of each of its two lists."""
    cases = ["f16,f16,f32:%d:s128:kn" % n for n in range(8, 257, 8)]
    return cases + ["i8,i8,i32:%d:s128:%s" % (n, reg) for reg in ("kk", "reg") for n in INTEGER_COLUMNS]


def forms():
    """What is done to operands and sums, from shared memory and from registers."""
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


def cases_of(words):
    for word in words:
        if word == "some":
            yield from some()
        elif word == "columns":
            yield from every_n()
        elif word == "forms":
            yield from forms()
        elif word.startswith("all"):
            yield from every([int(n) for n in word[4:].split(",")] if len(word) > 3 else [8, 32, 96, 256])
        else:
            yield word


def run(device, options, cases):
    for i in range(0, len(cases), 16):
        part = cases[i:i + 16]
        with tempfile.NamedTemporaryFile("w", suffix=".tile") as file:
            file.write(text_of(part))
            file.flush()
            ran = subprocess.run(["tile-run", file.name, "--device=" + device] + options + options_of(part),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            sys.exit("\n".join("k%d %s" % (j, c.text) for j, c in enumerate(part)) + "\n" + ran.stdout)
    print("%d products, all right" % len(cases))


def main():
    if sys.argv[1] == "print":
        print(text_of([Case(text) for text in cases_of(sys.argv[2:])]))
    else:
        words = sys.argv[3:]
        options = [word for word in words if word.startswith("--")]
        run(sys.argv[2], options, [Case(t) for t in cases_of(w for w in words if not w.startswith("--"))])


if __name__ == "__main__":
    main()

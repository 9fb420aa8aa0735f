"""Kernels with one stmatrix each; each thread reads back what it stored, according to the PTX ISA's table.

    stmatrix.py print                the text
    stmatrix.py run DEVICE           runs all of them
"""
import subprocess
import sys
import tempfile

CASES = [(t, n, trans) for t in ("f16", "bf16", "i16", "i8", "e4m3", "f32", "i32") for n in (1, 2, 4)
         for trans in ((False, True) if t in ("f16", "bf16", "i16") else (False,))]
BYTES = {"f16": 2, "bf16": 2, "i16": 2, "i8": 1, "e4m3": 1, "f32": 4, "i32": 4}


def kernel(name, scalar, matrices, trans):
    each = 4 // BYTES[scalar]  # elements per lane in each matrix
    count, row = each * matrices, 4 * each
    vector = "vector<%s[%d]>" % (scalar, count) if count > 1 else scalar
    lines = ["kernel @%s(%%x: ptr<%s> {divisible = 16}, %%y: ptr<%s> {divisible = 16}) grid [1] warps 1 level 3 {"
             % (name, scalar, scalar), "  %%s = alloc_shared {offset = 0} : shared<%s[%d]>" % (scalar, 32 * row),
             "  %t = thread_id", "  %%v = ld_global %%x[%%t * %d] : vector<%s[%d]>" % (count, scalar, count),
             "  stmatrix %%v, %%s[%%t * %d]%s" % (row, " {trans}" if trans else ""), "  sync"]
    for j in range(matrices):
        for e in range(each):
            at = "%%t / 4 * %d + rem(%%t, 4) * %d + %d" % (row, each, e)
            if trans:
                at = "(rem(%%t, 4) * %d + %d) * %d + %%t / 4" % (each, e, row)
            lines.append("  %%e%d_%d = ld_shared %%s[%d + %s] : %s" % (j, e, j * 8 * row, at, scalar))
            lines.append("  st_global %%e%d_%d, %%y[%%t * %d + %d]" % (j, e, count, j * each + e))
    return "\n".join(lines + ["}\n"])


def main():
    text = "".join(kernel("k%d" % i, *case) for i, case in enumerate(CASES))
    args = ", ".join("%%x%d: ptr<%s>, %%y%d: ptr<%s>" % (i, t, i, t) for i, (t, _, _) in enumerate(CASES))
    steps = "\n".join("  launch @k%d(%%x%d, %%y%d)" % (i, i, i) for i in range(len(CASES)))
    text += "plan @all(%s) {\n%s\n}\n" % (args, steps)
    if sys.argv[1] == "print":
        print(text)
        return
    options = []
    for i, (scalar, matrices, _) in enumerate(CASES):
        shape = "%s[%d]" % (scalar, 32 * matrices * 4 // BYTES[scalar])
        options += ["--arg", "x%d=int:%s" % (i, shape), "--arg", "y%d=poison:%s" % (i, shape),
                    "--check", "y%d=x%d" % (i, i)]
    with tempfile.NamedTemporaryFile("w", suffix=".tile") as file:
        file.write(text)
        file.flush()
        subprocess.run(["tile-run", file.name, "--device=" + sys.argv[2]] + options, check=True,
                       stdout=subprocess.DEVNULL)
    print("%d kernels, all right" % len(CASES))


main()

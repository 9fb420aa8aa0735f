"""Random reductions of a product's columns, such as the channels of [n, c, h, w], beside level 1.

usage: product_columns.py SEED COUNT FOLDER
"""
import random
import re
import subprocess
import sys

import shares


def run(words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode == 0, " ".join(words) + "\n" + ran.stdout


class Case:
    def __init__(self, draw):
        self.element = draw.choice(["f16", "f16", "bf16", "f32", "i8"])
        self.batch, self.m = draw.randint(1, 3), draw.choice([2, 16, 64, 128, draw.randint(2, 128)])
        self.window = draw.random() < 0.4 and self.element != "i8"
        self.c, self.h, self.w = draw.randint(1, 20), draw.randint(3, 12), draw.randint(3, 30)
        self.k, self.n = draw.randint(1, 90), draw.randint(2, 200)
        if self.window:
            self.k, self.n = self.c * 9, (self.h - 2) * (self.w - 2)
        self.form = draw.choice(["reduce", "reduce", "softmax", "both", "centered"])
        self.kind = draw.choice(["add", "max", "min"])
        self.nan = self.kind != "add" and draw.random() < 0.5
        self.rounded = draw.random() < 0.5
        self.points = draw.random()

    def args(self):
        x = [self.batch, self.c, self.h, self.w] if self.window else [self.batch, self.k, self.n]
        return {"w": [self.m, self.k], "x": x, "b": [self.m, 1]}

    def text(self):
        t, wide = self.element, "i32" if self.element == "i8" else "f32"
        args, out = self.args(), [self.batch, self.m, self.n]
        lines, x = [], "%x"
        if self.window:
            p, q = self.h - 2, self.w - 2
            lines += ["%%v = window %%x, [1, 1], [0, 0] {axis = 2} : tensor<%s[%d, %d, %d, %d, 3, 3]>" % (t, self.batch, self.c, p, q),
                      "%%u = transpose %%v {order = [0, 1, 4, 5, 2, 3]} : tensor<%s[%d, %d, 3, 3, %d, %d]>" % (t, self.batch, self.c, p, q),
                      "%%t = reshape %%u : tensor<%s[%d, %d, %d]>" % (t, self.batch, self.k, self.n)]
            x = "%t"
        lines.append("%%p = matmul %%w, %s : tensor<%s%s>" % (x, wide, out))
        lines.append("%%q = %%p + %s(%%b)" % wide if t != wide else "%q = %p + %b")
        if self.rounded and wide == "f32":
            lines.append("%%r = f32(%s(%%q))" % t if t != "f32" else "%r = %q * 0.5")
        else:
            lines.append("%r = max(%q, -3)" if wide == "i32" else "%r = max(%q, -3.0)")
        flag = ", nan" if self.nan and wide == "f32" else ""
        results = ["%%y: tensor<%s%s>" % (wide, out)]
        if self.form == "reduce":
            lines.append("%%y = reduce_%s(%%r, axis = 1%s) + 1%s" % (self.kind, flag, "" if wide == "i32" else ".0"))
            results = ["%%y: tensor<%s%s>" % (wide, [self.batch, 1, self.n])]
        elif self.form == "softmax" and wide == "f32":
            lines += ["%e = exp(%r - reduce_max(%r, axis = 1, nan))", "%y = %e / reduce_add(%e, axis = 1)"]
        elif self.form == "both":
            lines += ["%%s = reduce_%s(%%r, axis = 1%s)" % (self.kind, flag), "%y = %r"]
            results.append("%%s: tensor<%s%s>" % (wide, [self.batch, 1, self.n]))
        else:
            lines += ["%d = %r - reduce_add(%r, axis = 1)", "%y = %d * reduce_max(%d, axis = 1)"]
        inputs = ", ".join("%%%s: tensor<%s%s>" % (n, t, s) for n, s in args.items())
        return "compute @c(%s) -> (%s)\n{\n%s\n}\n" % (inputs, ", ".join(results), "\n".join("  " + line for line in lines))


def points_of(file, target):
    """The points that a launch can use, as parameters."""
    ok, said = run(["tilec", file, "--target=" + target, "--list-points"])
    found = [dict(re.findall(r"(\w+)=(\w+)", line)) for line in said.splitlines() if "dropped" not in line]
    return [p for p in found if "block_m" in p]


def main(seed, count, folder):
    draw = random.Random(seed)
    tried = failed = fused = 0
    for number, c in shares.take([(i, Case(draw)) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as text:
            text.write(c.text())
        ok, said = run(["tile-opt", file, "--schedule", "-o", "-"])
        fused += ok and bool(re.search(r"axis = 0.*block_n\]>", said))
        given = ["--arg=%s=int:%s[%s]" % (n, c.element, ",".join(map(str, s))) for n, s in c.args().items()]
        given += ["--arg=y=poison"] + (["--arg=s=poison"] if c.form == "both" else [])
        points = points_of(file, "sm_90a")
        point = points[int(c.points * len(points))] if points else {}
        at_point = ["--target=sm_90a"] + ["--param=%s=%s" % item for item in point.items()]
        for more in ["--level=2"], ["--level=3"], at_point:
            if ok:
                ok, said = run(["tile-run", file, "--device=cpu", "--check"] + given + more)
        if not ok:
            failed += 1
            print(said, flush=True)
    print("%d products, %d failed, %s in one kernel" % (tried, failed, "some" if fused else "none"))
    sys.exit(failed > 0)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

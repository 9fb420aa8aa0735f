"""Random computes that reduce along one axis: masks, biases, soft caps and scales between two products, quotients
before or after the last product, transposed operands, several types. Each becomes one kernel, which is compared
with level 1.

usage: walks.py FOLDER FIRST COUNT
"""
import pathlib
import random
import subprocess
import sys

import shares

MASKS = [None, None, "%key <= %row", "%row >= %key", "%key < %row + 3", "%key <= n - m + %row", "%key > %row",
         "%key <= %row & %key + 9 > %row", "%key + 2 > %row", "%key <= %row | %c == 0", "%key <= %row | %row < 4"]


class Walk:
    def __init__(self, r):
        self.r, self.type = r, r.choice(["f16", "f16", "bf16", "f32"])
        self.extents = {"m": r.choice([1, 3, 17, 33, 70, 131]), "n": r.choice([1, 5, 31, 64, 77, 130, 200]), "b": 2,
                        "h": r.choice([1, 3]), "d": r.choice([8, 16, 24, 40, 64]), "e": r.choice([8, 16, 24, 64])}
        self.batch = r.choice([[], ["h"], ["b", "h"]])
        self.arguments, self.given, self.lines, self.results = [], [], [], []
        self.scores = "%s0"

    def maybe(self, chance):
        return self.r.random() < chance

    def tensor(self, name, element, dims):
        said = ", ".join(str(self.extents[x]) if x in ("d", "e") else x for x in dims)
        extents = ",".join(str(self.extents.get(x, x)) for x in dims)
        self.arguments.append(f"%{name}: tensor<{element}[{said}]>")
        self.given.append(f"{name}=rand:{element}[{extents}]")

    def number(self, name, element, value):
        self.arguments.append(f"%{name}: {element}")
        self.given.append(f"{name}={value}")

    def step(self, text):
        name = f"%s{len(self.lines)}"
        self.lines.append(f"{name} = {text.format(s=self.scores)}")
        self.scores = name

    def operands(self):
        turned = [self.maybe(0.3), self.maybe(0.5), self.maybe(0.3)]
        keys = ["1" if self.maybe(0.3) else x for x in self.batch]
        self.tensor("q", self.type, self.batch + (["d", "m"] if turned[0] else ["m", "d"]))
        self.tensor("k", self.type, keys + (["n", "d"] if turned[1] else ["d", "n"]))
        self.tensor("v", self.type, keys + (["e", "n"] if turned[2] else ["n", "e"]))
        flags = (", trans_lhs" if turned[0] else "") + (", trans_rhs" if turned[1] else "")
        self.lines.append("%row = iota(axis = 0) : tensor<i32[m, 1]>")
        self.lines.append("%key = iota(axis = 1) : tensor<i32[1, n]>")
        self.lines.append(f"%s0 = matmul(%q, %k{flags}) : f32")
        return ", trans_rhs" if turned[2] else ""

    def between(self):
        if self.maybe(0.3):
            self.number("scale", "f32", self.r.choice([0.25, -0.5, 3]))
            self.step("{s} * %scale")
        if self.maybe(0.3):
            self.tensor("bias", "f16", ["m", "n"])
            self.step("{s} + f32(%bias)")
        if self.maybe(0.2):
            self.step("tanh({s}) * 3.0")
        if self.maybe(0.2):
            self.step("{s} - f32(%row - %key) * 0.125")
        if self.maybe(0.4):
            self.step("{s} * " + self.r.choice(["0.125", "2.0"]))
        mask = self.r.choice(MASKS)
        if mask and "%c" in mask:
            self.number("c", "i32", self.r.choice([0, 1]))
        if mask:
            self.step(f"select({mask}, {{s}}, {self.r.choice(['-inf', '-inf', '-1.0e9'])})")

    def weights(self, turned):
        axis, guard = len(self.batch) + 1, self.maybe(0.6)
        top, total = f"reduce_max({self.scores}, axis = {axis})", f"reduce_add(%e, axis = {axis})"
        function, fast = self.r.choice([("exp", ""), ("exp", ", fast"), ("exp2", "")])
        fall = f"{self.scores} - %t"
        if self.maybe(0.2):
            fall = f"({fall}) * 0.5"
        self.lines.append("%t = " + (f"max({top}, -1.0e30)" if guard else top))
        self.lines.append(f"%e = {function}({fall}{fast})")
        self.lines.append("%r = " + (f"max({total}, 1.0e-30)" if guard else total))
        how = self.r.choice(["%e / %r", "%e * (1.0 / %r)", "%e", "behind"])
        weights = "%e" if how == "behind" else how
        if self.type == "f32":
            self.lines.append(f"%a = matmul({weights}, %v{turned}) : f32")
        elif self.maybe(0.15):
            self.lines.append(f"%a = matmul({weights}, f32(%v){turned}) : f32")
        else:
            self.lines.append(f"%a = matmul({self.type}({weights}), %v{turned}) : f32")
        out = "bf16" if self.type == "bf16" else "f16"
        self.lines.append(f"%o = {out}({'%a / %r' if how == 'behind' else '%a'})")
        self.results.append(f"%o: tensor<{out}[{', '.join(self.batch + ['m', str(self.extents['e'])])}]>")
        if self.maybe(0.3):
            self.lines.append("%l = %t + log(%r)")
            self.results.append(f"%l: tensor<f32[{', '.join(self.batch + ['m', '1'])}]>")

    def text(self):
        turned = self.operands()
        self.between()
        self.weights(turned)
        dims = ", ".join(f"{x}: dim" for x in self.batch + ["m", "n"])
        head = f"compute @c<{dims}>({', '.join(self.arguments)}) -> ({', '.join(self.results)})"
        return head + "\n{\n  " + "\n  ".join(self.lines) + "\n}\n"


def is_right(folder, seed):
    r = random.Random(seed)
    walk, file = Walk(r), folder / f"walk{seed}.tile"
    file.write_text(walk.text())
    how = r.choice(["--level=2", "--level=2", "--target=sm_80", "--target=sm_90a"])
    command = ["tile-run", str(file), "--device=cpu", "--check", how]
    for given in walk.given:
        command += ["--arg", given]
    ran = subprocess.run(command, capture_output=True, text=True)
    checks = [line for line in ran.stdout.splitlines() if line.startswith("check")]
    right = "@c_kernel" in ran.stdout and len(checks) == len(walk.results)
    right &= all(line.endswith(": 0 wrong") for line in checks)
    if not right:
        print(" ".join(command), ran.stdout, ran.stderr, sep="\n")
    return right


def main():
    folder, first, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    first, count = shares.draw(first, count)
    wrong = sum(not is_right(folder, seed) for seed in range(first, first + count))
    print(f"{count} walks compared, {wrong} wrong")


if __name__ == "__main__":
    main()

"""Random products followed by chains of element-wise operations and statistics of rows, or of groups of columns. Each
one is scheduled, run on the CPU device at a random tuning point, and compared with the compute itself.

    row_chains.py [--seed=N] [--count=N] [--seconds=S] [--least=N] [--keep=FOLDER] [--go-on]

Chains whose rows or groups a tile holds must be one kernel, and reductions of longer rows two that do not store the
product. Prints how many chains were compared, and how many of them were such. Options as in computes.py."""
import os
import random
import subprocess
import sys
import tempfile
import time

import shares


class Chain:
    """A compute @f: the text, the arguments, and the number of kernels (None: not known)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pick = self.random.choice
        self.lines, self.args, self.count = [], [], 0
        self.scalar = pick(["f16", "f16", "bf16", "f32"])
        self.batches = pick([[], [], [2], [3], [2, 2]])
        self.m = pick([2, 5, 17, 33, 64, 65, 130])
        self.width, self.groups = pick([(77, 1), (100, 1), (64, 1), (33, 1), (16, 6), (16, 12), (8, 20), (32, 8), (64, 5), (2, 40),
                                        (12, 6), (320, 1), (384, 1), (500, 1), (224, 1), (256, 1), (128, 3)])
        self.n = self.width * self.groups
        self.k = pick([8, 24, 40, 72, 264, 300])
        self.only = self.groups == 1 and self.chance(0.5)  # no element of the product is a result
        self.moved = self.chance(0.3)  # rows of groups are one dim
        self.results = []
        self.build()

    def chance(self, p):
        return self.random.random() < p

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text):
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def argument(self, scalar, dims):
        name = f"a{len(self.args)}"
        self.args.append((name, scalar, dims))
        return "%" + name

    # Shapes -------------------------------------------------------------------------------------

    def whole(self):
        return self.batches + [self.m, self.n]

    def grouped(self):
        if self.groups == 1 and not self.moved:
            return self.whole()
        rows = self.batches + [self.m] + ([self.groups] if self.groups > 1 else [])
        if self.moved:
            size = 1
            for d in rows:
                size *= d
            rows = [size]
        return rows + [self.width]

    def reshaped(self, value, dims):
        return self.emit(f"reshape({value}) : {dims}") if dims != self.whole() else value

    # Steps --------------------------------------------------------------------------------------

    def product(self):
        transposed = self.chance(0.5)
        x = self.argument(self.scalar, self.batches + [self.m, self.k])
        w = self.argument(self.scalar, self.batches + ([self.n, self.k] if transposed else [self.k, self.n]))
        value = self.emit(f"matmul({x}, {w}{', trans_rhs' if transposed else ''}) : f32")
        return self.emit(f"{value} * 0.25")

    def elementwise(self, value):
        pick = self.random.choice
        kind = pick(["relu", "scale", "bias", "round", "residual", "none"])
        if kind == "relu":
            return self.emit(f"max({value}, 0.0)")
        if kind == "scale":
            return self.emit(f"{value} * 0.5 + 1.0")
        if kind == "bias":
            return self.emit(f"{value} + f32({self.argument(self.scalar, [self.n])})")
        if kind == "residual" and not self.only:
            return self.emit(f"{value} + f32({self.argument(self.scalar, self.whole())})")
        if kind == "round" and self.scalar != "f32":
            return self.emit(f"f32({self.scalar}({value}))")
        return value

    def statistic(self, value, axis):
        """Element-wise functions of the elements and of a statistic of their row."""
        kind = self.random.choice(["center", "norm", "softmax", "maximum", "rms"])
        row = lambda text: self.emit(text)
        if kind == "maximum":
            return self.emit(f"{value} - {row(f'reduce_max({value}, axis = {axis})')}")
        if kind == "softmax":
            e = self.emit(f"exp({value} - {row(f'reduce_max({value}, axis = {axis})')})")
            return self.emit(f"{e} / {row(f'reduce_add({e}, axis = {axis})')}")
        if kind == "rms":
            square = row(f"reduce_add({value} * {value}, axis = {axis}) / {self.width}.0 + 0.01")
            return self.emit(f"{value} / sqrt({square})")
        center = self.emit(f"{value} - {row(f'reduce_add({value}, axis = {axis}) / {self.width}.0')}")
        if kind == "center":
            return center
        square = row(f"rsqrt(reduce_add({center} * {center}, axis = {axis}) / {self.width}.0 + 0.01)")
        return self.emit(f"{center} * {square}")

    def reduced(self, value, axis):
        kind = self.random.choice(["sum", "max", "mean", "variance", "lse", "min"])
        if kind in ("sum", "max", "min"):
            return self.emit(f"reduce_{'add' if kind == 'sum' else kind}({value}, axis = {axis})")
        mean = self.emit(f"reduce_add({value}, axis = {axis}) / {self.width}.0")
        if kind == "mean":
            return mean
        if kind == "variance":
            center = self.emit(f"{value} - {mean}")
            return self.emit(f"reduce_add({center} * {center}, axis = {axis}) / {self.width}.0")
        top = self.emit(f"reduce_max({value}, axis = {axis})")
        total = self.emit(f"reduce_add(exp({value} - {top}), axis = {axis})")
        return self.emit(f"log({total}) + {top}")

    def result(self, value, dims):
        narrow = self.scalar != "f32" and self.chance(0.5)
        name = f"r{len(self.results)}"
        self.lines.append(f"  %{name} = {self.scalar + '(' + value + ')' if narrow else value + ' + 0.0'}")
        self.results.append((name, self.scalar if narrow else "f32", dims))

    def build(self):
        value = self.product()
        for _ in range(self.random.randint(0, 2)):
            value = self.elementwise(value)
        if self.only:
            self.moved = False
            axis = len(self.whole()) - 1
            for _ in range(self.random.randint(1, 2)):
                self.result(self.reduced(value, axis), self.whole()[:-1] + [1])
        else:
            dims = self.grouped()
            value = self.reshaped(value, dims)
            for _ in range(self.random.randint(1, 2)):
                value = self.statistic(value, len(dims) - 1)
                if self.chance(0.3):
                    value = self.emit(f"{value} * 2.0 + 0.5")
            self.result(value, dims)
            if self.chance(0.3):
                self.result(self.reduced(value, len(dims) - 1), dims[:-1] + [1])
        self.limit = 128 if self.scalar == "f32" else 256

    def kernels(self):
        """The number of kernels that there must be; None: any."""
        power = self.width & (self.width - 1) == 0
        if self.groups > 1:
            return 1 if power and self.width <= self.limit and len(self.batches) < 2 else None
        if self.only and self.k <= 256:
            return None  # some kinds of reductions become online loops
        if self.n <= self.limit:
            return 1
        return 2 if self.only and self.n % 16 == 0 and self.k > 256 and len(self.batches) < 2 else None

    def text(self):
        args = ", ".join(f"%{n}: tensor<{s}{d}>" for n, s, d in self.args)
        results = ", ".join(f"%{n}: tensor<{s}{d}>" for n, s, d in self.results)
        return f"compute @f({args}) -> ({results})\n{{\n" + "\n".join(self.lines) + "\n}\n"


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(command, 124, "", f"timeout: {error}")


def points_of(path):
    listed = run(["tilec", path, "--target=sm_90a", "--list-points"]).stdout.splitlines()
    points = [p for p in listed if "=" in p and "dropped" not in p]
    return points or [""]


def check(chain, path, seed):
    """An error, or None; and the number of kernels."""
    made = run(["tile-opt", path, "--pass-pipeline=schedule", "--target=sm_90a"])
    if made.returncode:
        return "schedule: " + made.stderr, 0
    kernels = sum(line.startswith("kernel ") for line in made.stdout.splitlines())
    wanted = chain.kernels()
    if wanted and kernels != wanted:
        return f"{kernels} kernels, and there should be {wanted}", kernels
    choice = random.Random(seed)
    point = choice.choice(points_of(path)) if choice.random() < 0.7 else ""
    level = choice.choice(["2", "3"])
    command = ["tile-run", path, "--device=cpu", "--check", f"--level={level}", "--target=sm_90a", "--kernel=f"]
    for name, scalar, dims in chain.args:
        command += ["--arg", f"{name}=rand:{scalar}{dims}".replace(" ", "")]
    for value in point.split():
        command += ["--param", value]
    done = run(command)
    checks = [line for line in done.stdout.splitlines() if line.startswith("check")]
    wrong = done.returncode or not checks or any(" 0 wrong" not in line for line in checks)
    return (f"{' '.join(command)}\n{done.stdout[-400:]}{done.stderr[-800:]}" if wrong else None), kernels


def main():
    options = dict(a[2:].split("=", 1) if "=" in a else (a[2:], "1") for a in sys.argv[1:])
    seed, count, seconds, least = shares.draw(int(options.get("seed", 1)), int(options.get("count", 100)),
                                              int(options.get("seconds", 10 ** 9)), int(options.get("least", 1)))
    deadline = time.monotonic() + seconds
    compared = wrong = one = 0
    seeds = range(seed, seed + count)
    with tempfile.TemporaryDirectory() as folder:
        folder = options.get("keep", folder)
        os.makedirs(folder, exist_ok=True)
        for s in seeds:
            if compared >= least and time.monotonic() > deadline:
                break
            chain = Chain(s)
            path = os.path.join(folder, f"chain{s}.tile")
            with open(path, "w") as f:
                f.write(chain.text())
            error, kernels = check(chain, path, s)
            compared += 1
            one += chain.kernels() is not None
            if error:
                wrong += 1
                print(f"seed {s}: {error}\n{chain.text()}")
                if "go-on" not in options:
                    break
            else:
                os.remove(path)
    print(f"{compared} chains compared, {one} with a known number of kernels, {wrong} wrong")


main()

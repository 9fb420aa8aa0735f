"""Random plans: loops, branches, subviews, fills and launches, with integer expressions over arguments, loop variables
and constants. A model here runs their steps; the CPU device runs them at both levels, before and after passes that
change plans, and the interface (--emit=abi) is run by the model of a program without the library.

usage: plans.py FOLDER FIRST COUNT [--plant: run each loop once more than it says]
"""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys

import shares

KERNELS = """
kernel @add(%n: i32, %c: i32, %from: view<i32[%n]>, %to: view<i32[%n]>) grid [ceildiv(%n, 16)]  warps 1
{
  %b = block_id
  store (load %to[%b * 16] : [16]) + (load %from[%b * 16] : [16]) * %c, %to[%b * 16]
}
kernel @set(%n: i32, %c: i32, %to: ptr<i32>) grid [ceildiv(%n, 16)]  warps 1
{
  %b = block_id
  %g = view %to, [%n]
  store splat(%c) : [16], %g[%b * 16]
}
"""
PLANTED = "--plant" in sys.argv
ROWS = {"s": (3, 1), "t": (2, 2), "y": (4, 1)}  # of n elements, in this many parts


def wrap(value):
    return (value + 2**31) % 2**32 - 2**31


class Plan:
    def __init__(self, r):
        self.r, self.n, self.k, self.depth, self.count = r, r.choice([1, 5, 16, 33, 40]), r.randint(0, 4), 0, 0
        self.lines, self.vars, self.budget = [], [], 60

    def expr(self, depth=2):
        """An expression that is not negative, as text and as a function of the environment."""
        kind = self.r.choice(["number", "var", "var", "sum", "product", "min"]) if depth else "var"
        if kind == "number" or (kind == "var" and not self.vars and self.r.random() < 0.5):
            value = self.r.randint(0, 5)
            return str(value), lambda e: value
        if kind == "var":
            name = self.r.choice(self.vars + ["k"])
            return f"%{name}", lambda e: e[name]
        a, fa = self.expr(depth - 1)
        b, fb = self.expr(depth - 1)
        if kind == "sum":
            return f"({a} + {b})", lambda e: fa(e) + fb(e)
        if kind == "product":
            return f"({a} * {b})", lambda e: fa(e) * fb(e)
        return f"min({a}, {b})", lambda e: min(fa(e), fb(e))

    def emit(self, text):
        self.lines.append("  " * (self.depth + 1) + text)

    def place(self, array):
        """A subview of an array: text, and (array, first, count) of the environment."""
        rows, parts = ROWS[array]
        row, frow = self.expr()
        shape = self.r.choice(["row", "row", "half", "two", "nested"])
        start = lambda e: frow(e) % rows * self.n * parts
        first = f"rem({row}, {rows})" + ", 0" * (parts > 1)
        at = first + ", 0"
        if shape == "half":
            column, half = self.n // 2, self.n - self.n // 2
            at = first + ", %n / 2"
            return f"subview(%{array}[{at}], [%n - %n / 2])", "%n - %n / 2", lambda e: (array, start(e) + column, half)
        if shape == "two" and parts == 2:
            return f"subview(%{array}[{at}], [2 * %n])", "2 * %n", lambda e: (array, start(e), 2 * self.n)
        if shape == "nested" and parts == 2:
            part, fpart = self.expr()
            name = f"v{self.count}"
            self.count += 1
            self.emit(f"%{name} = subview %{array}[{at}], [2, %n]")
            return (f"subview(%{name}[rem({part}, 2), 0], [%n])", "%n",
                    lambda e: (array, start(e) + fpart(e) % 2 * self.n, self.n))
        return f"subview(%{array}[{at}], [%n])", "%n", lambda e: (array, start(e), self.n)

    def fill(self):
        value, fvalue = self.expr()
        text, size, place = self.place(self.r.choice("sty"))
        launches = self.r.random() < 0.3
        self.emit(f"launch @set({size}, {value}, {text})" if launches else f"fill {text}, {value}")

        def run(e, memory):
            array, first, count = place(e)
            memory[array][first:first + count] = [wrap(fvalue(e))] * count
        return run

    def add(self):
        value, fvalue = self.expr()
        source, target = self.r.sample("sty", 2)
        (a, size, pa), (b, other, pb) = self.place(source), self.place(target)
        size = min(size, other, key=["%n - %n / 2", "%n", "2 * %n"].index)
        self.emit(f"launch @add({size}, {value}, {a}, {b})")

        def run(e, memory):
            (x, i, p), (y, j, q) = pa(e), pb(e)
            for d in range(min(p, q)):
                memory[y][j + d] = wrap(memory[y][j + d] + memory[x][i + d] * fvalue(e))
        return run

    def loop(self):
        begin, fbegin = self.expr(1)
        most, step = self.r.choice([0, 2, 3, 4]), self.r.choice([1, 1, 2, 3])
        name = f"i{len(self.vars)}"
        self.emit(f"for %{name} = {begin} to {begin} + {most}" + (f" step {step}" if step > 1 else "") + " {")
        self.vars.append(name)
        body = self.region()
        self.vars.pop()
        self.emit("}")

        def run(e, memory):
            for i in range(fbegin(e), fbegin(e) + most + PLANTED, step):
                body({**e, name: i}, memory)
        return run

    def branch(self):
        a, fa = self.expr(1)
        b, fb = self.expr(1)
        self.emit(f"if {a} < {b} {{")
        yes = self.region()
        self.emit("} else {")
        no = self.region()
        self.emit("}")
        return lambda e, memory: (yes if fa(e) < fb(e) else no)(e, memory)

    def region(self):
        self.depth += 1
        steps = []
        for _ in range(self.r.randint(1, 4) + (4 if self.depth == 0 else 0)):
            self.budget -= 1
            kinds = [self.fill, self.add, self.add]
            if self.depth < 4 and self.budget > 0:
                kinds += [self.loop, self.branch]
            steps.append(self.r.choice(kinds)())
        self.depth -= 1

        def run(e, memory):
            for step in steps:
                step(e, memory)
        return run

    def text(self):
        self.depth = 0
        self.emit("%s = scratch [3, %n] : i32")
        self.emit("%t = scratch [2, 2, %n] : i32")
        self.emit("fill %s, 1")
        self.emit("fill %t, 2")
        self.depth = -1
        body = self.region()
        self.depth = 0
        sources = [f"%t[{row // 2}, {row % 2}, 0]" for row in range(4)] + [f"%s[{row}, 0]" for row in range(3)]
        for i, source in enumerate(sources):  # all of the scratch, in y
            row, factor = (i, i + 2) if i < 4 else (i - 4, i - 1)
            self.emit(f"launch @add(%n, {factor}, subview({source}, [%n]), subview(%y[{row}, 0], [%n]))")
        self.lines.append("}")
        head = "plan @p(%n: i32, %k: i32, %y: view<i32[4, %n]>)\n{\n"
        return KERNELS + head + "\n".join(self.lines) + "\n", body

    def result(self, body):
        memory = {name: [0] * (rows * parts * self.n) for name, (rows, parts) in ROWS.items()}
        memory["s"], memory["t"] = [1] * len(memory["s"]), [2] * len(memory["t"])
        body({"k": self.k}, memory)
        for array, rows, least in (("t", 4, 2), ("s", 3, 3)):
            for row in range(rows):
                for d in range(row * self.n, (row + 1) * self.n):
                    memory["y"][d] = wrap(memory["y"][d] + memory[array][d] * (row + least))
        return memory["y"]


def evaluate(text, plan, loops):
    """An expression of the interface, over arguments and loop variables."""
    text = re.sub(r"loop\((\d)\)", lambda m: str(loops[int(m.group(1))]), text)
    text = text.replace("%n", str(plan.n)).replace("%k", str(plan.k)).replace("/", "//")
    return eval(text, {"rem": lambda a, b: a % b, "min": min})


def place_of(text, plan, loops):
    """The array, and the first element."""
    base, _, offset = text.partition(" + ")
    return base[1:], evaluate(offset, plan, loops) // 4 if offset else 0


def run_interface(plan, interface):
    memory = {name: [None] * (rows * parts * plan.n) for name, (rows, parts) in ROWS.items()}
    memory["y"] = [0] * len(memory["y"])
    steps, loops, at = interface["steps"], [0] * 8, 0
    bounds = [None] * 8

    def value(text):
        return evaluate(text, plan, loops)
    while at < len(steps):
        step = steps[at]
        at += 1
        if step["step"] == "fill":
            array, first = place_of(step["view"], plan, loops)
            count = value(step["bytes"]) // 4
            memory[array][first:first + count] = [wrap(value(step["value"]))] * count
        elif step["step"] == "launch" and step["kernel"] == "set":
            (array, first), count = place_of(step["arguments"][2], plan, loops), value(step["arguments"][0])
            memory[array][first:first + count] = [wrap(value(step["arguments"][1]))] * count
        elif step["step"] == "launch":
            (x, i), (y, j) = (place_of(argument, plan, loops) for argument in step["arguments"][2:])
            for d in range(value(step["arguments"][0])):
                memory[y][j + d] = wrap(memory[y][j + d] + memory[x][i + d] * value(step["arguments"][1]))
        elif step["step"] == "branch":
            at = at if value(step["condition"]) else step["target"]
        elif step["step"] == "jump":
            at = step["target"]
        elif step["step"] == "for":
            loop = step["loop"]
            loops[loop], bounds[loop] = value(step["begin"]), (value(step["end"]), value(step["by"]))
            at = at if loops[loop] < bounds[loop][0] else step["target"]
        else:
            loop = step["loop"]
            loops[loop] += bounds[loop][1]
            at = step["target"] + 1 if loops[loop] < bounds[loop][0] else at
    return memory["y"]


def command(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        print(" ".join(words), done.stderr, sep="\n")
    return done


def run(folder, seed):
    """The number of wrong results."""
    plan, wrong = Plan(random.Random(seed)), 0
    text, body = plan.text()
    wanted = plan.result(body)
    path, passed, saved = folder / f"{seed}.tile", folder / f"{seed}.passed.tile", folder / f"{seed}.npy"
    path.write_text(text)
    made = command(["tile-opt", str(path), "--canonicalize", "--cse", "--licm", "--dce", "-o", str(passed)])
    if made.returncode:
        return 1
    for file, level in [(path, 2), (path, 3), (passed, 3)]:
        done = command(["tile-run", str(file), "--kernel=p", "--device=cpu", f"--level={level}", "--arg", f"n={plan.n}",
                        "--arg", f"k={plan.k}", "--arg", "y=zeros", "--save", f"y={saved}"])
        got = None
        if done.returncode == 0:
            data = saved.read_bytes()
            got = list(struct.unpack(f"<{4 * plan.n}i", data[10 + struct.unpack("<H", data[8:10])[0]:]))
        if got != wanted:
            print(f"seed {seed}: {file.name} at level {level} is wrong")
            wrong += 1
    interface = command(["tilec", str(path), "--kernel=p", "--emit=abi", "-o", "-"])
    if interface.returncode or run_interface(plan, json.loads(interface.stdout)) != wanted:
        print(f"seed {seed}: the interface is wrong")
        wrong += 1
    return wrong


def main():
    folder, first, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = shares.take(range(first, first + count))
    wrong = sum(run(folder, seed) for seed in seeds)
    print(f"{len(seeds)} plans compared, {wrong} wrong")
    sys.exit(wrong > 0)


main()

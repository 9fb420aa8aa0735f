"""Compiles every kernel, plan and compute of tools/kernels that needs no parameters for every row of targets.def, and every
product whose element types are open for each combination of these.

usage: kernels_on_targets.py TARGETS.DEF FILE ...
"""
import collections
import itertools
import pathlib
import re
import subprocess
import sys

import shares

# The error for a parameter without default and points, which only a user can choose.
GIVEN = ("has no value: write", "has no value; give it a default", "is open: say which one")


# Element types of operands, sums and results of products.
TYPES = [("f16", "f32", "f16"), ("bf16", "f32", "bf16"), ("i8", "i32", "i32"), ("e4m3", "f32", "bf16"),
         ("tf32", "f32", "f32"), ("f32", "f32", "f32"), ("f64", "f64", "f64")]


def type_options(head):
    """The options for a header whose types have no defaults: a list for each combination of types."""
    names = [name for name in "TSR" if re.search(rf"[<\s]{name}: type[,>\s]+(?!=)", head)]
    if "T" not in names or "R" not in names:
        return [[]]
    return [[f"--param={name}={types['TSR'.index(name)]}" for name in names] for types in TYPES]


def compiles(file, name, target, options):
    """None if it cannot be compiled without parameters; else the first error, "" if there is none. --emit=tile runs the
    passes, for all kernels of a plan, but generates no code."""
    ran = subprocess.run(["tilec", str(file), f"--kernel={name}", f"--target={target}", "--emit=tile", "-o", "-", *options],
                         capture_output=True, text=True)
    errors = [line for line in ran.stderr.splitlines() if "error:" in line]
    if ran.returncode and errors and any(text in errors[0] for text in GIVEN):
        return None
    return (errors or [f"exit status {ran.returncode}"])[0] if ran.returncode else ""


def main():
    targets = re.findall(r"(?m)^TARGET\((\w+)", pathlib.Path(sys.argv[1]).read_text())
    names = [(file, name, options) for file in sys.argv[2:]
             for name, head in re.findall(r"(?m)^(?:kernel|plan|compute) @(\w+)(<[^(]*>)?", pathlib.Path(file).read_text())
             for options in type_options(head)]
    cases = shares.take(itertools.product(names, targets))
    made, wrong, needs = collections.Counter(), 0, set()
    for (file, name, options), target in cases:
        error = None if name in needs else compiles(file, name, target, options)
        if error is None:
            needs.add(name)
            continue
        made[file] += 1
        wrong += bool(error)
        if error:
            print(f"{target}: @{name} {' '.join(options)}: {error}")
    for file in sys.argv[2:] if len(cases) == len(names) * len(targets) else []:
        if not made[file]:
            print(f"{file}: nothing of it compiles without parameters")
    print(f"{len(targets)} targets, {sum(made.values())} compiled, {wrong} refused")


if __name__ == "__main__":
    main()

"""Counts the bank conflicts of all shared memory accesses in the shipped kernels with products, based on the layouts.

    bank_conflicts.py KERNELS --target=sm_80
"""
import argparse
import glob
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("kernels")
parser.add_argument("--target", default="sm_80")
options = parser.parse_args()
PASSES = "expand-dots,split-k,choose-cache,round-grid,tile-scheduler,canonicalize,cse,licm,dce,choose-instructions," \
         "specialize-warps,pipeline,assign-layouts,prefetch"


def kernels(text):
    for part in re.split(r"(?m)^(?=kernel |compute |plan |func )", re.sub(r"//[^\n]*", "", text)):
        found = re.match(r"kernel @(\w+)", part)
        if found and "dot" in part:
            yield found.group(1), part.split("\n{")[0]


def points(head):
    """The first point, and the combination of the last values of all tune clauses, if these are numbers."""
    last = {}
    for names, values in re.findall(r"tune\s+(\([^)]*\)|\w+)\s+in\s+\[((?:[^\[\]]|\[[^\]]*\])*)\]", head):
        names = [n.strip() for n in names.strip("()").split(",")]
        rows = re.findall(r"\(([^()]*)\)", values) if len(names) > 1 else values.split(",")
        if rows:
            last.update(zip(names, [v.strip() for v in rows[-1].split(",")]))
    return [{}, last] if last and all(re.fullmatch(r"\w+", v) for v in last.values()) else [{}]


def given(head, text):
    """What a plan passes for a parameter that the kernel leaves open, with the plan's own defaults."""
    opened = re.findall(r"(\w+): (?:int|type|word)(?=[,>])", re.split(r">\s*\(", head)[0])
    found = {name: re.search(rf"\b{name}: \w+ = (\w+)", text) for name in opened}
    return {name: value.group(1) for name, value in found.items() if value}


runs = accesses = 0
faults = []
for path in sorted(glob.glob(os.path.join(options.kernels, "*.tile"))):
    with open(path) as file:
        text = file.read()
    for name, head in kernels(text):
        for point in points(head):
            words = " ".join(f"{k}={v}" for k, v in {**given(head, text), **point}.items())
            result = subprocess.run(["tile-opt", path, "--kernel=" + name, "--instantiate=" + words,
                                     "--pass-pipeline=" + PASSES, "--target=" + options.target, "--print-layout"],
                                    capture_output=True, text=True)
            if result.returncode:  # a point that `where` or the target excludes
                if "error" in result.stderr and not re.search(r"where|does not hold|needs|has no value|shared memory|take", result.stderr):
                    sys.exit(path + " " + name + " " + words + "\n" + result.stderr)
                continue
            runs += 1
            for line in result.stdout.splitlines():
                found = re.search(r"(\d+) bank conflicts", line)
                accesses += found is not None
                if found and found.group(1) != "0":
                    faults.append(f"{os.path.basename(path)} @{name} {words}: {line.strip()}")
for fault in faults:
    print(fault)
print(f"{runs} kernels, {accesses} accesses, {len(faults)} with bank conflicts")

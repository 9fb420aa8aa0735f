"""What no row of a batch and head sees is not looked at: with infinities and NaN there, in keys and values, a kernel gives
the same results, bit by bit, as with small numbers; and those are right.

    hidden.py FILE.tile KERNEL CASE TARGET,... [--first] [NAME=VALUE]...

Each point of the kernel's space is run, with --first the first one. A case says which keys are hidden.
"""
import itertools
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

B, H, G, M, N, D = 2, 2, 2, 40, 150, 32
first_only = "--first" in sys.argv
path, kernel, case, targets, *given = [word for word in sys.argv[1:] if word != "--first"]
given = dict(word.split("=") for word in given)
ROWS, GROUPS, DEPTH = int(given.pop("rows", M)), int(given.pop("groups", G)), int(given.pop("d", D))
LENGTH = int(given.pop("length", 0))
LENGTHS = [LENGTH, LENGTH] if LENGTH else [131, 77]
WINDOW = 20

HIDDEN = {
    "lengths": lambda key, length: key >= length,
    "window": lambda key, length: key >= length or key <= length - ROWS - WINDOW,
}[case]


def write(folder, name, kind, numbers, shape):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ", ".join(map(str, shape)))
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(numbers), {"f2": "e", "i4": "i"}[kind]), *numbers))


def points(text):
    """The points of the kernel's tune clauses as lists of NAME=VALUE."""
    clauses = []
    head = text[text.index("kernel @" + kernel):]
    for names, values in re.findall(r"^ *tune +(\(.*?\)|\w+) in\s+\[([^]]*)\]", head[:head.index("\n{")], re.M):
        names = re.findall(r"\w+", names)
        rows = re.findall(r"\((.*?)\)(?=,|$)", values) if len(names) > 1 else values.split(",")
        rows = [row.split(",") for row in rows]
        if all(len(row) == len(names) and all(n.strip().isdigit() for n in row) for row in rows):
            clauses.append([[f"{n}={v.strip()}" for n, v in zip(names, row)] for row in rows])
    return [sum(point, []) for point in itertools.product(*clauses)]


def arrays(folder):
    numbers = random.Random(7)
    shapes = {"q": (B, H, ROWS, DEPTH), "k": (B, GROUPS, N, DEPTH), "v": (B, GROUPS, N, DEPTH)}
    for name, shape in shapes.items():
        clean = [numbers.uniform(-1, 1) for _ in range(math.prod(shape))]
        spoilt = list(clean)
        for i in range(len(clean)):
            b, key = i // math.prod(shape[1:]), i // DEPTH % N
            if name != "q" and HIDDEN(key, LENGTHS[b]):
                spoilt[i] = [math.inf, math.nan, -math.inf][(key + i) % 3]
        write(folder, "clean_" + name, "f2", clean, shape)
        write(folder, "spoilt_" + name, "f2", spoilt, shape)
    write(folder, "lengths", "i4", LENGTHS, (B,))


def run(folder, which, target, point, more):
    command = ["tile-run", path, "--kernel=" + kernel.removesuffix("_kernel"), "--device=cpu", "--target=" + target]
    command += ["--arg=length=%d" % LENGTH if LENGTH else "--arg=lengths=@%s/lengths" % folder, "--arg=o=poison"]
    command += ["--arg=%s=@%s/%s_%s" % (name, folder, which, name) for name in "qkv"]
    sizes = {"b": B, "h": H, "g": GROUPS, "m": ROWS, "n": N}
    command += ["--arg=%s=%s" % pair for pair in given.items()] if given else \
        ["--arg=%s=%d" % pair for pair in sizes.items() if pair[0] != "g" or kernel.startswith("causal")]
    command += [word for pair in point for word in ("--param", pair)]
    command += ["--save", "o=%s/%s_o" % (folder, which), *more]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode and "bytes of shared memory" in ran.stderr:
        return None
    if ran.returncode:
        sys.exit(" ".join(command) + "\n" + ran.stdout + ran.stderr)
    return open("%s/%s_o" % (folder, which), "rb").read()


count = 0
text = subprocess.run(["tile-opt", path, "--schedule", "-o", "-"], capture_output=True, text=True).stdout
with tempfile.TemporaryDirectory() as folder:
    arrays(folder)
    for target, point in itertools.product(targets.split(","), points(text)[:1 if first_only else None]):
        expected = run(folder, "clean", target, point, ["--check"])
        if expected is None:
            continue
        if run(folder, "spoilt", target, point, []) != expected:
            sys.exit("%s at %s for %s looks at what is hidden" % (kernel, " ".join(point), target))
        count += 1
print(count, "runs do not look at what is hidden")

"""Keys that no row of a batch and head sees must not affect results. With infinities and NaN in these keys and
values, a kernel gives bitwise the same results as with small numbers, and those are correct.

    hidden.py FILE.tile KERNEL TARGET,... [--first] [OPTION=VALUE]... [-- WORD...]

Each point of the kernel's space that the sizes and the target allow is run, with --first only the first one, with
block_m=N only those with tiles of N rows; words go to tile-run. Options: rows, groups, d; length: of all batches, an
argument of the kernel; window: number of keys that a row sees, including its own, the last one; from: the first key
that any row sees; first: keys that all rows see, before those of the window; shown=1: an array says which keys are
seen; turned=1: values are [d, keys].
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

BATCHES, HEADS, KEYS = 2, 2, 150
words = sys.argv[1:]
more = words[words.index("--") + 1:] if "--" in words else []
words = words[:words.index("--")] if "--" in words else words
first_only = "--first" in words
path, kernel, targets, *options = [word for word in words if word != "--first"]
options = {name: int(value) for name, value in (word.split("=") for word in options)}
rows, groups, depth = options.get("rows", 40), options.get("groups", HEADS), options.get("d", 32)
length, window = options.get("length", 0), options.get("window", 0)
lengths = [length, length] if length else [131, 77]


def is_shown(b, key):
    return (3 * key + b) % 7 > 1


def is_hidden(b, key):
    before = window > 0 and options.get("first", 0) <= key <= lengths[b] - rows - window
    return key >= lengths[b] or key < options.get("from", 0) or before or ("shown" in options and not is_shown(b, key))


def write(folder, name, kind, numbers, shape):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ", ".join(map(str, shape)))
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(numbers), {"f2": "e", "i4": "i"}[kind]), *numbers))


def points(text):
    """The points of the kernel's tune clauses as lists of NAME=VALUE."""
    clauses = []
    head = text[re.search(r"(kernel|plan) @%s<" % kernel, text).start():]
    for names, values in re.findall(r"^ *tune +(\(.*?\)|\w+) in\s+\[(.*)\]$", head[:head.index("\n{")], re.M):
        names = re.findall(r"\w+", names)
        rows = re.findall(r"\(([\w, ]*)\)", values) if len(names) > 1 else values.split(",")
        clauses.append([[f"{n}={v.strip()}" for n, v in zip(names, row.split(","))] for row in rows])
    all_points = [sum(point, []) for point in itertools.product(*clauses)]
    return [point for point in all_points if "block_m" not in options or f"block_m={options['block_m']}" in point]


def write_arrays(folder):
    numbers = random.Random(7)
    of_keys = (BATCHES, groups, KEYS, depth)
    of_values = (BATCHES, groups, depth, KEYS) if "turned" in options else of_keys
    for name, shape in {"q": (BATCHES, HEADS, rows, depth), "k": of_keys, "v": of_values}.items():
        clean = [numbers.uniform(-1, 1) for _ in range(math.prod(shape))]
        spoilt = list(clean)
        for i in range(len(clean)):
            b, key = i // math.prod(shape[1:]), i % KEYS if shape[3] == KEYS else i // depth % KEYS
            if name != "q" and is_hidden(b, key):
                spoilt[i] = [math.inf, math.nan, -math.inf][(key + i) % 3]
        write(folder, "clean_" + name, "f2", clean, shape)
        write(folder, "spoilt_" + name, "f2", spoilt, shape)
    write(folder, "lengths", "i4", lengths, (BATCHES,))
    shown = [int(is_shown(b, key)) for b in range(BATCHES) for key in range(KEYS)]
    write(folder, "shown", "i4", shown, (BATCHES, KEYS))


def run(folder, which, target, point, check):
    command = ["tile-run", path, "--kernel=" + re.sub("_(kernel|plan)$", "", kernel), "--device=cpu", "--target=" + target]
    command += ["--arg=length=%d" % length if length else "--arg=lengths=@%s/lengths" % folder, "--arg=o=poison", *more]
    command += ["--arg=%s=@%s/%s_%s" % (name, folder, which, name) for name in "qkv"]
    command += ["--arg=shown=@%s/shown" % folder] if "shown" in options else []
    command += [word for pair in point for word in ("--param", pair)]
    command += ["--save", "o=%s/%s_o" % (folder, which), *check]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode and re.search("bytes of shared memory|`where .*` is false", ran.stderr):
        return None
    if ran.returncode:
        sys.exit(" ".join(command) + "\n" + ran.stdout + ran.stderr)
    with open("%s/%s_o" % (folder, which), "rb") as file:
        return file.read()


def main():
    count = 0
    with open(path) as file:
        text = file.read()
    if not re.search(r"(kernel|plan) @%s<" % kernel, text):
        text = subprocess.run(["tile-opt", path, "--schedule", "-o", "-"], capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(folder)
        for target, point in itertools.product(targets.split(","), points(text)[:1 if first_only else None]):
            expected = run(folder, "clean", target, point, ["--check"])
            if expected is None:
                continue
            if run(folder, "spoilt", target, point, []) != expected:
                sys.exit("%s at %s for %s looks at what is hidden" % (kernel, " ".join(point), target))
            count += 1
    print(count, "runs do not look at what is hidden")


main()

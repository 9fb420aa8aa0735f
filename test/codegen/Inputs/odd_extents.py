"""Checks that an odd extent of a product makes only those accesses narrow whose rows it divides.

    odd_extents.py KERNELS.tile FOLDER

For each layout and type, each of m, n and k is odd alone, as kernels of KERNELS.tile and as computes. The variant is the one
that a launch takes. An operand whose rows have another extent keeps its tensor map, and the loop copies it by cp.async of 16
bytes, or by TMA if the other operand keeps its map too and the loop does so at even sizes. The result, if its rows have
another extent, is stored by TMA or by 16 bytes. If rows are only multiples of 8 or 4 bytes, cp.async moves as many.
"""
import itertools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

EVEN, ADDRESS = 256, 1 << 20
# type: (sum, result, elements of 128 bytes)
TYPES = {"f16": ("f32", "f16", 64), "bf16": ("f32", "bf16", 64), "e4m3": ("f32", "bf16", 128), "i8": ("i32", "i32", 128),
         "f32": ("f32", "f32", 16)}


def tilec(*options):
    ran = subprocess.run(["tilec", "--target=sm_90a", *options], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(" ".join(["tilec", *options]) + "\n" + ran.stderr)
    return ran.stdout


def compute(kind, layout):
    total, stored, _ = TYPES[kind]
    a = "k, m" if layout[0] == "t" else "m, k"
    b = "n, k" if layout[1] == "t" else "k, n"
    flags = (", trans_lhs" if layout[0] == "t" else "") + (", trans_rhs" if layout[1] == "t" else "")
    return (f"compute @c<m: dim, n: dim, k: dim>(%a: tensor<{kind}[{a}]>, %b: tensor<{kind}[{b}]>)"
            f" -> (%c: tensor<{stored}[m, n]>) {{\n  %c = {stored}(matmul(%a, %b{flags}) : {total})\n}}\n")


def rows_of(layout):
    """The extent that is a row of each array."""
    return {"a": "m" if layout[0] == "t" else "k", "b": "k" if layout[1] == "t" else "n", "c": "n"}


def has_map(layout, sizes, element, array):
    bytes_of_row = sizes[rows_of(layout)[array]] * element
    return bytes_of_row % 16 == 0


def holds(condition, layout, sizes, elements):
    name, value = condition.get("argument"), condition.get("value")
    if condition["condition"] == "grid":
        return True
    if condition["condition"] == "tensor_map":
        return has_map(layout, sizes, elements[name], name)
    return (sizes[name] if name in sizes else ADDRESS) % value == 0


def bytes_of(kind):
    return {"f16": 2, "bf16": 2, "e4m3": 1, "i8": 1, "f32": 4, "i32": 4}[kind]


def choose(options, kind, layout, odd, more):
    sizes = {name: EVEN + more * (name == odd) for name in "mnk"}
    elements = {"a": bytes_of(kind), "b": bytes_of(kind), "c": bytes_of(TYPES[kind][1])}
    variants = json.loads(tilec(*options, "--emit=abi"))["variants"]
    chosen = [all(holds(condition, layout, sizes, elements) for condition in variant) for variant in variants].index(True)
    return chosen, variants[chosen]


def copies_of(code):
    """The number of boxes that are copied to shared memory, and the widths of other asynchronous copies in bytes."""
    return (len(re.findall(r"cp\.async\.bulk\.tensor\S*shared::cl\S*global", code)),
            {int(size) for size in re.findall(r"cp\.async\.c[ag]\.shared\.global [^,]+, [^,]+, (\d+)", code)})


def faults_of(options, kind, layout, odd, width):
    """width: the bytes of which the rows are a multiple."""
    number, conditions = choose(options, kind, layout, odd, max(1, width // bytes_of(kind)))
    code = tilec(*options, f"--variant={number}", "-o", "-")
    rows = rows_of(layout)
    maps = {c["argument"] for c in conditions if c["condition"] == "tensor_map"}
    wide = {name for name in "abc" if rows[name] != odd}
    for name in wide - maps:
        yield f"%{name} has no tensor map in variant {number}"
    boxes, copies = copies_of(code)
    if {"a", "b"} <= wide and (boxes, copies) != copies_of(tilec(*options, "-o", "-")):
        yield f"{boxes} boxes, copies of {sorted(copies)} bytes in variant {number}"
    elif {"a", "b"} & wide and not boxes and 16 not in copies:
        yield f"copies of {sorted(copies)} bytes only in variant {number}"
    narrow = {max(width, bytes_of(kind)) if rows[name] == odd else 16 for name in "ab"}
    if min(narrow) < 16 and copies != {size for size in narrow if size >= 4}:
        yield f"copies of {sorted(copies)} bytes in variant {number}"
    stores = set(re.findall(r"st\.global(\S*)", code))
    if "c" in wide and any(not text.startswith((".v4.b32", ".v2.b64", ".v4.f32")) for text in stores):
        yield f"stores {sorted(stores)} in variant {number}"


def main():
    kernels, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    cases = shares.take(itertools.product(TYPES, ("nn", "nt", "tn", "tt"), "mnk", (1, 4, 8), ("kernel", "compute")))
    wrong = 0
    for kind, layout, odd, width, route in cases:
        total, stored, columns = TYPES[kind]
        if route == "kernel":
            options = [kernels, "--kernel=matmul_" + layout, "--param", "T=" + kind, "--param", "S=" + total,
                       "--param", "R=" + stored, "--param", f"block_k={columns}"]
        else:
            options = [os.path.join(folder, "c.tile")]
            with open(options[0], "w") as file:
                file.write(compute(kind, layout))
        for fault in faults_of(options, kind, layout, odd, width):
            print(f"{route} {kind} {layout} odd {odd}, rows of {width} bytes: {fault}")
            wrong += 1
    print(f"{len(cases)} products, {wrong} faults")


if __name__ == "__main__":
    main()

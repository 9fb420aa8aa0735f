"""Compiles products of all layouts, operand forms and element types, and checks that each keeps the fast path.

    product_paths.py FOLDER [WORD ...]

A product keeps it if its compute becomes one kernel (two for two products) that has a tensor map for each operand and for
the result, and if the compiler has no remark. Products without wgmma need no map, and ALLOWED lists the reasons for having
none. FOLDER receives the texts. WORDs select the cases whose names contain all of them; --planted is a case that loses the
path. The last line counts the cases.
"""
import itertools
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

# type: (element, sum, result)
TYPES = {"f16": ("f16", "f32", "f16"), "bf16": ("bf16", "f32", "bf16"), "e4m3": ("e4m3", "f32", "bf16"),
         "i8": ("i8", "i32", "i32"), "f32": ("f32", "f32", "f32")}
LAYOUTS = ("nn", "nt", "tn", "tt")

# Remarks with a physical reason: (pattern, types, reason).
ALLOWED = (
    (r"dot: no wgmma: in shared memory, elements of [lr]hs \(8 bits\) are contiguous along [mn]", ("e4m3", "i8"),
     "wgmma reads operands of 8 bits only if k is contiguous"),
    (r"dot: no wgmma: wgmma multiplies .*, not f32 by f32", ("f32",), "tensor cores have no product of f32"),
    (r"dot: no mma instruction multiplies f32 by f32", ("f32",), "likewise"),
    (r"dot: not specialized: it is not computed by wgmma", ("e4m3", "i8", "f32"), "it follows from those above"),
)

# How an operand with the stored dims p and q comes from an argument: (dims of the argument, expression, batched).
MATRIX = {
    "plain": ("{p}, {q}", "{x}"),
    "rows": ("{p} * 3, {q}", "(slice({x}, [{p}, 0]) : [{p}, {q}])"),
    "first_rows": ("{p} * 2, {q}", "(slice({x}, [0, 0]) : [{p}, {q}])"),
    "columns": ("{p}, {q} * 3", "(slice({x}, [0, {q}]) : [{p}, {q}])"),
    "first_columns": ("{p}, {q} * 2", "(slice({x}, [0, 0]) : [{p}, {q}])"),
    "block": ("{p} * 2, {q} * 2", "(slice({x}, [{p}, {q}]) : [{p}, {q}])"),
    "slice_of_slice": ("{p} * 3, {q} * 3",
                       "(slice((slice({x}, [{p}, 0]) : [{p} * 2, {q} * 3]), [0, {q}]) : [{p}, {q}])"),
    "transposed_slice": ("{q} * 2, {p}", "transpose((slice({x}, [{q}, 0]) : [{q}, {p}]))"),
    "slice_of_transpose": ("{q}, {p} * 2", "(slice(transpose({x}), [0, 0]) : [{p}, {q}])"),
    "layer": ("4, {p}, {q}", "reshape((slice({x}, [2, 0, 0]) : [1, {p}, {q}])) : [{p}, {q}]"),
    "--planted": ("{p}, {q}", "exp({x})"),
    "flat": ("{p} * {q}", "(reshape({x}) : [{p}, {q}])"),
    "merged": ("e, {p}, {q}", "(reshape({x}) : [e * {p}, {q}])"),  # lhs only
}
BATCHED = {
    "batch": ("e, {p}, {q}", "{x}"),
    "shared": ("{p}, {q}", "(reshape({x}) : [1, {p}, {q}])"),
    "batch_columns": ("e, {p}, {q} * 2", "(slice({x}, [0, 0, {q}]) : [e, {p}, {q}])"),
    "batch_rows": ("e, {p} * 2, {q}", "(slice({x}, [0, {p}, 0]) : [e, {p}, {q}])"),
    "batches": ("e * 2, {p}, {q}", "(slice({x}, [e, 0, 0]) : [e, {p}, {q}])"),
    "heads": ("{p}, e, {q}", "transpose({x}, order = [1, 0, 2])"),
    "packed_heads": ("{p}, e * {q}", "transpose((reshape({x}) : [{p}, e, {q}]), order = [1, 0, 2])"),
    "sliced_heads": ("{p}, e * {q} * 3",
                     "transpose((reshape((slice({x}, [0, e * {q}]) : [{p}, e * {q}])) : [{p}, e, {q}]), "
                     "order = [1, 0, 2])"),
    "joined_heads": ("{p}, 3, e, {q}",
                     "transpose((reshape((slice({x}, [0, 1, 0, 0]) : [{p}, 1, e, {q}])) : [{p}, e, {q}]), "
                     "order = [1, 0, 2])"),
}
# Results that two kernels store: a concat of products, and a product in a part of an array.
TOGETHER = {
    "side_by_side": "compute @c<m: dim, n: dim, l: dim, k: dim>(%a: tensor<ELEMENT[{a}]>, %b: tensor<ELEMENT[{b}]>, "
                    "%d: tensor<ELEMENT[{d}]>) -> (%c: tensor<STORED[m, n + l]>) {{\n"
                    "  %p = STORED(matmul(%a, %b{flags}) : TOTAL)\n  %q = STORED(matmul(%a, %d{flags}) : TOTAL)\n"
                    "  %c = concat(%p, %q, axis = 1)\n}}\n",
    "one_above_the_other": "compute @c<m: dim, n: dim, k: dim>(%a: tensor<ELEMENT[{a}]>, %b: tensor<ELEMENT[{b}]>, "
                           "%e: tensor<ELEMENT[{b}]>) -> (%c: tensor<STORED[m + m, n]>) {{\n"
                           "  %p = STORED(matmul(%a, %b{flags}) : TOTAL)\n  %q = STORED(matmul(%a, %e{flags}) : TOTAL)\n"
                           "  %c = concat(%p, %q, axis = 0)\n}}\n",
}

# How the result comes from a product %p: (dims of the result, expression, columns of the product).
RESULTS = {
    "plain": ("m, n", "%p", "n"),
    "reshaped": ("m, 1, n", "reshape(%p) : [m, 1, n]", "n"),
    "transposed": ("n, m", "transpose(%p)", "n"),
    "columns": ("m, n", "slice %p, [0, n] : [m, n]", "n * 2"),
    "first_columns": ("m, n", "slice %p, [0, 0] : [m, n]", "n * 2"),
}
BATCHED_RESULTS = {
    "plain": ("e, m, n", "%p", "n"),
    "heads": ("m, e, n", "transpose(%p, order = [1, 0, 2])", "n"),
    "packed_heads": ("m, e * n", "reshape(transpose(%p, order = [1, 0, 2])) : [m, e * n]", "n"),
    "transposed": ("e, n, m", "transpose(%p, order = [0, 2, 1])", "n"),
    "merged": ("e * m, n", "reshape(%p) : [e * m, n]", "n"),
}


def operand(name, forms, form, rows, columns, transposed):
    """The argument and the expression of an operand."""
    p, q = (columns, rows) if transposed else (rows, columns)
    dims, text = (part.format(p=p, q=q, x="%" + name) for part in forms[form])
    return f"%{name}: tensor<ELEMENT[{dims}]>", text


def compute(kind, layout, lhs, rhs, result):
    """The text of the compute."""
    element, total, stored = TYPES[kind]
    forms = BATCHED if lhs in BATCHED else MATRIX
    flags = "".join(f", trans_{side}" for side, letter in (("lhs", layout[0]), ("rhs", layout[1])) if letter == "t")
    if result in TOGETHER:
        text = TOGETHER[result].format(a="k, m" if layout[0] == "t" else "m, k", b="n, k" if layout[1] == "t" else "k, n",
                                       d="l, k" if layout[1] == "t" else "k, l", flags=flags)
        return text.replace("ELEMENT", element).replace("STORED", stored).replace("TOTAL", total)
    rows = "e * m" if lhs == "merged" and layout[0] == "n" else "m"
    dims, out, columns = (BATCHED_RESULTS if forms is BATCHED else RESULTS)[result]
    left, a = operand("a", forms, lhs, "m", "k", layout[0] == "t")
    right, b = operand("b", forms, rhs, "k", columns, layout[1] == "t")
    dims = re.sub(r"\bm\b", rows, dims)
    sizes = [name for name in ("e", "m", "n", "k") if re.search(rf"\b{name}\b", left + right + dims)]
    head = ", ".join(name + ": dim" for name in sizes)
    return (f"compute @c<{head}>({left}, {right}) -> (%c: tensor<{stored}[{dims}]>) {{\n"
            f"  %x = {a}\n  %y = {b}\n  %s = matmul(%x, %y{flags}) : {total}\n  %p = {stored}(%s)\n  %c = {out}\n}}\n"
            ).replace("ELEMENT", element)


def cases():
    for kind, layout in itertools.product(TYPES, LAYOUTS):
        for form in MATRIX:
            if form == "--planted":
                continue
            if form != "plain" and (form != "merged" or layout[0] == "n"):
                yield kind, layout, form, "plain", "plain"
            if form not in ("plain", "merged"):
                yield kind, layout, "plain", form, "plain"
                yield kind, layout, form, form, "plain"
        for form in BATCHED:
            if form != "batch":
                yield kind, layout, form, "batch", "plain"
            if form != "batch":
                yield kind, layout, "batch", form, "plain"
            if form not in ("batch", "shared"):
                yield kind, layout, form, form, "plain"
        for result in (*RESULTS, *TOGETHER):
            yield kind, layout, "plain", "plain", result
        for result in BATCHED_RESULTS:
            yield kind, layout, "batch", "batch", result


def find_faults(case, folder):
    kind, layout, _, _, result = case
    path = os.path.join(folder, "c.tile")
    with open(path, "w") as out:
        out.write(compute(*case))
    ran = subprocess.run(["tilec", path, "--target=sm_90a", "--remarks", "-o", os.path.join(folder, "c.ptx")],
                         capture_output=True, text=True)
    if ran.returncode:
        return ["error: " + ran.stderr]
    said = [re.sub(r"^.*?: (remark|warning): ", "", line) for line in ran.stderr.splitlines()
            if re.search(r": (remark|warning): ", line)]
    faults = [line for line in said
              if not any(kind in types and re.match(pattern, line) for pattern, types, _ in ALLOWED)]
    with open(os.path.join(folder, "c.ptx")) as file:
        code = file.read()
    kernels = 1 + (result in TOGETHER)
    entries = len(re.findall(r"\.visible \.entry", code))
    maps = len(set(re.findall(r"\.param \.align 64 \.b8 (\S+)\[128\]", code)))
    if entries != kernels:
        faults.append(f"{entries} kernels instead of {kernels}")
    elif len(said) == 0 and maps != 3 * kernels:
        faults.append(f"{maps} tensor maps instead of {3 * kernels}")
    return faults


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    every = [case for case in cases() if all(word in case for word in words)]
    if words == ["--planted"]:
        every = [("f16", "nt", "--planted", "plain", "plain")]
    taken = shares.take(every)
    wrong = 0
    for case in taken:
        faults = find_faults(case, folder)
        wrong += bool(faults)
        for fault in faults:
            print(" ".join(case) + ": " + fault)
    print(f"{len(taken)} of {len(every)} products, {wrong} lose the fast path")


if __name__ == "__main__":
    main()

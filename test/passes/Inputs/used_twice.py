"""A text in which each of 48 values is used several times by the next one. A pass that visits a value once per path
would never end.

usage: used_twice.py KIND"""
import sys

COUNT = 48


def chain(value, line="{v} * {v} + {v}", indent="  "):
    """The lines, and the last value's name."""
    lines = []
    for i in range(COUNT):
        lines.append(f"{indent}%t{i} = " + line.format(v=value) + "\n")
        value = f"%t{i}"
    return "".join(lines), value


def elements(kind):
    lines, last = chain("%x")
    rows = "%x: tensor<f32[m, n]>"
    product = "%x: tensor<f16[m, k]>, %b: tensor<f16[k, n]>"
    head, body = {
        "elementwise": (f"<m: dim, n: dim>({rows})", f"{lines}  %y = {last} + 1.0\n"),
        "reduction": (f"<m: dim, n: dim>({rows})", f"{lines}  %y = {last} - reduce_add({last}, axis = 1)\n"),
        "extreme": (f"<m: dim, n: dim>({rows})", f"{lines}  %y = {last} - reduce_max({last}, axis = 1)\n"),
        "prologue": (f"<m: dim, n: dim, k: dim>({product})", f"{lines}  %y = matmul({last}, %b) : f32\n"),
        "epilogue": (f"<m: dim, n: dim, k: dim>({product.replace('%x', '%a')})",
                     f"  %x = matmul(%a, %b) : f32\n{lines}  %y = {last} + 1.0\n"),
    }[kind]
    return f"compute @k{head} -> (%y: tensor<f32[m, n]>)\n{{\n{body}}}\n"


def rows():
    """Each reduction uses the result of the previous one."""
    lines, last = chain("%x", "{v} - reduce_max({v}, axis = 1) * 0.0625")
    return f"compute @k<m: dim, k: dim>(%x: tensor<f32[m, k]>) -> (%y: tensor<f32[m, k]>)\n{{\n{lines}  %y = {last} + 1.0\n}}\n"


def attention(lines, scores, seen):
    return ("compute @k<m: dim, n: dim, d: dim>(%q: tensor<f16[m, d]>, %k: tensor<f16[n, d]>, %v: tensor<f16[n, d]>)"
            " -> (%y: tensor<f32[m, d]>)\n{\n  %x = matmul(%q, %k, trans_rhs) : f32\n  %key = iota(axis = 1) : tensor<i32[1, n]>\n"
            f"  %row = iota(axis = 0) : tensor<i32[m, 1]>\n{lines}  %s = select(%key <= {seen}, {scores}, -inf)\n"
            "  %e = exp(%s - max(reduce_max(%s, axis = 1), -1.0e30))\n"
            "  %y = matmul(f16(%e / reduce_add(%e, axis = 1)), %v) : f32\n}\n")


def address():
    lines, last = chain("%j", "max({v}, {v} + 0) + {v} - {v}", "    ")
    return ("kernel @k(%k: i32, %a: view<f16[128, %k]>, %b: view<f16[%k, 128]>, %c: view<f16[128, 128]>) grid [1] warps 8\n{\n"
            "  %acc = for %j = 0 to %k step 64 iter (%s = 0.0 : tile<f32[128, 128]>) pipelined (3) {\n"
            f"{lines}    %ta = load %a[0, {last}] : [128, 64]\n    %tb = load %b[{last}, 0] : [64, 128]\n"
            "    yield dot(%ta, %tb, %s)\n  }\n  store f16(%acc), %c[0, 0]\n}\n")


def places(product):
    """Each value is used at two places by the next one, so there are 2^48 paths to the first one."""
    lines, value = "", "%x"
    for i in range(COUNT):
        lines += f"  %c{i} = concat {value}, {value} {{axis = 0}}\n  %s{i} = slice %c{i}, [0, 0] : tensor<f32[m, k]>\n"
        value = f"%s{i}"
    if product:
        return ("compute @k<m: dim, n: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, n]>) -> (%y: tensor<f32[m, n]>)\n"
                f"{{\n  %x = f32(%a)\n{lines}  %y = matmul({value}, f32(%b)) : f32\n}}\n")
    return f"compute @k<m: dim, k: dim>(%x: tensor<f32[m, k]>) -> (%y: tensor<f32[m, k]>)\n{{\n{lines}  %y = {value} + 1.0\n}}\n"


kind = sys.argv[1]
if kind == "scores":
    print(attention(*chain("%x"), "%row"))
elif kind == "mask":
    lines, last = chain("%row", "max({v}, {v} + 1)")
    print(attention(lines, "%x", last))
elif kind == "address":
    print(address())
elif kind == "rows":
    print(rows())
elif kind in ("places", "places_of_factors"):
    print(places(kind == "places_of_factors"))
else:
    print(elements(kind))

"""Measures how the time of passes and of the whole compiler grows with a kernel: processor time, the least of several.

    growth.py                     a table
    growth.py --most=12            fails if four times the size takes more than twelve times as long (16: quadratic)
"""
import argparse
import os
import sys
import tempfile

import shares

parser = argparse.ArgumentParser()
parser.add_argument("--most", type=float)
options = parser.parse_args()
PASSES = "instantiate,expand-dots,split-k,choose-cache,round-grid,tile-scheduler,canonicalize,cse,licm,dce," \
         "choose-instructions,specialize-warps,pipeline,assign-layouts,prefetch,canonicalize,cse,licm,dce," \
         "allocate-shared,insert-barriers,lower-tiles,canonicalize,cse,licm,dce"
HEAD = "kernel @k(%n: i32, %x: view<f32[%n, 64]>, %y: view<f32[%n, 64]>) grid [1] warps {} {{\n"


def operations(n):
    lines = [HEAD.format(1), "  %v0 = load %x[0, 0] : [1, 32]\n"]
    for i in range(1, n):
        lines.append(f"  %v{i} = %v{i - 1} * %v{i // 2} + {i}.0\n" if i % 2 else f"  %v{i} = %v{i - 1} - %v{i // 3}\n")
    return "".join(lines) + f"  store %v{n - 1}, %y[0, 0]\n}}\n"


def repeated(body, warps):
    """Statements repeated n times, with their number and starting row."""
    return lambda n: HEAD.format(warps) + "".join(body.format(i=i, row=64 * i) for i in range(n)) + "}\n"


def unrolled(n):
    return f"""kernel @k(%a: view<f16[64, 8192]>, %b: view<f16[8192, 64]>, %c: view<f32[64, 64]>) grid [1] warps 4 {{
  %sa = alloc_shared : shared<f16[64, 32]>
  %sb = alloc_shared : shared<f16[32, 64]>
  %zero = splat 0.0 : tile<f32[64, 64]>
  %sum = for %i = 0 to {32 * n} step 32 iter (%s = %zero) unroll ({n}) {{
    copy %a[0, %i], %sa
    copy %b[%i, 0], %sb
    yield dot(%sa, %sb, %s)
  }}
  store %sum, %c[0, 0]
}}
"""


def tile(n):
    """n: elements / 256; sides of 64, 128, 256."""
    side = int((256 * n) ** 0.5)
    return f"""kernel @k(%a: view<f16[{side}, 8192]>, %b: view<f16[8192, {side}]>, %c: view<f32[{side}, {side}]>)
    grid [1] warps 8 {{
  %zero = splat 0.0 : tile<f32[{side}, {side}]>
  %sum = for %i = 0 to 8192 step 32 iter (%s = %zero) pipelined (2) {{
    %ta = load %a[0, %i] : [{side}, 32]
    %tb = load %b[%i, 0] : [32, {side}]
    yield dot(%ta, %tb, %s)
  }}
  store %sum, %c[0, 0]
}}
"""


def walks(n):
    """Consecutive loops whose sums are carried on."""
    loop = """  %r{next} = for %i{i} = 0 to %n step 2 iter (%v{i} = %r{i}) {{
    %a{i} = load %x[%i{i}, 0] : [2, 64]
    yield %v{i} + %a{i}
  }}
"""
    body = "".join(loop.format(i=i, next=i + 1) for i in range(n))
    return HEAD.format(1) + "  %r0 = splat 0.0 : tile<f32[2, 64]>\n" + body + f"  store %r{n}, %y[0, 0]\n}}\n"


def nested(n):
    """Nested loops and branches."""
    heads = "".join(f"for %i{i} = 0 to %n step 1 {{\nif %n > {i} {{\n" for i in range(n))
    return HEAD.format(1) + heads + "store (load %x[0, 0] : [1, 64]), %y[0, 0]\n" + "}\n}\n" * n + "}\n"


def parameters(n):
    views = ", ".join(f"%n{i}: i32 {{divisible = 4}}, %x{i}: view<f32[%n{i}]>" for i in range(n))
    body = "".join(f"  %v{i + 1} = %v{i} + (load %x{i}[0] : [64])\n" for i in range(n))
    return f"kernel @k({views}, %y: view<f32[64]>) grid [1] warps 1 {{\n  %v0 = splat 0.0 : tile<f32[64]>\n{body}" \
           f"  store %v{n}, %y[0]\n}}\n"


def computed(line, scalar="f32"):
    """A compute of n such lines, each using the result of the previous one."""
    return lambda n: (f"compute @k<m: dim, n: dim>(%v0: tensor<{scalar}[m, n]>, %w: tensor<{scalar}[n, n]>)\n"
                      f"    -> (%o: tensor<{scalar}[m, n]>)\n{{\n" +
                      "".join(line.format(i=i, next=i + 1) for i in range(n)) + f"  %o = %v{n} + %v0\n}}\n")


COMPUTES = {
    "compute: operations": (computed("  %v{next} = max(%v{i}, %v{i} - 1.0)\n"), [250, 1000]),
    "compute: reductions": (computed("  %v{next} = %v{i} - reduce_max(%v{i}, axis = 1)\n"), [12, 48]),
    "compute: products": (computed("  %v{next} = f16(matmul(%v{i}, %w) : f32)\n", "f16"), [8, 32]),
}
CASES = {
    "operations": (operations, [2500, 10000]),
    "loads and stores": (repeated("  store (load %x[{row}, 0] : [2, 64]) * 2.0, %y[{row}, 0]\n", 1), [200, 800]),
    "transposes": (repeated("  store transpose(load %x[{row}, 0] : [64, 64]), %y[{row}, 0]\n", 4), [16, 64]),
    "reductions": (repeated("  %v{i} = load %x[{row}, 0] : [16, 64]\n"
                            "  store %v{i} / reduce_add(%v{i}, axis = 1), %y[{row}, 0]\n", 4), [64, 256]),
    "loops": (repeated("  for %i{i} = 0 to %n step 2 {{\n"
                       "    store (load %x[%i{i}, 0] : [2, 64]) * {i}.0, %y[%i{i}, 0]\n  }}\n", 1), [100, 400]),
    "buffers": (repeated("  %s{i} = alloc_shared : shared<f32[2, 64]>\n  copy %x[{row}, 0], %s{i}\n"
                         "  store load_shared(%s{i}), %y[{row}, 0]\n  free_shared %s{i}\n", 1), [100, 400]),
    "unrolled bodies": (unrolled, [16, 64]),
    "tile of 128 and 256": (tile, [64, 256]),
    "walks": (walks, [200, 800]),
    "nested loops, branches": (nested, [12, 48]),
    "parameters": (parameters, [32, 127]),  # 255 arguments, of at most 1024
    **COMPUTES,
}

# Cases that only the choice of layouts could be slow for: one class with many accesses, chains of tiles whose layouts
# follow from each other's in either direction, tiles without a layout request.
LAYOUTS = {
    "one class": (lambda n: HEAD.format(4) + "  %t = load %x[0, 0] : [16, 64]\n" + "".join(
        f"  %a{i} = load %x[{i}, 0] : [16, 64]\n  %s{i} = add {f'%s{i - 1}' if i else '%t'}, %a{i}\n"
        f"  store %s{i}, %y[{i}, 0]\n" for i in range(n)) + "}\n", [800, 3200]),
    "forward": (lambda n: HEAD.format(4) + "  %s0 = load %x[0, 0] : [64, 64]\n" + "".join(
        f"  %t{i} = transpose %s{i}\n  %s{i + 1} = add %t{i}, 1.0\n" for i in range(n)) + f"  store %s{n}, %y[0, 0]\n}}\n",
                [1250, 5000]),
    "back and forth": (lambda n: HEAD.format(4) + "  %s0 = iota {axis = 1} : tile<f32[64, 64]>\n" + "".join(
        f"  %r{i} = reduce %s{i} {{kind = max, axis = 1}} : tile<f32[64, 1]>\n  %b{i} = broadcast %r{i} : tile<f32[64, 64]>\n"
        f"  %s{i + 1} = mul %b{i}, 2.0\n" for i in range(n)) + f"  store %s{n}, %y[0, 0]\n}}\n", [800, 3200]),
    "nobody": (lambda n: HEAD.format(4) + "".join(
        f"  %a{i} = iota {{axis = 0, start = {i}}} : tile<i32[64]>\n  %b{i} = reshape %a{i} : tile<i32[64, 1]>\n"
        f"  %c{i} = broadcast %b{i} : tile<i32[64, 64]>\n" for i in range(n)) + "}\n", [800, 3200]),
}


def time_of(command):
    """Seconds of user time; the least of three."""
    least = None
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os.execvp(command[0], command)
        _, status, usage = os.wait4(child, 0)
        if status:
            sys.exit("failed: " + " ".join(command))
        least = usage.ru_utime if least is None else min(least, usage.ru_utime)
    return least


slow = []
with tempfile.TemporaryDirectory() as folder:
    path, out = os.path.join(folder, "k.tile"), os.path.join(folder, "out")
    all_passes = [("passes", ["tile-opt", path, "--pass-pipeline=" + PASSES, "--verify-each=0", "-o", out]),
                  ("all", ["tilec", path, "--no-cache", "--target=sm_90", "-o", out])]
    only_layouts = [("layouts", ["tile-opt", path, "--pass-pipeline=instantiate,assign-layouts", "-o", out])]
    cases = [(name, case, all_passes[name in COMPUTES:]) for name, case in CASES.items()]
    cases += [(name, case, only_layouts) for name, case in LAYOUTS.items()]
    for name, (make, sizes), commands in shares.take(cases):
        for what, command in commands:
            times, ratio = None, None
            for attempt in range(4 if options.most else 1):  # other load makes times longer, never shorter
                again = []
                for size in sizes:
                    with open(path, "w") as file:
                        file.write(make(size))
                    again.append(time_of(command))
                times = [min(pair) for pair in zip(times or again, again)]
                ratio = times[1] / max(times[0], 0.010)  # times near zero cannot be compared
                if not options.most or ratio <= options.most:
                    break
            print(f"{name:20} {what:7} {sizes[0]:6} {1000 * times[0]:8.1f} ms {sizes[1]:6} {1000 * times[1]:8.1f} ms  x {ratio:.1f}",
                  flush=True)
            if options.most and ratio > options.most:
                slow.append(f"{name}, {what}: {ratio:.1f} times as long")
for line in slow:
    print("grows too fast:", line)
sys.exit(1 if slow else 0)

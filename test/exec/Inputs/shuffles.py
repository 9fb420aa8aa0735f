"""Writes kernels that convert tiles between random layouts; no element leaves its warp. Runs each at both levels
and compares element by element; with ptxas, all of them are only assembled.

    shuffles.py --count=40 [--seed=1] [--ptxas=FILE] [--emit]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=40)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--ptxas")
parser.add_argument("--emit", action="store_true", help="write the kernels to standard output")
options = parser.parse_args()
dice = random.Random(options.seed)
LANES = 5


def run(command, wanted=""):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or wanted not in result.stdout:
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)


def mix(vectors, single):
    """Another basis of the same space; single: each vector has one bit, as in most layouts."""
    vectors = list(vectors)
    dice.shuffle(vectors)
    for _ in range(0 if single else 3 * len(vectors)):
        a, b = dice.sample(range(len(vectors)), 2) if len(vectors) > 1 else (0, 0)
        if a != b:
            vectors[a] ^= vectors[b]
    return vectors


def hold(space, repeated, single):
    """(registers, lanes) that cover a space; this many lanes repeat what others hold."""
    vectors = mix(space, single)
    lanes = min(LANES - repeated, len(vectors))
    own = vectors[:lanes] + [0] * (LANES - lanes)
    dice.shuffle(own)
    return vectors[lanes:], own


def name(index, columns, alias, parts, registers, lanes, warps):
    def place(v):
        return [v >> columns, v & (1 << columns) - 1]
    return f"#{alias}{index} = layout {{reg = {[place(v) for v in registers]}, lane = {[place(v) for v in lanes]}, " \
           f"warp = {[place(v) for v in warps]}, count = [{parts}, 1]}}\n"


kernels, text = [], ""
for index in range(options.count):
    inside, warp_bits = dice.randint(4, 10), dice.randint(0, 2)
    bits = inside + warp_bits
    rows = dice.randint(0, bits)
    columns = bits - rows
    single = dice.random() < 0.6
    every = mix([1 << i for i in range(bits)], single)
    space, warps = every[:inside], every[inside:]
    scalar = dice.choice(["f16", "f16", "i8", "f32", "f64", "i32", "bf16", "i64"])
    parts = dice.choice([1, 1, 1, 3])
    extents = f"{parts << rows}, {1 << columns}"
    sides = [hold(space, dice.randint(0, 2), single) for _ in range(2)]
    # a warp's offset to another warp may include vectors of the warp's own space
    other = [w if single else w ^ dice.choice(space) for w in warps]
    text += name(index, columns, "a", parts, *sides[0], warps) + name(index, columns, "b", parts, *sides[1], other)
    # predicates are converted as well: they are true where x is negative
    if index % 8 == 7 and scalar not in ("bf16",):
        zero = "0.0" if scalar[0] in "fb" else "0"
        body = f"""  %p = lt %t, {zero} : tile<i1[{extents}], #a{index}>
  %q = convert_layout %p : tile<i1[{extents}], #b{index}>
  %v = load %gx[0, 0] : tile<{scalar}[{extents}], #b{index}>
  %u = select %q, -%v, %v
"""
        check = "y=max(x,-x)"
    else:
        body, check = f"  %u = convert_layout %t : tile<{scalar}[{extents}], #b{index}>\n", "y=x"
    text += f"""kernel @k{index}(%x: ptr<{scalar}>, %y: ptr<{scalar}>) grid [1] warps {1 << warp_bits} {{
  %gx = view %x, [{extents}] : view<{scalar}[{extents}]>
  %gy = view %y, [{extents}] : view<{scalar}[{extents}]>
  %t = load %gx[0, 0] : tile<{scalar}[{extents}], #a{index}>
{body}  store %u, %gy[0, 0]
}}
"""
    kernels.append((f"k{index}", f"{scalar}[{parts << rows},{1 << columns}]", check))

if options.emit:
    print(text)
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "shuffles.tile")
    with open(path, "w") as file:
        file.write(text)
    for kernel, fill, check in kernels:
        if options.ptxas:
            run(["tilec", path, "--kernel=" + kernel, "--target=sm_80", "--emit=cubin", "--ptxas=" + options.ptxas,
                 "-o", os.path.join(folder, "k")])
            continue
        for level in "2", "3":
            run(["tile-run", path, "--kernel=" + kernel, "--device=cpu", "--level=" + level, "--arg", "x=int:" + fill,
                 "--arg", "y=poison:" + fill, "--check", check], "equality: 0 wrong")
print(len(kernels), "kernels, all right")

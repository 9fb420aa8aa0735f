"""Compares the products of each precision, at level 1 and as a dot at levels 2 and 3, with their definition. Elements are
large, small, infinite and NaN.

usage: precision.py FOLDER
"""
import math
import os
import random
import struct
import subprocess
import sys

M, N, K = 16, 8, 32
PARTS = {"ieee": 1, "tf32": 1, "bf16x3": 2, "bf16x6": 3}


def word_of(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def float_of(word):
    return struct.unpack("<f", struct.pack("<I", word))[0]


def single(x):
    """Rounds to f32."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bf16(x):
    """Rounds an f32 to bf16, ties to even."""
    word = word_of(x)
    return x if x != x else float_of((word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000)


def parts(name, x):
    if name in ("ieee", "tf32"):
        return [x if name == "ieee" or x != x else float_of(word_of(x) & 0xFFFFE000)]
    out = []
    for _ in range(PARTS[name]):
        out.append(bf16(x))
        x = x - out[-1] if math.isfinite(out[0]) else 0.0
    return out


def product(name, a, b):
    """The exact sums, small products first."""
    pairs = [(i, j) for i in range(PARTS[name]) for j in range(PARTS[name]) if i + j < PARTS[name]]
    sums = []
    for i in range(M):
        for j in range(N):
            terms = [(parts(name, a[i * K + l]), parts(name, b[l * N + j])) for l in range(K)]
            sums.append(sum(x[p] * y[q] for p, q in sorted(pairs, key=sum, reverse=True) for x, y in terms))
    return sums


def write(name, shape, numbers):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % shape
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%df" % len(numbers), *numbers))


def read(name):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return list(struct.unpack("<%df" % (len(data) // 4), data))


def text(name):
    return f"""compute @c(%a: tensor<f32[{M}, {K}]>, %b: tensor<f32[{K}, {N}]>) -> (%c: tensor<f32[{M}, {N}]>)
{{
  %c = matmul(%a, %b, precision = {name}) : f32
}}
kernel @k<p: word>(%a: view<f32[{M}, {K}]>, %b: view<f32[{K}, {N}]>, %c: view<f32[{M}, {N}]>) grid [1] warps 1
{{
  %x = load %a[0, 0] : [{M}, {K}]
  %y = load %b[0, 0] : [{K}, {N}]
  store dot(%x, %y, precision = p), %c[0, 0]
}}
"""


def run(name, level):
    path = {file: os.path.join(sys.argv[1], file) for file in ("k.tile", "a.npy", "b.npy", "c.npy")}
    with open(path["k.tile"], "w", encoding="utf-8") as file:
        file.write(text(name))
    words = ["tile-run", path["k.tile"], "--device=cpu", f"--level={level}", "--arg", f"a=@{path['a.npy']}", "--arg",
             f"b=@{path['b.npy']}", "--save", f"c={path['c.npy']}", "--kernel=" + ("c" if level == 1 else "k")]
    if level > 1:
        words += ["--arg", "c=poison", "--param", f"p={name}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read("c.npy")


def near(got, want, bound):
    """Finite sums within the bound; others are equal."""
    wanted = single(want)
    if not math.isfinite(wanted):
        return got == wanted or (got != got and wanted != wanted)
    return abs(got - want) <= bound


random.seed(7)
numbers = [single(random.uniform(-2, 2) * 2.0 ** random.randint(-12, 12)) for _ in range(M * K + K * N)]
a, b = numbers[:M * K], numbers[M * K:]
a[3 * K + 5], a[4 * K + 6], a[5 * K + 7], b[9 * N + 2] = math.inf, math.nan, 3.4e38, -3.4e38
write("a.npy", (M, K), a)
write("b.npy", (K, N), b)
size = [2.0**-19 * sum(abs(a[i * K + l] * b[l * N + j]) for l in range(K)) for i in range(M) for j in range(N)]
for name in PARTS:
    wanted = product(name, a, b)
    first, tiles, threads = (run(name, level) for level in (1, 2, 3))
    exact = all(near(x, w, abs(w) * 2.0**-24) for x, w in zip(first, wanted))
    close = all(near(x, w, s) for x, w, s in zip(tiles, wanted, size))
    same = [struct.pack("<f", x) for x in tiles if x == x] == [struct.pack("<f", x) for x in threads if x == x]
    print(f"{name}: level 1 {'right' if exact else 'WRONG'}, dot {'right' if close else 'WRONG'}, "
          f"levels 2 and 3 {'equal' if same else 'DIFFERENT'}")

"""Compares the variance of a product's rows, which is combined from groups of columns, with one in double precision.

    product_rows.py FILE.tile FOLDER/PREFIX
"""
import random
import struct
import subprocess
import sys

M, K, N = 7, 264, 192


def write(path, rows):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header = header.ljust(128 - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(b"".join(struct.pack("<%df" % len(row), *row) for row in rows))


def read(path, count):
    with open(path, "rb") as file:
        return struct.unpack("<%df" % count, file.read()[-4 * count:])


source, prefix = sys.argv[1:]
draw = random.Random(7)
x = [[draw.randint(-2, 2) for _ in range(K)] for _ in range(M)]
w = [[draw.randint(-2, 2) for _ in range(N)] for _ in range(K)]
write(prefix + "x.npy", x)
write(prefix + "w.npy", w)
subprocess.run(["tile-run", source, "--device=cpu", "--kernel=variance", "--arg", f"x=@{prefix}x.npy", "--arg",
                f"w=@{prefix}w.npy", "--save", f"var={prefix}v.npy"], check=True, stdout=subprocess.DEVNULL)
found = read(prefix + "v.npy", M)
for row, value in zip(x, found):
    p = [sum(a * b[j] for a, b in zip(row, w)) / 16 + 1000 for j in range(N)]
    mean = sum(p) / N
    exact = sum((e - mean) ** 2 for e in p) / N
    # Each of the 64 + 3 sums and the squares round by 2^-24 of a nonnegative term; the mean by 2^-24 of 1000, of
    # which the error is squared.
    bound = exact * 80 * 2.0 ** -24 + (1000 * 70 * 2.0 ** -24) ** 2
    if abs(value - exact) > bound:
        sys.exit(f"variance {value}, not {exact}: the bound is {bound}")

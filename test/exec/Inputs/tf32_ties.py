"""Writes arrays into the given folder. x.npy: floats, every fourth one midway between two tf32 numbers. want.npy:
their tf32 (ties away from zero). turned.npy: that transposed. eye.npy: the identity."""
import os
import struct
import sys

ROWS, COLUMNS = 80, 208


def write(name, shape, words):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % shape
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%dI" % len(words), *words))


def word(i):
    """An exponent, a sign, ten bits of mantissa, and for the rest a tie, its neighbors, or anything."""
    rest = (0x1000, 0xfff, 0x1001, i * 2654435761 >> 7 & 0x1fff)[i % 4]
    return (i // 7 % 2) << 31 | (120 + i % 13) << 23 | (i * 40503 & 0x3ff) << 13 | rest


x = [word(i) for i in range(ROWS * COLUMNS)]
want = [w + 0x1000 & ~0x1fff for w in x]
write("x.npy", (ROWS, COLUMNS), x)
write("want.npy", (ROWS, COLUMNS), want)
write("turned.npy", (COLUMNS, ROWS), [want[r * COLUMNS + c] for c in range(COLUMNS) for r in range(ROWS)])
write("eye.npy", (COLUMNS, COLUMNS), [0x3f800000 * (r == c) for r in range(COLUMNS) for c in range(COLUMNS)])

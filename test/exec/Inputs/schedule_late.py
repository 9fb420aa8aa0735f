"""Rows that are hard for a single pass, as .npy: far from 0, far at the beginning, rising, infinite, NaN."""
import random
import struct
import sys


def write(name, rows):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            file.write(struct.pack("<%df" % len(row), *row))


length, inf = int(sys.argv[2]), float("inf")
some = random.Random(7)
noise = [some.gauss(0, 1) for _ in range(length)]
write(sys.argv[1] + ".far.npy", [[x + 10000 for x in noise]])
write(sys.argv[1] + ".begins.npy", [[x + 1000 * (i < 100) for i, x in enumerate(noise)]])
write(sys.argv[1] + ".rises.npy", [[x + i for i, x in enumerate(noise)]])
write(sys.argv[1] + ".small.npy", [[x * 1e-15 for x in noise]])

lost = [-inf] * length
late = [-inf] * (length - 1) + [3.0]
above = noise[:-2] + [inf, 0.0]
below = noise[:-2] + [-inf, 0.0]
early = [inf] + noise[1:]
nan = noise[:-2] + [float("nan"), 0.0]
high = [3e38 * (1 if x > 0 else 0.5) for x in noise]
write(sys.argv[1] + ".infinite.npy", [noise, lost, late, above, below, early, nan])
write(sys.argv[1] + ".high.npy", [high])

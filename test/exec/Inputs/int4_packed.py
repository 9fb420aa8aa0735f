"""Writes the operands of matmul_int4_packed.tile as .npy files: int4_packed.py FOLDER M N K nt|nn|u1|i1 GROUP. u1 and i1 have bytes, [n, k / 2]."""
import os
import random
import struct
import sys

folder, (m, n, k), layout, group = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5], int(sys.argv[6])
random.seed(7)


def write(name, descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(os.path.join(folder, name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def halves(count, values):
    return struct.pack("<%de" % count, *[random.choice(values) for _ in range(count)])


words, groups = (k + 7) // 8, (k + group - 1) // group
write("a", "<f2", (m, k), halves(m * k, [-3, -2, -1, 0, 1, 2, 3]))
if layout in ("u1", "i1"):
    write("b", "|" + layout, (n, k // 2), random.randbytes(n * (k // 2)))
else:
    write("b", "<i4", (n, words) if layout == "nt" else (words, n), random.randbytes(4 * n * words))
write("scale", "<f2", (groups, n), halves(groups * n, [0.5, 1, 2]))

"""Writes small .npy files, valid and invalid ones, into the given folder."""
import os
import struct
import sys


def write(folder, name, descr, data, shape="(2,)"):
    header = "{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


two = struct.pack("<2f", 1, 2)
write(sys.argv[1], "plain.npy", "'<f4'", two)
write(sys.argv[1], "zeros.npy", "'<f4'", bytes(8))
write(sys.argv[1], "record.npy", "[('x', '<f4')]", two)
write(sys.argv[1], "longer.npy", "'<f4x'", two)

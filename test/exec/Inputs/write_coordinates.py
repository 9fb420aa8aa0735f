"""write_coordinates.py FILE.npy M N: an i32 array [M, N] whose element [i, j] is 1000 * i - 3 * j + 7."""
import struct
import sys

rows, columns = int(sys.argv[2]), int(sys.argv[3])
header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(b"".join(struct.pack("<i", 1000 * i - 3 * j + 7) for i in range(rows) for j in range(columns)))

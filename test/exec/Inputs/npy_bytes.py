"""An array of equal bytes: npy_bytes.py FILE TYPE BYTE EXTENT.., the type as NumPy has it."""
import struct
import sys

extents = [int(e) for e in sys.argv[4:]]
count = 1
for extent in extents:
    count *= extent
header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (sys.argv[2], ", ".join(map(str, extents)))
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes([int(sys.argv[3], 0)]) * count)

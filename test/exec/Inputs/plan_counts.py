"""plan_counts.py X.npy N FIRST: fails unless x is FIRST in its first half and N in the rest."""
import struct
import sys

n, first = int(sys.argv[2]), int(sys.argv[3])
with open(sys.argv[1], "rb") as file:
    data = file.read()
x = struct.unpack(f"<{n}i", data[10 + struct.unpack("<H", data[8:10])[0]:])
half = (n + 1) // 2
assert x == (first,) * half + (n,) * (n - half), x

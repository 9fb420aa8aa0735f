"""plan_for.py Y.npy N: fails unless the rows of y are what @nested of plan_for.tile writes."""
import struct
import sys

n = int(sys.argv[2])
with open(sys.argv[1], "rb") as file:
    data = file.read()
y = struct.unpack(f"<{8 * n}i", data[10 + struct.unpack("<H", data[8:10])[0]:])
rows = [0, -1, 2, -1, -1, 101, -1, 1]
assert y == tuple(row for row in rows for _ in range(n)), y

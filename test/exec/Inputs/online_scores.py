"""Arrays for chained reductions along scores: online_scores.py FOLDER.

q-A.npy and k-A.npy: scores that are large, exact, and close together: A^2 - 1, plus a few quarters and a part that
grows from key to key, so that maxima grow in each block. kt-A.npy has the same bytes as k-A.npy, for views with
strides.
b.npy makes scores infinite or NaN. Row 3 has one +inf, row 4 is NaN, row 5 is -inf, row 6 has both, row 7 has +inf in
the last column, row 8 is NaN except for the last column, row 9 is NaN in the first columns. z.npy: reference values
of rows."""
import os
import struct
import sys

ROWS, KEYS, DEPTH = 70, 200, 64
INF, NAN = float("inf"), float("nan")


def write(name, letter, numbers, *extents):
    shape = "".join("%d, " % extent for extent in extents)
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }" % ({"e": "f2", "f": "f4", "i": "i4"}[letter], shape)
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    os.makedirs(sys.argv[1], exist_ok=True)
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(numbers), letter), *numbers))


def query(row, base):
    return [base - 1, 1] + [(row * 7 + d * 5) % 5 / 4 for d in range(DEPTH - 2)]


def key(at, base):
    return [base + 1, at // 16 / 4] + [(at * 3 + d * 11) % 5 // 2 if d % 8 == at % 8 else 0 for d in range(DEPTH - 2)]


for base in (32, 100, 317, 1000):
    rows = sum((query(row, base) for row in range(ROWS)), [])
    keys = sum((key(at, base) for at in range(KEYS)), [])
    write("q-%d.npy" % base, "e", rows, 1, 1, ROWS, DEPTH)
    write("k-%d.npy" % base, "e", keys, 1, 1, KEYS, DEPTH)
    write("kt-%d.npy" % base, "e", keys, 1, 1, DEPTH, KEYS)
write("lengths.npy", "i", [KEYS], 1)
write("slopes.npy", "f", [0], 1)

M, N = 20, 75
b = [[0.0] * N for _ in range(M)]
b[3][10] = b[7][N - 1] = INF
b[4] = [NAN] * N
b[5] = [-INF] * N
b[6] = [NAN if n % 3 else -INF for n in range(N)]
b[8][: N - 1] = [NAN] * (N - 1)
b[9][:40] = [NAN] * 40
write("b.npy", "f", sum(b, []), M, N)
write("z.npy", "f", [(30.0, -5.0, 0.0, INF, -INF)[m % 5] if m > 9 else 1.0 for m in range(M)], M, 1)

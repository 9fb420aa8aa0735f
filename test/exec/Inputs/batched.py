"""batched.py A.npy B.npy C.npy: fails unless c = 2 a b, matrix by matrix (f16, f16, f32; 3 batches of 5 x 7 x 4)."""
import struct
import sys


def numbers(path, code, count):
    with open(path, "rb") as file:
        data = file.read()
    header = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{count}{code}", data[header:])


batches, m, k, n = 3, 5, 7, 4
a = numbers(sys.argv[1], "e", batches * m * k)
b = numbers(sys.argv[2], "e", batches * k * n)
c = numbers(sys.argv[3], "f", batches * m * n)
for batch in range(batches):
    for i in range(m):
        for j in range(n):
            wanted = 2 * sum(a[(batch * m + i) * k + l] * b[(batch * k + l) * n + j] for l in range(k))
            assert c[(batch * m + i) * n + j] == wanted, (batch, i, j)
assert any(c)

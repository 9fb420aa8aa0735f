"""Compares the k largest elements of each row, and where they are, with a sort: top_k.py X V I"""
import ast
import struct
import sys


def load(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    code = {"<f4": "f", "<f2": "e", "<i4": "i"}[head["descr"]]
    rows, columns = head["shape"]
    flat = struct.unpack("<%d%s" % (rows * columns, code), data[10 + size:])
    return [flat[r * columns:(r + 1) * columns] for r in range(rows)]


wrong = 0
for x, v, i in zip(*(load(path) for path in sys.argv[1:4])):
    order = sorted(range(len(x)), key=lambda at: (-x[at], at))[:len(v)]
    wrong += list(i) != order or list(v) != [x[at] for at in order]
print("%d rows wrong" % wrong)
sys.exit(wrong != 0)

"""Checks the f32 elements of a .npy file: equal to these numbers; or finite for each F, and not all finite for the Ns.

    arguments.py FILE.npy NUMBER...
    arguments.py FILE.npy FFFNNF..
"""
import itertools
import math
import struct
import sys

path, *expected = sys.argv[1:]
letters = set(expected[0]) <= set("FN")
count = len(expected[0]) if letters else len(expected)
with open(path, "rb") as file:
    numbers = struct.unpack("<%df" % count, file.read()[-4 * count:])
if not letters:
    wanted = [struct.unpack("<f", struct.pack("<f", float(word)))[0] for word in expected]
    right = all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(numbers, wanted))
else:
    finite = [math.isfinite(number) for number in numbers]
    right = all(f or letter == "N" for f, letter in zip(finite, expected[0]))
    right &= letters == {"F"} or not all(finite)
sys.exit(0 if right else "%s: %s, not %s" % (path, numbers, " ".join(expected)))

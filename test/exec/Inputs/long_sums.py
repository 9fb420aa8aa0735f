"""Sums 2^20 terms of 0.1 in f32 with each kind of kernel that adds them, and reports the errors.

usage: long_sums.py FILE FOLDER LEVEL...
"""
import array
import itertools
import pathlib
import struct
import subprocess
import sys

import shares

TERMS = 1 << 20
MOST = 1024  # units of 2^-24: the root of the number of terms
# kernel, what is summed, arguments
CASES = [
    ("matrix_vector", "y", [("a", (3, TERMS), 0.1), ("x", (TERMS, 1), 1.0)], ["m=3", f"k={TERMS}"]),
    ("vector_matrix", "y", [("x", (1, TERMS), 1.0), ("a", (TERMS, 3), 0.1)], ["n=3", f"k={TERMS}"]),
    ("rows", "y", [("a", (1, TERMS), 0.1)], ["m=1", f"n={TERMS}"]),
    ("columns", "y", [("a", (TERMS, 4), 0.1)], [f"m={TERMS}", "n=4"]),
    ("whole_columns", "y", [("a", (TERMS, 4), 0.1)], ["n=4"]),
    ("longest_scan", "y", [("a", (1, 16384), 0.1)], ["m=1"]),
    ("scan", "y", [("a", (1, TERMS), 0.1)], ["m=1", f"n={TERMS}"]),
    ("scan_back", "y", [("a", (2, TERMS), 0.1)], ["m=2"]),
    # Fewer: on the CPU device its tiles take their whole width for two columns.
    ("scan_down", "y", [("a", (TERMS // 4, 2), 0.1)], [f"m={TERMS // 4}", "n=2"]),
    ("product", "c", [("a", (1, TERMS), 0.1), ("b", (TERMS, 1), 1.0)], ["m=1", "n=1", f"k={TERMS}"]),
    ("parts", "c", [("a", (1, TERMS), 0.1), ("b", (TERMS, 1), 1.0)], ["m=1", "n=1", f"k={TERMS}"]),
]
# Number of terms in element i of a scan.
COUNTS = {
    "longest_scan": lambda i: i + 1,
    "scan": lambda i: i + 1,
    "scan_back": lambda i: TERMS - i % TERMS,
    "scan_down": lambda i: i // 2 + 1,
}


def save(path, shape, value):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack("<f", value) * (shape[0] * shape[1])
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def load(path):
    data = path.read_bytes()
    return array.array("f", data[10 + struct.unpack("<H", data[8:10])[0]:])


def measure(file, folder, level, kernel, result, inputs, sizes):
    """The largest relative error, in units of 2^-24."""
    words = ["tile-run", file, f"--kernel={kernel}", "--device=cpu", f"--level={level}"]
    for name, shape, value in inputs:
        path = folder / f"{shape[0]}x{shape[1]}_{value}.npy"
        if not path.exists():
            save(path, shape, value)
        words += ["--arg", f"{name}=@{path}"]
    for size in sizes:
        words += ["--arg", size]
    out = folder / f"{kernel}.npy"
    ran = subprocess.run(words + ["--arg", f"{result}=poison", "--save", f"{result}={out}"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        sys.exit(ran.stdout)
    term = struct.unpack("f", struct.pack("f", 0.1))[0]
    sums = load(out)
    count = COUNTS.get(kernel, lambda i: TERMS)
    return max(abs(v / (term * count(i)) - 1) for i, v in enumerate(sums)) * 2**24


def main():
    file, folder, levels = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    cases = shares.take(itertools.product(levels, CASES))
    for level, (kernel, *case) in cases:
        error = measure(file, folder, level, kernel, *case)
        wrong += not error <= MOST
        print(f"level {level} {kernel}: {error:.1f} units, {'right' if error <= MOST else 'WRONG'}")
    print(f"{len(cases)} of {len(levels) * len(CASES)} sums, {wrong} wrong")


if __name__ == "__main__":
    main()

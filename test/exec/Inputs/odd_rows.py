"""Stores tiles to rows that begin anywhere, and compares every byte of the array, also those between the rows.

    odd_rows.py KERNEL.tile FOLDER OPTION ...

Prints the number of stores with a wrong byte. OPTIONs are passed to tile-run.
"""
import itertools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

# type, bytes, parameters
TILES = (
    ("f16", 2, {}),
    ("f16", 2, {"w": 1, "stages": 3}),
    ("f16", 2, {"w": 8, "rows": 128, "stages": 6}),
    ("f16", 2, {"piece_cols": 128, "stages": 1}),
    ("f16", 2, {"piece_cols": 32, "piece_rows": 8}),
    ("bf16", 2, {"cols": 256, "stages": 4, "piece_rows": 64}),
    ("i8", 1, {"cols": 256, "piece_cols": 128}),
    ("i8", 1, {"piece_cols": 32, "piece_rows": 32}),
    ("f32", 4, {"piece_cols": 32}),
    ("f64", 8, {"piece_cols": 16, "piece_rows": 16}),
)
SHIFTED = (
    ("f16", 2, {}),
    ("f16", 2, {"rows": 1, "cols": 512}),
    ("f16", 2, {"rows": 2, "cols": 768, "w": 2}),
    ("bf16", 2, {"rows": 128, "cols": 64, "w": 8}),
    ("f16", 2, {"rows": 16, "cols": 256, "w": 1}),
    ("f16", 2, {"rows": 4, "cols": 32}),
    ("i8", 1, {"rows": 16, "cols": 256}),
    ("i8", 1, {"rows": 1, "cols": 1024, "w": 2}),
    ("f32", 4, {"rows": 8, "cols": 128}),
)
# columns, what rows are further apart, and the offset of the first one in elements
SHAPES = ((1, 2, 0), (7, 0, 1), (33, 0, 3), (64, 1, 0), (127, 2, 5), (128, 3, 7), (129, 0, 0), (250, 0, 1), (252, 4, 2),
          (263, 2, 3), (390, 1, 15))
ROWS = 70


def read(path):
    """The elements of a .npy file as bytes."""
    with open(path, "rb") as file:
        data = file.read()
    return data[10 + int.from_bytes(data[8:10], "little"):]


def run(file, folder, options, tile, shape):
    scalar, size, params = tile
    n, more, offset = shape
    pitch = n + more
    x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    words = [f"{name}={value}" for name, value in dict(params, T=scalar).items()]
    command = ["tile-run", file, *options, "--arg", f"m={ROWS}", "--arg", f"n={n}", "--arg", f"p={pitch}", "--arg",
               f"x={'int' if scalar == 'i8' else 'rand'}:{scalar}[{ROWS},{n}]", "--arg", f"y=zeros:{scalar}[{ROWS},{pitch}]",
               "--offset", f"y={offset * size}", "--save", f"x={x}", "--save", f"y={y}"]
    for word in words:
        command += ["--param", word]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return " ".join(command) + "\n" + ran.stdout + ran.stderr
    source, found = read(x), read(y)
    gap = bytes(more * size)
    expected = b"".join(source[r * n * size:(r + 1) * n * size] + gap for r in range(ROWS))
    return "" if found == expected else " ".join(command) + "\nwrong bytes"


def main():
    file, folder, *options = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    tiles = SHIFTED if os.path.basename(file) == "shifted_stores.tile" else TILES
    cases = shares.take(itertools.product(tiles, SHAPES))
    wrong = 0
    for tile, shape in cases:
        fault = run(file, folder, options, tile, shape)
        wrong += bool(fault)
        if fault:
            print(fault)
    print(f"{len(cases)} stores, {wrong} wrong")


if __name__ == "__main__":
    main()

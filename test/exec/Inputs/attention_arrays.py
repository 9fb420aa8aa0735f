"""Arrays for the attention kernels: attention_arrays.py FOLDER. Lengths of two batches, slopes of four heads, page
tables of two batches, starts of three packed sequences, and invalid lengths among valid ones."""
import os
import struct
import sys


def write(name, letter, numbers, *extents):
    shape = "".join("%d, " % extent for extent in extents)
    header = "{'descr': '<%s4', 'fortran_order': False, 'shape': (%s), }" % (letter, shape)
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    os.makedirs(sys.argv[1], exist_ok=True)
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(numbers), letter), *numbers))


write("lengths.npy", "i", [50, 77], 2)
write("slopes.npy", "f", [0.5, 0.25, 0, 0.0625], 4)
write("table.npy", "i", [3, 7, 0, 9, 1, 8, 2, 6, 5, 4], 2, 5)
write("starts.npy", "i", [0, 50, 51, 128], 4)
write("key_starts.npy", "i", [0, 33, 40, 173], 4)
write("far.npy", "i", [0, -3, 150, 400, 2147483647, -2147483648], 6, 1, 1)

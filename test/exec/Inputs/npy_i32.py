"""Arrays of i32 as .npy files."""
import struct


def write(path, extents, elements):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, extents))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%di" % len(elements), *elements))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack("<%di" % ((len(data) - begin) // 4), data[begin:]))

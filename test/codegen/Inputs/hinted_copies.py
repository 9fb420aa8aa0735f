"""usage: hinted_copies.py CUBIN AT_LEAST [plant OUT]

Searches the machine code of a cubin (sm_80 to sm_90a: 16 bytes per instruction, the opcode in the lowest
12 bits) for asynchronous copies. Fails if there are fewer than AT_LEAST, or if one has a shared
address of the form [R + UR]. ptxas uses that form only for copies with an L2 policy, and then names registers
that it has not allocated. With `plant` it writes the cubin with one such copy to OUT."""
import struct
import sys

COPY, COPY_FROM_UNIFORM = 0xFAE, 0xDAE


def code_sections(image):
    """(offset, size) of each .text section of an ELF64 file."""
    table, = struct.unpack_from("<Q", image, 40)
    entry, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * entry) for i in range(count)]
    strings = headers[names][4]
    return [(header[4], header[5]) for header in headers
            if image[strings + header[0]:].startswith(b".text.")]


def copies(image):
    for start, size in code_sections(image):
        for at in range(start, start + size, 16):
            opcode = struct.unpack_from("<I", image, at)[0] & 0xFFF
            if opcode in (COPY, COPY_FROM_UNIFORM):
                yield at, opcode


with open(sys.argv[1], "rb") as file:
    image = bytearray(file.read())
found = list(copies(image))
if len(sys.argv) > 3:
    at = found[-1][0]
    image[at:at + 2] = struct.pack("<H", struct.unpack_from("<H", image, at)[0] & 0xF000 | COPY_FROM_UNIFORM)
    with open(sys.argv[4], "wb") as file:
        file.write(image)
    sys.exit()
bad = [at for at, opcode in found if opcode != COPY]
print(f"{len(found)} asynchronous copies, {len(bad)} from a uniform register")
sys.exit(len(found) < int(sys.argv[2]) or bool(bad))

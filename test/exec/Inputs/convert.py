"""Converts many values between two element types through tile-run and compares for equality with level 1.

    convert.py DEVICE [--level=N] [cast|copy|async|stored] FROM:TO ...

The values are converted by a cast of a tile in registers, by a copy to shared memory, by an asynchronous
copy, or by an asynchronous copy to a buffer to which other operations also store.

Inputs: all values of 8-bit and 16-bit types; for f32 and f64 values around every 8-bit float and around the
midpoints between them, and bit patterns from the whole range, including NaN and infinities.
"""
import math
import struct
import subprocess
import sys
import tempfile

import crowd

CODES = {"i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "f16": "<f2", "bf16": "<V2", "f32": "<f4",
         "f64": "<f8", "tf32": "<f4", "e4m3": "<V1", "e5m2": "<V1"}
BYTES = {"i8": 1, "e4m3": 1, "e5m2": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "tf32": 4, "i64": 8,
         "f64": 8}


KERNEL = """kernel @convert(%n: i32, %x: ptr<{T}> {{divisible = 16}}, %y: ptr<{U}> {{divisible = 16}})
    grid [ceildiv(%n, 1024)]  warps 4
{{
  %b, %c, %d = block_id
  %gx = view %x, [%n] : view<{T}[?]>
  %gy = view %y, [%n] : view<{U}[?]>
  {body}
  store %u, %gy[%b * 1024]
}}
"""
BODIES = {
    "cast": ["%t = load %gx[%b * 1024] : tile<{T}[1024]>", "%u = cast %t : tile<{U}[1024]>"],
    "copy": ["%s = alloc_shared : shared<{U}[1024]>", "copy %gx[%b * 1024], %s",
             "%u = load_shared %s : tile<{U}[1024]>"],
    "async": ["%s = alloc_shared : shared<{U}[2][1024]>", "copy_async %gx[%b * 1024], %s[1]", "commit_group",
              "wait_group 0", "%u = load_shared %s[1] : tile<{U}[1024]>"],
    "stored": ["%s = alloc_shared : shared<{U}[1024]>", "copy_async %gx[%b * 1024], %s", "commit_group",
               "wait_group 0", "%v = load_shared %s : tile<{U}[1024]>", "store_shared %v, %s",
               "%u = load_shared %s : tile<{U}[1024]>"],
}


def small_values(mantissa, bias, largest):
    for code in range(largest + 1):
        field, fraction = code >> mantissa, (code & ((1 << mantissa) - 1)) / (1 << mantissa)
        yield math.ldexp(1 + fraction, field - bias) if field else math.ldexp(fraction, 1 - bias)


def boundaries():
    for mantissa, bias, largest in ((3, 7, 0x7E), (2, 15, 0x7B)):
        values = list(small_values(mantissa, bias, largest))
        values.append(2 * values[-1] - values[-2])
        for low, high in zip(values, values[1:]):
            yield low
            yield (low + high) / 2


def words(scalar):
    """The elements as unsigned integers."""
    bits = 8 * BYTES[scalar]
    if bits <= 16:
        return list(range(1 << bits))
    if scalar.startswith("i"):
        values = [sign * ((1 << e) + d) for e in range(bits - 1) for d in (-1, 0, 1, (1 << e) // 3) for sign in (1, -1)]
        return [value % (1 << bits) for value in values]
    code = "<d" if bits == 64 else "<f"
    integer = "<Q" if bits == 64 else "<I"
    result = []
    for value in boundaries():
        word = struct.unpack(integer, struct.pack(code, value))[0]
        for near in (word - 1, word, word + 1):
            result += [max(near, 0), max(near, 0) | 1 << bits - 1]
    step = 0x7A337 if bits == 32 else 0x7A337 << 28
    result += range(0, 1 << bits, step)
    return result


def save(path, scalar, elements):
    form = {1: "B", 2: "H", 4: "I", 8: "Q"}[BYTES[scalar]]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (CODES[scalar], len(elements))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(elements), form), *elements))


device = sys.argv[1]
more = [word for word in sys.argv[2:] if word.startswith("--")]
body = "cast"
pairs = []
for word in sys.argv[2:]:
    if word in BODIES:
        body = word
    elif not word.startswith("--"):
        pairs.append(word.split(":") + [body])


def check(pair):
    source, target, way = pair
    elements = words(source)
    with tempfile.TemporaryDirectory() as folder:
        save(folder + "/x.npy", source, elements)
        with open(folder + "/convert.tile", "w") as file:
            lines = "\n  ".join(BODIES[way]).format(T=source, U=target)
            file.write(KERNEL.format(T=source, U=target, body=lines))
        command = ["tile-run", folder + "/convert.tile", "--device=" + device, *more, "--arg", "n=%d" % len(elements), "--arg", "x=@" + folder + "/x.npy",
                   "--arg", "y=poison:%s[%d]" % (target, len(elements)), "--check", "y=x", "--tolerance=0"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode or "0 wrong" not in result.stdout:
            sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)


crowd.for_each(check, pairs)
print(len(pairs), "conversions, all right")

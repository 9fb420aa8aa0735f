"""Runs each function of prelude.tile on edge values, and compares with the function in f64.

usage: prelude.py SCRATCH DEVICE [OPTION...]      options for tile-run
"""
import math
import pathlib
import struct
import subprocess
import sys

INF, NAN = math.inf, math.nan
LARGEST, SMALLEST = 3.4028234663852886e38, 1.1754943508222875e-38
MAGNITUDES = (0.0, SMALLEST, 1e-30, 1e-10, 1e-4, 0.03, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0, 10.0, 20.0, 50.0, 87.0,
              89.0, 104.0, 1000.0, 1e15, 1e25, LARGEST, INF)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def clamp(x, low, high):
    return x if math.isnan(x) else min(max(x, low), high)


def elu(x, alpha):
    return x if x > 0 else alpha * math.expm1(x)


def gelu(x):
    """x * P(z < x); erfc keeps the digits of small results."""
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


def gelu_tanh(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


# The call with %t for x, the function, its error relative to the result, and to x.
FUNCTIONS = {
    "relu": ("relu(%t)", lambda x: x if math.isnan(x) else max(x, 0.0), 0, 0),
    "relu6": ("relu6(%t)", lambda x: clamp(x, 0, 6), 0, 0),
    "leaky_relu": ("leaky_relu(%t, 0.25)", lambda x: 0.25 * x if x < 0 else x, 0, 0),
    "elu": ("elu(%t, 1.5)", lambda x: elu(x, 1.5), 2**-21, 0),
    "selu": ("selu(%t)", lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), 2**-20, 0),
    "gelu": ("gelu(%t)", gelu, 2**-20, 2**-22),
    "gelu_tanh": ("gelu_tanh(%t)", gelu_tanh, 2**-16, 2**-30),
    "quick_gelu": ("quick_gelu(%t)", lambda x: x * sigmoid(1.702 * x), 2**-16, 2**-30),
    "silu": ("silu(%t)", lambda x: x * sigmoid(x), 2**-20, 2**-120),
    "mish": ("mish(%t)", lambda x: x * math.tanh(softplus(x)), 2**-19, 2**-120),
    "hard_sigmoid": ("hard_sigmoid(%t)", lambda x: clamp(x / 6 + 0.5, 0, 1), 2**-22, 0),
    "hard_swish": ("hard_swish(%t)", lambda x: x * clamp(x / 6 + 0.5, 0, 1), 2**-22, 0),
    "log_sigmoid": ("log_sigmoid(%t)", lambda x: -softplus(-x), 2**-20, 0),
    "softsign": ("softsign(%t)", lambda x: x / (1 + abs(x)), 2**-22, 0),
    "swiglu": ("swiglu(%t, 3.0)", lambda x: x * sigmoid(x) * 3, 2**-20, 2**-120),
    "geglu": ("geglu(%t, 3.0)", lambda x: gelu(x) * 3, 2**-20, 2**-20),
    "rstd": ("rstd(%t, 0.25)", lambda x: NAN if x < -0.25 else 1 / math.sqrt(x + 0.25), 2**-21, 0),
    "normalize": ("normalize(%t, 0.5, 2.0, 4.0, -1.0)", lambda x: (x - 0.5) * 2 * 4 - 1, 2**-22, 2**-20),
}


def single(x):
    """x in f32."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def expected(function, x):
    try:
        return function(x)
    except (OverflowError, ZeroDivisionError):
        return INF


def read_floats(path):
    data = path.read_bytes()
    assert data[:6] == b"\x93NUMPY" and b"'<f4'" in data[:128]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


def is_right(got, want, x, relative, absolute):
    want_single = single(want)
    if math.isnan(want) or math.isinf(want_single) or math.isinf(got):
        return math.isnan(got) == math.isnan(want) and (math.isnan(want) or got == want_single)
    error = relative * abs(want) + absolute * min(abs(x), LARGEST) + SMALLEST
    return abs(got - want) <= error


def main():
    folder, device, options = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    points = [single(sign * x) for x in MAGNITUDES for sign in (1, -1)]
    points += [NAN] * (-len(points) % 32)
    count = len(points)
    stores = "\n".join(f"  store {call}, %y[{i * count} + %b * 32]" for i, (call, *_) in enumerate(FUNCTIONS.values()))
    text = (f'include "prelude.tile"\nkernel @all(%n: i32, %m: i32, %x: view<f32[%n]>, %y: view<f32[%m]>)\n'
            f"    grid [ceildiv(%n, 32)] warps 1\n{{\n  %b = block_id\n  %t = load %x[%b * 32] : [32]\n{stores}\n}}\n")
    (folder / "all.tile").write_text(text)
    subprocess.run(["tile-run", folder / "all.tile", f"--device={device}", *options, "--arg", f"n={count}",
                    "--arg", f"m={count * len(FUNCTIONS)}", "--arg", "y=poison", "--save", f"y={folder / 'y.npy'}",
                    "--arg", f"x=values:f32[{count}]=" + ",".join(map(repr, points))],
                   check=True, stdout=subprocess.DEVNULL)
    results = read_floats(folder / "y.npy")
    wrong = 0
    for i, (name, (_, function, relative, absolute)) in enumerate(FUNCTIONS.items()):
        for x, got in zip(points, results[i * count:]):
            want = expected(function, x)
            if not is_right(got, want, x, relative, absolute):
                wrong += 1
                print(f"{name}({x}) is {got}, not {want}")
    print(f"{len(FUNCTIONS)} functions at {count} points, {wrong} wrong")


main()

#!/usr/bin/env python3
"""Runs the peer of a program: a function of PyTorch, eagerly and compiled, or of Python; started by `tile-bench program`.

A peer script defines functions whose parameters are the names of the program's inputs, of its parameters and of
integers among its arguments. Each returns the results in their order, one alone or a tuple:

  NAME(torch, x, ..)               on tensors, for the program NAME.tile; or peer(torch, x, ..)
  NAME_reference(make, x, ..)      on arrays of Python, an independent reference at small sizes; or reference(make, x, ..)

A parameter called `torch` gets the module. Arrays of Python have `shape` and elements x[i, j]; `make(shape, function)`
makes one of function(i, j). Without PyTorch and a GPU only `reference` runs.

It is a worker with the protocol of serve.h:

  set MODE SCRIPT NAME NUMBERS TF32 FLUSH ARRAYS SETTINGS   ready SECONDS: the first call, with compiling. MODE: eager,
                                   compiled, reference, auto (reference, if there is one and no PyTorch)
  prepare ..                       the same, but frees everything: it compiles into PyTorch's cache
  compare PREFIX                   right ERROR | wrong WHY: with the results in the files PREFIX0, PREFIX1, ..
  turn FLUSH WARMUP COUNT          times SECONDS ..
  version                          version OF-PYTORCH
"""
import array
import functools
import importlib.util
import inspect
import itertools
import math
import os
import struct
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # the folder may be that of an installation
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # processes compile programs in parallel
sys.path += [FOLDER, os.path.join(FOLDER, "..", "attention")]
import attention_peers  # noqa: E402
torch = None
if not attention_peers.missing:
    import torch

SHIFT = 65537  # of arrays.h
# The largest error relative to |expected| + the root mean square of the result.
TOLERANCES = {"f64": 1e-10, "f32": 3e-4, "tf32": 1e-2, "f16": 1e-2, "bf16": 6e-2}


class Described:
    """An array as serve.h writes it."""

    def __init__(self, text):
        self.name, way, self.type, self.kind, factor, bound, extents, strides = text.split(":")
        self.is_result, self.factor, self.bound = way == "out", float(factor), int(bound)
        self.shape, self.strides = ([int(n) for n in numbers.split(",") if n] for numbers in (extents, strides))
        self.elements = 1 + sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides))


# Arrays of Python --------------------------------------------------------------------------------

def to_f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def to_f16(value):
    return struct.unpack("e", struct.pack("e", value))[0]


def to_bf16(value):
    bits = struct.unpack("I", struct.pack("f", value))[0]
    if bits & 0x7f800000 != 0x7f800000:
        bits += 0x7fff + (bits >> 16 & 1)
    return struct.unpack("f", struct.pack("I", bits & 0xffff0000))[0]


ROUND = {"f16": to_f16, "bf16": to_bf16, "f32": to_f32}
CODES = {"f16": "e", "f32": "f", "f64": "d", "i1": "b", "i8": "b", "u8": "B", "i16": "h", "i32": "i", "i64": "q"}


class Array:
    """Elements of a shape, with strides."""

    def __init__(self, shape, data, strides=None):
        self.shape, self.data = tuple(shape), data
        self.strides = strides or [math.prod(self.shape[d + 1:]) for d in range(len(self.shape))]

    def __getitem__(self, at):
        at = at if isinstance(at, tuple) else (at,)
        if any(not 0 <= i < extent for i, extent in zip(at, self.shape)) or len(at) != len(self.shape):
            raise IndexError(f"{at} is outside of {self.shape}")
        return self.data[sum(i * stride for i, stride in zip(at, self.strides))]

    def get(self, *at, otherwise=0.0):
        """The element, or the number if the coordinates are outside."""
        inside = all(0 <= i < extent for i, extent in zip(at, self.shape))
        return self[at] if inside else otherwise


def make(shape, function):
    return Array(shape, [function(*at) for at in itertools.product(*map(range, shape))])


def number(described, u):
    """As arrays.c makes it."""
    if described.kind == "mask":
        return 0 if u < 0 else 1
    if described.kind == "index":
        return min(math.floor((u * 0.5 + 0.5) * described.bound), described.bound - 1)
    value = to_f32(to_f32(u * 0.5) + 1.0) if described.kind == "positive" else u
    return to_f32(value * to_f32(described.factor))


def fill_python(described, index, numbers):
    rounding = ROUND.get(described.type, lambda value: value)
    count = len(numbers)
    first = index * SHIFT
    data = [rounding(number(described, numbers[(first + i) % count])) for i in range(described.elements)]
    return Array(described.shape, data, described.strides)


def read_python(described, path):
    with open(path, "rb") as file:
        data = file.read()
    if described.type == "bf16":
        words = struct.unpack(f"{len(data) // 2}H", data)
        values = [struct.unpack("f", struct.pack("I", word << 16))[0] for word in words]
    else:
        code = CODES[described.type]
        values = list(struct.unpack(f"{len(data) // struct.calcsize(code)}{code}", data))
    return Array(described.shape, values, described.strides)


# Arrays of PyTorch -------------------------------------------------------------------------------

def torch_type(name):
    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i1": torch.bool,
            "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64}[name]


def pattern_torch(described, index, numbers):
    """The numbers that repeat, on the host: each operation rounds to f32 by itself."""
    u = torch.frombuffer(bytearray(numbers), dtype=torch.float32).roll(-index * SHIFT)
    if described.kind == "mask":
        u = (u >= 0).float()
    elif described.kind == "index":
        u = ((u * 0.5 + 0.5).double() * described.bound).floor().clamp(max=described.bound - 1)
    else:
        u = u * 0.5 + 1.0 if described.kind == "positive" else u
        u = u * torch.tensor(described.factor, dtype=torch.float32)
    return u.to(torch_type(described.type))


def spread(pattern, described, device):
    """Repeats the pattern in memory order, by doubling."""
    flat = torch.empty(described.elements, dtype=pattern.dtype, device=device)
    done = min(pattern.numel(), flat.numel())
    flat[:done] = pattern[:done].to(device)
    while done < flat.numel():
        now = min(done, flat.numel() - done)
        flat[done:done + now] = flat[:now]
        done += now
    return flat.as_strided(described.shape, described.strides)


def read_torch(described, path, device):
    flat = torch.from_file(path, size=described.elements, dtype=torch_type(described.type))
    return flat.to(device).as_strided(described.shape, described.strides)


# The peer ----------------------------------------------------------------------------------------

def load_script(path):
    spec = importlib.util.spec_from_file_location("peer_script", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # torch.compile imports the module of a function by its name
    spec.loader.exec_module(module)
    return module


def find_functions(module, name):
    """The functions on tensors and on arrays of Python; None: it has none."""
    return (getattr(module, name, None) or getattr(module, "peer", None),
            getattr(module, name + "_reference", None) or getattr(module, "reference", None))


def bind(function, values):
    """The function without parameters, with those of its parameters that have values."""
    wanted = inspect.signature(function).parameters
    lacking = [name for name, parameter in wanted.items() if name not in values and parameter.default is parameter.empty]
    if lacking:
        raise ValueError(f"{function.__name__} has the parameter '{lacking[0]}', which is no input, parameter or integer of "
                         f"the program: it has {', '.join(sorted(values))}")
    return functools.partial(function, **{name: values[name] for name in wanted if name in values})


class Program(attention_peers.Peer):
    def __init__(self):
        super().__init__("program", None)
        self.call = None

    def set(self, mode, script, name, numbers, tf32, flush, *words):
        self.call, self.arrays, self.flush, self.tf32 = None, None, flush, tf32 == "tf32"
        described = [Described(word) for word in words if ":" in word]
        self.results = [one for one in described if one.is_result]
        settings = dict(word.split("=", 1) for word in words if ":" not in word)
        values = {name: int(value) if value.lstrip("-").isdigit() else value for name, value in settings.items()}
        on_tensors, on_python = find_functions(load_script(script), name)
        if mode == "auto":
            mode = "reference" if on_python and torch is None else "eager"
        self.mode, function = mode, on_python if mode == "reference" else on_tensors
        if function is None:
            return f"failed {script} defines no function {name}" + ("_reference" if mode == "reference" else "")
        if mode != "reference" and torch is None:
            return f"failed {attention_peers.missing}"
        with open(numbers, "rb") as file:
            data = file.read()
        inputs = [one for one in described if not one.is_result]
        if mode == "reference":
            values["make"] = make
            floats = array.array("f", data)
            values.update((one.name, fill_python(one, i, floats)) for i, one in enumerate(inputs))
        else:
            values["torch"] = torch
            torch.backends.cudnn.benchmark = True  # the fastest algorithm for the shape
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.tf32
            values.update((one.name, spread(pattern_torch(one, i, data), one, self.device)) for i, one in enumerate(inputs))
        self.call = bind(function, values)
        if mode == "compiled":
            self.call = self.compile(function, values)
        began = time.perf_counter()
        self.arrays = self.launch()
        if mode != "reference":
            torch.cuda.synchronize()
        return f"ready {time.perf_counter() - began:.6g}"

    @staticmethod
    def compile(function, values):
        """Tensors are arguments of the compiled function, everything else is a constant in it."""
        torch.compiler.reset()  # otherwise it gives up after a few programs
        wanted = [name for name in inspect.signature(function).parameters if name in values]
        tensors = [name for name in wanted if torch.is_tensor(values[name])]
        constants = {name: values[name] for name in wanted if name not in tensors}

        def call(*arguments):
            return function(**constants, **dict(zip(tensors, arguments)))
        return functools.partial(torch.compile(call, dynamic=False), *(values[name] for name in tensors))

    def prepare(self, *words):
        answer = self.set(*words)
        self.call = self.arrays = None
        if torch is not None:
            torch.cuda.empty_cache()
        return answer

    def launch(self):
        return self.call()

    def compare(self, prefix):
        results = self.launch()
        results = results if isinstance(results, (tuple, list)) else (results,)
        if len(results) != len(self.results):
            return f"failed the peer returns {len(results)} results, the program has {len(self.results)}"
        worst = 0
        for i, (expected, described) in enumerate(zip(results, self.results)):
            if math.prod(expected.shape) != math.prod(described.shape):
                return f"failed {described.name} has the shape {described.shape}, the peer's has {list(expected.shape)}"
            error = (self.compare_python if self.mode == "reference" else self.compare_torch)(expected, described, f"{prefix}{i}")
            limit = TOLERANCES["tf32" if self.tf32 and described.type == "f32" else described.type] \
                if described.type in TOLERANCES else 0
            if not error <= limit:
                return f"wrong {described.name} differs from the peer's by {error:.3g} of |expected| + rms, allowed is {limit:g}"
            worst = max(worst, error)
        return f"right {worst:.3g}"

    @staticmethod
    def compare_torch(expected, described, path):
        expected = expected.reshape(described.shape)
        got = read_torch(described, path, expected.device)
        if not got.dtype.is_floating_point:
            return (got != expected).sum().item()  # integers must be equal
        worst, count = 0, max(1, (1 << 26) // max(1, got[0].numel() if got.dim() else 1))
        rms = expected.float().square().mean().sqrt().double().item() if expected.numel() < 1 << 31 else \
            math.sqrt(sum(part.double().square().sum().item() for part in expected.split(count)) / expected.numel())
        for have, want in zip(got.split(count), expected.split(count)) if got.dim() else [(got, expected)]:
            have, want = have.double(), want.double()
            same = (have == want) | (have.isnan() & want.isnan())
            error = torch.where(same, 0, (have - want).abs() / (want.abs() + rms))
            worst = max(worst, error.nan_to_num(nan=math.inf).max().item())
        return worst

    @staticmethod
    def compare_python(expected, described, path):
        got = read_python(described, path)
        places = list(itertools.product(*map(range, described.shape)))
        want = [expected[at] for at in itertools.product(*map(range, expected.shape))]
        have = [got[at] for at in places]
        if described.type not in TOLERANCES:
            return sum(int(a) != int(b) for a, b in zip(have, want))
        finite = [abs(value) for value in want if math.isfinite(value)]
        rms = math.sqrt(sum(value * value for value in finite) / max(1, len(finite)))
        errors = [0 if a == b or (a != a and b != b) else abs(a - b) / (abs(b) + rms) if abs(b) + rms else math.inf
                  for a, b in zip(have, want)]
        return max((math.inf if error != error else error for error in errors), default=0)

    def turn(self, flush, warmup, count):
        self.flush = flush
        if self.mode != "reference":
            return super().turn(warmup, count)
        times = []
        for i in range(-int(warmup), int(count)):
            began = time.perf_counter()
            self.launch()
            times += [time.perf_counter() - began] if i >= 0 else []
        return "times " + " ".join(f"{seconds:.9g}" for seconds in times)

    def version(self):
        return "version " + (torch.__version__ if torch is not None else "of Python")

    def answer(self, line):
        words = line.split()
        requests = {"set": self.set, "prepare": self.prepare, "compare": self.compare, "turn": self.turn,
                    "version": self.version}
        if not words or words[0] not in requests:
            return f"failed the request '{line}' is not understood"
        if words[0] in ("compare", "turn") and self.call is None:
            return "failed there is no program yet"
        return requests[words[0]](*words[1:])


if __name__ == "__main__":
    attention_peers.serve(Program())

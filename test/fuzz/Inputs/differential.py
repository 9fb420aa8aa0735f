"""Random level-2 kernels: level 2 on the CPU device and level 3, there or on a GPU, must give the same bytes.

    differential.py [--seed N] [--count N] [--least N] [--seconds S] [--device cpu|cuda] [--target NAME] [--keep FOLDER]
                    [--ptx] [--go-on]

Each kernel depends only on its seed. It loads tiles from views with odd extents, strides and out-of-bounds starts,
computes, uses shared buffers and loops, and stores to separate outputs. Operands of a `dot` are small integers, so that
sums are exact in any order. --ptx also compiles each kernel.
A failing kernel is written to FOLDER with the command that reproduces the difference.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import shares

FLOATS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
INTS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}
# Operand and accumulator types of a dot: with an instruction, with one for wider types, without one.
PRODUCTS = [("f16", "f16", "f32")] * 6 + [("bf16", "bf16", "f32")] * 4 + [
    ("f16", "f16", "f16"), ("tf32", "tf32", "f32"), ("f64", "f64", "f64"), ("i8", "i8", "i32"), ("e4m3", "e4m3", "f32"),
    ("e5m2", "e4m3", "f32"), ("f16", "e5m2", "f32"), ("bf16", "f16", "f32"), ("e4m3", "e4m3", "f16"),
    ("f32", "f32", "f32"), ("i16", "i8", "i32"), ("i32", "f16", "f64"), ("i64", "i64", "i64")]
NAN_MASKS = {"f16": (0x7C00, 0x03FF), "bf16": (0x7F80, 0x007F), "f32": (0x7F800000, 0x007FFFFF),
             "f64": (0x7FF << 52, (1 << 52) - 1)}


class Tile:
    """small: contains integers of at most this magnitude, which a dot adds exactly; None: anything."""

    def __init__(self, name, scalar, dims, small=None):
        self.name, self.scalar, self.dims, self.small = name, scalar, tuple(dims), small

    def type(self):
        return f"tile<{self.scalar}[{', '.join(map(str, self.dims))}]>"


WITHOUT_CLUSTERS = ("sm_80", "sm_86", "sm_89")

# Messages for exceeded limits, of the target or of the length of code.
LIMITS = ("of shared memory", "one thread's code exceeds", "the code of one thread exceeds")


def is_too_large(text):
    return any(limit in text for limit in LIMITS)


class Kernel:
    def __init__(self, seed, exp2=True, clusters=True):
        self.exp2, self.clusters = exp2, clusters
        self.random = random.Random(seed)
        self.lines, self.args, self.inputs, self.outputs = [], [], [], []
        self.count = 0
        self.depth = 1
        self.indices = ["%x", "%y"]
        self.warps = self.pick([1, 2, 4, 8])
        self.grid = [self.pick([1, 1, 2, 3]), self.pick([1, 1, 2])]

    # Small helpers ------------------------------------------------------------------------------

    def pick(self, choices):
        return self.random.choice(list(choices))

    def chance(self, probability):
        return self.random.random() < probability

    def name(self, stem="v"):
        self.count += 1
        return f"%{stem}{self.count}"

    def emit(self, text):
        self.lines.append("  " * self.depth + text)

    def splat_of(self, number, tile):
        name = self.name("c")
        value = f"{float(number)}" if tile.scalar in FLOATS else f"{int(number)}"
        if tile.scalar not in ("f32", "i32"):
            value = f"{tile.scalar}({value})"
        self.emit(f"{name} = splat {value} : {tile.type()}")
        return Tile(name, tile.scalar, tile.dims, abs(number) if number == int(number) else None)

    def scalar_arg(self, value, stem="n", divisible=None):
        name = self.name(stem)
        notes = [f"divisible = {divisible}"] if divisible else []
        notes += ["const"] if self.chance(0.05) else []
        note = f" {{{', '.join(notes)}}}" if notes else ""
        self.args.append((name, f"i32{note}", str(value)))
        return name

    def extent(self, value):
        """Returns an extent or stride as an argument or a number, and its text in the type."""
        if self.chance(0.3) or len(self.args) > 48:  # tile-run takes 64 arguments
            return str(value), str(value)
        divisors = [d for d in (2, 4, 8, 16) if value and value % d == 0]
        return self.scalar_arg(value, divisible=self.pick(divisors + [None])), "?"

    # Views --------------------------------------------------------------------------------------

    def view(self, scalar, extents, generator):
        """Adds a view argument, or a view of one; rows, columns or other dims are
        contiguous."""
        rank = len(extents)
        order = list(range(rank))
        style = self.random.random()
        if style < 0.5:
            strides = None
            length = 1
            for extent in extents:
                length *= extent
        else:
            if style < 0.75:
                order.reverse()
            strides, step = [0] * rank, self.pick([1, 1, 1, 1, 2, 3])
            for d in reversed(order):
                strides[d] = step
                step = step * extents[d] + self.pick([0, 0, 1, 3, 8])
            length = 1 + sum((e - 1) * s for e, s in zip(extents, strides)) if min(extents) else 0
        texts = [self.extent(e) for e in extents]
        pointer = self.name("p")
        notes = [n for n in ("divisible = %d" % self.pick([4, 8, 16]), "noalias") if self.chance(0.6)]
        note = " {" + ", ".join(notes) + "}" if notes else ""
        array = f"{generator}:{scalar}[{max(length, 1)}]"
        if self.chance(0.5):
            shape = f"[{', '.join(t[0] for t in texts)}]"
            if strides:
                shape += f", strides [{', '.join(self.extent(s)[0] for s in strides)}]"
            self.args.append((pointer, f"view<{scalar}{shape}>{note}", array))
            return pointer, pointer
        self.args.append((pointer, f"ptr<{scalar}>{note}", array))
        name = self.name("g")
        dims = ", ".join(t[1] for t in texts)
        operands = f"[{', '.join(t[0] for t in texts)}]"
        if strides:
            written = [self.extent(s) for s in strides]
            operands += f", [{', '.join(w[0] for w in written)}]"
            dims += "], strides[" + ", ".join(w[1] for w in written)
        self.emit(f"{name} = view {pointer}, {operands} : view<{scalar}[{dims}]>")
        return name, pointer

    def index(self, step):
        """An i32 whose value may be before, in or after the view."""
        style = self.random.random()
        if style < 0.3:
            return f"{self.pick(self.indices)} * {step}"
        if style < 0.5:
            return str(self.pick([0, 0, step, 1, 2, 7, -1, -step, 1000]))
        if style < 0.75:
            return self.pick(self.indices)
        return f"{self.pick(self.indices)} * {self.pick([1, 2, 8, step])} - {self.pick([0, 1, 4, step])}"

    def element(self, name, rank, dims):
        steps = [1] * (rank - len(dims)) + list(dims)
        return f"{name}[{', '.join(self.index(s) for s in steps)}]"

    def input_extents(self, dims):
        lead = [self.pick([1, 2, 3]) for _ in range(self.pick([0, 0, 0, 1]))]
        return lead + [max(1, self.pick([d, d + 1, d - 1, 2 * d, 2 * d + 3, 3 * d, d // 2 + 1, 1]))
                       for d in dims]

    # Statements ---------------------------------------------------------------------------------

    def index_tile(self, dims):
        """Index tiles that may be out of bounds, and may contain duplicates."""
        name, wide = self.name("i"), self.pick(["i32", "i32", "i64"])
        text = f"tile<{{}}[{', '.join(map(str, dims))}]>"
        if self.chance(0.3):
            extents = [max(1, d - self.pick([0, 0, 1])) for d in dims]
            view, _ = self.view("i32", extents, "int")
            self.emit(f"{name} = load {view}[{', '.join('0' for _ in dims)}] {{pad = {self.pick([-1, 0, 2])}}} : {text.format('i32')}")
        else:
            axis = self.random.randrange(len(dims))
            self.emit(f"{name} = iota {{axis = {axis}, start = {self.pick([0, 0, -1, 2])}, step = {self.pick([1, 1, 2, -1])}}} : "
                      f"{text.format('i32')}")
            if self.chance(0.4):
                start = self.name("c")
                self.emit(f"{start} = splat {self.pick(self.indices)} : {text.format('i32')}")
                self.emit(f"{name}s = add {name}, {start} : {text.format('i32')}")
                name += "s"
        if wide == "i64":
            self.emit(f"{name}w = cast {name} : {text.format('i64')}")
            name += "w"
        return name

    def predicate(self, dims):
        """A tile of i1, possibly with extents of 1, or a scalar."""
        name = self.name("m")
        if self.chance(0.2):
            self.emit(f"{name} = {self.pick(['lt', 'ne', 'ge'])} {self.pick(self.indices)}, 1 : i1")
            return name
        own = [d if self.chance(0.6) else 1 for d in dims]
        text = f"tile<i32[{', '.join(map(str, own))}]>"
        axis = self.random.randrange(len(dims))
        self.emit(f"{name}i = iota {{axis = {axis}, start = {self.pick([0, 1])}}} : {text}")
        self.emit(f"{name}c = splat {self.pick([0, 1, dims[axis] // 2, dims[axis]])} : {text}")
        self.emit(f"{name} = {self.pick(['lt', 'ne', 'ge'])} {name}i, {name}c : {text.replace('i32', 'i1')}")
        return name

    def gathered(self, scalar, dims, small):
        """A load with index tiles, a predicate and a pad, or some of these; or a copy."""
        points = self.pick(range(len(dims) + 1))
        covered = len(dims) - points
        tiles = self.pick([1, 1, 2, 3]) if points else 0
        if tiles + covered > 5:
            return None
        extents = [self.pick([1, 2, 5, 9]) for _ in range(tiles)] + self.input_extents(dims[points:])[-covered or len(dims):]
        lead = self.chance(0.2)
        extents = ([2] if lead else []) + extents
        view, _ = self.view(scalar, extents, "int" if small or scalar in INTS else "rand")
        indices = ([self.pick(["0", "1", "%x"])] if lead else [])
        indices += [self.index_tile(dims[:points]) for _ in range(tiles)] + [self.index(d) for d in dims[points:]]
        predicate = f", {self.predicate(dims)}" if self.chance(0.4) else ""
        pad = self.pick([0, 0, 1, -1]) if self.chance(0.5) else None
        pad = f" {{pad = {pad}}}" if pad is not None else ""
        tile = Tile(self.name(), scalar, dims, 1 if small else None)
        element = f"{view}[{', '.join(indices)}]"
        if self.chance(0.6):
            self.emit(f"{tile.name} = load {element}{predicate}{pad} : {tile.type()}")
            return tile
        buffer = self.name("s")
        self.emit(f"{buffer} = alloc_shared : {tile.type().replace('tile<', 'shared<')}")
        if self.depth == 1 and self.chance(0.6):
            self.emit(f"copy_async {element}, {buffer}{predicate}{pad}")
            self.emit("commit_group")
            self.emit("wait_group 0")
        else:
            self.emit(f"copy {element}, {buffer}{predicate}{pad}")
        self.emit(f"{tile.name} = load_shared {buffer} : {tile.type()}")
        return tile

    def load(self, scalar, dims, small=True):
        tile = self.gathered(scalar, dims, small) if self.chance(0.25) else None
        if tile:
            return tile
        extents = self.input_extents(dims)
        view, _ = self.view(scalar, extents, "int" if small or scalar in INTS else "rand")
        element = self.element(view, len(extents), dims)
        tile = Tile(self.name(), scalar, dims, 1 if small else None)
        if self.chance(0.6):
            self.emit(f"{tile.name} = load {element} : {tile.type()}")
            return tile
        buffer = self.name("s")
        shared = tile.type().replace("tile<", "shared<")
        stage = ""
        if self.chance(0.3):
            stages = self.pick([1, 2, 3])
            shared = shared.replace("[", f"[{stages}][", 1)
            stage = f"[{self.random.randrange(stages)}]"
        self.emit(f"{buffer} = alloc_shared : {shared}")
        self.emit(f"copy {element}, {buffer}{stage}")
        self.emit(f"{tile.name} = load_shared {buffer}{stage} : {tile.type()}")
        if self.chance(0.5):
            self.emit(f"free_shared {buffer}")
        return tile

    def through_shared(self, tile):
        buffer, result = self.name("s"), Tile(self.name(), tile.scalar, tile.dims, tile.small)
        self.emit(f"{buffer} = alloc_shared : {tile.type().replace('tile<', 'shared<')}")
        self.emit(f"store_shared {tile.name}, {buffer}")
        self.emit(f"{result.name} = load_shared {buffer} : {result.type()}")
        if self.chance(0.5):
            self.emit(f"free_shared {buffer}")
        return result

    def kind(self, tile):
        """An atomic operation whose result does not depend on the order: sums of floats must be exact."""
        if tile.scalar in INTS:
            return self.pick(["add", "min", "max", "and", "or", "xor"])
        return self.pick(["min", "max"] + ["add"] * 3 * (tile.small is not None))

    def exchanged(self, tiles, tile):
        """Atomic accesses to a buffer; both the old and the new elements are used."""
        others = [t for t in tiles if t.dims == tile.dims and t.scalar == tile.scalar]
        buffer, old, new = self.name("s"), self.name(), self.name()
        other = self.pick(others)
        self.emit(f"{buffer} = alloc_shared : {tile.type().replace('tile<', 'shared<')}")
        self.emit(f"store_shared {tile.name}, {buffer}")
        if self.chance(0.3):
            self.emit(f"{old} = atomic_cas {self.pick(others).name}, {other.name}, {buffer}")
        else:
            kind, condition = self.pick(["exch", self.kind(other)]), ""
            if self.chance(0.3):
                condition = self.name()
                self.emit(f"{condition} = {self.pick(['lt', 'ne', 'ge'])} {self.pick(others).name}, {other.name}")
                condition = ", " + condition
            self.emit(f"{old} = atomic_{kind} {other.name}, {buffer}{condition}")
        if self.chance(0.3) and tile.scalar == "i32":
            place = ", ".join(str(self.random.randrange(d)) for d in tile.dims)
            self.emit(f"atomic_xor {self.pick(self.indices)}, {buffer}[{place}]")
        self.emit(f"{new} = load_shared {buffer} : {tile.type()}")
        if self.chance(0.5):
            self.emit(f"free_shared {buffer}")
        result = Tile(self.name(), tile.scalar, tile.dims)
        self.emit(f"{result.name} = {self.pick(['min', 'sub'])} {old}, {new} : {result.type()}")
        return result

    def counter(self):
        """One atomic access per block; the result is uniform, and 0 out of bounds."""
        view, _ = self.view("i32", [self.pick([1, 3])], "int")
        old = self.name("o")
        self.emit(f"{old} = atomic_xor 0, {view}[{self.index(1)}] {{ordering = "
                  f"{self.pick(['relaxed', 'release', 'acquire', 'acq_rel'])}}}")
        self.indices = self.indices + [old]

    def accumulate(self, tile):
        """All blocks combine their tiles in one location, in any order."""
        extents = self.input_extents(tile.dims)
        view, pointer = self.view(tile.scalar, extents, "int")
        element = self.element(view, len(extents), tile.dims)
        order = self.pick(["", "", ", ordering = release", ", ordering = acq_rel", ", scope = sys"])
        self.emit(f"atomic {tile.name}, {element} {{kind = {self.kind(tile)}{order}}}")
        if self.chance(0.2):
            self.emit("fence")
        self.outputs.append((pointer[1:], tile.scalar))

    def elementwise(self, tiles, tile):
        others = [t for t in tiles if t.dims == tile.dims and t.scalar == tile.scalar]
        other = self.pick(others)
        result = Tile(self.name(), tile.scalar, tile.dims)
        both = None if None in (tile.small, other.small) else tile.small + other.small
        kind = self.pick(["add", "sub", "min", "max", "neg", "abs", "select", "mul", "other", "other"])
        if kind in ("neg", "abs"):
            self.emit(f"{result.name} = {kind} {tile.name} : {result.type()}")
            result.small = tile.small
        elif kind == "select":
            condition = self.name()
            compare = self.pick(["eq", "ne", "lt", "le", "gt", "ge"])
            self.emit(f"{condition} = {compare} {tile.name}, {other.name}")
            third = self.pick(others)
            self.emit(f"{result.name} = select {condition}, {tile.name}, {third.name} : {result.type()}")
            if None not in (tile.small, third.small):
                result.small = max(tile.small, third.small)
        elif kind == "other":
            self.unusual(result, tile, other, self.pick(others))
        else:
            self.emit(f"{result.name} = {kind} {tile.name}, {other.name} : {result.type()}")
            result.small = both
            if kind == "mul" and both is not None:
                result.small = tile.small * other.small
        if result.small is not None and result.small > 4:
            result.small = None
        return result

    def unusual(self, result, a, b, c):
        if a.scalar in FLOATS:
            kind = self.pick(["div", "sqrt", "fma", "mul"] + ["exp2"] * (self.exp2 and a.scalar != "f64"))
            operands = {"div": [a, b], "mul": [a, b], "fma": [a, b, c]}.get(kind, [a])
        else:
            kind = self.pick(["and", "or", "xor", "not", "shl", "shr", "div", "rem", "mod"])
            operands = [a, b]
            if kind in ("shl", "shr"):
                operands = [a, self.splat_of(self.random.randrange(0, 7), a)]
            elif kind in ("div", "rem", "mod"):
                operands = [a, self.splat_of(self.pick([1, 2, 3, 7, 8, -3]), a)]
            elif kind == "not":
                operands = [a]
        self.emit(f"{result.name} = {kind} {', '.join(t.name for t in operands)} : {result.type()}")

    def cast(self, tile, scalar):
        result = Tile(self.name(), scalar, tile.dims, tile.small)
        if scalar in INTS and tile.small is None and tile.scalar in FLOATS:
            return tile  # values that do not fit the integer have no defined result
        self.emit(f"{result.name} = cast {tile.name} : {result.type()}")
        return result

    def narrow(self, tile, lead):
        """A tile that a broadcast can extend to this one, with up to so many dims fewer."""
        dims = [1 if self.chance(0.5) else d for d in tile.dims]
        return self.load(tile.scalar, dims[self.random.randrange(0, min(lead, len(dims) - 1) + 1):])

    def broadcast(self, tile):
        source = self.narrow(tile, 2)
        result = Tile(self.name(), tile.scalar, tile.dims, source.small)
        self.emit(f"{result.name} = broadcast {source.name} : {result.type()}")
        return result

    def iota(self, tile):
        axis, step = self.random.randrange(len(tile.dims)), self.pick([0, 1, 1, 1, 2, -1, -3])
        start = self.pick([0, 0, 1, -2, 100])
        largest = max(abs(start), abs(start + step * (tile.dims[axis] - 1)))
        result = Tile(self.name(), tile.scalar, tile.dims, largest if largest <= 4 else None)
        self.emit(f"{result.name} = iota {{axis = {axis}, start = {start}, step = {step}}} : {result.type()}")
        return result

    def reduced(self, tile):
        """Reductions along an axis whose result does not depend on the order. Often broadcast to the original shape."""
        axis = self.random.randrange(len(tile.dims))
        exact = tile.scalar in INTS or tile.small is not None
        kinds = ["min", "max"] + (["add", "add"] if exact else [])
        kinds += ["mul", "and", "or", "xor"] if tile.scalar in INTS else []
        kind = self.pick(kinds)
        if self.chance(0.4):
            return self.row(tile, axis, kind)
        dims = [1 if d == axis else extent for d, extent in enumerate(tile.dims)]
        small = tile.small if kind in ("min", "max") else None
        result = Tile(self.name(), tile.scalar, dims, small)
        self.emit(f"{result.name} = reduce_{kind} {tile.name} {{axis = {axis}}}")
        if self.chance(0.3):
            return result
        wide = Tile(self.name(), tile.scalar, tile.dims, small)
        self.emit(f"{wide.name} = broadcast {result.name} : {wide.type()}")
        return wide

    def row(self, tile, axis, kind):
        """Scans, sorts or searches rows."""
        choice = self.random.random()
        result = Tile(self.name(), tile.scalar, tile.dims, tile.small if kind in ("min", "max") else None)
        if choice < 0.4 and kind not in ("min", "max"):
            flags = "".join(f", {flag}" for flag in ("reverse", "exclusive") if self.chance(0.4))
            self.emit(f"{result.name} = scan_{kind} {tile.name} {{axis = {axis}{flags}}}")
        elif choice < 0.6 and tile.scalar in INTS:
            self.emit(f"{result.name} = sort {tile.name} {{axis = {axis}{self.pick(['', ', descending'])}}}")
        else:
            places = self.name("p")
            kind = self.pick(["max", "min"])
            self.emit(f"{result.name}, {places} = reduce_arg_{kind} {tile.name} {{axis = {axis}}}")
            dims = [1 if d == axis else extent for d, extent in enumerate(tile.dims)]
            return Tile(places, "i32", dims) if self.chance(0.5) else Tile(result.name, tile.scalar, dims, tile.small)
        return result

    def stretched(self, tile):
        """An operation on operands of different shapes, one of which may be a scalar."""
        if self.chance(0.6):
            other = self.narrow(tile, 0).name
        elif tile.scalar == "i32":
            other = self.pick(self.indices)
        else:
            other = self.name()
            self.emit(f"{other} = cast {self.pick(self.indices)} : {tile.scalar}")
        sides = [tile.name, other]
        self.random.shuffle(sides)
        result = Tile(self.name(), tile.scalar, tile.dims)
        kind = self.pick(["add", "sub", "mul", "min", "max", "select"])
        if kind == "select":
            condition = self.name()
            self.emit(f"{condition} = {self.pick(['eq', 'lt', 'ge'])} {sides[0]}, {sides[1]}")
            sides = [condition] + sides
        self.emit(f"{result.name} = {kind} {', '.join(sides)} : {result.type()}")
        return result

    def dot(self, tiles):
        small = [t for t in tiles if len(t.dims) == 2 and t.small is not None and t.small <= 4]
        lhs, rhs, sums = self.pick(PRODUCTS)
        m, n = self.pick([16, 32, 64, 48, 80, 8]), self.pick([8, 16, 32, 64, 24, 48, 80, 4])
        k = self.pick([16, 16, 32, 64, 48, 80, 8, 4, 6])
        usable = [t for t in small if t.dims[0] % 16 == 0 and t.dims[1] % 16 == 0]
        if usable and self.chance(0.6):
            left = self.pick(usable)
            (m, k), left = left.dims, self.cast(left, lhs) if left.scalar != lhs else left
        else:
            left = self.load(lhs, (m, k))
        right = self.load(rhs, (k, n))
        if self.chance(0.3):
            right = self.through_shared(right)
        acc = self.splat_of(self.pick([0, 0, 1]), Tile("", sums, (m, n)))
        result = Tile(self.name(), sums, (m, n))
        self.emit(f"{result.name} = dot {left.name}, {right.name}, {acc.name} : {result.type()}")
        return result

    def bounds(self, step):
        begin = self.pick([0, 0, 0, 1, "%x"])
        end = self.pick([0, 1, 3, 4, 7]) * step + self.pick([0, 0, 1])
        return begin, self.scalar_arg(end, "e") if self.chance(0.6) else end

    def loop(self, tiles):
        carried = [self.pick(tiles) for _ in range(self.pick([1, 1, 2]))]
        inner = [Tile(self.name("i"), t.scalar, t.dims) for t in carried]
        results = [Tile(self.name("r"), t.scalar, t.dims) for t in carried]
        variable, step = self.name("k"), self.pick([1, 1, 2, 16])
        begin, end = self.bounds(step)
        clause = self.pick(["", "", "", " unroll (2)", " unroll (3)", " pipelined (2)", " pipelined (3)"])
        iters = ", ".join(f"{i.name} = {t.name}" for i, t in zip(inner, carried))
        self.emit(f"{', '.join(r.name for r in results)} = for {variable} = {begin} to {end} "
                  f"step {step} iter ({iters}){clause} {{")
        outer, self.indices = self.indices, self.indices + [variable]
        self.depth += 1
        visible = tiles + inner
        for i in inner:
            fresh = self.load(i.scalar, i.dims) if self.chance(0.6) else i
            visible = visible + [fresh]
            for _ in range(self.pick([0, 1, 2])):
                visible = visible + [self.stretched(fresh) if self.chance(0.2) else self.elementwise(visible, fresh)]
        # Values that cannot grow without limit: carried values must stay comparable.
        out = [self.pick([t for t in visible if (t.scalar, t.dims) == (i.scalar, i.dims)]) for i in inner]
        self.emit("yield " + ", ".join(t.name for t in out))
        self.depth -= 1
        self.emit("}")
        self.indices = outer
        return results

    def inside(self, tiles, carried):
        """Generates a region with these tiles, and returns what it can yield for each carried one."""
        visible = tiles + carried
        for tile in carried:
            kind = self.random.random()
            if kind < 0.3:
                visible = visible + [self.load(tile.scalar, tile.dims)]
            elif kind < 0.6:
                visible = visible + [self.through_shared(tile)]
            elif kind < 0.7:
                visible = visible + [self.branch(visible)]
            elif kind < 0.8:
                visible = visible + self.loop(visible)
            visible = visible + [self.elementwise(visible, tile)]
        return [self.pick([t for t in visible if (t.scalar, t.dims) == (c.scalar, c.dims)])
                for c in carried]

    def while_loop(self, tiles):
        carried = [self.pick(tiles) for _ in range(self.pick([1, 1, 2]))]
        first, second, results = ([Tile(self.name(stem), t.scalar, t.dims) for t in carried]
                                  for stem in "hir")
        counts = [self.name(stem) for stem in "nmc"]
        more, step, outer = self.name("b"), self.pick([1, 1, 2]), self.indices
        end = self.pick([0, 1, 3, "%x", "%x"])
        if end != "%x" and self.chance(0.6):
            end = self.scalar_arg(end, "e")
        names = [", ".join([t.name for t in side] + [count])
                 for side, count in zip((first, second, results), counts)]
        inits = ", ".join(f"{f.name} = {t.name}" for f, t in zip(first, carried))
        self.emit(f"{names[2]} = while iter ({inits}, {counts[0]} = 0) {{")
        self.depth += 1
        self.indices = outer + [counts[0]]
        out = self.inside(tiles, first)
        self.emit(f"{more} = lt {counts[0]}, {end} : i1")
        self.emit(f"yield {more}, {', '.join(t.name for t in out)}, {counts[0]}")
        self.depth -= 1
        self.emit(f"}} do ({names[1]}) {{")
        self.depth += 1
        self.indices = outer + [counts[1]]
        out = self.inside(tiles, second)
        self.emit(f"yield {', '.join(t.name for t in out)}, {counts[1]} + {step}")
        self.depth -= 1
        self.emit("}")
        self.indices = outer + [counts[2]] * self.chance(0.3)
        return results

    def matmul_loop(self):
        lhs, rhs, sums = self.pick(PRODUCTS)
        m, n, k = self.pick([16, 32, 64, 48, 96]), self.pick([8, 16, 32, 40, 96]), self.pick([16, 32, 48])
        extent = self.pick([1, 7, 16, 40, 64, 72])
        result, inner = Tile(self.name("r"), sums, (m, n)), self.name("i")
        zero = self.splat_of(0, result)
        a, _ = self.view(lhs, [self.pick([m, 2 * m, m - 3]), extent], "int")
        b, _ = self.view(rhs, [extent, self.pick([n, 2 * n, n + 1])], "int")
        depth = self.pick([0, 1, 2, 3, 4])
        clause = f" pipelined ({depth})" if depth else self.pick(["", " unroll (2)"])
        through = self.chance(0.6)
        if through:
            sa, sb = self.name("s"), self.name("s")
            self.emit(f"{sa} = alloc_shared : shared<{lhs}[{m}, {k}]>")
            self.emit(f"{sb} = alloc_shared : shared<{rhs}[{k}, {n}]>")
        variable, new = self.name("k"), self.name()
        end = self.scalar_arg(extent, "e") if self.chance(0.7) else extent
        self.emit(f"{result.name} = for {variable} = 0 to {end} step {k} iter ({inner} = {zero.name})"
                  f"{clause} {{")
        self.depth += 1
        rows, columns = self.pick([f"%x * {m}", "%x", "0"]), self.pick([f"%y * {n}", "%y", "0"])
        if through:
            self.emit(f"copy {a}[{rows}, {variable}], {sa}")
            self.emit(f"copy {b}[{variable}, {columns}], {sb}")
            ta, tb = sa, sb
        else:
            ta, tb = self.name(), self.name()
            self.emit(f"{ta} = load {a}[{rows}, {variable}] : tile<{lhs}[{m}, {k}]>")
            self.emit(f"{tb} = load {b}[{variable}, {columns}] : tile<{rhs}[{k}, {n}]>")
        self.emit(f"{new} = dot {ta}, {tb}, {inner} : {result.type()}")
        self.emit(f"yield {new}")
        self.depth -= 1
        self.emit("}")
        return result

    def branch(self, tiles):
        yes = self.pick(tiles)
        condition, result = self.name("b"), Tile(self.name(), yes.scalar, yes.dims)
        self.emit(f"{condition} = {self.pick(['lt', 'eq', 'gt'])} {self.pick(self.indices)}, "
                  f"{self.pick([0, 1])} : i1")
        self.emit(f"{result.name} = if {condition} {{")
        self.depth += 1
        inside = self.elementwise(tiles + [yes], yes)
        if self.chance(0.3):
            inside = self.through_shared(inside)
        self.emit(f"yield {inside.name}")
        self.depth -= 1
        self.emit("} else {")
        self.depth += 1
        no = self.load(yes.scalar, yes.dims) if self.chance(0.4) else yes
        self.emit(f"yield {no.name}")
        self.depth -= 1
        self.emit("}")
        return result

    def store(self, tile):
        """Blocks write to separate regions; the last ones reach out of bounds."""
        places = list(self.grid) + [1] * len(tile.dims)
        rank = len(tile.dims)
        # A leading dim for each grid dim that the tile's own dims do not use.
        lead = self.grid[:] if rank < 2 or self.chance(0.3) else []
        if lead and len(lead) + rank > 6:
            lead = [self.grid[0] * self.grid[1]]
        extents, indices = list(lead), []
        if len(lead) == 2:
            indices = ["%x", "%y"]
        elif lead:
            indices = [f"%x * {self.grid[1]} + %y"]
        for d in range(rank):
            blocks = 1 if lead or d > 1 else self.grid[d]
            size = blocks * tile.dims[d]
            extents.append(max(1, size - self.pick([0, 0, 1, 3, tile.dims[d] // 2])))
            indices.append("0" if lead or d > 1 else f"%{'xy'[d]} * {tile.dims[d]}")
        if self.chance(0.2):  # rows by an index tile, in ascending or descending order
            first, up = len(lead), self.chance(0.5)
            text = f"tile<i32[{tile.dims[0]}]>"
            name, start = self.name("i"), self.name("c")
            shift = 0 if up else tile.dims[0] - 1
            self.emit(f"{name}i = iota {{axis = 0, start = {shift}, step = {1 if up else -1}}} : {text}")
            self.emit(f"{start}s = add {indices[first]}, 0 : i32" if "*" not in indices[first] else
                      f"{start}s = mul {indices[first].replace(' *', ',')} : i32")
            self.emit(f"{start} = splat {start}s : {text}")
            self.emit(f"{name} = add {name}i, {start} : {text}")
            indices[first] = name
        view, pointer = self.view(tile.scalar, extents, "poison")
        element = f"{view}[{', '.join(indices)}]"
        if self.chance(0.3):
            buffer = self.name("s")
            self.emit(f"{buffer} = alloc_shared : {tile.type().replace('tile<', 'shared<')}")
            self.emit(f"store_shared {tile.name}, {buffer}")
            self.emit(f"copy {buffer}, {element}")
        else:
            self.emit(f"store {tile.name}, {element}")
        self.outputs.append((pointer[1:], tile.scalar))

    # The kernel ---------------------------------------------------------------------------------

    def shape(self):
        """Powers of two, or with odd factors in some dims."""
        rank = self.pick([1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4, 5])
        sizes = {1: [1, 2, 16, 32, 64, 128, 256, 1024], 2: [1, 2, 4, 8, 16, 32, 64], 3: [1, 2, 4, 8]}
        counted = {1: [3, 31, 48, 96, 100, 192, 272, 768], 2: [3, 6, 12, 24, 40, 48, 80, 96, 62],
                   3: [3, 5, 6, 12]}
        odd = self.pick([0, 0.4, 1]) if rank < 4 else 0.3
        return [self.pick((counted if self.chance(odd) else sizes).get(rank, [1, 2, 3]))
                for _ in range(rank)]

    def body(self):
        scalars = list(FLOATS) + list(INTS)
        tiles = [self.load(self.pick(scalars), self.shape(), self.chance(0.7)) for _ in range(2)]
        for _ in range(self.random.randrange(2, 8)):
            kind = self.random.random()
            tile = self.pick(tiles)
            if kind < 0.2:
                tiles.append(self.elementwise(tiles, tile))
            elif kind < 0.25:
                tiles.append(self.broadcast(tile))
            elif kind < 0.3:
                tiles.append(self.iota(tile))
            elif kind < 0.35:
                tiles.append(self.stretched(tile))
            elif kind < 0.4:
                tiles.append(self.reduced(tile))
            elif kind < 0.45:
                tiles.append(self.cast(tile, self.pick(scalars)))
            elif kind < 0.55:
                tiles.append(self.exchanged(tiles, tile) if self.chance(0.4) else self.through_shared(tile))
            elif kind < 0.57:
                self.counter()
            elif kind < 0.67:
                tiles.append(self.dot(tiles))
            elif kind < 0.75:
                tiles += self.loop(tiles)
            elif kind < 0.83:
                tiles += self.while_loop(tiles)
            elif kind < 0.91:
                tiles.append(self.branch(tiles))
            else:
                tiles.append(self.matmul_loop())
        for tile in tiles[-3:]:
            if self.chance(0.3):
                self.accumulate(tile)
            self.store(tile)

    def clauses(self):
        """The order of tiles, on which no result depends; drawn separately, so that kernels do not change."""
        draw = random.Random(repr(self.lines))
        raster = draw.choice(["", "", "raster rows(2) ", "raster columns(3) "])
        dealt = draw.choice(["persistent balanced by block_id(0) ",
                             "persistent balanced by (1 + block_id(0)) * (3 - block_id(1)) "])
        if any(" = dot" in line for line in self.lines) and draw.random() < 0.3:
            return draw.choice(["raster auto ", "persistent auto ", "raster auto persistent auto "])
        return draw.choice([raster, raster, raster + "persistent ", dealt, dealt])

    def text(self):
        self.body()
        args = ", ".join(f"{name}: {kind}" for name, kind, _ in self.args)
        head = (f"kernel @fuzz({args})\n    grid [{self.grid[0]}, {self.grid[1]}]  {self.clauses()}warps {self.warps}\n"
                "{\n  %x, %y, %z = block_id : i32\n")
        return head + "\n".join(self.lines) + "\n}\n"


def elements(path, scalar):
    """The stored elements as integers, with all NaNs equal and both zeros equal."""
    size = {**FLOATS, **INTS}[scalar]
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + data[8] + 256 * data[9]
    values = [int.from_bytes(data[i:i + size], "little") for i in range(start, len(data), size)]
    if scalar in FLOATS:
        exponent, fraction = NAN_MASKS[scalar]
        values = ["nan" if v & exponent == exponent and v & fraction else
                  0 if v == 1 << (8 * size - 1) else v for v in values]
    return values


def run(command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return result.returncode, result.stdout + result.stderr


class Check:
    levels = (2, 3)  # the first one is the reference

    def __init__(self, folder, options):
        self.folder, self.ptx, self.plant, self.device = folder, options.ptx, options.plant, options.device
        self.target = [f"--target={options.target}"] if options.target else []
        self.refused = 0

    def command(self, path, kernel, level, seed):
        if self.plant and level == 3:
            path = self.planted(path)
        command = ["tile-run", path, "--device=cpu", f"--level={level}", f"--sms={1 + seed % 3}"]
        if level == 3 and self.device == "cuda":
            command = ["tile-run", path, "--device=cuda"]
        command += self.target
        if seed % 3 == 0:  # for both runs, because it also generates the arguments
            command.append(f"--seed={seed + 1}")
        for name, _, value in kernel.args:
            command += ["--arg", f"{name[1:]}={value}"]
        for name, _ in kernel.outputs:
            command += ["--save", f"{name}={self.folder}/{name}.{level}.npy"]
        return command

    def planted(self, path):
        """Changes the kernel as if a pass had a bug: replaces an addition by a subtraction."""
        with open(path) as file:
            text = file.read()
        path = os.path.join(self.folder, "planted.tile")
        with open(path, "w") as file:
            file.write(text.replace(" = add ", " = sub ").replace(" + ", " - "))
        return path

    def fault(self, path, kernel, seed):
        """Returns what is wrong with this kernel, or None."""
        commands = {level: self.command(path, kernel, level, seed) for level in self.levels}
        answers = {level: run(command) for level, command in commands.items()}
        codes = {level: answer[0] for level, answer in answers.items()}
        too_large = any(is_too_large(answer[1]) for answer in answers.values())
        if too_large and set(codes.values()) <= {0, 1}:
            self.refused += 1
            return None
        for level, (code, text) in answers.items():
            if code != 0:
                return f"level {level} gives {code}\n{text}\n{' '.join(commands[level])}"
        for name, scalar in kernel.outputs:
            first, *others = ((level, elements(f"{self.folder}/{name}.{level}.npy", scalar)) for level in self.levels)
            for (level, b), (_, a) in ((other, first) for other in others):
                wrong = [i for i in range(len(a)) if a[i] != b[i]]
                if wrong:
                    i = wrong[0]
                    return (f"{name}: {len(wrong)} of {len(a)} elements differ, first [{i}]: {a[i]} and {b[i]}"
                            f"\n{' '.join(commands[level])}")
        if self.ptx:
            code, text = run(["tilec", path, "--emit=ptx", "-o", os.devnull] + self.target)
            if code == 1 and is_too_large(text):  # its target may have less shared memory
                self.refused += 1
            elif code != 0 and "a plan has no code of its own" not in text:
                return f"tilec gives {code}\n{text}"
        return None


def main(kind=Kernel, checker=Check):
    """kind: class of random kernels; checker: how they are compared."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--least", type=int, default=1, help="compare so many, however long that takes")
    parser.add_argument("--keep", help="where failing kernels go")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="what level 3 runs on")
    parser.add_argument("--target")
    parser.add_argument("--ptx", action="store_true")
    parser.add_argument("--plant", action="store_true", help="let level 3 be wrong")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first failure")
    options = parser.parse_args()
    if not options.plant:
        options.seed, options.count, options.least, seconds = shares.draw(
            options.seed, options.count, options.least, 1000 * options.seconds)
        options.seconds = seconds / 1000
    end, done, wrong = time.monotonic() + options.seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        check = checker(folder, options)
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        while done < options.count and (time.monotonic() < end or done - check.refused < options.least):
            seed = options.seed + done
            # The last bits of exp2 differ on a GPU.
            kernel = kind(seed, exp2=options.device == "cpu", clusters=options.target not in WITHOUT_CLUSTERS)
            keep = options.keep or folder
            path = os.path.join(keep, f"fuzz{seed}.tile")
            with open(path, "w") as file:
                file.write(kernel.text())
            fault = check.fault(path, kernel, seed)
            done += 1
            if fault is None:
                os.remove(path)
                continue
            wrong += 1
            print(f"seed {seed}: {fault}\n")
            if not options.go_on:
                with open(path) as file:
                    print(re.sub("(?m)^", "    ", file.read()))
                break
    print(f"{done - check.refused} kernels compared, {check.refused} too large, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

"""Random pipelined loops: with `pipelined` and without it, which is the reference, they must give the same bytes.

Conditions around copies and their uses, copies by index tiles and by loaded indices, predicates, pads, loops around and
inside, steps that are not constant, few or no iterations, several products, chained products, reductions, scans,
transposes. Options as in differential.py; without --target each kernel chooses one.
"""
import os
import re

import differential
from differential import Tile, main
from products import Products

TARGETS = ["sm_80", "sm_90", "sm_90a", "sm_90a", "sm_90a"]
TYPES = [("f16", "f32")] * 6 + [("bf16", "f32")] * 2 + [("f16", "f16"), ("i8", "i32"), ("f32", "f32")]


class Pipelines(Products):
    def __init__(self, seed, exp2=True, clusters=True):
        super().__init__(seed, exp2, clusters)
        self.warps = self.pick([4, 4, 4, 8, 1, 2])
        self.numbers = {}  # views of indices, by length

    # Read coordinates ---------------------------------------------------------------------------

    def indices_of(self, extent):
        """A view of i32, -1 to 1."""
        if extent not in self.numbers:
            note = self.pick([" {noalias}", " {noalias}", ""])
            name = self.name("p")
            self.args.append((name, f"view<i32[{extent}]>{note}", f"int:i32[{extent}]"))
            self.numbers[extent] = name
        return self.numbers[extent]

    def loaded_index(self, variable, step):
        name = self.name("at")
        view = self.indices_of(self.pick([1, 5, 40]))
        where = self.pick([f"{variable} / {step}", variable, "0"])
        self.emit(f"{name} = load {view}[{where}]")
        if self.chance(0.2):  # an index of an index
            self.emit(f"{name}n = load {view}[{name} + 1]")
            name += "n"
        return name

    def condition(self, variable, step):
        style = self.random.random()
        if style < 0.5:
            return self.pick([f"rem({variable} / {step}, 3) != 1", f"{variable} < {2 * step}", f"{variable} >= {step}",
                              "%x == 0", f"rem({variable} / {step}, 2) == %y"])
        if style < 0.8:
            return f"{self.loaded_index(variable, step)} {self.pick(['!= 0', '>= 0', '< 1'])}"
        return f"{self.counter_of_loop} {self.pick(['< 2', '!= 1'])}" if self.counter_of_loop else "%x >= 0"

    def points(self, variable, step, extent):
        """Rows by an index tile, from memory or computed."""
        name = self.name("i")
        if self.chance(0.6):
            view = self.indices_of(self.pick([extent + 5, max(1, extent // 2), 7]))
            self.emit(f"{name}l = load {view}[{self.pick([variable, '0', '%x'])}] {{pad = {self.pick([-1, 0, 2])}}} : [{extent}]")
            more = self.pick(["", f" + {variable}", " * 3"])
            self.emit(f"{name}i = iota {{axis = 0}} : tile<i32[{extent}]>")
            self.emit(f"{name} = {name}l{more} + {name}i")
        else:
            self.emit(f"{name}i = iota {{axis = 0, step = {self.pick([1, 2, -1])}}} : tile<i32[{extent}]>")
            self.emit(f"{name} = {name}i + {variable}")
        return name

    def element(self, view, variable, step, dims, along):
        """Brackets for a tile of dims; the tile moves along its dim `along` with the loop."""
        at = [variable if d == along else self.pick(["0", f"%x * {dims[d]}", "%y"]) for d in range(2)]
        style = self.random.random()
        if style < 0.15:
            at[along] = f"({self.loaded_index(variable, step)} * {self.pick([1, 8, step])} + {variable})"
        elif style < 0.3:
            at[0] = self.points(variable, step, dims[0])
        return f"{view}[{', '.join(at)}]"

    def extras(self, variable, dims):
        """A predicate and a pad."""
        predicate, pad = "", ""
        if self.chance(0.12):
            name = self.name("m")
            axis = self.random.randrange(2)
            own = [dims[0], 1] if axis == 0 else [1, dims[1]]
            self.emit(f"{name}i = iota {{axis = {axis}}} : tile<i32[{own[0]}, {own[1]}]>")
            self.emit(f"{name} = rem({name}i + {self.pick([variable, '1'])}, 3) != {self.pick([0, 1, 5])}")
            predicate = f", {name}"
        if self.chance(0.1):
            pad = f" {{pad = {self.pick([1, -1])}}}"
        return predicate, pad

    def fetched(self, view, scalar, variable, step, dims, along):
        """Operand of a dot, and the tile, if there is one."""
        element = self.element(view, variable, step, dims, along)
        predicate, pad = self.extras(variable, dims)
        tile = Tile(self.name(), scalar, dims)
        if self.chance(0.55):
            self.emit(f"{tile.name} = load {element}{predicate}{pad} : {tile.type()}")
            return tile.name, tile
        buffer = self.name("s")
        self.emit(f"{buffer} = alloc_shared : {tile.type().replace('tile<', 'shared<')}")
        self.emit(f"{self.pick(['copy', 'copy_async'])} {element}, {buffer}{predicate}{pad}"
                  if not pad else f"copy {element}, {buffer}{predicate}{pad}")
        if self.chance(0.8):
            return buffer, None
        self.emit(f"{tile.name} = load_shared {buffer} : {tile.type()}")
        return tile.name, tile

    # Computation --------------------------------------------------------------------------------

    def clamped(self, tile, scalar):
        """Makes values small again, for the next product."""
        small, result = Tile(self.name(), tile.scalar, tile.dims), Tile(self.name(), scalar, tile.dims)
        self.emit(f"{small.name} = max(min({tile.name}, {tile.scalar}(2)), {tile.scalar}(-2))")
        if scalar == tile.scalar:
            return small
        self.emit(f"{result.name} = {scalar}({small.name})")
        return result

    def product(self, sums_name, variable, step):
        scalar, sums, m, n, k = self.shape
        a, tile = self.fetched(self.views[0], scalar, variable, step, (m, k), 1)
        result = Tile(self.name(), sums, (m, n))
        if tile and self.chance(0.15):
            used = Tile(self.name(), scalar, tile.dims)
            self.emit(f"{used.name} = {self.pick(['-', ''])}{tile.name} * {scalar}(-1)")
            a = used.name
        if self.chance(0.3):
            b, _ = self.fetched(self.views[2], scalar, variable, step, (n, k), 1)
            self.emit(f"{result.name} = dot({a}, {b}, {sums_name}, trans_rhs)")
        else:
            b, _ = self.fetched(self.views[1], scalar, variable, step, (k, n), 0)
            self.emit(f"{result.name} = dot({a}, {b}, {sums_name})")
        return result

    def chain(self, sums_name, variable, step):
        """A chained product: (a b) v, as in attention; a may be outside the loop."""
        scalar, sums, m, n, k = self.shape
        inner = Tile(self.name(), "i32" if scalar == "i8" else "f32", (m, k))
        if self.fixed:
            a = self.fixed.name
        else:
            a, _ = self.fetched(self.views[0], scalar, variable, step, (m, k), 1)
        b, _ = self.fetched(self.views[3], scalar, variable, step, (k, k), 0)
        trans = self.pick(["", ", trans_rhs"])
        self.emit(f"{inner.name} = dot({a}, {b}{trans})")
        small = self.clamped(inner, scalar)
        v, _ = self.fetched(self.views[1], scalar, variable, step, (k, n), 0)
        acc = sums_name
        if self.chance(0.3):
            acc = self.name()
            self.emit(f"{acc} = {sums_name} * {sums}({self.pick([1, -1])})")
        result = Tile(self.name(), sums, (m, n))
        self.emit(f"{result.name} = dot({small.name}, {v}, {acc})")
        return result

    def other(self, sums_name, variable, step):
        """Tiles in registers: reduced, scanned, transposed, then added."""
        scalar, sums, m, n, k = self.shape
        _, tile = self.fetched(self.views[1], scalar, variable, step, (k, n), 0)
        result = Tile(self.name(), sums, (m, n))
        if not tile:
            return self.product(sums_name, variable, step)
        row = self.name()
        if self.chance(0.5):
            self.emit(f"{row} = reduce {tile.name} {{kind = {self.pick(['add', 'max', 'min'])}, axis = 0}}")
        else:
            self.emit(f"{row}s = scan {tile.name} {{kind = add, axis = {self.pick([0, 1])}}}")
            self.emit(f"{row} = reduce {row}s {{kind = max, axis = 0}}")
        self.emit(f"{result.name} = {sums_name} + {sums}({row})")
        return result

    def turn(self, sums_name, variable, step):
        """One step of a sum, possibly in a branch or in an inner loop."""
        sums = Tile(sums_name, self.shape[1], (self.shape[2], self.shape[3]))
        build = self.pick([self.product] * 4 + [self.chain] * 3 + [self.other])
        style = self.random.random()
        if style < 0.25:
            condition = self.condition(variable, step)
            result = Tile(self.name(), sums.scalar, sums.dims)
            self.emit(f"{result.name} = if {condition} {{")
            self.depth += 1
            self.emit(f"yield {build(sums_name, variable, step).name}")
            self.depth -= 1
            self.emit("} else {")
            self.depth += 1
            self.emit(f"yield {sums_name if self.chance(0.7) else self.product(sums_name, variable, step).name}")
            self.depth -= 1
            self.emit("}")
            return result
        if style < 0.35:
            result, inner, j = Tile(self.name(), sums.scalar, sums.dims), self.name("i"), self.name("j")
            clause = self.pick(["", "", " pipelined (2)"])
            self.emit(f"{result.name} = for {j} = 0 to {self.pick([1, 2, 3])} iter ({inner} = {sums_name}){clause} {{")
            self.depth += 1
            self.emit(f"yield {build(inner, self.pick([variable, f'({variable} + {j})']), step).name}")
            self.depth -= 1
            self.emit("}")
            return result
        return build(sums_name, variable, step)

    def main_loop(self):
        scalar, sums, m, n, k = self.shape
        count = self.pick([1, 1, 2])
        results = [Tile(self.name("r"), sums, (m, n)) for _ in range(count)]
        inner = [self.name("i") for _ in range(count)]
        iters = [f"{i} = {sums}({self.pick([0, 0, 0, 1])}) : tile<{sums}[{m}, {n}]>" for i in inner]
        names = [r.name for r in results]
        self.counter_of_loop = None
        if self.chance(0.2):
            self.counter_of_loop = self.name("c")
            iters.append(f"{self.counter_of_loop} = 0")
            names.append(self.name("o"))
        variable = self.name("k")
        end = self.scalar_arg(self.extent, "e", divisible=self.pick([None, None, 8]) if self.extent % 8 == 0 else None) \
            if self.chance(0.6) else self.extent
        step = self.scalar_arg(k, "t", divisible=self.pick([None, 8])) if self.chance(0.15) and k % 8 == 0 else k
        stages = self.pick([1, 2, 2, 3, 3, 4, 5])
        words = self.pick(["", "", "", ", consumers = cooperative", ", consumers = ping_pong"])
        begin = self.pick(["0"] * 4 + [str(k), "%x"])
        self.emit(f"{', '.join(names)} = for {variable} = {begin} to {end} step {step} iter ({', '.join(iters)}) "
                  f"pipelined ({stages}{words}) {{")
        self.depth += 1
        yields = [self.turn(i, variable, k).name for i in inner]
        if self.counter_of_loop:
            yields.append(f"{self.counter_of_loop} + 1")
        self.emit(f"yield {', '.join(yields)}")
        self.depth -= 1
        self.emit("}")
        return results

    def body(self):
        scalar, sums = self.pick(TYPES)
        m, n, k = self.pick([16, 32, 64, 64, 128]), self.pick([8, 16, 32, 64]), self.pick([16, 16, 32, 64])
        if m * n > 64 * 64:
            n = 32
        self.shape = (scalar, sums, m, n, k)
        self.extent = self.pick([0, 1, k // 2, k, k + 8, 2 * k, 3 * k, 3 * k + 8, 5 * k])
        rows = max(1, self.grid[0] * m - self.pick([0, 0, 3, 8]))
        wide = max(1, self.extent)
        self.views = [self.operand(scalar, [rows, wide]), self.operand(scalar, [wide, max(1, n - self.pick([0, 0, 1]))]),
                      self.operand(scalar, [max(1, n - self.pick([0, 1])), wide]), self.operand(scalar, [wide, k])]
        self.fixed = None
        if self.chance(0.5):
            self.fixed = Tile(self.name(), scalar, (m, k))
            self.emit(f"{self.fixed.name} = load {self.views[0]}[%x * {m}, 0] : {self.fixed.type()}")
        around = self.random.random()
        if around < 0.25:
            clause = self.pick(["", "", " pipelined (2)", " pipelined (3)"])
            self.emit(f"for %turn = 0 to {self.pick([1, 2, 3])}{clause} {{")
            self.depth += 1
        for tile in self.main_loop():
            self.output(tile, f"%x * {m}", f"%y * {n}")
        if around < 0.25:
            self.depth -= 1
            self.emit("}")


class Check(differential.Check):
    """The reference for both levels is the kernel without `pipelined`, which is called level 1 here."""

    levels = (1, 2, 3)

    def __init__(self, folder, options):
        super().__init__(folder, options)
        self.given = bool(options.target)

    def command(self, path, kernel, level, seed):
        if level == 1:
            plain = os.path.join(self.folder, "plain.tile")
            with open(path) as file:
                text = re.sub(r" pipelined \([^()]*\)", "", file.read()).replace("copy_async ", "copy ")
            with open(plain, "w") as file:
                file.write(text)
            command = super().command(plain, kernel, 2, seed)
            return [word.replace(".2.npy", ".1.npy") for word in command]
        return super().command(path, kernel, level, seed)

    def fault(self, path, kernel, seed):
        if not self.given:
            self.target = [f"--target={TARGETS[seed % len(TARGETS)]}"]
        return super().fault(path, kernel, seed)


if __name__ == "__main__":
    main(Pipelines, Check)

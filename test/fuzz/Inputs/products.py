"""Random kernels with pipelined products, of shapes and types that tensor cores support. The passes generate wgmma,
TMA, roles, alternating consumer groups and split sums. Options and comparison as in differential.py."""
from differential import FLOATS, INTS, Kernel, Tile, main

TYPES = ([("f16", "f16", "f32")] * 8 + [("bf16", "bf16", "f32")] * 4 +
         [("f16", "f16", "f16"), ("tf32", "tf32", "f32"), ("e4m3", "e4m3", "f32"), ("e5m2", "e4m3", "f32"),
          ("i8", "i8", "i32"), ("bf16", "f16", "f32"), ("f32", "f32", "f32")])
BITS = {"e4m3": 8, "e5m2": 8, "i8": 8, "f16": 16, "bf16": 16, "i16": 16}


class Products(Kernel):
    def __init__(self, seed, exp2=True, clusters=True):
        super().__init__(seed, exp2, clusters)
        self.warps = self.pick([4, 4, 4, 8, 8, 8, 2, 16])
        self.grid = [self.pick([1, 1, 2, 3]), self.pick([1, 2])]
        self.split = False

    def operand(self, scalar, extents, alone=False):
        """A matrix argument: row-major or column-major, with constant or unknown extents."""
        aligned = 128 // BITS.get(scalar, 32)
        turned = self.chance(0.3)
        inner = extents[0] if turned else extents[1]
        fits = inner % aligned == 0 and min(extents) > 0
        texts = [str(e) if self.chance(0.3) else self.scalar_arg(e, divisible=8 if e % 8 == 0 and self.chance(0.8) else None)
                 for e in extents]
        shape = f"[{', '.join(texts)}]"
        if turned:
            shape += f", strides [1, {texts[0]}]"
        notes = ["tensor_map"] if fits and self.chance(0.5) else []
        notes += ["noalias"] if alone or self.chance(0.2) else []
        note = f" {{{', '.join(notes)}}}" if notes else ""
        name = self.name("p")
        array = "poison" if alone else "int"
        self.args.append((name, f"view<{scalar}{shape}>{note}", f"{array}:{scalar}[{max(1, extents[0] * extents[1])}]"))
        if alone:
            self.outputs.append((name[1:], scalar))
        return name

    def output(self, tile, rows, columns):
        """An output to which each block stores a tile; the last blocks reach out of bounds."""
        m, n = tile.dims
        extents = [self.grid[0] * m - self.pick([0, 0, 8, 3, m // 2]), self.grid[1] * n - self.pick([0, 0, 8, 1, n // 2])]
        extents = [max(1, e) for e in extents]
        view = self.operand(tile.scalar, extents, alone=True)
        self.emit(f"store {tile.name}, {view}[{rows}, {columns}]")

    # A product in the loop ----------------------------------------------------------------------

    def in_registers(self, tile):
        """An operand computed from the loaded tile."""
        result = Tile(self.name(), tile.scalar, tile.dims)
        if tile.scalar in ("e4m3", "e5m2", "tf32"):
            return tile
        self.emit(f"{result.name} = {self.pick(['neg', 'abs'])} {tile.name} : {result.type()}")
        return result

    def fetch(self, view, at, scalar, dims, buffer):
        """Loads to a tile or a shared buffer; returns the operand of a dot, and a tile of it in registers."""
        where = ", ".join(at)
        tile = Tile(self.name(), scalar, dims)
        if self.chance(0.5):
            self.emit(f"{tile.name} = load {view}[{where}] : {tile.type()}")
            used = self.in_registers(tile) if self.chance(0.15) else tile
            return used.name, tile
        self.emit(f"copy {view}[{where}], {buffer}")
        if not self.chance(0.2):
            return buffer, None
        self.emit(f"{tile.name} = load_shared {buffer} : {tile.type()}")
        return (self.in_registers(tile).name if self.chance(0.3) else buffer), tile

    def product(self):
        lhs, rhs, sums = self.pick(TYPES)
        m, n = self.pick([64, 64, 64, 128, 128, 192, 32]), self.pick([8, 16, 32, 64, 64, 96, 128, 128, 192, 256, 24])
        while m * n > 128 * 192:
            n = max(8, n // 2)
        k = self.pick([16, 32, 32, 64, 64, 48, 128] if BITS.get(lhs, 32) <= 16 else [8, 16, 32])
        extent = self.pick([0, k // 2, k, k, k + 8, 2 * k, 3 * k, 3 * k + 8, 5 * k, 7 * k])
        if self.split == "stream_k":  # shorter sums are not split
            extent = self.pick([extent, 8 * k, 9 * k + 8, 18 * k])
        return lhs, rhs, sums, m, n, k, extent

    def region(self, loop, rows, columns):
        """The products of one iteration; returns the carried values."""
        (lhs, rhs, sums, m, n, k, _), variable, views, buffers, inner, thread_out, turned = loop
        words = [w for w, t in zip(("trans_lhs", "trans_rhs"), turned) if t]
        words = f" {{{', '.join(words)}}}" if words else ""
        a, seen = self.fetch(views[0], (variable, rows) if turned[0] else (rows, variable), lhs,
                             (k, m) if turned[0] else (m, k), buffers[0])
        news = []
        for view, buffer, name in zip(views[1:], buffers[1:], inner):
            b, _ = self.fetch(view, (columns, variable) if turned[1] else (variable, columns), rhs,
                              (n, k) if turned[1] else (k, n), buffer)
            new = Tile(self.name(), sums, (m, n))
            self.emit(f"{new.name} = dot {a}, {b}, {name}{words} : {new.type()}")
            news.append(new)
        if thread_out and seen and not turned[0]:
            self.emit(f"store {seen.name}, {thread_out}[{rows}, {variable}]")
        return news

    def main_loop(self, rows, columns):
        shape = self.product() if not self.shape else self.shape
        lhs, rhs, sums, m, n, k, extent = self.shape = shape
        count = self.pick([1, 1, 1, 2])
        known = [self.grid[0] * m - self.pick([0, 0, 3, 8, m // 2]), self.grid[1] * n - self.pick([0, 0, 8, 1])]
        turned = [not self.split and self.chance(0.2) for _ in range(2)]
        shapes = [[max(1, known[0]), extent], [extent, max(1, known[1])]]
        shapes = [shape[::-1] if t else shape for shape, t in zip(shapes, turned)]
        views = [self.operand(lhs, shapes[0])] + [self.operand(rhs, shapes[1]) for _ in range(count)]
        out = self.operand(lhs, [self.grid[0] * m, max(1, extent)], alone=True) \
            if lhs in (*FLOATS, *INTS) and self.grid[1] == 1 and not self.split and extent and self.chance(0.15) else None
        buffers = []
        dims = [(k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)]
        for dims, scalar in [(dims[0], lhs)] + [(dims[1], rhs)] * count:
            buffers.append(self.name("s"))
            self.emit(f"{buffers[-1]} = alloc_shared : shared<{scalar}[{dims[0]}, {dims[1]}]>")
        results = [Tile(self.name("r"), sums, (m, n)) for _ in range(count)]
        inner = [self.name("i") for _ in range(count)]
        zeros = [self.splat_of(0 if self.split else self.pick([0, 0, 0, 1]), r).name for r in results]
        stages = self.pick([1, 2, 2, 3, 3, 4, 5, 6])
        clause = f"pipelined ({stages}" + self.pick(["", "", ", consumers = cooperative", ", consumers = ping_pong"]) + ")"
        if self.split and count == 1:
            least = 1 if self.split == "stream_k" else 2
            clause = f"split ({self.pick([least, 2, 3, 4])}, {self.split}) " + clause
        variable = self.name("k")
        end = self.scalar_arg(self.pick([extent, extent, extent, extent // 2, 0]), "e") if self.chance(0.5) else extent
        carried = ", ".join(f"{i} = {z}" for i, z in zip(inner, zeros))
        self.emit(f"{', '.join(r.name for r in results)} = for {variable} = 0 to {end} step {k} iter ({carried}) {clause} {{")
        self.depth += 1
        news = self.region((shape, variable, views, buffers, inner, out, turned), rows, columns)
        self.emit("yield " + ", ".join(t.name for t in news))
        self.depth -= 1
        self.emit("}")
        return results

    # The kernel ---------------------------------------------------------------------------------

    def epilogue(self, tile):
        """An optional epilogue, and the type of the output."""
        if self.chance(0.3):
            extents = [self.grid[0] * tile.dims[0], self.grid[1] * tile.dims[1]]
            view, other = self.operand(tile.scalar, extents), Tile(self.name(), tile.scalar, tile.dims)
            self.emit(f"{other.name} = load {view}[%row, %column] : {other.type()}")
            result = Tile(self.name(), tile.scalar, tile.dims)
            self.emit(f"{result.name} = {self.pick(['add', 'max', 'sub'])} {tile.name}, {other.name} : {result.type()}")
            tile = result
        wanted = tile.scalar if tile.scalar in INTS else self.pick(["f16", "f16", "bf16", "f32"])
        if wanted == tile.scalar:
            return tile
        result = Tile(self.name(), wanted, tile.dims)
        self.emit(f"{result.name} = cast {tile.name} : {result.type()}")
        return result

    def body(self):
        self.shape = None
        around = self.chance(0.15)
        if not around and self.chance(0.2):
            self.split = self.pick(["serial", "workspace", "atomic", "exchange", "stream_k"] + ["cluster"] * self.clusters)
        self.shape = self.product()
        m, n = self.shape[3:5]
        self.emit(f"%row = %x * {m}")
        self.emit(f"%column = %y * {n}")
        loops = 1 if self.split else self.pick([1, 1, 1, 2])
        if around:
            # Each iteration stores its result; the last one remains.
            self.emit(f"for %turn = 0 to {self.pick([1, 2, 3])} step 1 {{")
            self.depth += 1
        for _ in range(loops):
            for tile in self.main_loop("%row", "%column"):
                self.output(self.epilogue(tile), "%row", "%column")
        if around:
            self.depth -= 1
            self.emit("}")


if __name__ == "__main__":
    main(Products)

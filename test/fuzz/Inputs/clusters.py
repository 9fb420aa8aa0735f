"""clusters.py FIRST LAST: generates random kernels whose blocks read and write each other's shared memory. tile-run
runs them as tiles and as threads, in two orders each. Whatever buffers the compiler overlaps and wherever it inserts
barriers, no fault may be reported, and all results must be bitwise equal.

The kernels are race-free because they have phases: between two cluster barriers a buffer is private to its block, or
read by all blocks, or written by one peer. Between arriving and waiting only private buffers are used."""
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import shares


class Kernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.size = self.random.choice([2, 2, 4])
        self.height, self.width = self.random.choice([(16, 16), (8, 32), (16, 32)])
        self.blocks = 2 * self.size - self.random.randrange(2)
        self.lines, self.tiles, self.values = [], [], 0
        self.met = [f"met{i}" for i in range(self.random.choice([2, 3, 4]))]
        self.own = ["own0", "own1"]
        self.written = set()

    def say(self, line):
        self.lines.append("  " + line)

    def name(self, tile=False):
        self.values += 1
        if tile:
            self.tiles.append(f"%v{self.values}")
        return f"%v{self.values}"

    def any_tile(self):
        return self.random.choice(self.tiles)

    def use_own(self, pool):
        """Uses a private buffer: all of it, or one half, which is copied to another buffer."""
        buffer = self.random.choice(pool)
        if buffer in self.written and self.random.random() < 0.5:
            half, width = self.height // 2, self.width
            other = self.random.choice([b for b in pool if b in self.written])
            part = self.name()
            self.say(f"{part} = load_shared %{buffer}[{half}, 0] : [{half}, {width}]")
            self.say(f"store_shared {part} * 0.5, %{other}[0, 0]")
        elif buffer in self.written and self.random.random() < 0.5:
            self.say(f"{self.name(tile=True)} = load_shared %{buffer}")
        else:
            self.say(f"store_shared {self.any_tile()} * 0.25, %{buffer}")
            self.written.add(buffer)

    def read_peer(self, buffer):
        peer, rank = self.name(), self.random.choice(["%peer", "%rank", "0"])
        self.say(f"{peer} = map_shared %{buffer}, {rank}")
        self.say(f"{self.name(tile=True)} = load_shared {peer}")

    def write_peer(self, buffer):
        peer = self.name()
        self.say(f"{peer} = map_shared %{buffer}, %peer")
        self.say(f"store_shared {self.any_tile()}, {peer}")

    def phase(self):
        roles = {b: self.random.choice(["own", "own", "write", "none"]) for b in self.met}
        for b in self.written & set(self.met):
            roles[b] = self.random.choice([roles[b], "read"])
        done = set()
        for _ in range(self.random.randint(1, 4)):
            buffer = self.random.choice(self.met + self.own)
            if buffer in self.own:
                self.use_own(self.own)
            elif roles[buffer] == "own":
                self.use_own([buffer])
            elif roles[buffer] == "read":
                self.read_peer(buffer)
            elif roles[buffer] == "write" and buffer not in done:
                self.write_peer(buffer)
                done.add(buffer)
        self.written |= done

    def meet(self):
        self.say("cluster_arrive")
        for _ in range(self.random.randint(0, 2)):
            self.use_own(self.own)
        self.say("cluster_wait")

    def loop(self):
        result, outside, first = self.name(), len(self.tiles), self.any_tile()
        times = self.random.choice(["2", "3", "%n"])
        self.say(f"{result} = for {self.name()} = 0 to {times} iter ({result}c = {first}) {{")
        self.tiles.append(result + "c")
        for _ in range(self.random.randint(1, 2)):
            self.phase()
            self.meet()
        self.say(f"yield {self.any_tile()} * 0.5")
        self.say("}")
        del self.tiles[outside:]
        self.tiles.append(result)

    def text(self):
        shape = f"{self.height}, {self.width}"
        self.say("%x = block_id")
        self.say("%gx = grid_dim")
        self.say("%rank = cluster_rank")
        self.say(f"%peer = mod(%rank + 1, min({self.size}, %gx - %x / {self.size} * {self.size}))")
        for buffer in self.met + self.own:
            self.say(f"%{buffer} = alloc_shared : shared<f32[{shape}]>")
        self.say(f"{self.name(tile=True)} = load %a[%x, 0, 0] : [{shape}]")
        for buffer in self.met:
            if self.random.random() < 0.7:
                self.say(f"store_shared {self.any_tile()}, %{buffer}")
                self.written.add(buffer)
        self.meet()
        for _ in range(self.random.randint(1, 4)):
            if self.random.random() < 0.35:
                self.loop()
            else:
                self.phase()
                self.meet()
        self.say(f"store {self.tiles[-1]} + {self.any_tile()}, %c[%x, 0, 0]")
        view = f"view<f32[%n, {shape}]>"
        head = f"kernel @k(%n: i32, %a: {view}, %c: {view}) grid [%n] cluster [{self.size}]"
        warps = self.random.choice([1, 2, 4])
        return f"{head} warps {warps} {{\n" + "\n".join(self.lines) + "\n}\n"


def write_array(path, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def run(folder, kernel, level, seed):
    command = ["tile-run", str(folder / "k.tile"), "--device=cpu", f"--level={level}", f"--seed={seed}",
               "--arg", f"n={kernel.blocks}", "--arg", f"a=@{folder / 'a.npy'}", "--arg", "c=poison",
               "--save", f"c={folder / 'c.npy'}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return (folder / "c.npy").read_bytes() if result.returncode == 0 else result.stderr


wrong = 0
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for number in shares.take(range(int(sys.argv[1]), int(sys.argv[2]) + 1)):
        kernel = Kernel(number)
        (folder / "k.tile").write_text(kernel.text())
        shape = (kernel.blocks, kernel.height, kernel.width)
        values = random.Random(number)
        count = shape[0] * shape[1] * shape[2]
        write_array(folder / "a.npy", shape, [values.uniform(-1, 1) for _ in range(count)])
        results = [run(folder, kernel, level, seed) for level in (2, 3) for seed in (1, 7)]
        if any(r != results[0] or isinstance(r, str) for r in results):
            wrong += 1
            print(f"kernel {number}:", *[r for r in results if isinstance(r, str)][:1])
print(f"{wrong} wrong")
sys.exit(wrong != 0)

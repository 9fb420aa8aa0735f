"""Random kernels with `parallel`: executed per element at level 2, they give bitwise the same results as the tiles that
expand-parallel generates from them, at level 3. With --ptxas their PTX is also assembled.

    parallel.py TILE_RUN COUNT [--seed=N] [--ptxas=FILE --tilec=FILE]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile


class Kernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        r = self.random
        self.extents = [r.choice([1, 2, 3, 4, 5, 8, 12, 16, 26, 32]) for _ in range(r.randint(1, 3))]
        while self.elements(self.extents) > 4096:
            self.extents[r.randrange(len(self.extents))] = 2
        self.names = ["%i", "%j", "%k"][: len(self.extents)]
        self.tiles = [[r.choice([1, 2, 4, 7, 8, 9, 16, 24]) for _ in range(r.randint(1, 2))] for _ in range(2)]
        self.view = [r.randint(1, 40) for _ in range(r.randint(1, 3))]
        self.kept = [r.choice([1, 2, 3, 8, 16, 24]) for _ in range(r.randint(1, 2))]  # extents of a shared buffer
        self.count = 0

    def elements(self, extents):
        product = 1
        for extent in extents:
            product *= extent
        return product

    def name(self):
        self.count += 1
        return "%%v%d" % self.count

    def coordinate(self, extent):
        """An index in bounds, for every element."""
        r = self.random
        d = r.randrange(len(self.names))
        own, most = self.names[d], self.extents[d]
        forms = ["rem(%s, %d)" % (own, extent), "rem(%s * 5 + 3, %d)" % (self.sum(), extent), str(r.randrange(extent))]
        if most <= extent:
            forms += [own] * 4 + ["%s + %d" % (own, r.randint(0, extent - most)), "%d - %s" % (most - 1, own)]
        if most > extent and most % extent == 0:
            forms += ["%s / %d" % (own, most // extent)] * 3 + ["%s & %d" % (own, extent - 1)] * (extent & (extent - 1) == 0)
        return r.choice(forms)

    def sum(self):
        return "(" + " + ".join(self.random.sample(self.names, self.random.randint(1, len(self.names)))) + ")"

    def anywhere(self):
        """An index that may be out of bounds."""
        r = self.random
        return r.choice([r.choice(self.names), "%s + %s" % (r.choice(self.names), r.choice(["%p", "1", "-1", "%p * 2"])),
                         "%s / 2" % r.choice(self.names), "%s - %s" % (r.choice(self.names), r.choice(self.names)), "%p",
                         str(r.randint(-1, 5))])

    def value(self, depth=2):
        r = self.random
        kind = r.randrange(6 if depth else 4)
        if kind == 0:
            return r.choice(self.names + ["%p", str(r.randint(-3, 9))])
        if kind == 1 or (kind == 2 and not depth):
            t = r.randrange(2)
            return "%%t%d[%s]" % (t, ", ".join(self.coordinate(e) for e in self.tiles[t]))
        if kind == 3 and r.randrange(2):
            return "%%h[%s]" % ", ".join(self.coordinate(e) for e in self.kept)
        if kind in (2, 3):
            return "%%x[%s]" % ", ".join(self.anywhere() for _ in self.view)
        return "(%s %s %s)" % (self.value(depth - 1), r.choice("+-*&|^"), self.value(depth - 1))

    def condition(self):
        return "%s %s %s" % (self.value(1), self.random.choice(["<", ">=", "=="]), self.value(0))

    def guarded(self):
        """A condition under which an element is in bounds of its tile, and that element."""
        t = self.random.randrange(2)
        places = [self.anywhere() for _ in self.tiles[t]]
        inside = ["%s >= 0 & %s < %d" % (at, at, extent) for at, extent in zip(places, self.tiles[t])]
        more = [self.condition()] * self.random.randrange(2)
        return " & ".join(inside + more), "%%t%d[%s]" % (t, ", ".join(places))

    def picked(self):
        """An element of the shared buffer, with a predicate for being in bounds."""
        places = [self.anywhere() for _ in self.kept]
        inside = ["%s >= 0 & %s < %d" % (at, at, extent) for at, extent in zip(places, self.kept)]
        return "load %%h[%s], %s" % (", ".join(places), " & ".join(inside))

    def statements(self, indent, depth):
        r, lines, names = self.random, [], []
        for _ in range(r.randint(1, 3)):
            name, pad = self.name(), " " * indent
            kind = r.randrange(9) if depth else 0
            if kind < 3:
                lines.append("%s%s = %s" % (pad, name, self.value()))
            elif kind == 3:
                yes, a = self.statements(indent + 2, depth - 1)
                no, b = self.statements(indent + 2, depth - 1)
                lines += ["%s%s = if %s {" % (pad, name, self.condition())] + yes
                lines += ["%s  yield %s" % (pad, a), pad + "} else {"] + no + ["%s  yield %s" % (pad, b), pad + "}"]
            elif kind == 4:
                place = ", ".join(self.anywhere() for _ in self.view)
                lines.append("%s%s = load %%x[%s], %s {pad = %d}" % (pad, name, place, self.condition(), r.randint(-3, 9)))
            elif kind == 5:
                lines.append("%s%s = if %s { yield %s } else { yield %d }" % (pad, name, *self.guarded(), r.randint(-3, 9)))
            elif kind == 6:
                lines += self.rounds(name, indent)
            elif kind == 7:
                lines.append("%s%s = %s" % (pad, name, self.picked()))
            else:
                inner, a = self.statements(indent + 2, 0)
                carried, index = self.name(), self.name()
                lines += ["%s%s = for %s = 0 to %s iter (%s = %s) {" % (pad, name, index, r.choice(["3", "%p"]), carried, self.value(0))]
                lines += inner + ["%s  yield %s + %s * %s" % (pad, carried, a, index), pad + "}"]
            names.append(name)
        return lines, " + ".join(names)

    def rounds(self, name, indent):
        """A `while` loop with few iterations, whose number differs between elements."""
        pad, (count, carried, b, c) = " " * indent, [self.name() for _ in range(4)]
        test, t = self.statements(indent + 2, 0)
        body, a = self.statements(indent + 2, 0)
        most, start = "(%s & %d)" % (self.sum(), self.random.choice([1, 3, 7])), self.value(0)
        left = self.name()
        lines = ["%s%s, %s = while iter (%s = 0, %s = %s) {" % (pad, left, name, count, carried, start)] + test
        lines += ["%s  yield %s < %s, %s, %s + (%s)" % (pad, count, most, count, carried, t)]
        lines += ["%s} do (%s, %s) {" % (pad, b, c)] + body
        return lines + ["%s  yield %s + 1, %s ^ (%s)" % (pad, b, c, a), pad + "}"]

    def place(self, d):
        """A coordinate that no other element has along this dim."""
        own, extent = self.names[d], self.extents[d]
        forms = [own] * 3 + ["%s + 1" % own, "%d - %s" % (extent - 1, own)]
        return self.random.choice(forms + ["%s ^ %d" % (own, extent - 1)] * (extent & (extent - 1) == 0))

    def text(self):
        r = self.random
        dims = ["[%s]" % ", ".join(map(str, t)) for t in self.tiles + [self.view, self.extents]]
        order = r.sample(range(len(self.names)), len(self.names))
        places = [self.place(d) for d in order]
        turned = "[%s]" % ", ".join(str(self.extents[d]) for d in order)
        zeros = ", ".join("0" for _ in self.names)
        body, value = self.statements(4, 2)
        store = "store %s, %%z[%s]" % (self.value(1), ", ".join(places))
        if r.randrange(3) == 0:
            store += ", %s" % self.condition()
        if r.randrange(3) == 0:
            store = "if %s { %s }" % (self.condition(), store)
        shared, inside = r.randrange(2), [self.names[d] for d in order]
        if shared:  # by in-bounds coordinates
            body.append("    store %s, %%s[%s]" % (self.value(1), ", ".join(inside)))
            if r.randrange(2):  # by one element each
                name = self.name()
                swap = "%s = atomic_cas %s, %s, %%c[%s]" % (name, self.value(0), self.value(1), ", ".join(inside))
                body += ["    " + swap + (", %s" % self.condition() if r.randrange(3) == 0 else "")]
                value += " + " + name
        lines = ["kernel @k(%%p: i32, %%a: view<i32%s>, %%b: view<i32%s>, %%x: view<i32%s>, %%y: view<i32%s>, %%z: view<i32%s>)"
                 % (*dims, turned), "    grid [1] warps %d" % r.choice([1, 2, 4]), "{"]
        for t, name in enumerate("ab"):
            lines.append("  %%t%d = load %%%s[%s] : %s" % (t, name, ", ".join("0" for _ in self.tiles[t]), dims[t]))
        if shared:
            lines += ["  %%s = alloc_shared : shared<i32%s>" % turned, "  %%c = alloc_shared : shared<i32%s>" % turned, "  fill %c, 1"]
        dims_kept = "[%s]" % ", ".join(map(str, self.kept))
        lines += ["  %%h = alloc_shared : shared<i32%s>" % dims_kept]
        lines += ["  store_shared (load %%x[%s] : %s), %%h" % (", ".join("0" for _ in self.view), dims_kept)
                  if len(self.kept) <= len(self.view) else "  fill %h, 5"]
        lines.append("  %%r, %%q = parallel (%s) in %s {" % (", ".join(self.names), dims[3]))
        lines += body + ["    " + store, "    yield %s, %s" % (value, self.value(1)), "  }"]
        lines += ["  store %%r * 3 + %%q, %%y[%s]" % zeros]
        if shared:
            lines += ["  atomic_add load_shared(%%s) + load_shared(%%c), %%z[%s]" % zeros]
        return "\n".join(lines + ["}", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tile_run")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ptxas")
    parser.add_argument("--tilec")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "k.tile")
        for seed in range(options.seed, options.seed + options.count):
            with open(source, "w") as file:
                file.write(Kernel(seed).text())
            results, told = [], ""
            for level in (2, 3):
                saved = [os.path.join(folder, "%s%d.npy" % (name, level)) for name in "yz"]
                command = [options.tile_run, source, "--device=cpu", "--level=%d" % level, "--arg", "p=%d" % (seed % 5)]
                for name, fill in zip("abxyz", ("int", "int", "int", "zeros", "zeros")):
                    command += ["--arg", "%s=%s" % (name, fill)]
                for name, path in zip("yz", saved):
                    command += ["--save", "%s=%s" % (name, path)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                told += done.stderr
                results.append([open(path, "rb").read() for path in saved] if done.returncode == 0 else None)
            if options.ptxas and options.tilec:
                done = subprocess.run([options.tilec, source, "--target=sm_80", "--emit=cubin", "--ptxas=" + options.ptxas,
                                       "-o", os.path.join(folder, "k.cubin")], capture_output=True, text=True, timeout=60)
                told += done.stderr
                results.append(results[0] if done.returncode == 0 else None)
            if None in results or results.count(results[0]) != len(results):
                wrong += 1
                print("seed %d: the levels differ\n%s\n%s" % (seed, told, open(source).read()))
    print("%d kernels, %d wrong" % (options.count, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())

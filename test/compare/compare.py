#!/usr/bin/env python3
"""Compares a base commit with the working tree, to show that a change is neutral. Builds both with the same LLVM.

    test/compare/compare.py 413500d                      everything except the tests
    test/compare/compare.py 413500d --tests              also the exit status of each test, which is slow
    test/compare/compare.py main --only=ptx --kernels='matmul*' --sample=20 --targets=sm_90a

The working tree is used as it is on disk, including uncommitted changes. These parts are compared:

    ptx        PTX (without .loc, .file and comments), launch interface, errors and kinds of remarks of each kernel,
               plan and compute in tools/kernels at --sample points of its space, for each target; and the list of
               points. A parameter without a default and without values in `tune` takes each of CHOICES.
    schedule   the module after `schedule`, for --computes computes that the base's tile-random generates
    effort     instructions (valgrind) of a fixed sample of these compilations; fails above --effort-limit
    tests      lit and unit tests: the status by name (only with --tests)

Each difference is printed with kernel, target and point. The last line is a summary. Exit status: 1 if there are
differences, else 0.

Folders: --work (default: build-compare) contains a git worktree of the base, both builds, the emit programs, and
digests of the base's results, so that later runs compile little of the base. To remove the worktree:
`git worktree remove --force build-compare/base`.

--renames=FILE has lines `old new`. In the base's output, each word `old` is replaced before the comparison. Requests to
the head use the new words.
"""
import argparse
import concurrent.futures
import difflib
import fnmatch
import itertools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import emitter
import status
import trees
from trees import say

PARTS = ("ptx", "schedule", "effort", "tests")
CHOICES = {"type": ("f16", "bf16", "f32", "i32", "e4m3"), "int": ("64", "32")}
CHUNK = 16          # compilations per process
DIFF_LINES = 16     # per difference
UNCOMPARED = re.compile(rb"^[ \t]*(?:\.(?:loc|file)\b|//).*\n|[ \t]*//.*$", re.M)
DEBUG = re.compile(rb"^[ \t]*\.section[ \t]+\.debug\w*\s*\{.*?^[ \t]*\}\n?", re.M | re.S)


class Renames:
    """Maps words of the base to those of the head."""

    def __init__(self, path):
        self.words = dict(line.split() for line in pathlib.Path(path).read_text().splitlines()
                          if line.strip()) if path else {}
        # A parameter of PTX is KERNEL_param_N.
        self.pattern = re.compile(r"(?<![\w-])(%s)(?=_param_|(?![\w-]))" % "|".join(
            sorted(map(re.escape, self.words), key=len, reverse=True)))

    def __call__(self, text):
        if not self.words:
            return text
        if isinstance(text, bytes):
            return self(text.decode("latin-1")).encode("latin-1")
        return self.pattern.sub(lambda match: self.words[match[1]], text)


class Report:
    """Prints differences when they are found, and counts them by kind."""

    def __init__(self, most):
        self.most, self.counts, self.compared = most, {}, {}

    def difference(self, kind, where, base, head):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if sum(self.counts.values()) > self.most:
            return
        lines = list(difflib.unified_diff(base, head, "base", "head", n=2, lineterm=""))
        print(f"{kind} differs: {where}")
        for line in lines[:DIFF_LINES]:
            print("    " + line[:160])
        if len(lines) > DIFF_LINES:
            print(f"    .. {len(lines) - DIFF_LINES} more lines")
        sys.stdout.flush()

    def count(self, what, number=1):
        self.compared[what] = self.compared.get(what, 0) + number

    def finish(self, seconds):
        total = sum(self.counts.values())
        if total > self.most:
            print(f".. {total - self.most} more differences (--show=N shows more)")
        compared = ", ".join(f"{number} {what}" for what, number in self.compared.items()) or "nothing"
        by_kind = "".join(f", {number} of {kind}" for kind, number in self.counts.items())
        print(f"compared {compared} in {seconds:.0f} s: {total} differences{by_kind}")
        return bool(total) or not self.compared


def strip_text(kind, data):
    if kind != "ptx":
        return data
    return UNCOMPARED.sub(b"", DEBUG.sub(b"", data))


def lines_of(data):
    return data.decode(errors="replace").splitlines()


def compare_answers(report, where, base, head, renames):
    """The base's texts are renamed only if they differ otherwise."""
    def differs(kind, old, new):
        old = [renames(line) for line in old]
        if old != new:
            report.difference(kind, where, old, new)

    differs("status", [base.status], [head.status])
    differs("error", base.errors, head.errors)
    differs("remarks", base.remarks, head.remarks)
    if base.status != head.status:
        return
    if len(base.texts) != len(head.texts):
        names = [[f"{kind} {name}" for kind, name, _ in side.texts] for side in (base, head)]
        report.difference("results", where, *names)
        return
    for (kind, name, old), (_, new_name, new) in zip(base.texts, head.texts):
        if (name, old) == (new_name, new):
            continue
        old, new = renames(strip_text(kind, old)), strip_text(kind, new)
        if (renames(name), old) != (new_name, new):
            report.difference(kind, f"@{new_name}, {where}" if name else where, lines_of(old), lines_of(new))


# Functions of the shipped files --------------------------------------------------------------------------------------

class Function:
    """A kernel, plan or compute of a file; its head says which parameters must be bound to compile it."""

    def __init__(self, path, name, head):
        self.path, self.name = path, name
        parameters = re.match(r"\s*<(.*?)>\s*\(", head, re.S)
        declared = re.findall(r"(\w+)\s*:\s*(\w+)\b(?!\s*=)", parameters[1]) if parameters else []
        tuned = set(re.findall(r"\w+", " ".join(re.findall(r"\btune\s*(\([^)]*\)|\w+)\s*in\b", head))))
        self.open = [(word, kind) for word, kind in declared if kind in CHOICES and word not in tuned]

    def bindings(self):
        """Possible values of unbound parameters."""
        for values in itertools.product(*(CHOICES[kind] for _, kind in self.open)):
            yield " ".join(f"{name}={value}" for (name, _), value in zip(self.open, values))


def list_functions(tree, path):
    text = re.sub(r"//.*", "", path.read_text())
    path = path.relative_to(tree)
    parts = re.split(r"(?m)^(?:kernel|plan|compute)\s+@(\w+)", text)
    return [Function(path, name, head) for name, head in zip(parts[1::2], parts[2::2])]


def complete(bindings, point):
    """The point, extended by bindings for parameters that it does not name."""
    named = {word.split("=")[0] for word in point.split()}
    return " ".join([word for word in bindings.split() if word.split("=")[0] not in named] + point.split())


class Comparison:
    def __init__(self, options):
        self.options, self.report = options, Report(options.show)
        self.renames = Renames(options.renames)
        self.base, self.head = trees.make_sides(options)
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        self.pairs = None

    def ask(self, side, requests):
        return emitter.ask(side.emitter, requests, side.tree)

    # Points ----------------------------------------------------------------------------------------------------------

    def function_pairs(self):
        """Pairs (base, head) of functions with the same name; a function that only one side has is a difference."""
        sides = []
        for side, rename in ((self.base, self.renames), (self.head, str)):
            sides.append({(rename(path.stem), rename(f.name)): f for path in side.kernel_files()
                          if any(fnmatch.fnmatch(rename(path.stem), want) for want in self.options.kernels)
                          for f in list_functions(side.tree, path)})
        old, new = sides
        if set(old) != set(new):
            self.report.difference("functions", "tools/kernels", sorted(f"{file}: @{name}" for file, name in old),
                                   sorted(f"{file}: @{name}" for file, name in new))
        return [(old[key], new[key]) for key in old if key in new]

    def list_space(self, pair, target):
        """The base's bindings for all points of a function, after comparing them with the head's."""
        old, new = pair
        choices = list(old.bindings())
        asks = [[emitter.request("points", f.path, f.name, target, change(choice)) for choice in choices]
                for f, change in ((old, str), (new, self.renames))]
        answers = [self.ask(side, lines) for side, lines in zip((self.base, self.head), asks)]
        for choice, base, head in zip(choices, *answers):
            self.compare_points(f"{place(new)} for {target} {choice}".rstrip(), base, head)
        spaces = [[complete(choice, point) for point in answer.points] or [choice]
                  for choice, answer in zip(choices, answers[0])]
        if len(choices) > 1:  # those that compile at their first point
            firsts = [emitter.request("lower", old.path, old.name, target, space[0]) for space in spaces]
            fits = [answer.status == "ok" for answer in self.ask(self.base, firsts)]
            spaces = [space for space, fit in zip(spaces, fits) if fit] or spaces[:1]
        return [point for space in spaces for point in space]

    def compare_points(self, where, base, head):
        old = [self.renames(line) for line in base.points + base.errors + [base.status]]
        new = head.points + head.errors + [head.status]
        if old != new:
            self.report.difference("points", where, old, new)

    def sample(self, function, points):
        if len(points) <= self.options.sample:
            return points
        chosen = random.Random(f"{self.options.seed} {function.name}").sample(range(len(points)), self.options.sample)
        return [points[i] for i in sorted(chosen)]

    def all_pairs(self):
        """(base's function, head's, target, bindings) of all compilations."""
        if self.pairs is None:
            cases = [(pair, target) for pair in self.function_pairs() for target in self.options.targets]
            spaces = self.pool.map(lambda case: self.list_space(*case), cases)
            self.pairs = [(*pair, target, self.sample(pair[0], space)) for (pair, target), space in zip(cases, spaces)]
        return self.pairs

    # Parts -----------------------------------------------------------------------------------------------------------

    def requests(self, verb, old, new, target, points):
        return ([emitter.request(verb, old.path, old.name, target, point) for point in points],
                [emitter.request(verb, new.path, new.name, target, self.renames(point)) for point in points])

    def compile_chunk(self, chunk, digests):
        """Returns the chunk and both answers per point; the base's is None if the head's matches its digest."""
        lines = self.requests("ptx", *chunk)
        head = self.ask(self.head, lines[1])
        asked = [i for i, line in enumerate(lines[0]) if digests.known.get(line) != head[i].digest()]
        base = dict(zip(asked, self.ask(self.base, [lines[0][i] for i in asked])))
        digests.known.update((lines[0][i], answer.digest()) for i, answer in base.items())
        return chunk, [base.get(i) for i in range(len(head))], head

    def compare_ptx(self):
        chunks = [(old, new, target, points[i:i + CHUNK]) for old, new, target, points in self.all_pairs()
                  for i in range(0, len(points), CHUNK)]
        say(f"{sum(len(chunk[3]) for chunk in chunks)} compilations of each side")
        files = [self.base.emitter, self.base.build / "lib" / "libtile.so", *self.base.kernel_files()]
        digests = emitter.Digests(self.options.work, files)
        made = self.pool.map(lambda chunk: self.compile_chunk(chunk, digests), chunks)
        for (_, new, target, points), base, head in self.progress(made, len(chunks)):
            for point, one, other in zip(points, base, head):
                self.report.count("compilations")
                self.report.count("refusals", other.status != "ok")
                if one:
                    compare_answers(self.report, f"{place(new)} for {target} at {point}", one, other, self.renames)
        digests.save()

    def progress(self, things, count):
        for i, thing in enumerate(things, 1):
            yield thing
            if i * 10 // count > (i - 1) * 10 // count:
                say(f"{i * 100 // count} % of them")

    def draw_computes(self):
        """(seed, target, text) of computes of the base's tile-random."""
        program, found, first, each = self.base.build / "bin" / "tile-random", [], self.options.seed, 1000
        while len(found) < self.options.computes:
            text = trees.run(program, f"--seed={first}", f"--count={each}", "--print")
            for i, part in enumerate(re.split(r"(?m)^(?=// RUN-OPTIONS)", text)[1:]):
                if re.search(r"(?m)^compute @", part):
                    found.append((first + i, re.search(r"--target=(\S+)|$", part)[1] or self.options.targets[0], part))
            first += each
        return found[:self.options.computes]

    def compare_schedule(self):
        folder = pathlib.Path(self.options.work).resolve() / "computes"
        shutil.rmtree(folder, ignore_errors=True)
        computes, folders = self.draw_computes(), [folder / "base", folder / "head"]
        for place_of, rename in zip(folders, (str, self.renames)):
            place_of.mkdir(parents=True)
            for seed, _, text in computes:
                (place_of / f"{seed}.tile").write_text(rename(text))
        requests = [[emitter.request("schedule", where / f"{seed}.tile", "", target) for seed, target, _ in computes]
                    for where in folders]
        answers = self.pool.map(self.ask, (self.base, self.head), requests)
        for (seed, target, _), base, head in zip(computes, *answers):
            self.report.count("schedules")
            compare_answers(self.report, f"{folders[1]}/{seed}.tile for {target}", base, head, self.renames)

    def compare_effort(self):
        """The first sampled point of each function, for one of the targets in turn, counted by valgrind."""
        if not shutil.which(self.options.valgrind):
            say("effort is not compared: there is no valgrind")
            return
        cases, step = self.all_pairs(), len(self.options.targets)
        chosen = [cases[i * step + i % step] for i in range(len(cases) // step)]
        sample = [(old, new, target, points[:1]) for old, new, target, points in chosen]
        verbs = ("lower", "ptx")
        jobs = [(side, [line for case in sample for line in self.requests(verb, *case)[number]])
                for verb in verbs for number, side in enumerate((self.base, self.head))]
        counts = list(self.pool.map(lambda job: count_instructions(self.options.valgrind, *job), jobs))
        print(f"instructions of {len(sample)} compilations:        base           head   ratio")
        for i, (verb, title) in enumerate(zip(verbs, ("passes alone", "all, to PTX"))):
            base, head = counts[2 * i:2 * i + 2]
            print(f"  {title:<24}{base:>16,}{head:>16,}  {head / base:.4f}")
        self.report.count("efforts")
        if head > self.options.effort_limit * base:
            self.report.difference("effort", f"more than {self.options.effort_limit} of the base's",
                                   [f"{base} instructions"], [f"{head} instructions"])

    def compare_tests(self):
        for kind, base, head in status.run_tests(self.base, self.head, self.options):
            for name in base:
                self.report.count("tests")
                new_name = self.renames(name)
                if base[name] != head.get(new_name, "not there"):
                    self.report.difference(kind, new_name, [base[name]], [head.get(new_name, "not there")])

    def run(self):
        since = time.monotonic()
        for part in self.options.only:
            begin = time.monotonic()
            getattr(self, f"compare_{part}")()
            say(f"{part}: {time.monotonic() - begin:.0f} s")
        return self.report.finish(time.monotonic() - since)


def place(function):
    return f"{function.path.name} @{function.name}"


def count_instructions(valgrind, side, lines):
    """Instructions in user mode, counted by cachegrind without cache simulation."""
    program = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", str(side.emitter)]
    ran = subprocess.run(program, input="".join(line + "\n" for line in lines).encode(), capture_output=True,
                         cwd=side.tree)
    found = re.search(rb"I +refs: +([\d,]+)", ran.stderr)
    if ran.returncode or not found:
        sys.exit(f"compare.py: valgrind failed:\n{ran.stderr.decode(errors='replace')[-2000:]}")
    return int(found[1].replace(b",", b""))


def parse_options():
    parser = argparse.ArgumentParser(usage="compare.py BASE [options]", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    add = parser.add_argument
    add("base", nargs="?", help="the commit")
    add("--only", type=words, default=None, help="which parts: ptx,schedule,effort,tests (default: the first three)")
    add("--tests", action="store_true", help="the tests, too")
    add("--targets", type=words, default=["sm_80", "sm_90", "sm_90a"])
    add("--kernels", type=words, default=["*"], help="which files of tools/kernels, by patterns")
    add("--sample", type=int, default=200, help="points of each function and target")
    add("--computes", type=int, default=2000)
    add("--seed", type=int, default=1)
    add("--renames", help="a file with lines `old new`")
    add("--effort-limit", type=float, default=1.01)
    add("--valgrind", default="valgrind", help="the program that counts instructions")
    add("--show", type=int, default=20, help="differences that are printed")
    add("-j", "--jobs", type=int, default=os.cpu_count())
    add("--work", default=trees.ROOT / "build-compare")
    add("--base-tree", help="a tree that is there already, instead of a worktree of BASE")
    add("--base-build", help="build folder of the base (default: in --work)")
    add("--head-build", help="build folder of the working tree (default: in --work)")
    add("--no-build", action="store_true", help="take both build folders as they are")
    add("--llvm-config", help="which LLVM both sides are built with")
    add("--base-emitter", help="a program instead of the base's emit.c")
    add("--head-emitter", help="a program instead of the head's emit.c")
    options = parser.parse_args()
    wanted = set(options.only or PARTS[:3]) | ({"tests"} if options.tests else set())
    unknown = wanted - set(PARTS)
    options.only = [part for part in PARTS if part in wanted]
    if unknown or not (options.base or options.base_tree):
        parser.error(f"there is no part {', '.join(unknown)}" if unknown else "which commit is the base?")
    return options


if __name__ == "__main__":
    os.environ["TILE_CACHE_DIR"] = ""
    sys.exit(Comparison(parse_options()).run())

"""Removes or weakens each barrier, wait, fence, ordering and bounds mask that the compiler inserted into the shipped
kernels, one at a time, and runs the result on the CPU device. It must be detected, by a report or a wrong result.
A change that is not detected is redundant, or the CPU device misses it.

usage: weaken.py KERNELS FOLDER [--share=N/M].. [--strict] [--only="NAME;NAME"] [--kind=KIND] [--without=KIND] [--seeds=N] [--jobs=N] [--table]
  --share=N/M   the N-th of M parts of the changes (default: all of them); repeated: a part of that part
  --strict      also changes that are known to be redundant, with the reason why they stay (NEEDLESS)
  --table       how many of each kind were detected, for each kernel"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import zlib

from shipped import POINTS

# Redundant synchronization, and why it stays: kernels (a name, or several as an expression), kind and line of
# the change, their maximum number, the reason.
NEEDLESS = [
    ("vector_add", "barrier", "sync", 1, "z may overlap x and y in another place"),
    (".*", "wait for a group", "wait_group 0", 4, "behind a pipelined loop only empty groups are left: it tells the passes that the ring is free"),
    (".*", "barrier of a warp", "sync_warp", 4, "the lanes meet again before one of them is elected; barriers order what each has done"),
    (".*", "bound of scratch", "", 99, "a tile's or a part's number is below its extent by how it is made"),
    ("matmul, in a cluster", "barrier of the cluster", "cluster_wait", 3, "the block stays as long as one of its warps waits, and others do"),
    ("matmul, ping_pong", "barrier, arrival", "sync_arrive", 2, "turns where k = 0: no tensor map describes that, and another variant runs"),
    ("matmul, ping_pong|matmul, persistent", "end of a group", "bulk_commit", 1, "the next one ends both groups, which are waited for together"),
    ("scatter_add", "bound", r"ult %\d+, %d ", 3, "a row's scale stands in one place, whatever the column"),
    ("transpose", "bound", r"ult %\d+, %[mn] ", 4, "extents are multiples of 16: the first rows and columns of a tile are inside"),
    ("scatter_add", "bound", r"%4 = ult %2, %r ", 1, "the first of a block's rows is inside: the grid ends with the last row"),
    ("add_rows|add_all", "wait for a launch", "pdl_wait", 1, "alone they follow no launch; exec/faults/missing_pdl_wait.tile has one"),
    ("add_all", "bound", r"ult %i, %m ", 1, "rows are counted to m, by steps that only the launch knows"),
    ("convolution", "bound", r"ult %tap", 3, "the loop ends with the last tap"),
    ("convolution", "bound", r"ult %\d+, %\d+", 2, "the grid ends with the last row"),
    ("matmul_experts", "bound", r"ult %\d+, %5 ", 3, "order has block_m entries for each block"),
    ("matmul_simple", "bound", r"ult %\d+, %k", 1, "k is a multiple of 8: the first rows of a tile are inside"),
    ("matmul_batched|matmul_int4|matmul_types, i8|matmul_experts|convolution", "bound", r"ult %\d+, %[ckm\d]", 4, "extents are multiples of 8, 16 or 32: the first rows of a tile are inside"),
    ("matmul_scaled", "bound", r"ult %(i_1|\d+), %\d+ ", 2, "the first chunk of an iteration, and the block of b with the first column of a tile, exist"),
    ("matmul_skinny, exchange", "barrier", "sync", 1, "who is last has met the others behind the wait for its turn"),
    ("matmul, stream_k", "barrier", "sync", 1, "the one before the release serves"),
]

# Changes ---------------------------------------------------------------------------------------------------------

GONE = (("barrier", r"sync( \d+, \d+)?$"), ("barrier of a warp", r"sync_warp$"), ("barrier, arrival", r"sync_arrive \d+, \d+$"),
        ("barrier of the cluster", r"cluster_(arrive|wait)\b.*"), ("wait for a group", r"wait_group \d+$"),
        ("wait for a phase", r"mbarrier_wait .*"), ("wait for bulk copies", r"bulk_wait .*"), ("wait for products", r"wgmma_wait \d+$"),
        ("wait for a word", r"wait_acquire .*"), ("wait for a launch", r"pdl_wait$"), ("fence", r"(fence|wgmma_fence|mbarrier_fence)\b.*"),
        ("fence of proxies", r"fence_async$"), ("end of a group", r"(commit_group|bulk_commit|wgmma_commit)$"))
MORE = (("wait for a group", r"wait_group (\d+)$"), ("wait for bulk copies", r"bulk_wait (\d+).*"), ("wait for products", r"(?:.*= )?wgmma_wait (\d+)\b.*"))
COMPARE = re.compile(r"(%\w+) = (?:ult|lt|le|gt|ge) (.*) : i1$")
ACCESS = re.compile(r"(?:%\w+ = )?(ld_global|st_global|ld_shared|st_shared|cp_async|atomic_thread|atomic_cas_thread|mbarrier_arrive|mbarrier_expect|st_async) ")


def without(line, pattern, by):
    changed = re.sub(pattern, by, line)
    return changed if changed != line else None


def weaker_orders(line):
    """Weaker memory orderings."""
    if "st_release" in line:
        yield "release", without(line, r"st_release (\S+), (.*)", r"atomic_thread \2, \1 {kind = exch}")
    for word in ("release", "acquire"):
        yield word, without(line, rf", ordering = {word}\b", "")
        other = {"release": "acquire", "acquire": "release"}[word]
        yield word, without(line, r"ordering = acq_rel\b", f"ordering = {other}")
    yield "scope", without(line, r"(atomic.*|wait.*)scope = (gpu|cluster)", r"\1scope = cta")
    if "scratch" in line:
        yield "clean", without(line, r" \{clean\}", "")


def uses_of(lines, name):
    found = re.compile(re.escape(name) + r"(?!\w)")
    return [i for i, line in enumerate(lines) if found.search(line)]


def accesses_under(lines, name, at):
    """How many accesses have the condition as predicate; None if it is used for anything but a mask."""
    count = 0
    for i in uses_of(lines, name):
        line = lines[i].strip()
        result = re.match(r"(%\w+) = (and|select|splat|permute|extract|concat) ", line)
        if i == at or (result and result[2] == "select"):
            continue
        more = 1 if ACCESS.match(line) else accesses_under(lines, result[1], i) if result else None
        if more is None:
            return None
        count += more
    return count


def is_of_scratch(lines, name, at):
    """True if all accesses of the mask are to scratch of the kernel, or of its plan."""
    bases = set()
    for i in uses_of(lines, name):
        line = lines[i].strip()
        result = re.match(r"(%\w+) = (and|splat|permute|extract|concat) ", line)
        base = re.search(r"(%\w+)\[", line)
        if ACCESS.match(line) and base:
            bases.add(base[1])
        elif result and i != at and not is_of_scratch(lines, result[1], i):
            return False
    made = [line.strip() for line in lines if " = scratch [" in line]
    return all("_parts" in base or any(line.startswith(base + " = ") for line in made) for base in bases)


def changes_of(lines):
    """kind, number of the line, {line: text} of each change of a kernel; text None: the line is removed."""
    for i, line in enumerate(lines):
        text = line.strip()
        indent = line[:len(line) - len(text)]
        for kind, pattern in GONE:
            if re.fullmatch(pattern, text):
                yield kind + " removed", i, {i: ""}
        for kind, pattern in MORE:
            m = re.fullmatch(pattern, text)
            if m:
                yield kind + " weaker", i, {i: indent + text[:m.start(1)] + str(int(m[1]) + 1) + text[m.end(1):]}
        for kind, changed in weaker_orders(line):
            if changed:
                yield kind + " removed", i, {i: changed}
        m = COMPARE.match(text)
        if m and accesses_under(lines, m[1], i):
            kind = "bound of scratch" if is_of_scratch(lines, m[1], i) else "bound"
            pattern = re.escape(m[1]) + r"(?!\w)"
            yield kind + " removed", i, {j: re.sub(pattern, "true", lines[j]) for j in uses_of(lines, m[1]) if j != i}


def kernels_in(lines):
    """First and last line of each kernel that runs."""
    start = None
    for i, line in enumerate(lines):
        if line.startswith("kernel @"):
            start = i
        if line == "}" and start is not None:
            if any(other.strip() == "level 3" for other in lines[start:i]):
                yield start, i + 1
            start = None


def find_changes(text):
    lines = text.split("\n")
    for first, end in kernels_in(lines):
        for kind, at, by in changes_of(lines[first:end]):
            changed = list(lines)
            for i, line in by.items():
                changed[first + i] = line
            yield kind, first + at + 1, lines[first + at].strip(), "\n".join(changed)


# Running ---------------------------------------------------------------------------------------------------------

def make(name, options):
    file, kernel, target, parameters, _ = POINTS[name]
    made = os.path.join(options.folder, re.sub(r"\W+", "_", name) + ".tile")
    command = ["tilec", os.path.join(options.kernels, file + ".tile"), f"--kernel={kernel}", f"--target={target}",
               "--emit=tile", "-o", made]
    for parameter in parameters.split():
        command += ["--param", parameter]
    subprocess.run(command, check=True)
    with open(made, encoding="utf-8") as out:
        text = out.read()
    if f"\nplan @{kernel}(" not in "\n" + text:  # plans of the file launch kernels that were removed
        text = re.sub(r"^plan @.*?\n}\n", "", text, flags=re.M | re.S)
        with open(made, "w", encoding="utf-8") as out:
            out.write(text)
    for i, launch_of in enumerate(POINTS[name][4]):
        for seed in (0, 2, 3, 4, 5)[:options.seeds] if "kept" in launch_of else ():
            launch(name, made, i, seed, options, True)
    return text


def launch(name, path, number, seed, options, keep=False):
    """The first report; None if the results are correct, or are kept for the others."""
    _, kernel, target, _, _ = POINTS[name]
    command = ["tile-run", path, f"--kernel={kernel}", "--device=cpu", f"--target={target}", "--max-operations=30000000"]
    command += [f"--seed={seed}"] if seed else []
    for word in POINTS[name][4][number].split():
        command += [word] if word.startswith("--") else ["--arg", word] if "=" in word else []
    kept = os.path.join(options.folder, f"{name}.{number}.{seed}.npy")
    check = ["--check"]
    if "kept" in POINTS[name][4][number]:
        check = ["--save", f"y={kept}"] if keep else ["--check", f"y=@{kept}"]
    ran = subprocess.run(command + check, capture_output=True, text=True, timeout=600)
    found = re.search(r"error: (.*)", ran.stderr)
    if found:
        return found[1]
    right = ran.returncode == 0 and (keep or re.search(r": 0 wrong", ran.stdout))
    return None if right else f"exit {ran.returncode}"


def judge(job, options):
    """The first report on any launch, or None."""
    number, (name, kind, line, _, text) = job
    path = os.path.join(options.folder, f"changed_{os.getpid()}_{number}.tile")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    report = None
    for i in range(len(POINTS[name][4])):
        for seed in (0, 2, 3, 4, 5)[:options.seeds]:
            report = report or launch(name, path, i, seed, options)
    os.remove(path)
    return report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels")
    parser.add_argument("folder")
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    part, parts = 0, 1
    for share in options.share:
        index, count = map(int, share.split("/"))
        part, parts = part + parts * (index - 1), parts * count
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        names = [n for n in POINTS if not options.only or n in options.only.split(";") or POINTS[n][0] in options.only.split(";")]
        texts = dict(zip(names, pool.map(lambda n: make(n, options), names)))
        for name in names:
            changes = [(name, kind, line, old, text) for kind, line, old, text in find_changes(texts[name])
                       if options.kind in kind and not (options.without and options.without in kind) and
                       zlib.crc32(f"{name} {line} {kind}".encode()) % parts == part]
            if changes or parts < 8:
                jobs += [(name, "as it is", 0, "", texts[name]), *changes]
        reports = list(pool.map(lambda job: judge(job, options), enumerate(jobs)))
    rows, wrong, needless, missed, left = {}, 0, 0, 0, [row[3] for row in NEEDLESS]
    for (name, kind, line, old, _), report in zip(jobs, reports):
        row = rows.setdefault(name, {}).setdefault(kind, [0, 0, 0])
        if kind == "as it is":
            wrong += report is not None
            left = [row[3] for row in NEEDLESS]
            if report:
                print(f"wrong as it is: {name}: {report}")
            continue
        row[0] += 1
        row[1] += report is not None
        if report is not None:
            continue
        known = next((i for i, (names_, kinds, lines, _, _) in enumerate(NEEDLESS)
                      if left[i] and re.fullmatch(names_, name) and kind.startswith(kinds) and re.search(lines, old)), None)
        if known is None:
            missed += 1
            print(f"not caught: {name}, line {line}: {kind}: {old}")
            continue
        left[known] -= 1
        needless += 1
        row[2] += 1
        if options.strict:
            print(f"needless: {name}, line {line}: {kind}: {old}: {NEEDLESS[known][4]}")
    if options.table:
        for name, kinds in rows.items():
            print(f"{name}: " + ", ".join(f"{kind} {found}/{number}" + (f" (needless {spare})" if spare else "")
                                          for kind, (number, found, spare) in kinds.items() if number))
    whole = sum(kind == "as it is" for _, kind, *_ in jobs)
    changes = len(jobs) - whole
    print(f"{whole} kernels, {wrong} wrong as they are; {changes} changes, {changes - needless - missed} caught, "
          f"{needless} needless, {missed} missed")


main()

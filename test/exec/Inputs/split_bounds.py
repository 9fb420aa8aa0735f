"""Checks the bounds of the parts of an online loop, for keys up to 2^31 - 1, whose arrays would be too large for a
test. The operations that compute the bounds of the kernel's first loop become a separate kernel, with the scheduled
one's grid, which stores the bounds for each block. No bound may wrap. The parts must be consecutive, begin and end
where the loop does, and all but the last nonempty one must have whole blocks of keys.

    split_bounds.py FILE.tile KERNEL FIRST,END,KEYS...
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

MOST_PARTS = 32


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(" ".join(command) + "\n" + ran.stdout + ran.stderr)
    return ran.stdout


def operations(body):
    """The operations before the first loop, by the values that they define, and the loop's line."""
    found = {}
    for line in body:
        if re.search(r" = for %\w+ = ", line):
            return found, line
        defined = re.match(r" *((?:%\w+, )*%\w+) = ", line)
        for name in re.findall(r"%\w+", defined.group(1)) if defined else []:
            found[name] = line
    sys.exit("there is no loop")


def needed(found, names):
    """The lines that compute these values, in order."""
    pending, lines = list(names), set()
    while pending:
        line = found.get(pending.pop())
        if line and line not in lines:
            lines.add(line)
            pending += re.findall(r"%\w+", line.split(" = ", 1)[1])
    return [line for line in dict.fromkeys(found.values()) if line in lines]


def bounds_kernel(text, kernel):
    head, body = text[text.index("kernel @%s<" % kernel):].split("\n{\n", 1)
    found, loop = operations(body.split("\n"))
    begin, end, step = re.search(r" = for %\w+ = (\S+) to (\S+) step (\S+)", loop).groups()
    head = head.replace("kernel @" + kernel, "kernel @bounds").replace("%o: view<f16[1, 16]>", "%bounds: view<i32[64]>")
    head = re.sub(r"\n *of @[^\n]*", "", re.sub(r"%[qkv]: view<[^>]*>, ", "", head))
    if "%bounds" not in head:
        sys.exit("the kernel has another result: " + head)
    body = needed(found, [begin, end])
    block = re.search(r"(%\w+), %\w+, %\w+ = block_id", "\n".join(body)).group(1)
    body += [f"  %at = mul {block}, 2 : i32", "  %behind = add %at, 1 : i32",
             f"  %from = splat {begin} : tile<i32[1]>", f"  %to = splat {end} : tile<i32[1]>",
             "  store %from, %bounds[%at]", "  store %to, %bounds[%behind]"]
    return head + "\n{\n" + "\n".join(body) + "\n}\n", step


def find_parts(path, folder, split, block, first, end, keys):
    saved = os.path.join(folder, "bounds.npy")
    run("tile-run", path, "--kernel=bounds", "--device=cpu", "--level=2", f"--param=split={split}", f"--param=block_n={block}",
        f"--arg=n={keys}", f"--arg=first={first}", f"--arg=end={end}", "--arg=bounds=zeros:i32[64]", "--save", "bounds=" + saved)
    with open(saved, "rb") as file:
        numbers = struct.unpack("<64i", file.read()[-4 * 64:])
    return [(numbers[2 * i], numbers[2 * i + 1]) for i in range(split)]


def check(parts, block, first, end):
    at, shown = first, [part for part in parts if part[0] < part[1]]
    for i, (begin, stop) in enumerate(shown):
        if begin != at or ((stop - begin) % block and i + 1 < len(shown)):
            return False
        at = stop
    return at == max(first, end)


def main():
    path, kernel, *cases = sys.argv[1:]
    text, count = run("tile-opt", path, "--schedule=m=1", "-o", "-"), 0
    made, step = bounds_kernel(text, kernel)
    if step != "block_n":
        sys.exit("the loop's step is " + step)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "bounds.tile"), "w") as file:
            file.write(made)
        for case in cases:
            first, end, keys = map(int, case.split(","))
            for split, block in [(1, 64), (2, 128), (8, 32), (MOST_PARTS, 64)]:
                parts = find_parts(file.name, folder, split, block, first, end, keys)
                if not check(parts, block, first, min(end, keys)):
                    sys.exit(f"keys from {first} to {end} of {keys} in {split} parts by {block}: {parts}")
                count += 1
    print(count, "walks have exact parts")


main()

"""Summarizes the innermost loops with wgmma, one line per loop, in the order of the text.

usage: loops.py FILE [--most=N]    FILE: PTX, or SASS as `tilec --emit=sass` writes it

Fails if there is no such loop, or if one has more than N instructions.
A loop extends from a label to the last branch back to it. For SASS it counts instructions, HGMMAs, R2URs (each
waits for the vector unit before descriptors are ready) and waits for all products. For PTX it counts
instructions, products, fences, commits, waits, moves, barriers of the block, shuffles and selects."""
import re
import sys

PTX = {"wgmma": r"wgmma\.mma_async", "fence": r"wgmma\.fence", "commit": r"wgmma\.commit_group",
       "wait_group 1": r"wgmma\.wait_group\.sync\.aligned 1;", "wait_group 0": r"wgmma\.wait_group\.sync\.aligned 0;",
       "try_wait": r"mbarrier\.try_wait", "arrive": r"mbarrier\.arrive", "bar": r"\b(bar|barrier)\.(?!warp)", "div": r"\b(div|rem)\.", "mov": r"\bmov\.",
       "local": r"\.local\b", "shfl": r"\bshfl\.", "selp": r"\bselp\.f"}
SASS = {"HGMMA": r"\bHGMMA", "R2UR": r"\bR2UR", "DEPBAR 0": r"DEPBAR\.LE gsb0, 0x0", "DEPBAR 1": r"DEPBAR\.LE gsb0, 0x1",
        "TRYWAIT": r"TRYWAIT", "ARRIVE": r"SYNCS\.ARRIVE", "BAR": r"\bBAR\.", "local": r"\b(LDL|STL)\b"}


def read(path):
    """Instructions in order, labels with the index of the next instruction, branches."""
    instructions, labels, branches = [], {}, []
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        label = re.match(r"\s*(\$?\.?L\w+):", line)
        if label:
            labels[label[1]] = len(instructions)
            continue
        text = re.sub(r"/\*.*?\*/|//.*", "", line).strip()
        if not text.endswith(";"):
            continue
        target = re.search(r"\b(?:bra(?:\.uni)?|BRA)\b.*?(\$?\.?L\w+)", text)
        if target:
            branches.append((len(instructions), target[1]))
        instructions.append(text)
    return instructions, labels, branches


def loops(instructions, labels, branches, product):
    ends = {}
    for at, to in branches:
        if to in labels and labels[to] <= at:
            ends[labels[to]] = max(at, ends.get(labels[to], 0))
    ranges = sorted(ends.items(), key=lambda r: r[1] - r[0])
    taken = []
    for number, text in enumerate(instructions):
        inside = [r for r in ranges if r[0] <= number <= r[1]] if re.search(product, text) else []
        if inside and inside[0] not in taken:
            taken.append(inside[0])
    return taken


def main():
    instructions, labels, branches = read(sys.argv[1])
    sass = any("HGMMA" in i for i in instructions)
    words = SASS if sass else PTX
    most = int(dict(arg.split("=") for arg in sys.argv[2:]).get("--most", len(instructions)))
    found = loops(instructions, labels, branches, "HGMMA" if sass else r"wgmma\.mma_async")
    for first, last in found:
        body = instructions[first:last + 1]
        counts = {name: sum(bool(re.search(pattern, i)) for i in body) for name, pattern in words.items()}
        print(f"loop: {len(body)} instructions; " + ", ".join(f"{n} {name}" for name, n in counts.items()))
    sys.exit(not found or any(last - first >= most for first, last in found))


main()

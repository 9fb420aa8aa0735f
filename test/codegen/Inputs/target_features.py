"""Properties of a target must be queried as features of features.def: code must not compare compute capabilities or
names of targets, and each feature must be queried somewhere.

usage: target_features.py ROOT

Lists, as FILE:LINE: TEXT, code outside the table that checks which target it is instead of what it has, and
features that no code queries.
"""
import pathlib
import re
import sys

FOLDERS = ("include", "lib", "passes", "runtime", "tools", "test/fuzz")

# Where a compute capability is a number: the table, the check which GPU runs a target's code (target.c), the name by
# which the driver's assembler refers to a target, and the peaks of GPUs in tile-bench.
NUMBERS = {"include/tile/target.h", "lib/support/target.c", "runtime/compile/assemble.c", "tools/tile-bench/matmul/product.c"}
FACTS = re.compile(r"compute_capability|arch_specific|capability *(<|>|==|!=)|switch \(.*capability"
                   r"|TILE_TARGET_(portable|family|specific)|\btarget(->|\.)form\b")
# tile_target_find("sm_80") is a default, and random tests choose targets by name. Any other use of a name in code
# depends on which target it is.
NAMES = re.compile(r'"sm_\d+[af]?"')
DEFAULT = re.compile(r'tile_target_find\([^()]*"sm_\d+[af]?"\)')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def without_comments(text):
    return COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)


def is_table(path):
    return path.suffix == ".def"


def questions(root):
    """Lines of code that check which target it is."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
                named = folder != "test/fuzz" and NAMES.search(DEFAULT.sub("", line))
                if name not in NUMBERS and (FACTS.search(line) or named):
                    yield f"{name}:{number}: {line.strip()}"


def features(root):
    text = without_comments((root / "include/tile/features.def").read_text())
    return re.findall(r"(?m)^FEATURE\((\w+)", text)


def asked(root):
    """Features that code queries, or that a row of the instructions needs."""
    names = set()
    for folder in ("lib", "passes", "runtime"):
        for path in (root / folder).rglob("*.[ch]"):
            names.update(re.findall(r"TILE_FEATURE_(\w+)", without_comments(path.read_text())))
    machine = without_comments((root / "lib/codegen/machine.def").read_text())
    products = without_comments((root / "lib/layout/mma.def").read_text())
    names.update(re.findall(r"MACHINE\(.*, +(\w+), +\d+\)", machine))
    names.update(re.findall(r"MMA\(.*registers, (\w+), \d+, ", products))
    return names


def main():
    root = pathlib.Path(sys.argv[1])
    for line in questions(root):
        print(line)
    known, used = features(root), asked(root)
    for name in known:
        if name not in used:
            print(f"features.def: nothing asks for {name}")
    print(f"{len(known)} features, {len(used & set(known))} asked for")


if __name__ == "__main__":
    main()

"""Finds names of operations from ops.def that a message may show: they are not always what a program writes.

    op_spellings.py SPELLINGS FOLDER...

Writes FILE:LINE: USE for each use of the field `name` of a tile_op_info, and for each text that begins with the name
of an operation of SPELLINGS, lib/ir/spellings.def. Messages take tile_op_name, tile_op_spelling
or tile_opcode_spelling, which read lib/ir/spellings.def. EXCEPTIONS lists what needs the name, and why.
"""
import os
import re
import sys

EXCEPTIONS = {
    "lib/ir/syntax.c": "the spelling itself, and whether a row exists",
    "lib/ir/describe.c": "a host expression: its operations are spelled by their names",
    "lib/ops/kinds.c": "reading names that are composed of an operation and its kind",
    "lib/text/print.c": "the printed form",
    "lib/text/parse_form.c": "an operation that was found by its name",
    "lib/manual/": "the manual documents rows",
    "passes/split/epilogue_pieces.c": "a word of an attribute",
    "tools/tile-run/expression.c": "whether a row exists",
}
# Calls that find attributes by the name, and tests whether there is one.
ALLOWED = re.compile(r"tile_parse_(unknown_)?attrs?\(|tile_parse_combine_attr|tile_guess_try\(|!info->name|info->name \?")
CALL = re.compile(r"tile_op_get_info\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)->name")
FIELD = re.compile(r"\b(?:\w+->)?info->name\b")
DECLARED = re.compile(r"\b(tile_\w+_info|tile_\w+) \*info\b")


def statement(text, at):
    begin = max(text.rfind(mark, 0, at) for mark in ";{}")
    end = min(at for at in (text.find(mark, at) for mark in ";{}") if at >= 0)
    return " ".join(text[begin + 1:end].split())


def is_operation(text, at, use):
    """Whether the variable `info` at this place describes an operation, not an attribute or a pass."""
    if "->info->" in use:
        return True
    found = DECLARED.findall(text[:at])
    return not found or found[-1] == "tile_op_info"


def uses(text, names):
    for found in re.finditer(r'"(?:%s): [^"]*"' % "|".join(names), text):
        if not text[:found.start()].endswith("#include "):
            yield text.count("\n", 0, found.start()) + 1, found.group(0)
    for found in list(CALL.finditer(text)) + list(FIELD.finditer(text)):
        use = found.group(0)
        if "get_info" not in use and not is_operation(text, found.start(), use):
            continue
        if not ALLOWED.search(statement(text, found.start())):
            yield text.count("\n", 0, found.start()) + 1, " ".join(use.split())


def main():
    count = 0
    with open(sys.argv[1]) as file:
        names = re.findall(r"^SPELLING\((\w+),", file.read(), re.M)
    for folder in sys.argv[2:]:
        root = os.path.dirname(os.path.abspath(folder))
        for path, _, files in sorted(os.walk(folder)):
            for name in sorted(files):
                full = os.path.join(path, name)
                short = os.path.relpath(full, root)
                if not name.endswith((".c", ".h")) or any(short.startswith(e) for e in EXCEPTIONS):
                    continue
                count += 1
                with open(full) as file:
                    text = file.read()
                for line, use in sorted(uses(text, names)):
                    print(f"{name}:{line}: {use}")
    print("files looked at:", "some" if count else "none")


main()

"""Finds operands that are named by a number, which only the code generated from ops.def may know.

    operand_numbers.py FOLDER...

Writes FILE:LINE: CALL for each call of a function that takes the place of an operand with a number, or a choice of
numbers, in that place. Places that are counted or found, such as `i` and `1 - side`, are fine.
"""
import os
import re
import sys

PLACES = {"tile_op_operand": 2, "tile_op_segment": 2, "type_of": 1, "segment": 1}  # argument that is the place
ALLOWED = "operands.h"  # has the accessors


def arguments(text, at):
    """The arguments of the call whose parenthesis is before `at`."""
    depth, found, start = 0, [], at
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and text[i] == ","):
            found.append(text[start:i].strip())
            start = i + 1
        if depth < 0:
            break
    return found


def check(path):
    text = open(path, encoding="utf-8").read()
    for call in re.finditer(r"(?<!\w)(%s)\(" % "|".join(PLACES), text):
        place = PLACES[call.group(1)]
        found = arguments(text, call.end())
        if len(found) > place and re.search(r"^\d+u?$|[?:] \d", found[place]):
            print(f"{path}:{text.count(chr(10), 0, call.start()) + 1}: {call.group(1)}({', '.join(found)})")


count = 0
for root in sys.argv[1:]:
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".c", ".h")) and name != ALLOWED:
                count += 1
                check(os.path.join(folder, name))
print("files looked at:", "some" if count else "none")

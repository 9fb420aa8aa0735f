"""Finds operands that are accessed by number, which only the code generated from ops.def may do.

    operand_numbers.py FOLDER...

Writes FILE:LINE: USE for each

- call of a function that takes an operand's position, with a number or a choice of numbers as the position. These
  functions are those of PLACES, and all that have a parameter `unsigned operand`;
- use of `->operands[N]` or `->segment[N]`, a value of an operation, and how many an operand has. A row's
  properties (`info->operands[0].form`) are not operands.

Positions that are counted or found, such as `i` and `1 - side`, are allowed. EXCEPTIONS lists others, and why.
"""
import os
import re
import sys

PLACES = {"tile_op_operand": 2, "tile_op_segment": 2, "type_of": 1, "segment": 1}  # which argument is the position
ALLOWED = "operands.h"  # contains the accessors
# Functions and files that are allowed.
EXCEPTIONS = {
    "lib/text/": "the parser and the printer: operands as they are written",
    "lib/builder/": "the builder: operands that make up an operation that does not exist yet",
    # Elementwise and rearranging operations have their operands in order, whatever their names.
    "tile_placement_of": "the first operand and result of any operation that rearranges",
    "tile_layout_of_result": "likewise",
    "sched_operand_map": "the operand of the first result of any operation that a schedule goes back through",
    "passes/simplify/fold.c": "rules over the operands a, b and c of whatever arithmetic, which they put in order",
    "passes/simplify/cse.c": "the two operands of any operation that commutes",
    # Numbers of something else.
    "runtime/cpu/execute/": "places in a decoded instruction",
    "make_pattern": "a matrix of the product that tile-bench measures",
    "fill_operand": "likewise",
    # Still to be named.
    "passes/loops/reduce_late.c": "the factors and the sum of an fma, and what stands for them in mul and add",
    "runtime/model/": "the model reads data of operations, without the operations",
}
PARAMETER = re.compile(r"^[a-z][\w \*]*?\**(\w+)\(([^;{}]*?\bunsigned operand\b[^;{}]*?)\)", re.M)
NUMBER = re.compile(r"^\d+u?$|[?:] \d")
RAW = re.compile(r"(?<!info)->(operands|segment)\[\d+u?\]")


def arguments(text, at):
    """The arguments of the call whose opening parenthesis precedes `at`."""
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


def is_exception(path, name):
    return name in EXCEPTIONS or any(part in path for part in EXCEPTIONS if "/" in part)


def find_places(text):
    """The functions of a file that extend PLACES: {name: argument}."""
    found = {}
    for head in PARAMETER.finditer(text):
        parameters = arguments(text, head.start(2))
        found[head.group(1)] = next(i for i, p in enumerate(parameters) if re.search(r"\bunsigned operand$", p))
    return found


def check(path, text, places):
    def tell(at, use):
        print(f"{path}:{text.count(chr(10), 0, at) + 1}: {use}")

    for call in re.finditer(r"(?<!\w)(%s)\(" % "|".join(places), text):
        found, place = arguments(text, call.end()), places[call.group(1)]
        if len(found) > place and NUMBER.search(found[place]) and not is_exception(path, call.group(1)):
            tell(call.start(), f"{call.group(1)}({', '.join(found)})")
    for use in RAW.finditer(text):
        if not is_exception(path, ""):
            tell(use.start(), use.group(0))


texts = {}
for root in sys.argv[1:]:
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".c", ".h")) and name != ALLOWED:
                texts[os.path.join(folder, name)] = open(os.path.join(folder, name), encoding="utf-8").read()
shared = dict(PLACES)
for path, text in texts.items():
    if path.endswith(".h"):
        shared.update(find_places(text))
for path, text in texts.items():
    check(path, text, {**shared, **find_places(text)})
print("files looked at:", "some" if texts else "none")

"""Compares the columns `by` and `read_by` of attrs.def with the sources of the passes.

usage: attribute_contract.py ROOT

For each pass of passes.def, it follows calls from the pass's function through the sources under passes/.
A function that a table holds as `.field = function` counts as called by every caller of `.field(..)`. It collects
the attributes that these functions name: as an argument of a function `.._set_..` (written), of one
`..remove..` (removed), or otherwise (read). A column that says "any" is not compared: the attribute is
part of what the operation means.
"""
import collections
import glob
import os
import re
import sys

ROOT = sys.argv[1]
WORD = re.compile(r"\w+")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def top_level(text):
    """The definitions of a file: pairs of the text before the first brace, and the whole text."""
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    depth, start, brace = 0, 0, None
    for match in re.finditer(r"[{};]", text):
        if match.group() == "{":
            brace = match.start() if brace is None else brace
            depth += 1
            continue
        depth -= match.group() == "}"
        # A function ends with its brace, everything else with a semicolon.
        is_function = brace is not None and text[start:brace].rstrip().endswith(")")
        if depth == 0 and (match.group() == ";" or is_function):
            if brace is not None:
                yield text[start:brace].strip(), text[start : match.end()]
            start, brace = match.end(), None


def name_of(head):
    """The name of a function or of an initialized table; None for types."""
    match = re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*=$", head) or re.search(r"(\w+)\s*\(", head)
    return match and match.group(1)


def find_definitions():
    found = collections.defaultdict(dict)
    for path in sorted(glob.glob(os.path.join(ROOT, "passes", "**", "*.[ch]"), recursive=True)):
        for head, body in top_level(read(os.path.relpath(path, ROOT))):
            if name_of(head):
                found[name_of(head)][path] = (head, body)
    return found


FIELD = re.compile(r"\.(\w+)\s*=\s*(\w+)")


def uses(definitions, name, path, called):
    """The definitions that this one names: those of its file, or public ones of others."""
    head, body = definitions[name][path]
    not_called = set()
    if head.endswith("="):
        not_called = {value for field, value in FIELD.findall(body) if field not in called}
    for word in set(WORD.findall(re.sub(r"(?:\.|->)\w+", " ", body))) - {name} - not_called:
        places = definitions.get(word, {})
        if path in places:
            yield word, path
            continue
        for other, (head, _) in places.items():
            if other.endswith(".h") or not head.startswith("static"):
                yield word, other


def reach(definitions, start):
    """All that a function uses, and the fields that it calls."""
    seen, called, before = set(), set(), None
    while called != before:
        seen, todo, before = set(start), list(start), called
        while todo:
            more = set(uses(definitions, *todo.pop(), called)) - seen
            seen |= more
            todo += more
        bodies = (definitions[name][path][1] for name, path in seen)
        called = {field for body in bodies for field in re.findall(r"(?:\.|->)(\w+)\(", body)}
    return seen


def callee_before(text):
    """The function whose argument list is open at the end of the text; empty if there is none."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] == ")":
            depth += 1
        elif text[at] == "(" and depth:
            depth -= 1
        elif text[at] == "(":
            match = re.search(r"(\w+)\s*$", text[:at])
            return match.group(1) if match else ""
        elif text[at] in "{};" and not depth:
            return ""
    return ""


def accesses(body):
    for match in re.finditer(r"\bTILE_ATTR_([a-z]\w*)", body):
        callee = callee_before(body[: match.start()])
        kind = "removes" if "remove" in callee else "by" if "_set_" in callee else "read_by"
        yield kind, match.group(1)


def passes_access(definitions):
    found = collections.defaultdict(set)
    for run in re.findall(r'PASS\("[\w-]+",\s*tile_pass_(\w+)', read("passes/passes.def")):
        start = [("tile_pass_" + run, path) for path in definitions["tile_pass_" + run]]
        assert start, f"tile_pass_{run} is defined nowhere under passes/"
        for name, path in reach(definitions, start):
            for kind, attribute in accesses(definitions[name][path][1]):
                found[kind, attribute].add(run.replace("_", "-"))
    return found


def columns():
    row = re.compile(r'^ATTR\(\s*\d+,\s*(\w+),\s*\w+,\s*"([^"]*)",\s*"([^"]*)",\s*"([^"]*)",', re.M)
    for name, by, read_by, _ in row.findall(read("include/tile/attrs.def")):
        yield name, words(by), words(read_by)


def words(column):
    return {re.sub("^(?:early|late):", "", word) for word in column.split()}


def main():
    found = passes_access(find_definitions())
    if sys.argv[2:] == ["--list"]:
        for kind, attribute in sorted(found, key=lambda key: key[1]):
            print(attribute, kind, *sorted(found[kind, attribute]))
        return 0
    rows, wrong = list(columns()), 0
    for name, by, read_by in rows:
        for kind, said in (("by", by), ("read_by", read_by)):
            if "any" in said:
                continue
            real, said = found[kind, name], said - {"user"}
            for run in sorted(real - said):
                wrong += 1
                print(f"{name}: {run} is missing in `{kind}`")
            for run in sorted(said - real):
                wrong += 1
                print(f"{name}: no source of {run} belongs to `{kind}`")
    print(f"{len(rows)} attributes, {wrong} differences")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

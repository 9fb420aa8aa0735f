"""Runs the examples in the head comments of the passes, and compares their contracts with the table.

    run_head_comments.py TILE_OPT PASSES_DEF FOLDER

Each pass of PASSES_DEF must have one file under FOLDER whose head comment shows its work:

     * target: sm_90a                               (optional; the tool's default otherwise)
     * pipeline: instantiate{n=4},<this pass>       (optional; the pass alone otherwise)
     * before:
     *     kernel @k() ... { ... }
     * after:
     *     kernel @k() ... { ... }

A block starts on the line after its keyword and ends with the first line that is not indented deeper
than the keyword, or with the comment. `before` is run through the pipeline. The result and `after`, both
printed once more by tile-opt, must be the same text.

The comment must also repeat the pass's row, in these lines:

     * level: 2 to 3                    (any; 2 and 3; 2 to 2)
     * requires: instantiated, laid_out (or nothing)
     * keeps: everything                (or nothing, or names)
     * breaks: nothing
"""
import csv
import difflib
import os
import re
import subprocess
import sys


def head_comment(path):
    """The file's first comment, without the comment marks; lines keep their indentation."""
    with open(path) as file:
        text = file.read()
    match = re.match(r"/\*(.*?)\*/", text, re.S)
    if not match:
        return []
    # The first line, "name: purpose", is prose; in the pass named pipeline it would be parsed as a key.
    return [re.sub(r"^ \*( |$)", "", line) for line in match.group(1).rstrip().split("\n")[1:]]


def rows_of(table):
    """Yields the columns of each row of passes.def, without quotes."""
    with open(table) as file:
        for text in re.findall(r"^PASS\((.*)\)$", file.read(), re.M):
            yield [column.strip() for column in next(csv.reader([text], skipinitialspace=True))]


def level_words(level_in, level_out):
    """L2, L3 -> "2 to 3"; the same on both sides and more than one level -> "2 and 3", "any"."""
    if level_in == level_out == "LX":
        return "any"
    if level_in == level_out and len(level_in) > 2:
        return " and ".join(level_in[1:])
    return f"{level_in[1:]} to {level_out[1:]}"


def set_words(expression):
    fixed = {"NOTHING": "nothing", "KEEPS_ALL": "everything"}
    return fixed.get(expression, ", ".join(part.strip() for part in expression.split("|")))


def contract_of(row):
    """The four lines that the head comment must have."""
    _, _, _, level_in, level_out, _, requires, _, keeps, breaks, _ = row
    return {"level": level_words(level_in, level_out), "requires": set_words(requires),
            "keeps": set_words(keeps), "breaks": set_words(breaks)}


def check_contract(row, lines):
    """Yields errors in the contract lines of a head comment."""
    if len(row) != 11:
        yield f"the row has {len(row)} columns, not 11"
        return
    for key, wanted in contract_of(row).items():
        found = [line.strip()[len(key) + 1:].strip() for line in lines
                 if re.match(rf"\s*{key}:", line)]
        if found != [wanted]:
            yield f"{key}: the row says {[wanted]}, the comment {found}"


def indentation(line):
    return len(line) - len(line.lstrip())


def blocks_of(lines):
    """Yields (target or None, pipeline or None, before, after) for every example in a comment."""
    target, pipeline, before = None, None, None
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        match = re.match(r"\s*(target|pipeline|before|after):\s*(.*)$", line)
        if not match:
            continue
        keyword, rest = match.groups()
        if keyword == "pipeline":
            pipeline = rest.strip()
            continue
        if keyword == "target":
            target = rest.strip()
            continue
        block = [rest] if rest else []
        while index < len(lines) and (
                not lines[index].strip() or indentation(lines[index]) > indentation(line)):
            block.append(lines[index])
            index += 1
        if keyword == "before":
            before = "\n".join(block) + "\n"
        elif before is not None:
            yield target, pipeline, before, "\n".join(block) + "\n"
            target, pipeline, before = None, None, None


def run(tool, arguments, text):
    result = subprocess.run([tool, *arguments, "-"], input=text, text=True, capture_output=True)
    if result.returncode != 0:
        raise ValueError(f"tile-opt {' '.join(arguments)} failed:\n{result.stderr}\n{text}")
    return result.stdout


def check(tool, name, example):
    """Returns the error in one example, or None."""
    target, pipeline, before, after = example
    options = ["--target=" + target] if target else []
    pipeline = (pipeline or name).replace("<this pass>", name)
    try:
        found = run(tool, [], run(tool, [*options, "--pass-pipeline=" + pipeline], before))
        wanted = run(tool, [], after)
    except ValueError as error:
        return str(error)
    if found == wanted:
        return None
    return "\n".join(difflib.unified_diff(wanted.splitlines(), found.splitlines(),
                                          "after: in the comment", "what the pass does", "", "", 9, ""))


def main(tool, table, folder):
    rows = list(rows_of(table))
    files = [os.path.join(path, name) for path, _, found in os.walk(folder) for name in found
             if name.endswith(".c")]
    failures = 0 if rows else 1
    for row in rows:
        name = row[0]
        wanted = name.replace("-", "_") + ".c"
        sources = [path for path in files if os.path.basename(path) == wanted]
        lines = [line for path in sources for line in head_comment(path)]
        examples = list(blocks_of(lines))
        problems = [problem for problem in (check(tool, name, e) for e in examples) if problem]
        problems += check_contract(row, lines)
        if not sources:
            problems = [f"there is no file {wanted}"]
        elif not examples:
            problems = [f"the head comment of {wanted} has no before: and after:"]
        print(f"{'FAIL' if problems else 'ok'}: {name} ({len(examples)} examples)")
        for problem in problems:
            print(problem)
        failures += len(problems)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Compares all that a command says with a test's text: COMMAND 2>&1 | messages.py FILE [--update].

The text is what follows a line `// MESSAGES` in FILE, each line after `// `; nothing may be missing, and nothing may be
there besides. FILE's own name stands as FILE in it. --update writes what the command says into FILE.
"""
import difflib
import os
import sys

MARK = "// MESSAGES"


def clean(text, path):
    lines = text.replace(path, "FILE").replace(os.path.realpath(path), "FILE").split("\n")
    return [line.rstrip() for line in lines[:-1] if line or lines[-1]]


def main():
    path, update = sys.argv[1], "--update" in sys.argv[2:]
    said = clean(sys.stdin.read(), path)
    with open(path) as file:
        program, mark, rest = file.read().partition(MARK + "\n")
    if not mark:
        sys.exit(f"{path}: there is no line `{MARK}`")
    if update:
        with open(path, "w") as file:
            file.write(program + mark + "".join(f"// {line}".rstrip() + "\n" for line in said))
        return
    expected = [line[3:] for line in rest.split("\n")[:-1]]
    if said != expected:
        sys.exit("\n".join(difflib.unified_diff(expected, said, "expected", "said", lineterm="")))


main()

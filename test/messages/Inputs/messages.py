"""Compares all messages of a command with a test's text: COMMAND 2>&1 | messages.py FILE [--update].

The text follows a line `// MESSAGES` in FILE, each line after `// `. It must be complete, without further messages.
FILE's own name is written as FILE in it. --update writes the messages of the command into FILE.
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

"""Words that the sources, the tests and the README must not use: each has one that is used instead.

usage: check_words.py FOLDER
"""
import os
import pathlib
import re
import sys

INSTEAD = {
    r"slots?": "'stage' of a shared buffer, 'place' in the CPU device's register file",
    r"thread ?groups?": "'thread block'",
    r"work ?groups?": "'thread block'",
    r"background cop(y|ies)": "'asynchronous copy'",
}
# A word may be a part of a name with underscores.
WORD = {re.compile(rf"(?<![a-z])({word})(?![a-z])", re.IGNORECASE): instead
        for word, instead in INSTEAD.items()}
SUFFIXES = {".c", ".h", ".def", ".md", ".tile", ".test", ".py", ".txt"}


def files(root):
    """Build folders are not entered: other tests make and remove files there meanwhile."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            if path.suffix in SUFFIXES:
                yield path


def main():
    root = pathlib.Path(sys.argv[1])
    own = {pathlib.Path(__file__).resolve()}
    seen = found = 0
    for path in files(root):
        if path.resolve() in own:
            continue
        seen += 1
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for word, instead in WORD.items():
                for match in word.finditer(line):
                    found += 1
                    print(f"{path}:{number}: '{match.group()}': write {instead}")
    print(f"{seen} files, {found} words")
    return found > 0 or seen == 0


sys.exit(main())

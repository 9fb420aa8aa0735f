"""Checks for words and phrases that sources, tests and documents must not use, and prints replacements.

usage: check_words.py FOLDER

banned.txt, in this script's folder, has the phrases. lib/ir/renames.def and renamed_identifiers.def have the words that
were renamed; renames.def also has the forms in which the tree must not contain them. The new name of a C identifier must
exist. A phrase may be wrapped: lines are joined without comment marks and without the quotation marks of C's adjacent
strings.
"""
import bisect
import os
import pathlib
import re
import shlex
import sys

OWN = pathlib.Path(__file__).resolve()
LIST = OWN.parent / "banned.txt"
RENAMES = ("lib/ir/renames.def", "lib/ir/renamed_identifiers.def")
# The lists themselves, and tests of them.
EXEMPT = {*RENAMES, "test/text/Inputs/banned.txt", "test/text/Inputs/check_words.py",
          "test/text/words.test", "test/text/renames.tile", "test/tile-opt/migrate.test"}
SUFFIXES = {".c", ".h", ".def", ".md", ".tile", ".test", ".py", ".txt"}
MARK = re.compile(r"\s*(/\*+|\*+/|\*|//+|#(?!include|define|if|endif|else|undef|error)|;)?\s*")


def phrase(words):
    """Any blank matches between words, so that a phrase may be wrapped. Underscores join the words of a name."""
    return rf"(?<![a-zA-Z])(?:{words.replace(' ', ' +')})(?![a-zA-Z])"


def longest_literal(words):
    """A string that every match contains: it is searched first, which takes less time."""
    return max(re.split(r"\(.*?\)\??|\w\?|[ ?]", words), key=len).lower()


def banned_phrases():
    """A line of the list: the phrase as a regular expression, a bar, the replacement."""
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            words, instead = line.split(" | ")
            yield longest_literal(words), re.compile(phrase(words), re.IGNORECASE), None, instead


def renamed_words(tables):
    """The forms of each row that its kind names, with the file suffixes to which they are limited."""
    text = "".join(table.read_text() for table in tables if table.exists())
    kinds = {kind: shlex.split(forms)
             for kind, forms in re.findall(r'^TILE_RENAME_KIND\((\w+), *\w+, *"(.*)"\)', text, re.MULTILINE)}
    for kind, where, old, now in re.findall(r'^TILE_RENAME\((\w+), *"(.*?)", *"(.*?)", *"(.*?)"\)', text, re.MULTILINE):
        suffixes = {form[1:] for form in kinds[kind] if form.startswith("*.")}
        for form in kinds[kind]:
            if not form.startswith("*."):
                old_form = re.escape(form.replace("OLD", old).replace("WHERE", where)).replace(r"\ ", " ")
                yield old.lower(), re.compile(rf"(?<![\w-]){old_form.replace(' ', ' +')}(?![\w-])"), suffixes, f"'{now}'"


def unknown_names(tables, names):
    """Rows whose new name does not exist, because it was renamed once more."""
    for table in tables:
        text = table.read_text() if table.exists() else ""
        for old, now in re.findall(r'^TILE_RENAME\(identifier, *"", *"(\w+)", *"(\w+)"\)', text, re.MULTILINE):
            if now not in names:
                yield f"{table}: '{now}', which '{old}' became, does not exist: write its name of today"


def files(root):
    """Build folders in the root are skipped, because other tests create and remove files there meanwhile."""
    for folder, inner, names in os.walk(root):
        skipped = (".", "build") if pathlib.Path(folder) == root else (".",)
        inner[:] = sorted(name for name in inner if not name.startswith(skipped))
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            if path.suffix in SUFFIXES and path.relative_to(root).as_posix() not in EXEMPT:
                yield path


def joined(text):
    """The lines joined, and where each begins in the result."""
    parts, starts, at = [], [], 0
    for number, line in enumerate(text.splitlines()):
        line = line.rstrip().removesuffix("*/").rstrip()
        if number and not MARK.fullmatch(line):
            line = line[MARK.match(line).end():]
        if parts and line.startswith('"') and parts[-1].endswith('" '):
            parts[-1], line, at = parts[-1][:-2], line[1:], at - 2
        starts.append(at)
        parts.append(line + " ")
        at += len(parts[-1])
    return "".join(parts), starts


def main():
    root = pathlib.Path(sys.argv[1])
    tables, names = [root / table for table in RENAMES], set()
    rules = [*banned_phrases(), *renamed_words(tables)]
    seen = found = 0
    for path in files(root):
        seen += 1
        text, starts = joined(path.read_text(errors="replace"))
        lower = text.lower()
        if path.suffix in (".c", ".h", ".def"):
            names.update(re.findall(r"\w+", text))
        hits = [(match.start(), match.group(), instead) for literal, rule, suffixes, instead in rules
                if literal in lower and (not suffixes or path.suffix in suffixes) for match in rule.finditer(text)]
        for at, words, instead in sorted(hits):
            found += 1
            print(f"{path}:{bisect.bisect_right(starts, at)}: '{words}': write {instead}")
    for line in unknown_names(tables, names):
        found += 1
        print(line)
    print(f"{seen} files, {found} words")
    return found > 0 or seen == 0


sys.exit(main())

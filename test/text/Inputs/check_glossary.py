"""Checks the manual's glossary: sorted, each word once, and in use in the texts that the tools print.

usage: check_glossary.py MANUAL ROOT
"""
import pathlib
import re
import sys

AT_LEAST = 30
OWN = {"manual.c", "glossary.def"}  # uses in these files do not count


def read_rows(manual):
    """The table's lines; any other line in it is an error."""
    _, _, rest = manual.partition("\n## Glossary\n")
    rest = rest[rest.find("| word |"):] if "| word |" in rest else ""
    head, rows = rest.splitlines()[:2], rest.splitlines()[2:]
    if head != ["| word | meaning |", "|---|---|"]:
        raise SystemExit("the manual has no glossary")
    return [re.fullmatch(r"\| ([^|]+) \| ([^|]+) \|", row) or row for row in rows]


def read_texts(root):
    """All string literals of the library, the passes, the runtime and the tools, the tables, and the manual's prose."""
    texts = []
    for folder in ("include", "lib", "passes", "runtime", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.parent.name == "chapters":
                texts.append(path.read_text())
            if path.suffix not in {".c", ".h", ".def"} or path.name in OWN:
                continue
            texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text())
    return "\n".join(texts)


def main():
    rows = read_rows(pathlib.Path(sys.argv[1]).read_text())
    faults = [f"no row of two columns: {row}" for row in rows if isinstance(row, str)]
    rows = [row.groups() for row in rows if not isinstance(row, str)]
    words = [word for word, _ in rows]
    texts = read_texts(pathlib.Path(sys.argv[2]))
    faults += [f"'{b}' does not come after '{a}'" for a, b in zip(words, words[1:]) if a >= b]
    faults += [f"'{word}' is in no text" for word in words
               if not re.search(rf"\b{re.escape(word)}s?\b", texts)]
    faults += [f"'{word}' is explained by itself" for word, meaning in rows if meaning == word]
    if len(words) < AT_LEAST:
        faults.append(f"{len(words)} words, {AT_LEAST} are wanted")
    print(*faults, f"{len(words)} words", sep="\n")
    return bool(faults)


sys.exit(main())

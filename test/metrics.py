#!/usr/bin/env python3
"""Counts production code, by folder and in total, as a table in Markdown.

    test/metrics.py                  the working tree, including uncommitted files
    test/metrics.py --base=COMMIT    also the counts of the commit, or of another tree's folder: `base -> now`
    test/metrics.py --check          exit status 1 if a limit is exceeded (LIMITS; with --base no more lines of C and
                                     no fewer lines of comments than there)

files      all tracked files of the folder itself
lines      of .c and .h with code, after clang-format: without blanks and comments
comments   lines of .c and .h that contain only a comment, after clang-format
over       .c and .h files of more than 600 lines (tables are .def files)
functions  definitions in .c and .h; their median, 90th percentile and longest, in lines from the head to `}`

A function begins at column 0 and ends with the next `}` at column 0, which clang-format ensures. Without
clang-format, or with --as-is, files are counted unformatted, and a line says so.
"""
import argparse
import dataclasses
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

FOLDERS = ("include", "lib", "passes", "runtime", "tools")
LIMITS = {"file": 600, "folder": 45, "median": 8, "p90": 20, "longest": 70}
TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVES = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
BATCH = 64  # files per clang-format process


@dataclasses.dataclass
class Counts:
    files: int = 0
    lines: int = 0
    comments: int = 0
    over: list = dataclasses.field(default_factory=list)       # (lines, path)
    functions: list = dataclasses.field(default_factory=list)  # (lines, path, name)

    def add(self, other):
        self.files += other.files
        self.lines += other.lines
        self.comments += other.comments
        self.over += other.over
        self.functions += other.functions

    def at(self, share):
        lengths = sorted(length for length, _, _ in self.functions)
        return lengths[min(len(lengths) - 1, int(len(lengths) * share))] if lengths else 0

    def cells(self):
        return [self.files, self.lines, self.comments, len(self.over), len(self.functions), self.at(0.5), self.at(0.9),
                self.at(1)]


HEADS = ("files", "lines", "comments", "over", "functions", "median", "p90", "longest")


def blank(text, keep_strings=False):
    """The text without comments, whose newlines are kept, and with empty strings."""
    def replace(match):
        token = match[0]
        if token[0] == "/":
            return " " + "\n" * token.count("\n")
        return token if keep_strings else token[0] * 2
    return TOKENS.sub(replace, text)


def find_functions(text):
    """(number of lines, name) of each function definition."""
    bare = DIRECTIVES.sub(lambda match: "\n" * match[0].count("\n"), blank(text))
    head, begin, inside = "", 0, None  # inside: the name of the function, "" in another block
    for number, line in enumerate(bare.split("\n")):
        if inside is not None:
            # An initializer may end on its last element's line.
            if line.startswith("}") or (not inside and line.rstrip().endswith("};")):
                if inside:
                    yield number - begin + 1, inside
                head, inside = "", None
            continue
        if not line.strip() or (not head and line[0].isspace()):
            continue
        if not head:
            begin = number
        head += line + " "
        if line.rstrip().endswith("{"):
            name = re.match(r"[^=({]*?(\w+)\s*\(", head)
            # extern "C" { ends far away, and its contents begin at column 0.
            inside = None if head.startswith("extern \"\" {") else name[1] if name and "=" not in head else ""
            head = "" if inside is None else head
        elif line.rstrip()[-1] in ";}" or is_macro(head):
            head = ""


def is_macro(head):
    """A use of a macro at column 0, such as `OP(1, add)` in a table."""
    return head[0].isupper() and head.count("(") == head.count(")") and head.rstrip().endswith(")")


def count_file(path, text, original):
    counts = Counts(files=1)
    if path.endswith((".c", ".h")):
        code = blank(text, keep_strings=True).split("\n")
        has_code = [bool(line.strip()) for line in code]
        counts.lines = sum(has_code)
        counts.comments = sum(bool(line.strip()) and not code_here
                              for line, code_here in zip(text.split("\n"), has_code))
        length = original.count("\n")
        if length > LIMITS["file"]:
            counts.over.append((length, path))
        counts.functions = [(lines, path, name) for lines, name in find_functions(text)]
    return counts


def git(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True).stdout


def read_folder(root):
    """All files of a tree that is not a git checkout."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def read_working_tree(root):
    if not (root / ".git").exists():
        return read_folder(root)
    names = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *FOLDERS)
    paths = sorted(set(name for name in names.decode().split("\0") if name))
    return {path: (root / path).read_bytes() for path in paths if (root / path).is_file()}


def read_base(root, commit):
    if os.path.isdir(commit):
        return read_working_tree(pathlib.Path(commit))
    listed = git(root, "ls-tree", "--name-only", commit).decode().split()
    archive = git(root, "archive", "--format=tar", commit, *[folder for folder in FOLDERS if folder in listed])
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def format_files(root, files):
    """The .c and .h files after clang-format."""
    paths = [path for path in files if path.endswith((".c", ".h"))]
    with tempfile.TemporaryDirectory() as folder:
        style = root / ".clang-format"
        if style.exists():
            shutil.copy(style, folder)
        for path in paths:
            (pathlib.Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (pathlib.Path(folder) / path).write_bytes(files[path])
        batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
        running = []
        for batch in batches:
            if len(running) == os.cpu_count():
                finish(running.pop(0))
            running.append(subprocess.Popen(["clang-format", "-i", *batch], cwd=folder))
        for process in running:
            finish(process)
        return {**files, **{path: (pathlib.Path(folder) / path).read_bytes() for path in paths}}


def finish(process):
    if process.wait():
        sys.exit("metrics.py: clang-format failed")


def measure(root, files, formats):
    """Counts by folder, and the total under `all`."""
    formatted = format_files(root, files) if formats else files
    folders, total = {}, Counts()
    for path in sorted(files):
        one = count_file(path, formatted[path].decode(errors="replace"), files[path].decode(errors="replace"))
        folders.setdefault(os.path.dirname(path), Counts()).add(one)
        total.add(one)
    return {**dict(sorted(folders.items())), "all": total}


def print_table(now, base):
    print("| folder | " + " | ".join(HEADS) + " |")
    print("|---|" + "---:|" * len(HEADS))
    names = [name for name in sorted({*now, *(base or {})}) if name != "all"]
    for name in [*names, "all"]:
        cells = now[name].cells() if name in now else ["-"] * len(HEADS)
        if base is not None:
            old = base[name].cells() if name in base else ["-"] * len(HEADS)
            cells = [f"{before} -> {after}" for before, after in zip(old, cells)]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    print()
    for length, path in sorted(now["all"].over, reverse=True):
        print(f"{path}: {length} lines")
    for length, path, name in sorted(now["all"].functions, reverse=True)[:5]:
        print(f"{path}: {name} has {length} lines")


def passed_limits(now, base):
    total = now["all"]
    for length, path in total.over:
        yield f"{path} has {length} lines, the limit is {LIMITS['file']}"
    for name, counts in now.items():
        if name != "all" and counts.files > LIMITS["folder"]:
            yield f"{name} has {counts.files} files, the limit is {LIMITS['folder']}"
    for name, share in (("median", 0.5), ("p90", 0.9), ("longest", 1)):
        if total.at(share) > LIMITS[name]:
            yield f"{name} of functions is {total.at(share)} lines, the limit is {LIMITS[name]}"
    if base:
        if total.lines > base["all"].lines:
            yield f"{total.lines} lines of C, the base has {base['all'].lines}"
        if total.comments < base["all"].comments:
            yield f"{total.comments} lines of comments, the base has {base['all'].comments}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--base", help="a commit, or a folder with a tree")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--as-is", action="store_true", help="do not run clang-format")
    options = parser.parse_args()
    formats = not options.as_is and shutil.which("clang-format") is not None
    now = measure(options.root, read_working_tree(options.root), formats)
    base = measure(options.root, read_base(options.root, options.base), formats) if options.base else None
    print_table(now, base)
    if not formats:
        print("files were counted as they are, not as clang-format writes them")
    passed = list(passed_limits(now, base)) if options.check else []
    for line in passed:
        print(f"limit: {line}")
    return bool(passed)


if __name__ == "__main__":
    sys.exit(main())

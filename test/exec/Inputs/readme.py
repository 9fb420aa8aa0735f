"""Checks that documents are up to date: their programs are equal to the files', their commands on the build's programs
run as shown, and the output that they show is printed by one of these commands.

A block that is a kernel, a plan, a compute or a C program must be in a file that the document names. A command that
is followed by `# exit status N` must exit with N. A block marked `output`, or JSON, is the whole output of one
command; a line `...` stands for omitted lines. Trailing blanks and times in ms are not compared. A link must lead to
a file of the tree, and so must a path in the text, from the root or from the document's folder. The first page is
short.

usage: readme.py ROOT BUILD SCRATCH [DOCUMENT...]     without documents: each README.md in ROOT that has a block
"""
import os
import pathlib
import re
import subprocess
import sys

MOST_LINES, MOST_COLUMNS = 180, 100  # of the first page
SOURCE = ("compute ", "kernel ", "plan ", "#include ")
NAMED = re.compile(r"(?:lib|passes|runtime|tools|test)/[\w/-]+\.(?:tile|c)\b")
TIME = re.compile(r"\d[\d.]*(?= ms\b)")


def blocks(text):
    """[(tag of the fence, the block)]"""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """Lines that begin with a program of the build, with their continuations, and the expected exit status."""
    for mark, block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines() if not mark else ():
            if line.startswith("build/bin/"):
                status = re.search(r"# exit status (\d+)$", line)
                yield line, int(status[1]) if status else 0


def sources(text, root):
    """Each block that is a program must be in one of the files that the document names."""
    files = [root / name for name in NAMED.findall(text)]
    for mark, block in blocks(text):
        if not mark and block.startswith(SOURCE):
            found = any(file.exists() and block in file.read_text() for file in files)
            if not found:
                print(f"in no file:\n{block}")
            yield found


def normal(text):
    return "".join(f"{TIME.sub('N', line.rstrip())}\n" for line in text.splitlines())


def is_part(block, output):
    """True if the output matches the block; a line `...` of the block stands for one line or more."""
    first, *others = re.split(r"^ *\.\.\.\n", block, flags=re.M)
    if not others:
        return block == output
    if not output.startswith(first):
        return False
    at = len(first)
    for part in others:
        at = output.find("\n", at) + 1  # at least one line is omitted
        if not at:
            return False
        if part is others[-1] and part:
            return output.endswith(part) and len(output) - len(part) >= at and output[-len(part) - 1] == "\n"
        found = output.find("\n" + part, at - 1)
        if found < 0:
            return False
        at = found + 1 + len(part)
    return True


def shown(text, printed):
    """Each block of output, or of JSON, must be printed by a command."""
    for mark, block in blocks(text):
        if mark == "output" or block.startswith("{"):
            found = any(is_part(normal(block), output) for output in printed)
            if not found:
                print(f"no command prints this:\n{block}")
            yield found


def links(document, text, root):
    """Each link that is a path must lead from the document to a file, so must each path between backquotes. `x.[ch]`
    is two files, and `x*.c` several. Exceptions: build folders, share/ (installed files) and NAME (a placeholder)."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s:]+)\)", text):
        there = (document.parent / link).exists()
        if not there:
            print(f"leads to no file: {link}")
        yield there
    for name in re.findall(r"`([\w.-]+/[\w./*\[\]-]*)`", text):
        if not name.startswith(("build", "share/")) and not re.search("NAME|FOLDER", name):
            folders = (root, root / "include", document.parent)
            there = any(any(folder.glob(name.rstrip("/"))) for folder in folders)
            if not there:
                print(f"is no path: {name}")
            yield there


def is_short(text):
    """Checks that the first page has few and short lines."""
    lines = text.splitlines()
    long = [number for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]
    if len(lines) > MOST_LINES or long:
        print(f"{len(lines)} lines, at most {MOST_LINES}; more than {MOST_COLUMNS} columns in lines {long}")
        return False
    return True


def check(document, root, scratch, is_copy):
    text = document.read_text()
    found, printed = list(sources(text, root)), []
    found += () if is_copy else links(document, text, root)
    found += [is_short(text)] if document.parent == root else []
    for line, status in commands(text):
        run = subprocess.run(["bash", "-c", line], cwd=scratch, capture_output=True, text=True)
        found.append(run.returncode == status)
        printed += [normal(run.stdout), normal(run.stderr)]
        if run.returncode != status:
            print(f"{line}\nexit status {run.returncode} instead of {status}\n{run.stderr}")
    found += shown(text, printed)
    wrong = found.count(False)
    print(f"{document}: {len(found)} tried, {wrong} wrong")
    return wrong > 0 or not found


def documents(root):
    for folder, inner, names in os.walk(root):
        skipped = (".", "build") if pathlib.Path(folder) == root else (".",)  # lib/builder is no build folder
        inner[:] = sorted(name for name in inner if not name.startswith(skipped))
        path = pathlib.Path(folder, "README.md")
        if "README.md" in names and blocks(path.read_text()):
            yield path


def main():
    root, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[3])
    for name, where in (("tools", root / "tools"), ("test", root / "test"),
                        ("build", pathlib.Path(sys.argv[2]).resolve())):
        if not (scratch / name).is_symlink():
            os.symlink(where, scratch / name)
    chosen = [pathlib.Path(name) for name in sys.argv[4:]]
    faults = [check(document, root, scratch, bool(chosen)) for document in chosen or documents(root)]
    return any(faults) or not faults


if __name__ == "__main__":
    sys.exit(main())

"""What documents show is what there is: their programs are those of the files, their commands on the build's programs run
as they are written, and what they show as output is printed by one of these commands.

A block that is a kernel, a plan, a compute or a C program stands in a file that the document names. A command that ends
with `# exit status N` has to exit so. A block marked `output`, or of JSON, is the whole output of one command; `...` on
a line of its own stands for lines that are left out. Blanks at the end of a line and times in ms are not compared.
A link leads to a file of the tree, and a path in the text is one: from the root, or from the folder of the document. The first page is
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
    """[(what the fence says, the block)]"""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """Lines that begin with a program of the build, with those that they go on in; and how they exit."""
    for mark, block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines() if not mark else ():
            if line.startswith("build/bin/"):
                status = re.search(r"# exit status (\d+)$", line)
                yield line, int(status[1]) if status else 0


def sources(text, root):
    """Each block that is a program stands in one of the files that the document names."""
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
    """Whether the output is the block; a line `...` of the block stands for one line or more."""
    first, *others = re.split(r"^ *\.\.\.\n", block, flags=re.M)
    if not others:
        return block == output
    if not output.startswith(first):
        return False
    at = len(first)
    for part in others:
        at = output.find("\n", at) + 1  # a line at least is left out
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
    """Each block of output, or of JSON, is what a command printed."""
    for mark, block in blocks(text):
        if mark == "output" or block.startswith("{"):
            found = any(is_part(normal(block), output) for output in printed)
            if not found:
                print(f"no command prints this:\n{block}")
            yield found


def links(document, text, root):
    """Each link that is a path leads from the document to a file, and each path between backquotes is one; `x.[ch]` is two
    files, and `x*.c` some. Build folders are made, share/ is where things are installed, and NAME stands for others."""
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
    """Whether the first page has few and short lines."""
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
        inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
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

"""Runs what pages of the manual show. A block that begins with `// NAME.tile` (or `# NAME.py`) is a file. A block
whose lines begin with a tool's name has commands, one per line, `\\` to continue a line. A command exits with 0, or
as `# exit status N` after it says. A block tagged `output` is the whole output of one of the page's commands, with
`...` for omitted lines. Blocks with other tags are in other languages and are not run.

usage: pages.py SCRATCH PAGE.md...      the pages in files
       pages.py SCRATCH --ops           the page of each operation, which needs a program, a command and its output
       pages.py SCRATCH --manual        each chapter
"""
import pathlib
import re
import subprocess
import sys

from readme import is_part, normal

COMMAND = re.compile(r"(?:tile-\w+|tilec|od) ")
FILE = re.compile(r"(?://|#) ([\w-]+\.\w+)\n")


def blocks(text):
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def run(line, folder, printed):
    """The error message, or nothing."""
    status = re.search(r"# exit status (\d+)$", line)
    ran = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300)
    said = ran.stdout + ran.stderr
    printed += [normal(ran.stdout), normal(ran.stderr), normal(said)]
    if ran.returncode != (int(status[1]) if status else 0):
        return f"{line}\nexit status {ran.returncode}\n{said}"
    if "--check" in line and not status and ": 0 wrong" not in said:
        return f"{line}\nnothing was checked\n{said}"
    return None


def run_page(name, text, folder, must):
    """The number of checks, and the error messages."""
    files = commands = checked = 0
    complaints, printed, outputs = [], [], []
    for tag, block in blocks(text):
        named = FILE.match(block)
        if tag == "output":
            outputs.append(block)
        elif not tag and named:
            (folder / named[1]).write_text(block)
            files += 1
        elif not tag and COMMAND.match(block):
            for line in block.replace("\\\n", " ").splitlines():
                wrong = run(line, folder, printed)
                commands += 1
                checked += "--check" in line
                complaints += [wrong] if wrong else []
    for block in outputs:
        if not any(is_part(normal(block), output) for output in printed):
            complaints.append(f"no command prints this:\n{block}")
    if must and not (files and commands and (outputs or checked)):
        complaints.append("there is no program, no command, or nothing that it prints")
    return files + commands + len(outputs), [f"{name}: {complaint}" for complaint in complaints]


def listed(option):
    """The names in the list that the option prints, and the pages."""
    text = subprocess.run(["tile-opt", option], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^  (\w+) ", text, re.M):
        yield name, subprocess.run(["tile-opt", f"{option}={name}"], capture_output=True, text=True, check=True).stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2] in ("--ops", "--manual"):
        pages = listed(sys.argv[2])
    else:
        pages = ((name, pathlib.Path(name).read_text()) for name in sys.argv[2:])
    count = tried = 0
    faults = []
    for name, text in pages:
        some, complaints = run_page(name, text, folder, sys.argv[2] == "--ops")
        count, tried, faults = count + 1, tried + some, faults + complaints
    print(*faults, f"{count} pages, {tried} tried, {len(faults)} wrong", sep="\n")
    return bool(faults) or not tried


if __name__ == "__main__":
    sys.exit(main())

"""Runs the commands of FILE and compares all their messages: commands.py FILE FOLDER [--update].

After the line `MESSAGES`, FILE has commands after `$ `, each followed by what it writes to standard error and its exit
status if that is not 0. They run in FOLDER, which contains k.tile, the part of FILE between `PROGRAM` and `MESSAGES`.
--update writes the messages of the commands into FILE.
"""
import difflib
import os
import subprocess
import sys


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
    lines = [line.rstrip() for line in done.stderr.splitlines()]
    return lines + ([f"status {done.returncode}"] if done.returncode else [])


def main():
    path, folder, update = sys.argv[1], sys.argv[2], "--update" in sys.argv[3:]
    with open(path) as file:
        head, rest = file.read().split("\nMESSAGES\n")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "k.tile"), "w") as file:
        file.write(head.split("\nPROGRAM\n")[1] + "\n")
    said = []
    for line in rest.splitlines():
        if line.startswith("$ "):
            said += [line] + run(line[2:], folder)
    if update:
        with open(path, "w") as file:
            file.write(head + "\nMESSAGES\n" + "".join(line + "\n" for line in said))
    elif said != rest.splitlines():
        sys.exit("\n".join(difflib.unified_diff(rest.splitlines(), said, "expected", "said", lineterm="")))


main()

"""Sweeps: tests of many cases of one kind, of which a share runs unless the whole is asked for.

Which cases run, the commit says: a failure can be repeated, and after some commits all have run.
TILE_TEST_SHARE=I/N, or lit's --param share=I/N, chooses the I-th of N shares, as in 3/8; 1/1 is the whole sweep.
Scripts take their cases with take() and draw(); lit's RUN lines are chosen by shell_test.py, which hands the share on in
the environment; unit tests ask is_in_share() (test/unit/share.h). What is run by hand does the whole. As a program, this
file prints the share of the commit.
"""
import os
import re
import subprocess

NAME = "TILE_TEST_SHARE"
SHARES = 8


def parse(text):
    """(I, N), 1 <= I <= N."""
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found.group(1)) > int(found.group(2)):
        raise SystemExit(f"{NAME}={text}: I/N is wanted, 1 <= I <= N, as in 3/8; 1/1 is the whole")
    return int(found.group(1)), int(found.group(2))


def of_commit(root):
    """The first share where there is no git, or no commit."""
    try:
        said = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    except FileNotFoundError:
        return 1, SHARES
    commit = said.stdout.strip() if said.returncode == 0 else "0"
    return 1 + int(commit, 16) % SHARES, SHARES


def asked():
    return parse(os.environ.get(NAME) or "1/1")


def take(cases, share=None):
    """The share's cases, evenly spread; one at least where there is one."""
    index, count = share or asked()
    cases = list(cases)
    return cases[(index - 1) % min(count, len(cases) or 1)::count]


def draw(seed, count, *amounts):
    """Of a test of `count` random cases from this seed on: the share's seed and count, and its part of each amount."""
    index, parts = asked()
    count = max(1, count // parts)
    return (seed + (index - 1) * count, count, *(max(1, amount // parts) for amount in amounts))


if __name__ == "__main__":
    print("%d/%d" % of_commit(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

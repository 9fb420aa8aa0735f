"""Sweeps: tests of many similar cases. Each run checks a share of them, unless the whole sweep is requested.

The commit determines the share. So a failure can be reproduced, and over several commits all cases run.
TILE_TEST_SHARE=I/N, or lit's --param share=I/N, selects the I-th of N shares, such as 3/8; 1/1 is the whole sweep.
Scripts select their cases with take() and draw(). shell_test.py selects lit's RUN lines and passes the share on in the
environment. Unit tests call is_in_share() (test/unit/share.h). Commands that are run by hand check everything. As a
program, this file prints the commit's share.
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
    """The first share if there is no git or no commit."""
    try:
        said = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    except FileNotFoundError:
        return 1, SHARES
    commit = said.stdout.strip() if said.returncode == 0 else "0"
    return 1 + int(commit, 16) % SHARES, SHARES


def asked():
    return parse(os.environ.get(NAME) or "1/1")


def take(cases, share=None):
    """The share's cases, evenly spread; at least one if there are any."""
    index, count = share or asked()
    cases = list(cases)
    return cases[(index - 1) % min(count, len(cases) or 1)::count]


def draw(seed, count, *amounts):
    """For a test of `count` random cases from this seed on: the share's seed and count, and its part of each amount."""
    index, parts = asked()
    count = max(1, count // parts)
    return (seed + (index - 1) * count, count, *(max(1, amount // parts) for amount in amounts))


if __name__ == "__main__":
    print("%d/%d" % of_commit(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

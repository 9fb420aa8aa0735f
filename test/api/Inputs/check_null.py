"""check_null.py INCLUDE TEST.c: fails if a TILE_API function of the headers is not called in the test.

tile_context_create has no parameters."""
import os
import re
import sys

include, test = sys.argv[1:]
folder = os.path.join(include, "tile")
names = set()
for header in sorted(os.listdir(folder)):
    if header.endswith(".h"):
        with open(os.path.join(folder, header)) as file:
            names |= set(re.findall(r"^TILE_API [^;(]*?\b(tile_\w+)\(", file.read(), re.MULTILINE))
with open(test) as file:
    called = set(re.findall(r"\b(tile_\w+)\s*\(", file.read()))
missing = sorted(names - called - {"tile_context_create"})
for name in missing:
    print("not tried with NULL:", name)
sys.exit(1 if missing or not names else 0)

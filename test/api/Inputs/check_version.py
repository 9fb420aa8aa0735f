"""check_version.py HEADER LIBRARY PKG_CONFIG_FILE PROGRAM...: fails unless all have the header's version.

HEADER is tile/base.h. Checks the library's SONAME, and what each program prints for --version."""
import os
import re
import subprocess
import sys

header, library, package, *programs = sys.argv[1:]
with open(header, encoding="utf-8") as file:
    facts = dict(re.findall(r"^#define TILE_(\w*VERSION\w*) (\S+)", file.read(), re.MULTILINE))
text = facts["VERSION_STRING"].strip('"')
major, minor, patch = map(int, text.split("."))


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


with open(package, encoding="utf-8") as file:
    packaged = re.search(r"^Version: (.*)$", file.read(), re.MULTILINE).group(1)
# (what, found, expected)
checks = [
    ("TILE_VERSION", facts["VERSION"], str(10000 * major + 100 * minor + patch)),
    ("TILE_API_VERSION", facts["API_VERSION"], str(major)),
    ("SONAME", re.search(r"SONAME.*\[(.*)\]", ask("readelf", "-d", library)).group(1), f"libtile.so.{major}"),
    ("pkg-config", packaged, text),
]
for program in programs:
    name = os.path.basename(program)
    checks.append((name, ask(program, "--version"), f"{name} {text}\n"))
wrong = [check for check in checks if check[1] != check[2]]
for what, found, wanted in wrong:
    print(f"{what}: {found!r} instead of {wanted!r}")
print(f"{text}: {len(checks) - len(wrong)} right, {len(wrong)} wrong")
sys.exit(bool(wrong or not programs))

"""Compiles each public header separately: check_headers.py FOLDER OUTPUT_SUFFIX COMPILER FLAG...

Fails if one does not compile without warnings or includes a header of LLVM or CUDA, or if tile.h does not
include all others."""
import os
import subprocess
import sys

folder, suffix, compiler = sys.argv[1], sys.argv[2], sys.argv[3]
flags = sys.argv[4:] + ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-H"]
headers = sorted(name for name in os.listdir(os.path.join(folder, "tile")) if name.endswith(".h"))
failures = 0 if headers else 1
for header in headers:
    source = f'#include "tile/{header}"\n#include "tile/{header}"\nint user;\n'
    result = subprocess.run([compiler, "-I" + folder, "-x", suffix, *flags, "-"], input=source,
                            text=True, capture_output=True)
    # -H lists every opened file, one per line, after dots that show the depth.
    opened = [line for line in result.stderr.splitlines() if line.startswith(".")]
    strangers = [line for line in opened if "llvm" in os.path.basename(line).lower()
                 or "/llvm" in line and "/clang/" not in line or "cuda" in line]
    included = {os.path.basename(line) for line in opened if "/tile/" in line}
    strangers += [f"does not include tile/{name}" for name in headers if header == "tile.h" and name not in included]
    if result.returncode != 0 or strangers:
        failures += 1
        print(f"{header}:", *strangers, result.stderr if result.returncode else "", sep="\n")
sys.exit(1 if failures else 0)

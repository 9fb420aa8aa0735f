"""Compiles a kernel for each choice of parameters and target and assembles it with ptxas, which must neither spill nor
report that it orders wgmma itself.

    choices.py PTXAS TARGET,... KERNEL.tile [--variant=all] [--kernel=NAME] NAME=VALUE,... ...
"""
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

import shares

ptxas, targets, path = sys.argv[1:4]
options = [word for word in sys.argv[4:] if word.startswith("--")]
names = [word.split("=", 1) for word in sys.argv[4:] if not word.startswith("--")]
choices = list(itertools.product(targets.split(","), *([f"{name}={v}" for v in values.split(",")] for name, values in names)))
count = 0
with tempfile.TemporaryDirectory() as folder:
    for target, *bound in shares.take(choices):
        for old in glob.glob(os.path.join(folder, "*")):
            os.remove(old)
        what = ["tilec", path, "--target=" + target, *options]
        for pair in bound:
            what += ["--param", pair]
        made = subprocess.run([*what, "-o", os.path.join(folder, "k.ptx")], capture_output=True, text=True)
        if made.returncode:
            sys.exit(" ".join(what) + "\n" + made.stderr)
        for ptx in sorted(glob.glob(os.path.join(folder, "*.ptx"))):
            ran = subprocess.run([ptxas, "-v", "-arch=" + target, ptx, "-o", ptx + ".cubin"], capture_output=True, text=True)
            said = ran.stdout + ran.stderr
            if ran.returncode or re.search(r"[1-9]\d* bytes (spill|stack)|\bC75\d\d\b", said):
                sys.exit(" ".join([*what, os.path.basename(ptx)]) + "\n" + said)
            count += 1
print(f"{len(choices)} choices, {count} modules assembled")

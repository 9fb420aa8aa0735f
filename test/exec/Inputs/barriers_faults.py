"""Runs a kernel with each of its faults, at both levels and in several orders. Prints the first report, without
locations that depend on the order, once if all are equal. Different orders may detect
different consequences of one fault; each is printed.

usage: barriers_faults.py KERNEL.tile FAULTS LEVELS ARGUMENTS..."""
import re
import subprocess
import sys


def first_report(level, seed, fault):
    command = ["tile-run", sys.argv[1], "--device=cpu", f"--level={level}", f"--seed={seed}",
               "--param", f"fault={fault}"] + sys.argv[4:]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r"error: \w+: (.*)", run.stderr)
    if run.returncode != 1 or not found:
        return "nothing"
    text = re.sub(r", in block .*", "", found.group(1))
    text = re.sub(r"block \([^)]*\)", "a block", re.sub(r"at byte \d+", "at a byte", text))
    return re.sub(r"\[\d+\]", "[i]", text)


for fault in range(1, int(sys.argv[2]) + 1):
    reports = {first_report(level, seed, fault) for level in sys.argv[3] for seed in (0, 1, 5, 6)}
    for report in sorted(reports):
        print(f"{fault}: {report}")

"""Runs the ring with each of its faults, at both levels and in several orders. Prints the first report, without
locations that depend on the order, once if all are equal."""
import re
import subprocess
import sys


def first_report(kernel, level, seed, fault):
    command = ["tile-run", sys.argv[1], "--device=cpu", f"--kernel={kernel}", f"--level={level}",
               f"--seed={seed}", "--param", f"fault={fault}", "--arg", "n=8", "--arg", "a=int",
               "--arg", "c=poison"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r"error: \w+: (.*)", run.stderr)
    if run.returncode != 1 or not found:
        return "nothing"
    text = re.sub(r", in block .*", "", found.group(1))
    return re.sub(r"block \([^)]*\)", "a block", re.sub(r"at byte \d+", "at a byte", text))


for fault in range(1, 10):
    runs = [("ring", 2), ("ring", 3), ("threads", 3)]
    reports = {first_report(k, level, seed, fault) for k, level in runs for seed in (1, 5, 6)}
    for report in sorted(reports):
        print(f"{fault}: {report}")

"""Runs the shipped kernels at small sizes on the GPU with compute-sanitizer, which must report nothing; their results
must be correct. Prints its report for each kernel that fails, and a count.

usage: sanitize.py KERNELS --sanitizer=FILE [--tool=TOOL] [--ptxas=FILE] [--only="NAME;NAME"] [--jobs=N] [--seconds=N]
  --tool=TOOL    memcheck (default), racecheck, synccheck or initcheck
  --seconds=N    start no kernel after that"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import time

from shipped import POINTS

parser = argparse.ArgumentParser()
parser.add_argument("kernels")
parser.add_argument("--tool", default="memcheck")
parser.add_argument("--sanitizer", required=True)
parser.add_argument("--ptxas", default="")
parser.add_argument("--only", default="")
parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
parser.add_argument("--seconds", type=float, default=1e9)
options = parser.parse_args()
begin = time.monotonic()


def run(name):
    """What is wrong, in a few lines; "" if nothing is, None if time ran out."""
    if time.monotonic() - begin > options.seconds:
        return None
    file, kernel, target, parameters, launches = POINTS[name]
    command = [options.sanitizer, f"--tool={options.tool}", "--error-exitcode=9", "tile-run",
               os.path.join(options.kernels, file + ".tile"), f"--kernel={kernel}", "--device=cuda", "--no-cache",
               "--target=" + target.replace("sm_80", "sm_90")]
    command += [f"--ptxas={options.ptxas}"] if options.ptxas else []
    for parameter in parameters.split():
        command += ["--param", parameter]
    for word in launches[0].split():
        command += ["--arg", word] if "=" in word and not word.startswith("--") else []
    check = [] if "kept" in launches[0] else ["--check"]
    try:
        ran = subprocess.run(command + check, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "does not end"
    text = ran.stdout + ran.stderr
    told = [line for line in text.splitlines() if re.match(r"=========\s+\S|.*(error|warning):", line)
            and not re.search(r"COMPUTE-SANITIZER|Saved host|Host Frame|^=+\s+in |ERROR SUMMARY: 0|0 hazards", line)]
    fine = ran.returncode == 0 and (not check or re.search(r": 0 wrong", text))
    return "" if fine and not told else "\n".join(told[:6]) or text[-400:]


names = [n for n in POINTS if not options.only or n in options.only.split(";") or POINTS[n][0] in options.only.split(";")]
with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    reports = list(pool.map(run, names))
for name, report in zip(names, reports):
    if report:
        print(f"{name}: {report}")
ran = [r for r in reports if r is not None]
print(f"{options.tool}: {len(ran)} of {len(names)} kernels, {sum(map(bool, ran))} with faults")

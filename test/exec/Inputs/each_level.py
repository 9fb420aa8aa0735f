"""Runs a compute of FILE on the CPU device at levels 2 and 3 and prints the result of its check.

usage: each_level.py FILE KERNEL OPTIONS OF tile-run ...
"""
import subprocess
import sys

for level in 2, 3:
    words = ["tile-run", sys.argv[1], f"--kernel={sys.argv[2]}", "--device=cpu", f"--level={level}", "--check"]
    ran = subprocess.run(words + sys.argv[3:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    checks = [line.split(None, 1)[1] for line in ran.stdout.splitlines() if line.startswith("check")]
    print(f"level {level}: {checks[0]}" if checks and not ran.returncode else ran.stdout)

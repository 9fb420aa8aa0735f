"""Products of f16 whose k is known only at launch: prints the point that each takes, and the result of --check.

usage: sized_sums.py FILE KERNEL K..
"""
import subprocess
import sys


def launch(file, kernel, k):
    words = ["tile-run", file, f"--kernel={kernel}", "--device=cpu", "--level=2", "--check", "--arg", "m=3", "--arg", "n=2",
             "--arg", f"a=rand:f16[3,{k}]", "--arg", f"b=rand:f16[{k},2]", "--arg", "c=poison", "--param", "block_m=16",
             "--param", "block_n=64"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        sys.exit(ran.stdout)
    lines = dict(line.split(None, 1) for line in ran.stdout.splitlines())
    print(f"{k}: {lines['kernel'].partition(' ')[2]}, {lines['check']}")


for number in sys.argv[3:]:
    launch(sys.argv[1], sys.argv[2], number)

# orders.py FILE.. --seeds=N: counts the different access sequences of each file's kernel in N orders of its independent
# statements, and prints the first one.
import os
import re
import subprocess
import sys


def run(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def accesses(text):
    told = run(["tile-opt", "-", "--pass-pipeline=assign-layouts", "--print-layout"], text)
    return "\n".join(sorted(re.sub(r"line \d+, ", "", line) for line in told.split("\n") if re.search(r"line \d+, ", line)))


def main():
    seeds = int(sys.argv[-1].split("=")[1])
    permute = os.path.join(os.path.dirname(os.path.abspath(__file__)), "permute.py")
    for path in sys.argv[1:-1]:
        first = run(["tile-opt", path, "--pass-pipeline=instantiate,canonicalize,cse,dce"], None)
        texts = [first] + [run([sys.executable, permute, f"--seed={seed}"], first) for seed in range(seeds)]
        ways = list(dict.fromkeys(accesses(text) for text in texts))
        print(f"{os.path.basename(path)}: {len(ways)} way{'s' if len(ways) > 1 else ''} in {len(set(texts))} orders")
        print("\n--\n".join(ways))


main()

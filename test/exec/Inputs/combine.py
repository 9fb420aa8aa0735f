"""Reductions and scans by functions, in many shapes: combine.py FILE run LEVEL.. | combine.py FILE compile TARGET.."""
import random
import subprocess
import sys

# Kernel: its inputs and its results.
ARGUMENTS = {
    "argmin": (["x=int"], ["v", "k"]),
    "moments": (["x=rand"], ["m", "s"]),
    "recurrence": (["x=int", "y=int"], ["f", "g", "r"]),
    "segments": (["x=int", "y=int"], ["f", "g", "r"]),
    "largest": (["x=rand"], ["f", "r"]),
}
# b, n, c, warps: rows in one thread, in lanes, in warps, in rounds of registers; of odd parts; of columns.
SHAPES = [(1, 1, 1, 1), (1, 32, 1, 1), (2, 256, 1, 4), (1, 4096, 1, 2), (1, 96, 4, 4), (4, 7, 64, 2),
          (3, 80, 8, 8), (1, 1024, 2, 4), (64, 4, 1, 4)]


def words(tool, file, kernel, shape):
    return [tool, file, f"--kernel={kernel}", *(f"--param={n}={v}" for n, v in zip("bncw", shape))]


def check(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        sys.exit(" ".join(command) + "\n" + ran.stdout)


file, what, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
cases = 0
for kernel, (inputs, results) in ARGUMENTS.items():
    for shape in SHAPES:
        for each in rest:
            command = words("tile-run" if what == "run" else "tilec", file, kernel, shape)
            if what == "run":
                command += ["--device=cpu", f"--level={each}", "--check"]
                for argument in inputs + [f"{r}=poison" for r in results]:
                    command += ["--arg", argument]
            else:
                command += [f"--target={each}", "-o", "/dev/null"]
            check(command)
            cases += 1
print(f"{cases} cases, all right")

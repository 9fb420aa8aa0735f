"""Reductions and scans by functions, in many shapes:
combine.py FILE run LEVEL.. | compile TARGET.. | compute LEVEL.. | compile-compute TARGET..
The LEVEL cuda is a GPU.
"""
import subprocess
import sys

import shares

# Kernel: its inputs and its results. %s stands for the extents.
KERNELS = {
    "argmin": (["x=int"], ["v", "k"]),
    "moments": (["x=rand"], ["m", "s"]),
    "recurrence": (["x=int", "y=int"], ["f", "g", "r"]),
    "segments": (["x=int", "y=int"], ["f", "g", "r"]),
    "largest": (["x=rand"], ["f", "r"]),
}
COMPUTES = {
    "norm": (["x=rand:f32[%s]"], ["y"]),
    "recurrences": (["a=int:i32[%s]", "b=int:i32[%s]"], ["f", "g", "h"]),
    "last": (["a=int:i32[%s]", "b=int:i32[%s]"], ["f"]),
    "argmin": (["a=int:f16[%s]"], ["v", "k"]),
    "given": (["a=int:i32[%s]", "b=int:i32[%s]"], ["y"]),
}
# b, n, c, warps: rows in one thread, in lanes, in warps, in rounds of registers; of odd parts; of columns.
SHAPES = [(1, 1, 1, 1), (1, 32, 1, 1), (2, 256, 1, 4), (1, 4096, 1, 2), (1, 96, 4, 4), (4, 7, 64, 2),
          (3, 80, 8, 8), (1, 1024, 2, 4), (64, 4, 1, 4)]
EXTENTS = ["1,1", "3,1000", "70,33", "1,2500", "300,40"]


def cases(what, rest):
    """The command of each case."""
    kernels, shapes = (COMPUTES, EXTENTS) if what.endswith("compute") else (KERNELS, SHAPES)
    for kernel, (inputs, results) in kernels.items():
        for shape in ["fixed"] if what == "compile-compute" else shapes:
            options = [f"--kernel={kernel}"]
            if kernels is KERNELS:
                options += [f"--param={n}={v}" for n, v in zip("bncw", shape)]
            for each in rest:
                if what.startswith("compile"):
                    yield ["tilec", sys.argv[1], *options, f"--target={each}", "-o", "/dev/null"]
                    continue
                device = ["--device=cuda"] if each == "cuda" else ["--device=cpu", f"--level={each}"]
                command = ["tile-run", sys.argv[1], *options, *device, "--check"]
                for argument in inputs + [f"{r}=poison" for r in results]:
                    command += ["--arg", argument.replace("%s", shape) if "%s" in argument else argument]
                yield command


count = 0
for command in shares.take(cases(sys.argv[2], sys.argv[3:])):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode or "wrong" in ran.stdout.replace(" 0 wrong", ""):
        sys.exit(" ".join(command) + "\n" + ran.stdout)
    count += 1
print(f"{count} cases, all right")

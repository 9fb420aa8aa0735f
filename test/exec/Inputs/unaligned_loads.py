"""Runs the kernels of unaligned_loads.tile at offsets, numbers of elements and shapes drawn at random.

usage: unaligned_loads.py FILE.tile OPTION..
"""
import os
import random
import subprocess
import sys
import tempfile

SIZES = {"i8": 1, "f16": 2, "bf16": 2, "f32": 4, "i64": 8, "f64": 8}
THREADS = 256

# Without parameters: the number of elements of a vector cannot depend on one.
ACCESS = """
kernel @k(%x: ptr<TYPE>, %n: i32, %z: ptr<TYPE>, %y: ptr<TYPE>) grid [4]  warps 2  level 3
{
  %b = block_id
  %t = thread_id
  %at = (64 * %b + %t) * STEP
  %in = rem(%t, 5) != 3
  %v = ld_global_unaligned LOAD : [WIDTH]
  for %i = 0 to WIDTH step 1 unroll (WIDTH) {
    %e = ld_global %x[%at + %i], %in & (%at + %i < %n)
    st_global extract(%v, %i) - %e, %y[(64 * %b + %t) * WIDTH + %i]
  }
}
"""
LOADS = {"some": "%x[%at], %n - %at, %in", "all": "%x[%at], WIDTH"}


def run(text, kernel, params, args, offsets, check):
    command = ["tile-run", text, *sys.argv[2:], f"--kernel={kernel}"]
    for name, value in params.items():
        command += ["--param", f"{name}={value}"]
    for name, value in args.items():
        command += ["--arg", f"{name}={value}"]
    for name, value in offsets.items():
        command += ["--offset", f"{name}={value}"]
    result = subprocess.run(command + ["--check", check], capture_output=True, text=True)
    if result.returncode == 0 and " 0 wrong" in result.stdout:
        return True
    print(" ".join(command), result.stdout, result.stderr, sep="\n")
    return False


def access_text(folder, scalar, width, step, load):
    text = ACCESS.replace("LOAD", LOADS[load])
    if load == "all":
        text = text.replace("rem(%t, 5) != 3", "true")
    text = text.replace("TYPE", scalar).replace("WIDTH", str(width)).replace("STEP", str(step))
    path = os.path.join(folder, f"{scalar}_{width}_{step}_{load}.tile")
    with open(path, "w") as file:
        file.write(text)
    return path


def draw_access(draw, folder, scalar, size):
    widths = [w for w in (2, 4, 8, 16) if 4 <= w * size <= 16]
    for width in widths:
        step = draw.choice([1, 3, width - 1, width, width + 1, 2 * width + 1])
        for load in LOADS:
            last = (THREADS - 1) * step + width
            n = draw.randrange(1, last + 1) if load == "some" else last
            array = f"{scalar}[{THREADS * width}]"
            args = {"x": f"int:{scalar}[{n}]", "n": n, "z": f"int:{array}", "y": f"poison:{array}"}
            text = access_text(folder, scalar, width, step, load)
            yield text, "k", {}, args, {"x": draw.randrange(32) * size}, "y=0*z"


def draw_tiles(draw, scalar, size):
    for kernel in "tiles", "columns":
        m, n = draw.randrange(1, 150), draw.randrange(1, 150)
        params = {"T": scalar, "rows": draw.choice([8, 48, 64]), "columns": draw.choice([8, 64, 96])}
        args = {"m": m, "n": n, "x": "int", "y": "poison"}
        yield sys.argv[1], kernel, params, args, {"x": draw.randrange(16) * size}, "y=x+x"


def main():
    draw = random.Random(3)
    runs = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for scalar, size in SIZES.items():
            cases = list(draw_access(draw, folder, scalar, size))
            for _ in range(4 if size <= 2 else 0):
                cases += draw_tiles(draw, scalar, size)
            runs += len(cases)
            wrong += sum(not run(*case) for case in cases)
    print(f"{runs} runs, {wrong} wrong")


main()

"""Random attention whose heads have more than 256 elements, as one kernel: long_heads.py FOLDER COUNT [SEED] [OPTION ...]

The tile of the last product has all of its columns, which asks for the online loop. Prints the number of computes that are
wrong, or that are not one kernel. OPTIONs are passed to tile-run.
"""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import shares

TILES = {"f16": ((32, 16), (32, 32), (16, 16)), "bf16": ((32, 16), (16, 16)), "f32": ((16, 8), (8, 8), (8, 4))}


def text(r, element, deep, wide):
    rows, columns = r.choice(TILES[element])
    if deep > 512 or wide > 512:
        rows, columns = (16, 16) if element != "f32" else r.choice(((16, 8), (8, 4)))
    trans = r.random() < 0.7
    k = f"[h, n, {deep}]" if trans else f"[h, {deep}, n]"
    lines = [f"compute @f<h: dim, m: dim, n: dim>(%q: tensor<{element}[h, m, {deep}]>, %k: tensor<{element}{k}>, "
             f"%v: tensor<{element}[h, n, {wide}]>) -> (%o: tensor<{element}[h, m, {wide}]>)", "{",
             f"  %t = (matmul(%q, %k{', trans_rhs' if trans else ''}) : f32) * 0.04"]
    if r.random() < 0.4:
        lines += ["  %row = iota(axis = 0) : tensor<i32[m, 1]>", "  %key = iota(axis = 1) : tensor<i32[1, n]>",
                  "  %s = select(%key <= %row, %t, -inf)"]
    else:
        lines += ["  %s = %t + 1.0"]
    lines += ["  %e = exp(%s - reduce_max(%s, axis = 2))"]
    weights = "%e" if element == "f32" else f"{element}(%e)"
    lines += [f"  %p = matmul({weights}, %v, tile = [{rows}, {512 if wide <= 512 else 1024}, {columns}]) : f32",
              f"  %o = {'' if element == 'f32' else element}(%p / reduce_add(%e, axis = 2))", "}"]
    return "\n".join(lines) + "\n"


def check(folder, seed, options):
    """None, or what is wrong."""
    r = random.Random(seed)
    element = r.choice(("f16", "f16", "bf16", "f32"))
    wide = r.choice((264, 320, 384, 512, 512, 768, 1024))
    deep = r.choice((64, 128, 512, wide, wide, 576))
    path = os.path.join(folder, f"long{seed}.tile")
    with open(path, "w") as file:
        file.write(text(r, element, deep, wide))
    sizes = {"h": r.choice((1, 2)), "m": r.choice((1, 5, 16, 33)), "n": r.choice((1, 7, 16, 40))}
    command = ["tile-run", path, "--check", *(word for name, value in sizes.items()
                                              for word in ("--arg", f"{name}={value}")),
               "--arg", "q=rand", "--arg", "k=rand", "--arg", "v=rand", "--arg", "o=poison",
               "--target=" + r.choice(("sm_80", "sm_90a")), *options]
    if "--device=cuda" in options:  # the target is the GPU's
        command = [word for word in command if not word.startswith("--target=")]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode or ": 0 wrong" not in ran.stdout or "@f_kernel" not in ran.stdout:
        return f"{' '.join(command)}\n{open(path).read()}{ran.stdout}{ran.stderr}"
    os.remove(path)
    return None


def main():
    folder, count, *rest = sys.argv[1:]
    seed = int(rest.pop(0)) if rest and rest[0].isdigit() else 1
    os.makedirs(folder, exist_ok=True)
    seeds = shares.take(range(seed, seed + int(count)))
    found = [wrong for wrong in (check(folder, s, rest) for s in seeds) if wrong]
    for wrong in found:
        print(wrong)
    print(f"{len(seeds)} computes, {len(found)} wrong")


if __name__ == "__main__":
    main()

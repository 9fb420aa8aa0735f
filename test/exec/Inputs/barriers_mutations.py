"""Changes one thing in the compiled form of a kernel with a producer and consumers, and prints
the CPU device's first report, in two orders.

usage: barriers_mutations.py KERNEL.tile FOLDER"""
import re
import subprocess
import sys

SIZES = {"m": 384, "n": 320, "k": 320}
made = sys.argv[2] + "/made.tile"
subprocess.run(["tilec", sys.argv[1], "--target=sm_90a", "--emit=tile", "-o", made], check=True)
text = open(made, encoding="utf-8").read()


def first_report(kernel, seed):
    path = sys.argv[2] + "/changed.tile"
    with open(path, "w", encoding="utf-8") as file:
        file.write(kernel)
    m, n, k = SIZES.values()
    command = ["tile-run", path, "--device=cpu", "--target=sm_90a", "--sms=2", f"--seed={seed}",
               "--check", "c=matmul(a,b)"]
    for name, value in SIZES.items():
        command += ["--arg", f"{name}={value}"]
    for array in (f"a=int:f16[{m},{k}]", f"b=int:f16[{k},{n}]", f"c=poison:f16[{m},{n}]"):
        command += ["--arg", array]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r"error: (.*), in block|: (\d+ wrong)", run.stdout + run.stderr)
    if not found:
        return "nothing"
    return found.group(2) or re.sub(r"\[\d+\]|\d+", "N", found.group(1))


def change(name, pattern, by):
    changed, count = re.subn(pattern, by, text)
    reports = {first_report(changed, seed) for seed in (0, 3)} if count else {"is not there"}
    for report in sorted(reports):
        print(f"{name}: {report}")


change("as it is", r"\Z", " ")
change("half of the bytes", r"(mbarrier_expect %full\S+) (\d+)", lambda m: f"{m[1]} {int(m[2]) // 2}")
change("all arrive, nothing is expected", r"mbarrier_expect (%full\S+) \d+,", r"mbarrier_arrive \1")
change("no ordered issue", r"\n +sync(_arrive)? [12], 8", "")
change("one product more under way", r"wgmma_wait 1", "wgmma_wait 2")
change("no wait for empty", r"\n +mbarrier_wait %empty.*", "")
change("empty counts too many", r"(mbarrier_init %empty\S+) 4", r"\1 8")
change("empty counts too few", r"(mbarrier_init %empty\S+) 4", r"\1 2")
change("no fence of what is initialised", r"\n +mbarrier_fence", "")
change("no barrier behind it", r"\n  sync\n  roles", "\n  roles")

"""same_verdict.py FILE.tile: for each kernel and target, the CPU device at levels 2 and 3 must refuse what tilec
refuses, with the same first words, and run everything else. Prints what was refused.

--without omits the target for the CPU device: then it runs more, which the script must detect."""
import re
import subprocess
import sys

path = sys.argv[1]
with open(path) as file:
    kernels = re.findall(r"^kernel @(\w+)", file.read(), re.MULTILINE)


def verdict(*command):
    """None, or the first error without its location."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    return re.search(r"error: (.*)", result.stderr).group(1)


differ = 0
for kernel in kernels:
    for target in ("sm_80", "sm_86", "sm_90a", "sm_100f", "sm_120f"):
        wanted = verdict("tilec", path, "--kernel=" + kernel, "--target=" + target, "-o", "/dev/null")
        if wanted:
            print(f"{kernel} {target}: {wanted}")
        for level in ("2", "3"):
            command = ["tile-run", path, "--kernel=" + kernel, "--level=" + level, "--arg", "p=int:f32[64]"]
            command.append("--device=cpu" if "--without" in sys.argv else "--target=" + target)
            got = verdict(*command)
            if got != wanted and not (level == "2" and "is at level 3" in (got or "")):
                differ += 1
                print(f"{kernel} {target} level {level}: {got}, not {wanted}")
sys.exit(1 if differ else 0)

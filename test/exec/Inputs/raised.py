"""What the scripts about products of windows have in common: one compute, at level 1 and as kernels."""
import subprocess


def check(text, file):
    """Writes the compute of %x and %f to the file. Returns whether its kernels are right, and how many there are."""
    with open(file, "w") as to:
        to.write(text)
    words = ["tile-run", file, "--device=cpu", "--arg=x=int", "--arg=f=int", "--arg=y=poison", "--check"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    right = not ran.returncode and ": 0 wrong" in ran.stdout
    if not right:
        print(text + " ".join(words) + "\n" + ran.stdout)
    kernels = subprocess.run(["tile-opt", file, "--schedule"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return right, kernels.stdout.count("\nkernel ")

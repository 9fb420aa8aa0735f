"""Runs random convolutions, written at level 1, on the CPU device beside their meaning."""
import random
import subprocess

import shares


def run(make, seed, count, folder, visit=lambda file: None):
    """make(draw): the text of a compute of %x, %f and %y. visit(file): looks at each text. Returns the number of wrong results."""
    draw = random.Random(seed)
    tried = failed = 0
    for number, text in shares.take([(i, make(draw)) for i in range(count)]):
        tried += 1
        file = "%s/%d.tile" % (folder, number)
        with open(file, "w") as to:
            to.write(text)
        words = ["tile-run", file, "--device=cpu", "--level=%d" % draw.choice([2, 2, 3]), "--arg=x=int", "--arg=f=int", "--arg=y=poison", "--check"]
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode or ": 0 wrong" not in ran.stdout:
            failed += 1
            print(text + " ".join(words) + "\n" + ran.stdout)
        visit(file)
    print("%d convolutions, %d failed" % (tried, failed))
    return failed

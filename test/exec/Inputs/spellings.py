"""Runs each compute of FILE with its extents as written, and with numbers in place of its dims.

usage: spellings.py FILE SCRATCH DEVICE [OPTION...]      options for tile-run

A comment before each compute gives the values of its dims. The results at level 1 must be those of the compute with
numbers, and the kernels must agree with level 1. The printed text of the file must parse, and print the same again.
"""
import pathlib
import re
import subprocess
import sys

file, scratch, device, *options = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
text = pathlib.Path(file).read_text()
HEAD = re.compile(r"^// ((?:\w+=\d+ ?)+)\ncompute @(\w+)<([^>]*)>\((.*?)\)\s*->\s*\((.*?)\)\n\{", re.M | re.S)
VALUE = re.compile(r"%(\w+): tensor<(\w+)\[([^\]]*)\]>")
failures = 0


def run(*words, text=None):
    ran = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.returncode, ran.stdout


def with_numbers(source, dims):
    for name, value in dims.items():
        source = re.sub(rf"(?<![%@\w.]){name}\b(?!\w)", str(value), source)
    return source


def extents(listed, dims):
    """The values of extents, by Python."""
    words = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b), "rem": lambda a, b: a % b, **dims}
    return ",".join(str(eval(word.replace("/", "//"), words)) for word in re.split(r",(?![^(]*\))", listed))


def check(name, dims, inputs, results):
    shapes = [f"--arg={value}=int:{scalar if scalar != 'T' else 'f32'}[{extents(listed, dims)}]"
              for value, scalar, listed in inputs]
    saves = [f"--save={value}={scratch}/{name}.{value}.npy" for value, _, _ in results]
    same = [f"--check={value}=@{scratch}/{name}.{value}.npy" for value, _, _ in results]
    given = [f"--arg={dim}={value}" for dim, value in dims.items()]
    yield ["tile-run", f"{scratch}/numbers.tile", f"--kernel={name}", "--level=1", *shapes, *saves]
    yield ["tile-run", file, f"--kernel={name}", "--level=1", *shapes, *same]
    for level in (2, 3) if device == "cpu" else (3,):
        yield ["tile-run", file, f"--kernel={name}", f"--device={device}", f"--level={level}", *options, *given,
               *shapes, "--check"]


def numbers(match):
    dims = dict(word.split("=") for word in match[1].split())
    kept = ", ".join(param for param in match[3].split(", ") if ": dim" not in param)
    head = match[0].replace(f"<{match[3]}>", f"<{kept}>" if kept else "", 1)
    return head, dims


status, once = run("tile-opt", file)
if status:
    sys.exit(once)
computes, plain = list(HEAD.finditer(text)), []
ends = [match.start() for match in computes[1:]] + [len(text)]
for match, end in zip(computes, ends):
    head, dims = numbers(match)
    body = text[match.end():end]
    cut = body.find("\nfunc ")
    plain.append(with_numbers(head.split("\n", 1)[1] + body[:cut], dims) + body[cut:] if cut >= 0
                 else with_numbers(head.split("\n", 1)[1] + body, dims))
(scratch / "numbers.tile").write_text(text[:computes[0].start()] + "\n".join(plain))
for match in computes:
    dims = {key: int(value) for key, value in (word.split("=") for word in match[1].split())}
    for words in check(match[2], dims, VALUE.findall(match[4]), VALUE.findall(match[5])):
        status, output = run(*words)
        wrong = status or ("--check" in " ".join(words) and ": 0 wrong" not in output and "agree" not in output)
        if wrong:
            failures += 1
            print(" ".join(words), output, sep="\n")
again, twice = run("tile-opt", text=once)
print(f"{len(computes)} computes, {failures} failures, printed text {'reads back' if once == twice and not status + again else 'differs'}")

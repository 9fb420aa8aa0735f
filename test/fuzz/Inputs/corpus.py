"""Collects the initial texts for fuzzing, one file each, and the dictionary.

    corpus.py --root=ROOT --bin=FOLDER [--dictionary=FILE] [--max-bytes=N] [--no-lowered] [--random=N] OUT

The texts are the parts of all .tile files below tools/ and test/, the string literals of unit tests that contain a
function, and the examples in the passes' head comments. Unless --no-lowered is given, the output of tilec in --bin for
them is added: level 3 and launch interfaces. --random: adds this many kernels of tile-random. Comments and texts of
more than N bytes are omitted. The dictionary has the words of `tile-opt --manual=all`. At the end the number
of texts in OUT is printed.
"""
import argparse
import ast
import glob
import hashlib
import os
import re
import subprocess

LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
ONE_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.S)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def parts_of(text):
    return re.split(r"^// -----$", text, flags=re.M)


def literals_of(source):
    for match in LITERALS.finditer(source):
        text = "".join(ast.literal_eval(one) for one in ONE_LITERAL.findall(match.group()))
        if re.search(r"\b(kernel|compute|func) @", text):
            yield text


def examples_of(source):
    """The `before:` and `after:` blocks of a pass's head comment. Lines that are not IR do not parse."""
    head = BLOCK_COMMENT.search(source)
    text = re.sub(r"^ \* ?", "", head.group()[2:-2], flags=re.M) if head else ""
    for piece in re.split(r"^ *(?:before|after):", text, flags=re.M)[1:]:
        start = re.search(r"\b(kernel|compute|func) @", piece)
        if start:
            yield piece[start.start():]


def without_comments(text):
    """Keeps the lines that begin a text to include (fuzz_tile.c)."""
    lines = (re.sub(r"(?<!^)//.*|^//(?!- ).*", "", line).rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def find_texts(root):
    for folder in ("tools", "test"):
        for path in glob.glob(os.path.join(root, folder, "**", "*.tile"), recursive=True):
            yield from parts_of(read(path))
    for path in glob.glob(os.path.join(root, "test", "unit", "*.[ch]")):
        yield from literals_of(read(path))
    for path in glob.glob(os.path.join(root, "passes", "**", "*.c"), recursive=True):
        yield from examples_of(read(path))


def compile_to(kind, tilec, text):
    command = [tilec, "-", "--target=sm_90a", "--emit=" + kind, "-o", "-"]
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.stdout.decode() if done.returncode == 0 else ""


def words_of(manual):
    words = set(re.findall(r"`%?([a-z_][a-z0-9_]*)", manual)) | set(re.findall(r'"([^"\n]+)"', manual))
    words |= {"shared<f16[2][", "tile<f32[", "view<f32[", "vector<i32[", "tensor<f32[", "ptr<f32>",
              "strides [", " : ", "tune ", "[1, %k]"}
    return sorted(word for word in words if word != "\\")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--dictionary")
    parser.add_argument("--max-bytes", type=int, default=8000)
    parser.add_argument("--no-lowered", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("out")
    options = parser.parse_args()
    texts = {without_comments(text) for text in find_texts(options.root)}
    if not options.no_lowered:
        tilec = os.path.join(options.bin, "tilec")
        texts |= {compile_to(kind, tilec, text) for text in sorted(texts) if "kernel" in text
                  for kind in ("tile", "abi")}
    if options.random:
        command = [os.path.join(options.bin, "tile-random"), f"--count={options.random}", "--print"]
        made = subprocess.check_output(command, text=True)
        texts |= {without_comments(text) for text in re.split(r"(?m)^(?=// RUN-OPTIONS)", made)}
    os.makedirs(options.out, exist_ok=True)
    kept = 0
    for text in texts:
        data = text.encode()
        if 1 < len(data) <= options.max_bytes:
            name = hashlib.sha1(data).hexdigest()[:16] + ".tile"
            with open(os.path.join(options.out, name), "wb") as file:
                file.write(data)
            kept += 1
    if options.dictionary:
        manual = subprocess.check_output([os.path.join(options.bin, "tile-opt"), "--manual=all"], text=True)
        with open(options.dictionary, "w") as file:
            for word in words_of(manual):
                file.write('"%s"\n' % word.replace("\\", "\\\\").replace('"', '\\"'))
    print(kept, "texts")


main()

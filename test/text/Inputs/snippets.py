"""Checks that each piece of Tile IR in the running text of the documents, the tutorial and the manual parses and
verifies, inside a frame with its surroundings.

FRAMES has sections: a frame, `--`, and the pieces that replace its `@@`, as the documents show them
between backquotes; after ` := ` the text with each `..` replaced. Messages, patterns and grammar follow
`== no Tile IR`. Names, paths, options, operators and commands need no line. A name may have a
<part> that stands for others, or name several files, x.[ch].

usage: snippets.py FRAMES SCRATCH DOCUMENT...     a document that is a folder: each README.md in it
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

PLAIN = re.compile(r"[\w.,:+*/~-]+|%\w+|\W+|[A-Z_]+=\w+|"
                   r"\w+_<\w+>(\(f, op\))?|\w+\.\[\w+\]|"
                   r"(build/bin/.*|tile-\w+|tilec|lit-22|cmake|apt-get|ptxas|tools/setup|test/\S+\.py) .*|--.*|// (?!NAME).*")


def pieces(text):
    """The text between backquotes, except in blocks and in the generated column of the manual."""
    text = re.sub(r"^```.*?^```$|^    .*?$", "", text, flags=re.M | re.S)
    if text.startswith("# Tile IR"):
        text = re.sub(r"^\| `.*?` \|", "", text, flags=re.M)
    shown = (" ".join(piece.split()) for piece in re.findall(r"`([^`]+)`", text))
    return {piece for piece in shown if not PLAIN.fullmatch(piece)}


def read_frames(text):
    """By piece: texts to be parsed; none for pieces that are not Tile IR."""
    texts = {}
    for section in re.split(r"^== ", text, flags=re.M)[1:]:
        name, _, body = section.partition("\n")
        frame, _, lines = body.rpartition("--\n")
        for line in lines.splitlines():
            piece, _, filled = line.partition(" := ")
            parts = [re.escape(part) for part in re.split(r"\.\.\.?", piece)]
            if filled and not re.fullmatch(".+".join(parts), filled):
                sys.exit(f"more than `..` differs: {line}")
            texts.setdefault(piece, [])
            if name != "no Tile IR":
                texts[piece].append(frame.replace("@@", filled or piece))
    return texts


def verify(job):
    number, piece, text, folder = job
    file = folder / f"{number}.tile"
    file.write_text(text)
    ran = subprocess.run(["tile-opt", file, "-o", "-"], capture_output=True, text=True)
    if ran.returncode:
        print(f"wrong: {piece}\n{text}\n{ran.stderr}")
    return ran.returncode == 0


def documents(name):
    """Build folders in the root are skipped."""
    if not os.path.isdir(name):
        yield pathlib.Path(name)
    for folder, inner, names in os.walk(name):
        skipped = (".", "build") if folder == name else (".",)
        inner[:] = [entry for entry in inner if not entry.startswith(skipped)]
        if "README.md" in names:
            yield pathlib.Path(folder, "README.md")


def main():
    texts, folder = read_frames(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    shown = set().union(*(pieces(file.read_text()) for name in sys.argv[3:] for file in documents(name)))
    unknown, stale = sorted(shown - texts.keys()), sorted(texts.keys() - shown)
    for piece in unknown:
        print(f"has no frame: {piece}")
    for piece in stale:
        print(f"in no document: {piece}")
    jobs = [(piece, text) for piece in sorted(shown & texts.keys()) for text in texts[piece]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        right = list(pool.map(verify, [(n, piece, text, folder) for n, (piece, text) in enumerate(jobs)]))
    wrong = right.count(False)
    print(f"{len(jobs)} tried, {wrong} wrong, {len(unknown)} without a frame, {len(stale)} in no document")
    return wrong > 0 or bool(unknown) or bool(stale)


sys.exit(main())

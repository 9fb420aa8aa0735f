"""Sends requests to an emit program (emit.c) and parses its answers."""
import dataclasses
import hashlib
import json
import pathlib
import subprocess

KIND_WORDS = 3  # of a remark: its first words, which identify its kind


@dataclasses.dataclass
class Answer:
    """The results of one request."""
    status: str = "no answer"
    points: list = dataclasses.field(default_factory=list)
    errors: list = dataclasses.field(default_factory=list)   # messages of errors and of their notes
    remarks: list = dataclasses.field(default_factory=list)  # kinds of warnings and remarks
    texts: list = dataclasses.field(default_factory=list)    # (kind, name, bytes) of each result

    def add(self, kind, name, data):
        if kind == "done":
            self.status = name
        elif kind == "point":
            self.points.append(data.decode())
        elif kind in ("error", "note"):
            self.errors.append(f"{kind}: {data.decode()}")
        elif kind in ("warning", "remark"):
            self.remarks.append(f"{kind}: {' '.join(data.decode().split()[:KIND_WORDS])}")
        else:
            self.texts.append((kind, name, data))

    def digest(self):
        parts = (self.status, self.points, self.errors, self.remarks, self.texts)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


class Digests:
    """Digests of answers from earlier runs with the same program, library and input files, stored in a file."""

    def __init__(self, folder, files):
        key = hashlib.sha256()
        for file in files:
            key.update(hashlib.sha256(pathlib.Path(file).read_bytes()).digest())
        self.path = pathlib.Path(folder) / f"answers-{key.hexdigest()[:16]}.json"
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def save(self):
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.known))
        part.replace(self.path)


def request(verb, path, function="", target="sm_80", bindings=""):
    return "\t".join((verb, str(path), function, target, bindings))


def read_answers(output):
    answers, current, at = [], Answer(), 0
    while at < len(output):
        end = output.find(b"\n", at)
        kind, size, name = output[at:end].decode().split(" ", 2)
        begin, at = end + 1, end + 2 + int(size)
        if at > len(output):  # it ended prematurely
            break
        current.add(kind, name, output[begin:at - 1])
        if kind == "done":
            answers.append(current)
            current = Answer()
    return answers


def ask(program, requests, folder, wrapper=()):
    """An answer for each request. If the program crashes at one, its answer says how, and the rest is sent again."""
    answers = []
    while len(answers) < len(requests):
        lines = "".join(line + "\n" for line in requests[len(answers):])
        ran = subprocess.run([*wrapper, str(program)], input=lines.encode(), capture_output=True, cwd=folder)
        answers += read_answers(ran.stdout)
        if len(answers) < len(requests):
            last = ran.stderr.decode(errors="replace").strip().split("\n")[-1]
            answers.append(Answer(f"exit status {ran.returncode}: {last}"))
    return answers

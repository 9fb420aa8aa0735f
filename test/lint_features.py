"""Fails if a test uses something that a machine may lack (a feature of test/features.py) without declaring it.

usage: lint_features.py FOLDER

Reads all RUN lines of all tests under FOLDER, and the scripts and C files that these lines name. A command may
use a feature's program, substitution, kind of --emit or argument in two cases: the test has `REQUIRES: FEATURE`,
or the command is in `%if FEATURE %{ .. %}`. Everything except a substitution may also be used if the test

* provides a stand-in (--ptxas=%t/.., or PATH=%t:.. with an empty TILE_TEST_HIDE),
* hides the program (TILE_TEST_HIDE=..), or
* expects the failure (`not`).

Any other program or Python module must be one that tools/setup installs (PROGRAMS, Python's own modules).
Sources must not name a folder where CUDA may be installed.
"""
import ast
import os
import re
import shlex
import sys

import features

# By the package that contains them; Debian's essential packages come first.
PROGRAMS = {
    "essential": "[ bash cat cd chmod cmp cp cut diff echo env exec export false find grep head ln ls mkdir mv nice "
                 "printf rm sed set sh sleep sort tail test timeout touch tr true ulimit uniq wc which xargs",
    "binutils": "nm objdump readelf",
    "llvm-22-tools": "FileCheck count lit not split-file",
    "this build": "embed_vector_add first_launch launch_cost tile-bench tile-faulty-opt tile-faulty-worker "
                  "tile-fuzz-replay tile-model-facts tile-model-rank tile-model-routes tile-opt tile-random tile-run "
                  "tile-unit tile-worker tilec text_to_ptx twice",
}
KNOWN = {name for names in PROGRAMS.values() for name in names.split()}
SUBSTITUTIONS = set("S s p t T build cc include kernels libtile loops python root".split())
OWN = ("%t", "%T")  # created by the test
PLACES = re.compile(r"/usr/local/cuda|libcuda\.so|CUDA_HOME")
# These are about the folders themselves.
PLACES_ALLOWED = {"features.py", "lit.cfg.py", "lint_features.py", "unit/test_cuda_driver.c",
                  "cuda/Inputs/check_driver.c", "cuda/Inputs/dead_driver.c"}


def run_lines(text):
    """(line number, text) of each RUN line, with its continuations and the test's own substitutions."""
    definitions, lines, begun = {}, [], None
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(r"\b(RUN|DEFINE|REDEFINE):(.*)", line)
        if not found:
            continue
        kind, words = found.group(1), found.group(2).strip()
        if begun:
            kind, number, words = begun[0], begun[1], begun[2] + words
        begun = (kind, number, words[:-1]) if words.endswith("\\") else None
        if begun:
            continue
        if kind == "RUN":
            for _ in range(10):  # definitions may name others
                words = re.sub(r"%\{([\w:-]+)\}", lambda m: definitions.get(m.group(1), m.group(0)), words)
            lines.append((number, words.replace("%{sweep} ", "")))
        elif "=" in words:
            name, value = words.split("=", 1)
            definitions[name.strip().strip("%{}")] = value.strip()
    return lines


def variants(line, guards=frozenset()):
    """(guards, text): the line as it runs if the conditions of its %if hold, and if they do not."""
    begin = re.search(r"%if\s+(.*?)\s*%\{", line)
    if not begin:
        return [(guards, line)]
    before = line[:begin.start()]
    then, after = split_block(line[begin.end():])
    other, otherwise = re.match(r"\s*%else\s*%\{", after), ""
    if other:
        otherwise, after = split_block(after[other.end():])
    return (variants(before + then + after, guards | features.names_in(begin.group(1))) +
            variants(before + otherwise + after, guards))


def split_block(text):
    """The text before the %} that ends this block, and the text after it."""
    depth = 1
    for mark in re.finditer(r"%\{|%\}", text):
        depth += 1 if mark.group() == "%{" else -1
        if depth == 0:
            return text[:mark.start()], text[mark.end():]
    return text, ""


def commands(text):
    """The words of each simple command, without redirections."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split, lexer.commenters = True, ""
    words, skips = [], False
    for word in lexer:
        if word and set(word) <= set("|&;()"):
            if words:
                yield words
            words = []
        elif word and set(word) <= set("<>&|"):
            skips = True
        elif skips:
            skips = False
        else:
            words.append(word)
    if words:
        yield words


class Command:
    """A program, its arguments, and the surrounding words."""

    def __init__(self, words):
        self.fails, self.settings = False, []
        words = list(words)
        while words:
            word = words[0]
            if re.fullmatch(r"\w+=.*", word, re.S):
                self.settings.append(word)
            elif word in ("not", "!"):
                self.fails = not self.fails
            elif word not in ("env", "--crash", "timeout", "nice", "exec", "do", "then", "else", "if", "while") and \
                    not re.fullmatch(r"[\d.]+[sm]?|-[uns]|--unset=\w+|-n\d+", word):
                break
            words = words[2:] if word in ("-u", "-s", "-n") else words[1:]
        self.program, self.arguments = (words[0], words[1:]) if words else ("true", [])
        self.name = self.program if self.program.startswith("%") and "/" not in self.program \
            else os.path.basename(self.program)

    def has_stand_in(self, feature):
        hides = [s.split("=", 1)[1].split(",") for s in self.settings if s.startswith(features.HIDE + "=")]
        if any(name in ("all", feature.name, *feature.programs) for names in hides for name in names):
            return True
        if feature.programs and features.HIDE + "=" in self.settings and \
                any(re.match(r"PATH=(%t|%S)", s) for s in self.settings):
            return True
        option = feature.stand_in
        given = [word[len(option):] for word in self.arguments if option and word.startswith(option)]
        return any(program not in feature.programs and program != "driver" for program in given)


def substitutions(text):
    return re.findall(r"%([A-Za-z_]\w*)", text)


def uses(command):
    """(feature, which part of it) of one command; a feature of None: not in any table."""
    everything = " ".join([command.program, *command.arguments, *command.settings])
    for feature in features.FEATURES:
        for name in set(substitutions(everything)) & set(feature.substitutions):
            yield feature, "%" + name
        if command.fails or command.has_stand_in(feature):
            continue
        if command.name in feature.programs:
            yield feature, command.name
        for kind in re.findall(r"--emit[= ](\w+)", everything):
            if kind in feature.emits:
                yield feature, "--emit=" + kind
        for word in set(command.arguments) & set(feature.words):
            yield feature, word
    own = command.program.startswith((*OWN, "%S/", "%root/", "%{"))
    programs = {p for f in features.FEATURES for p in f.programs}
    if not own and not command.name.startswith("%") and command.name not in KNOWN | programs:
        yield None, command.name
    for name in substitutions(command.program):
        if name not in SUBSTITUTIONS | {s for f in features.FEATURES for s in f.substitutions}:
            yield None, "%" + name


def python_uses(source, folder):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in (name.split(".")[0] for name in names):
                mine = [f for f in features.FEATURES if name in f.imports]
                if mine:
                    yield mine[0], "import " + name
                elif os.path.exists(os.path.join(folder, name + ".py")):
                    yield from file_uses(os.path.join(folder, name + ".py"))
                elif name not in sys.stdlib_module_names:
                    yield None, "import " + name
        elif isinstance(node, ast.List):
            yield from list_uses(node)


def list_uses(node):
    """A list of words that is a command, in the form that subprocess takes."""
    words = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    first = node.elts[0].value if node.elts and isinstance(node.elts[0], ast.Constant) else None
    for feature in features.FEATURES:
        if isinstance(first, str) and os.path.basename(first) in feature.programs:
            yield feature, first
        given = feature.stand_in and any(word.startswith(feature.stand_in) for word in words)
        for kind in feature.emits:
            if "--emit=" + kind in words and not given:
                yield feature, "--emit=" + kind


def shell_uses(source):
    for line in source.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                found = [Command(words) for words in commands(line)]
            except ValueError:  # a quotation continues on the next line
                continue
            for command in found:
                yield from (use for use in uses(command) if use[0])


FILES = {}  # what each file uses


def file_uses(path):
    """The features that a script or a C file in a command uses."""
    if path not in FILES:
        FILES[path] = []  # for scripts that import each other
        FILES[path] = list(dict.fromkeys(read_file(path))) if os.path.isfile(path) else []
    return FILES[path]


def read_file(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    if path.endswith(".py") or source.startswith("#!/usr/bin/env python3"):
        return python_uses(source, os.path.dirname(path))
    if path.endswith(".sh") or source.startswith(("#!/bin/sh", "#!/bin/bash")):
        return shell_uses(source)
    included = re.findall(r"#include <(.*?)>", source) if path.endswith(".c") else []
    return [(f, f"#include <{name}>") for f in features.FEATURES for name in f.headers if name in included]


def command_uses(command, test, root):
    yield from uses(command)
    if command.name in ("sh", "bash") and "-c" in command.arguments[:1]:
        for words in commands(command.arguments[1]):
            yield from command_uses(Command(words), test, root)
    if command.program == "%python" and "-c" in command.arguments[:1]:
        yield from python_uses(command.arguments[1], os.path.dirname(test))
    for word in [command.program, *command.arguments]:
        path = word.replace("%S", os.path.dirname(test)).replace("%root/test", root)
        for feature, what in file_uses(path):
            if feature is None or not command.has_stand_in(feature):
                yield feature, f"{what}, by {os.path.basename(path)}"


def check_test(path, root):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    required = set().union(*(features.names_in(line) for line in re.findall(r"REQUIRES:(.*)", text)))
    for number, line in run_lines(text):
        if "/usr/local/cuda" in line:
            yield number, "names where CUDA is: use a substitution"
        for guards, part in variants(line):
            for command in map(Command, commands(part)):
                for feature, what in command_uses(command, path, root):
                    if feature is None:
                        yield number, f"{what}: tools/setup does not install it; add it to test/features.py"
                    elif not is_allowed(feature, what, required | guards):
                        yield number, f"{what} needs REQUIRES: {feature.name}, or %if {feature.name} %{{ .. %}}"


def is_allowed(feature, what, guards):
    implied = {need for f in features.FEATURES if f.name in guards for need in f.needs}
    # Without ptxas the driver can make the cubin.
    return feature.name in guards | implied or (what == "--emit=cubin" and "cuda" in guards)


def check_sources(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f != "__pycache__"]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".py", ".c", ".h", ".sh")) and path not in PLACES_ALLOWED:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    for number, line in enumerate(file, 1):
                        if PLACES.search(line) and not line.lstrip().startswith(("/*", "*", "//", "#include")):
                            yield path, number, "names where CUDA is: ask tool_find_cuda_program, or take an argument"


def main():
    root = os.path.abspath(sys.argv[1])
    faults, count = [], 0
    for path in features.list_tests(root):
        count += 1
        faults += [(os.path.relpath(path, root), *fault) for fault in dict.fromkeys(check_test(path, root))]
    faults += check_sources(root)
    for path, number, what in faults:
        print(f"{path}:{number}: {what}")
    print(f"{count} tests, {len(faults)} faults")
    return bool(faults)


sys.exit(main())

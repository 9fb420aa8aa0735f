"""The two sides of compare.py: for each a source tree, its build, and its emit program (emit.c)."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EMIT = "test/compare/emit.c"


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(*command, **options):
    """Returns the output of a command; exits if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"compare.py: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def git(*words, tree=ROOT):
    return run("git", "-C", tree, *words).strip()


def first_emitter():
    """The oldest version of emit.c in the history of the working tree, or the file itself.

    The library's interface may have changed since a base that is older than emit.c."""
    added = git("log", "--diff-filter=A", "--format=%H", "--", EMIT).split() if (ROOT / ".git").exists() else []
    return git("show", f"{added[-1]}:{EMIT}") + "\n" if added else (ROOT / EMIT).read_text()


class Side:
    """A tree with its build folder and its programs."""

    def __init__(self, name, tree, build):
        self.name, self.tree, self.build = name, pathlib.Path(tree).resolve(), pathlib.Path(build).resolve()
        self.emitter = None

    def configure_and_build(self, options, everything):
        say(f"building {self.name}: {self.tree} into {self.build}")
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        if not (self.build / "build.ninja").exists():
            launcher = shutil.which("ccache")
            run("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", *options,
                *([f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}"] if launcher else []), env=environment)
        targets = [] if everything else ["tile", "tile-random"]
        run("ninja", "-C", self.build, *targets, env=environment)

    def facts(self):
        return json.loads((self.build / "test" / "build.json").read_text())

    def build_emitter(self, folder, given):
        """Compiles emit.c with this side's headers and library, unless the program is given."""
        if given:
            self.emitter = pathlib.Path(given).resolve()
            return
        own = self.tree / EMIT
        source = own.read_text() if own.exists() else first_emitter()
        library = self.build / "lib" / "libtile.so"
        key = hashlib.sha256(f"{source}{self.tree}{library}".encode()).hexdigest()[:12]
        self.emitter = folder / f"emit-{self.name}-{key}"
        path = folder / f"emit-{self.name}.c"
        path.write_text(source)
        run(self.facts()["cc"], "-std=c11", "-O2", f"-I{self.tree / 'include'}", path, library,
            f"-Wl,-rpath,{library.parent}", "-o", self.emitter)

    def kernel_files(self):
        return sorted((self.tree / "tools" / "kernels").glob("*.tile"))


def checkout(commit, tree):
    """A git worktree of the commit; an existing one is moved to it."""
    commit = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    if not (tree / ".git").exists():
        git("worktree", "prune")
        git("worktree", "add", "--force", "--detach", tree, commit)
    elif git("rev-parse", "HEAD", tree=tree) != commit:
        git("checkout", "--quiet", "--detach", commit, tree=tree)
    return commit


def make_sides(options):
    """Both sides, built unless --no-build is given."""
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    tree = pathlib.Path(options.base_tree).resolve() if options.base_tree else work / "base"
    if not options.base_tree:
        checkout(options.base, tree)
    sides = [Side("base", tree, options.base_build or work / "base-build"),
             Side("head", ROOT, options.head_build or work / "head-build")]
    if not options.no_build:
        config = head_configuration(options)
        for side in sides:
            side.configure_and_build(config, everything="tests" in options.only)
    llvm = [side.facts()["llvm_config"] for side in sides]
    if os.path.realpath(llvm[0]) != os.path.realpath(llvm[1]):
        sys.exit(f"compare.py: the builds use different LLVMs: {llvm[0]} and {llvm[1]}")
    if set(options.only) - {"tests"}:
        for side, given in zip(sides, (options.base_emitter, options.head_emitter)):
            side.build_emitter(work, given)
    return sides


def head_configuration(options):
    words = ["-DCMAKE_BUILD_TYPE=Release"]
    if options.llvm_config:
        words.append(f"-DTILE_LLVM_CONFIG={options.llvm_config}")
    return words

"""The features of lit.cfg.py: every program, device or package that a test uses and that a machine may lack.

    features.py report FOLDER     after a test run: which kinds of test were skipped, and how to enable them
    features.py filter FOLDER     for lit --filter: the tests that use a feature which is available, but was hidden
                                  from the test run in FOLDER
    features.py show CC           which features are available with this C compiler, and where

TILE_TEST_HIDE lists features (comma-separated, or `all`) that are treated as absent even if the machine
has them. The tools' own search for programs respects it (tools/common/assembler.h), so a machine with a CUDA
toolkit behaves like one without. Programs that tools/setup installs are not features: tests may use them freely.
"""
import ctypes
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
HIDE = "TILE_TEST_HIDE"
EACH_DEVICE = "%{device}"  # in RUN lines (shell_test.py): the CPU device, then the GPU if there is one
TOOLKIT = "install the CUDA toolkit 13 (https://developer.nvidia.com/cuda-downloads)"
ASSEMBLER = "PATH=$(test/install_assembler build-cuda):$PATH tools/setup test"
OLDEST_PTXAS = (13, 0)


@dataclasses.dataclass(frozen=True)
class Feature:
    name: str
    what: str  # what its tests do
    enable: str  # the command, or what to install
    programs: tuple = ()  # any one of them
    substitutions: tuple = ()  # of RUN lines
    emits: tuple = ()  # kinds of tilec --emit
    words: tuple = ()  # arguments of a command
    imports: tuple = ()  # modules of Python
    headers: tuple = ()  # of C, in the toolkit
    stand_in: str = ""  # the option by which a test provides its own program
    needs: tuple = ()  # other features that it requires


FEATURES = [
    Feature("ptxas", "assemble PTX", ASSEMBLER, programs=("ptxas",), substitutions=("ptxas", "assemble"),
            emits=("cubin", "resources"), stand_in="--ptxas="),
    Feature("nvdisasm", "read machine code", ASSEMBLER, programs=("nvdisasm", "cuobjdump"), emits=("sass",),
            stand_in="--disassembler=", needs=("ptxas",)),
    Feature("cuda", "run kernels on a GPU", "install an NVIDIA GPU (compute capability 8.0 or later) and its "
            "driver (https://www.nvidia.com/drivers)", words=("cuda", "--device=cuda")),
    Feature("compute-sanitizer", "run kernels under NVIDIA's sanitizer, on a GPU", TOOLKIT,
            programs=("compute-sanitizer",), substitutions=("sanitizer",)),
    Feature("cuda-toolkit", "compare declarations with cuda.h", TOOLKIT, substitutions=("cuda_include",),
            headers=("cuda.h",)),
    Feature("cublas-header", "compare declarations with cublasLt.h", TOOLKIT, headers=("cublasLt.h",)),
    Feature("ncu", "read hardware counters", TOOLKIT, programs=("ncu",), words=("--profile",)),
    Feature("cxx", "compile C++", "apt-get install g++", programs=("c++", "g++", "clang++"), substitutions=("cxx",)),
    Feature("cmake", "install the library", "apt-get install cmake", programs=("cmake",)),
    Feature("pkg-config", "build against the installed library", "apt-get install pkgconf", programs=("pkg-config",)),
    Feature("terminal", "draw on a terminal", "mount -t devpts devpts /dev/pts", imports=("pty",)),
]
NAMES = [feature.name for feature in FEATURES]


# Features of this machine ----------------------------------------------------------------------------

def hidden(value=None):
    """The names in TILE_TEST_HIDE, or in an earlier value of it."""
    value = os.environ.get(HIDE, "") if value is None else value
    names = {name for name in value.split(",") if name}
    unknown = names - {"all", *NAMES}
    if unknown:
        sys.exit(f"{HIDE}: no feature is called {', '.join(sorted(unknown))}; there are all, {', '.join(NAMES)}")
    return set(NAMES) if "all" in names else names


def hidden_words(names):
    """The value for the tools, which hide programs, not features."""
    programs = [program for feature in FEATURES if feature.name in names for program in feature.programs]
    return ",".join(dict.fromkeys([*sorted(names), *programs]))


def find_program(*names):
    """Searches as tools/common/assembler.c does."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    path = os.pathsep.join([os.environ.get("PATH", "/usr/bin:/bin"), *(os.path.join(h, "bin") for h in homes if h)])
    return next((found for found in (shutil.which(name, path=path) for name in names) if found), None)


def find_header(name):
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home and os.path.exists(os.path.join(home, "include", name)):
            return os.path.join(home, "include", name)
    return None


def find_ptxas():
    """The path of the program, if it is new enough for the tests."""
    path = find_program("ptxas")
    if not path:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    return path if release and tuple(map(int, release.groups())) >= OLDEST_PTXAS else None


def find_cxx(cc):
    """The program that matches the C compiler, so that a clang build needs no g++ and vice versa."""
    fitting = re.sub("gcc", "g++", re.sub("clang", "clang++", cc))
    return (shutil.which(fitting) if fitting != cc else None) or find_program("c++", "g++", "clang++")


def cuda_capability():
    """The compute capability of the first device, 90 for 9.0; None if there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value < 1:
        return None
    parts = [ctypes.c_int(0), ctypes.c_int(0)]
    for attribute, part in zip((75, 76), parts):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, 0)
    return 10 * parts[0].value + parts[1].value


def has_terminal():
    try:
        ends = os.openpty()
    except OSError:
        return None
    for end in ends:
        os.close(end)
    return True


def detect(cc):
    """{feature: where} for each feature that is available and not hidden."""
    found = {
        "ptxas": find_ptxas(),
        "cuda": cuda_capability(),
        "cuda-toolkit": find_header("cuda.h"),
        "cublas-header": find_header("cublasLt.h"),
        "cxx": find_cxx(cc),
        "terminal": has_terminal(),
    }
    for feature in FEATURES:
        if feature.name not in found:
            found[feature.name] = find_program(*feature.programs)
    here = {name: where for name, where in found.items() if where and name not in hidden()}
    return {f.name: here[f.name] for f in FEATURES if f.name in here and all(need in here for need in f.needs)}


def detect_for(folder):
    """The same for the compiler of a build."""
    with open(os.path.join(folder, "test", "build.json"), encoding="utf-8") as file:
        return detect(json.load(file)["cc"])


# Features that tests use ----------------------------------------------------------------------------

def list_tests(folder):
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in ("Inputs", "unit", "worker", "faulty"))
        for name in sorted(files):
            if name.endswith((".test", ".tile")):
                yield os.path.join(path, name)


def names_in(condition):
    """The features that are implied by the condition: of `a && b` both, of `a || b` and `!a` none."""
    if "||" in condition:
        return set()
    terms = [term.strip(" ()") for term in re.split(r"&&|,", condition)]
    return {"cuda" if term.startswith("cuda-sm_") else term for term in terms if not term.startswith("!")}


def uses_of(text):
    """Features that a test names: those without which it is skipped, and those without which parts are omitted."""
    whole, part = set(), set()
    for line in re.findall(r"REQUIRES:(.*)", text):
        whole |= names_in(line)
    for condition in re.findall(r"%if\s+(.*?)\s*%\{", text):
        part |= names_in(condition)
    if EACH_DEVICE in text:
        part.add("cuda")
    return whole & set(NAMES), (part - whole) & set(NAMES)


def report(folder):
    here = detect_for(folder)
    whole, part = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for path in list_tests(TESTS):
        with open(path, encoding="utf-8", errors="replace") as file:
            uses = uses_of(file.read())
        for names, count in zip(uses, (whole, part)):
            for name in names:
                count[name] += 1
    absent = [f for f in FEATURES if f.name not in here and whole[f.name] + part[f.name]]
    if not absent:
        print("== no kind of test was skipped")
        return
    print("== kinds of tests that were skipped, and what enables them:")
    for feature in absent:
        counts = [f"{before}{count} test{'s' if count > 1 else ''}"
                  for before, count in (("", whole[feature.name]), ("parts of ", part[feature.name])) if count]
        print(f"     {feature.name} ({' and '.join(counts)}): to {feature.what}")
        print(f"       {'unset ' + HIDE if feature.name in hidden() else feature.enable}")


def show(cc):
    for name, where in detect(cc).items():
        print(name, where)
    print("the tools are told to hide:", hidden_words(hidden()))


def make_filter(folder):
    with open(os.path.join(folder, "hidden"), encoding="utf-8") as file:
        wanted = hidden(file.read().strip()) & set(detect_for(folder))
    tests = []
    for path in list_tests(TESTS):
        with open(path, encoding="utf-8", errors="replace") as file:
            whole, part = uses_of(file.read())
        if (whole | part) & wanted:
            tests.append(re.escape(os.path.relpath(path, TESTS)))
    print("(^|[ /])(%s)$" % "|".join(tests) if tests else "")


COMMANDS = {"report": report, "filter": make_filter, "show": show}
if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](sys.argv[2])

# How lit finds the tests and what their RUN lines may use.
#   lit test --param build=build
# Tools of the build and of LLVM (FileCheck, not, split-file) are on PATH. Substitutions: %{device}, %{sweep} and
# %{share} (shell_test.py), %kernels, %root, %build, %include, %libtile, %python, %cc, %cxx, %ptxas, %cuda_include,
# %assemble (FILE.ptx [--arch=sm_90a] [--registers=N]: ptxas, which must neither spill nor complain).
# Features: those of features.py, which a machine may lack; cuda-sm_90 (the GPU's compute capability);
# asan, test-function (properties of the build); whole-sweeps (TILE_TEST_SHARE=1/1). test/setup/features.test fails for
# a test that uses one without declaring it. Tests that take seconds are in .lit_test_times.txt: lit starts with these
# if a build has no times yet.
import json
import os
import re
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "test"))
import features  # noqa: E402
import shares  # noqa: E402
import shell_test  # noqa: E402
build = os.path.abspath(lit_config.params.get("build", os.path.join(root, "build")))
with open(os.path.join(build, "test", "build.json")) as file:
    facts = json.load(file)
llvm_bin = subprocess.check_output([facts["llvm_config"], "--bindir"], text=True).strip()

config.name = "tile"
share = shares.parse(lit_config.params.get("share") or os.environ.get(shares.NAME) or "%d/%d" % shares.of_commit(root))
if share != (1, 1):
    lit_config.note("of each sweep, share %d/%d runs; TILE_TEST_SHARE=1/1 runs all" % share)
config.test_format = shell_test.ShellTest(share)
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "test", "output")
config.suffixes = [".tile", ".test"]
config.excludes = ["Inputs", "unit", "worker", "faulty", "CMakeLists.txt"]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), llvm_bin, os.environ.get("PATH", "/usr/bin:/bin")])
for name in ("CUDA_HOME", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# A test finds only its own entries in a cache, and no test touches the user's cache.
config.environment["TILE_CACHE_DIR"] = ""
# For the scripts of sweeps.
config.environment[shares.NAME] = "%d/%d" % share
config.environment["HOME"] = os.path.join(build, "test", "home")
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "test", "home", "cache")


def substitute(name, value):
    # \b: %cc must not match in %cc_flags; the backslashes of a path must stay unchanged.
    config.substitutions.append((re.escape("%" + name) + r"\b", value.replace("\\", "\\\\")))


substitute("kernels", os.path.join(root, "tools", "kernels"))
substitute("root", root)
substitute("build", build)
substitute("include", os.path.join(root, "include"))
substitute("libtile", os.path.join(build, "lib", "libtile.so"))
substitute("python", sys.executable)
# %loops FILE [--most=N]: summarizes the innermost loops with wgmma
substitute("loops", "%s %s" % (sys.executable, os.path.join(root, "test", "Inputs", "loops.py")))
substitute("cc", facts["cc"])

here = features.detect(facts["cc"])
config.available_features.update(here)
if "cuda" in here:
    config.available_features.add("cuda-sm_%d" % here["cuda"])
if "ptxas" in here:
    substitute("ptxas", here["ptxas"])
    # %assemble FILE.ptx: fails on spills, and on messages of ptxas about wgmma (C75xx)
    substitute("assemble", "%s %s %s" % (
        sys.executable, os.path.join(root, "test", "Inputs", "assemble.py"), here["ptxas"]))
if "compute-sanitizer" in here:
    substitute("sanitizer", here["compute-sanitizer"])
if "cuda-toolkit" in here:
    substitute("cuda_include", os.path.dirname(here["cuda-toolkit"]))
if "cxx" in here:
    substitute("cxx", here["cxx"])
if features.hidden():
    config.environment[features.HIDE] = features.hidden_words(features.hidden())
if share == (1, 1):
    config.available_features.add("whole-sweeps")
if facts["test_function"] == "ON":
    config.available_features.add("test-function")
if facts["sanitize"] == "ON":
    config.available_features.add("asan")
    # The driver maps memory where ASan would otherwise place a guard.
    config.environment["ASAN_OPTIONS"] = "protect_shadow_gap=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"

# How lit finds the tests and what their RUN lines may use.
#   lit test --param build=build
# Tools of the build and of LLVM (FileCheck, not, split-file) are on PATH. Substitutions: %kernels,
# %root, %build, %include, %libtile, %python, %cc, %cxx, %ptxas, %cuda_include,
# %assemble (FILE.ptx [--arch=sm_90a] [--registers=N]: ptxas, which must not spill nor complain).
# Features: cuda (a device answers), cuda-sm_90 (its compute capability), ptxas, nvdisasm (or cuobjdump; SASS can be
# had), compute-sanitizer (%sanitizer), cuda-toolkit (cuda.h), cxx, asan, pkg-config.
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(lit_config.params.get("build", os.path.join(root, "build")))
with open(os.path.join(build, "test", "build.json")) as file:
    facts = json.load(file)
llvm_bin = subprocess.check_output([facts["llvm_config"], "--bindir"], text=True).strip()

config.name = "tile"
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "test", "output")
config.suffixes = [".tile", ".test"]
config.excludes = ["Inputs", "unit", "worker", "faulty", "CMakeLists.txt"]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), llvm_bin, os.environ.get("PATH", "/usr/bin:/bin")])
for name in ("CUDA_HOME", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Nothing is found in a cache but what a test has put there, and no test touches the user's.
config.environment["TILE_CACHE_DIR"] = ""
config.environment["HOME"] = os.path.join(build, "test", "home")
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "test", "home", "cache")


def find_cuda_file(*parts):
    """A file of the CUDA toolkit, where one is installed."""
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home and os.path.exists(os.path.join(home, *parts)):
            return os.path.join(home, *parts)
    return None


def cuda_capability():
    """Of the first device, 90 for 9.0; 0 if there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value < 1:
        return 0
    parts = [ctypes.c_int(0), ctypes.c_int(0)]
    for attribute, part in zip((75, 76), parts):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, 0)
    return 10 * parts[0].value + parts[1].value


def substitute(name, value):
    # \b: %cc must not be found in %cc_flags; the backslashes of a path must stay as they are.
    config.substitutions.append((re.escape("%" + name) + r"\b", value.replace("\\", "\\\\")))


substitute("kernels", os.path.join(root, "tools", "kernels"))
substitute("root", root)
substitute("build", build)
substitute("include", os.path.join(root, "include"))
substitute("libtile", os.path.join(build, "lib", "libtile.so"))
substitute("python", sys.executable)
# %loops FILE [--most=N]: what the innermost loops with wgmma consist of
substitute("loops", "%s %s" % (sys.executable, os.path.join(root, "test", "Inputs", "loops.py")))
substitute("cc", facts["cc"])

# The program that fits the compiler in use, so that a clang build needs no g++ and the reverse.
cxx = re.sub(r"gcc", "g++", re.sub(r"clang", "clang++", facts["cc"]))
cxx = shutil.which(cxx) if cxx != facts["cc"] else None
cxx = cxx or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
if cxx:
    config.available_features.add("cxx")
    substitute("cxx", cxx)

ptxas = find_cuda_file("bin", "ptxas") or shutil.which("ptxas")
if ptxas:
    config.available_features.add("ptxas")
    substitute("ptxas", ptxas)
    # %assemble FILE.ptx: fails on spills, and on whatever ptxas says about wgmma (C75xx)
    substitute("assemble", "%s %s %s" % (
        sys.executable, os.path.join(root, "test", "Inputs", "assemble.py"), ptxas))
if ptxas and any(find_cuda_file("bin", name) or shutil.which(name) for name in ("nvdisasm", "cuobjdump")):
    config.available_features.add("nvdisasm")  # tilec --emit=sass
if shutil.which("pkg-config") and shutil.which("cmake"):
    config.available_features.add("pkg-config")
sanitizer = find_cuda_file("bin", "compute-sanitizer") or shutil.which("compute-sanitizer")
if sanitizer:
    config.available_features.add("compute-sanitizer")
    substitute("sanitizer", sanitizer)
cuda_header = find_cuda_file("include", "cuda.h")
if cuda_header:
    config.available_features.add("cuda-toolkit")
    substitute("cuda_include", os.path.dirname(cuda_header))
capability = cuda_capability()
if capability:
    config.available_features.add("cuda")
    config.available_features.add("cuda-sm_%d" % capability)
if facts["sanitize"] == "ON":
    config.available_features.add("asan")
    # The driver maps memory where ASan would otherwise put a guard.
    config.environment["ASAN_OPTIONS"] = "protect_shadow_gap=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"

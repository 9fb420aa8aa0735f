"""Injects faults into copies of the driver's declarations: plant_faults.py ROOT SCRATCH COMPILER FLAG...

Fails unless the compiler rejects each of them with a message that names the error, and accepts unchanged copies."""
import os
import subprocess
import sys

root, scratch = sys.argv[1], sys.argv[2]
compiler = sys.argv[3:]
FILES = ("driver.def", "driver.h")
FAULTS = (  # what, file, text that occurs once, its replacement, word of the message
    ("no fault", "driver.h", "typedef int CUdevice;", "typedef int CUdevice;", None),
    ("a parameter's type", "driver.def", "(float *milliseconds,", "(double *milliseconds,",
     "cuEventElapsedTime"),
    ("an integer's width", "driver.def", "(CUdeviceptr *address, size_t bytes)",
     "(CUdeviceptr *address, unsigned bytes)", "cuMemAlloc_v2"),
    ("an integer's sign", "driver.def", "(unsigned flags))\nDRIVER(cuGetErrorName",
     "(int flags))\nDRIVER(cuGetErrorName", "cuInit"),
    ("another handle", "driver.def", "(CUmodule module))", "(CUfunction module))",
     "cuModuleUnload"),
    ("another enum", "driver.def", "CUjitInputType type", "CUjit_option type", "cuLinkAddData_v2"),
    ("a parameter too few", "driver.def", "(CUevent event, CUstream stream)", "(CUevent event)",
     "cuEventRecord"),
    ("a parameter too many", "driver.def", "(int *count)", "(int *count, int more)",
     "cuDeviceGetCount"),
    ("no prototype", "driver.def", "(int *count)", "()", "prototype"),
    ("the order", "driver.def", "(CUdeviceptr to, const void *from,",
     "(const void *from, CUdeviceptr to,", "cuMemcpyHtoD_v2"),
    ("an older version", "driver.def", "cuMemcpyDtoH_v2", "cuMemcpyDtoH", "cuMemcpyDtoH"),
    ("no such function", "driver.def", "cuLinkDestroy,              (", "cuLinkDestroy_v9, (",
     "cuLinkDestroy_v9"),
    ("a type", "driver.h", "typedef unsigned long long CUdeviceptr;",
     "typedef unsigned CUdeviceptr;", "CUdeviceptr"),
    ("a handle's tag", "driver.h", "struct CUmod_st *", "struct CUfunc_st *", "CUmod"),
    ("an enum's size", "driver.h", "typedef int CUjit_option;", "typedef long CUjit_option;",
     "CUjit_option"),
    ("a number", "driver.h", "SHARED_SIZE_BYTES, 8)", "SHARED_SIZE_BYTES, 9)",
     "MAX_DYNAMIC_SHARED_SIZE_BYTES"),
    ("a number's name", "driver.h", "CU_JIT_INPUT_PTX", "CU_JIT_INPUT_TEXT", "CU_JIT_INPUT_TEXT"),
)


def plant(file, old, new):
    folder = os.path.join(scratch, "runtime", "cuda", "driver")
    os.makedirs(folder, exist_ok=True)
    for name in FILES:
        with open(os.path.join(root, "runtime", "cuda", "driver", name)) as source:
            text = source.read()
        if name == file:
            if text.count(old) != 1:
                sys.exit(f"{file}: {old!r} occurs {text.count(old)} times")
            text = text.replace(old, new)
        with open(os.path.join(folder, name), "w") as copy:
            copy.write(text)


failures = 0
for what, file, old, new, word in FAULTS:
    plant(file, old, new)
    result = subprocess.run([*compiler, "-I" + scratch], text=True, capture_output=True)
    # Only the messages, not the source lines that they quote.
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    if word is None:
        right = result.returncode == 0
    else:
        right = result.returncode != 0 and any(word in line for line in errors)
    failures += not right
    print(what + ":", "right" if right else "WRONG\n" + result.stderr)
sys.exit(failures != 0)

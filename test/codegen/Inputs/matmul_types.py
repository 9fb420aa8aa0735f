"""Compiles products of many types for a target, assembles them, and prints the instructions used.

    matmul_types.py KERNELS.tile TARGET PTXAS|none KERNEL:A,B,S[:name=value] ...
"""
import os
import re
import subprocess
import sys
import tempfile

file, target, assembler = sys.argv[1:4]
with tempfile.TemporaryDirectory() as folder:
    for case in sys.argv[4:]:
        kernel, types, *more = case.split(":")
        a, b, s = types.split(",")
        ptx = os.path.join(folder, "k.ptx")
        parameters = ["A=" + a, "B=" + b, "S=" + s] + (["C=" + s] if kernel != "unsigned" else []) + more
        command = ["tilec", file, "--kernel=" + kernel, "--target=" + target, "--emit=ptx", "-o", ptx]
        for parameter in parameters:
            command += ["--param", parameter]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            sys.exit(" ".join(command) + "\n" + result.stderr)
        with open(ptx) as text:
            code = text.read()
        if assembler != "none":
            subprocess.run([assembler, "-arch=" + target, ptx, "-o", os.path.join(folder, "k.cubin")], check=True)
        names = sorted(set(re.findall(r"mma(?:_async)?\.sync\.aligned\.(\S+?);?\s", code)))
        loads = sorted(set(re.findall(r"ldmatrix\.sync\.aligned\.(\S+?)\.shared", code)))
        version = re.search(r"\.version (\S+)", code).group(1)
        if kernel == "rounded":
            loads += [word for word in ("cp.async",) if word in code]
            loads += ["rounds"] if re.search(r"selp\.b32 .*, 2147483647", code) else []  # a NaN, when f32 becomes tf32
        print(case, "version", version, *names, *loads)

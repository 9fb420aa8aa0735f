"""Compiles kernels of exec/Inputs/wgmma_forms.py, assembles them as one module, and prints their instructions.

    wgmma_types.py WGMMA.py ASSEMBLE.py PTXAS CASE ...
"""
import os
import re
import runpy
import subprocess
import sys
import tempfile

import shares

generator, assemble, ptxas = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(generator))  # its imports are in the same folder
kernels = runpy.run_path(generator, run_name="kernels")
texts = list(kernels["cases_of"](sys.argv[4:]))
cases = [kernels["Case"](text) for text in shares.take(texts)]
HEAD = re.compile(r"^[ \t]*\.(version|target|address_size|extern|file)\b.*$", re.M)


MOST = 60  # cases per plan, which takes at most 1024 arguments


def compile_some(folder, first):
    """The PTX of a batch of cases, starting at this one."""
    tile, ptx = os.path.join(folder, "k.tile"), os.path.join(folder, "k.ptx")
    with open(tile, "w") as file:
        file.write(kernels["text_of"](cases[first:first + MOST], first))
    subprocess.run(["tilec", tile, "--kernel=all", "--target=sm_90a", "--emit=ptx", "-o", ptx], check=True)
    with open(ptx) as file:
        return file.read()


def compile_all(folder):
    """Concatenates the modules with one header: each has a kernel, and the same shared memory."""
    text = "".join(compile_some(folder, first) for first in range(0, len(cases), MOST))
    head = {}
    for line in HEAD.finditer(text):
        head[line.group(1)] = max(head.get(line.group(1), ""), line.group())  # the latest version
    order = ("version", "target", "address_size", "extern", "file")
    return "\n".join([head[word] for word in order if word in head] + [HEAD.sub("", text)])


with tempfile.TemporaryDirectory() as folder:
    module = os.path.join(folder, "all.ptx")
    text = compile_all(folder)
    with open(module, "w") as file:
        file.write(text)
    ran = subprocess.run([sys.executable, assemble, ptxas, module], capture_output=True, text=True)
if ran.returncode:
    sys.exit("\n".join("k%d %s" % (i, case.text) for i, case in enumerate(cases)) + "\n" + ran.stdout)
names = set(re.findall(r"wgmma\.mma_async\.(sp\.)?sync\.aligned\.(\S+)", text))
print("\n".join(sorted(sparse + name for sparse, name in names)))
print("%d of %d kernels" % (len(cases), len(texts)))

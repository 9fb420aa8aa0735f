"""Compiles and assembles kernels of exec/Inputs/wgmma_forms.py, and names their instructions.

    wgmma_types.py WGMMA.py ASSEMBLE.py PTXAS CASE ...
"""
import os
import re
import runpy
import subprocess
import sys
import tempfile

generator, assemble, ptxas = sys.argv[1:4]
kernels = runpy.run_path(generator, run_name="kernels")
cases = [kernels["Case"](text) for text in kernels["cases_of"](sys.argv[4:])]
names = set()
with tempfile.TemporaryDirectory() as folder:
    tile, ptx = os.path.join(folder, "k.tile"), os.path.join(folder, "k.ptx")
    with open(tile, "w") as file:
        file.write("".join(kernels["kernel"](case, "k%d" % i) for i, case in enumerate(cases)))
    for i, case in enumerate(cases):
        subprocess.run(["tilec", tile, "--kernel=k%d" % i, "--target=sm_90a", "--emit=ptx", "-o", ptx], check=True)
        ran = subprocess.run([sys.executable, assemble, ptxas, ptx], capture_output=True, text=True)
        if ran.returncode:
            sys.exit(case.text + "\n" + ran.stdout)
        with open(ptx) as file:
            names |= set(re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+)", file.read()))
print("\n".join(sorted(names)))
print("%d kernels" % len(cases))

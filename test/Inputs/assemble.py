"""Assembles PTX and fails if ptxas reports anything that costs speed.

usage: assemble.py PTXAS FILE.ptx [--arch=sm_90a] [--registers=N]

Failures besides errors: spills, local memory, and any message that ptxas numbers C75xx (it serializes
wgmma, waits for it, or orders its registers itself, because the code does not). With
--registers, using more registers is also a failure. Prints ptxas's output.
"""
import re
import subprocess
import sys
import tempfile


def main():
    options = dict(arg[2:].split("=", 1) for arg in sys.argv[1:] if arg.startswith("--"))
    ptxas, ptx = [arg for arg in sys.argv[1:] if not arg.startswith("--")]
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        ran = subprocess.run([ptxas, "-arch=" + options.get("arch", "sm_90a"), "-v", "-o", cubin.name, ptx],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(ran.stdout, end="")
    faults = re.findall(r"^.*\bC75\d\d\b.*$", ran.stdout, re.M)
    faults += [m.group() for m in re.finditer(r"(\d+) bytes (stack frame|spill stores|spill loads)", ran.stdout)
               if m.group(1) != "0"]
    for used in re.findall(r"Used (\d+) registers", ran.stdout):
        if int(used) > int(options.get("registers", used)):
            faults.append("%s registers, not %s" % (used, options["registers"]))
    for fault in faults:
        print("assemble: " + fault)
    sys.exit(ran.returncode != 0 or bool(faults))


main()

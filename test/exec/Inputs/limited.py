"""Runs a command with less and less memory: it must end by itself, and say why it fails.

    limited.py COMMAND ..."""
import resource
import subprocess
import sys

MIB = 1 << 20
succeeded = refused = 0
for limit in range(36, 1000):
    run = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=100,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB)))
    if "error while loading shared libraries" in run.stderr:
        continue  # it has not begun
    if run.returncode < 0:
        sys.exit(f"with {limit} MiB: signal {-run.returncode}\n{run.stderr}")
    if run.returncode == 0:
        succeeded += 1
        if succeeded == 3:
            break
    elif "memory" in run.stderr:
        refused += 1
    else:
        sys.exit(f"with {limit} MiB: status {run.returncode}\n{run.stderr}")
print("ended well,", "some" if refused else "none", "refused")

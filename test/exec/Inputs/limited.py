"""Runs a command with less and less memory: it must exit normally and report why it fails.

    limited.py COMMAND ..."""
import resource
import subprocess
import sys

MIB = 1 << 20


def limited(command, mib):
    return subprocess.run(command, capture_output=True, text=True, timeout=100,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB)))


succeeded = refused = 0
for limit in range(36, 1000):
    if limited([sys.argv[1], "--help"], limit).returncode:
        continue  # not enough to load the libraries and run their constructors
    run = limited(sys.argv[1:], limit)
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

"""Runs a command, which must succeed within this many seconds of its own processor time.

usage: seconds.py SECONDS COMMAND..."""
import resource
import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
spent = usage.ru_utime + usage.ru_stime
if spent > float(sys.argv[1]):
    sys.exit(f"{spent:.2f} s of processor time")
sys.exit(status)

"""other_build.py FROM TO: copies a library and gives the copy another build id."""
import re
import subprocess
import sys

old, new = sys.argv[1:]
notes = subprocess.run(["readelf", "-n", old], capture_output=True, text=True, check=True).stdout
build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes).group(1))
with open(old, "rb") as file:
    data = file.read()
assert data.count(build_id) == 1
with open(new, "wb") as file:
    file.write(data.replace(build_id, bytes(byte ^ 0xff for byte in build_id)))

"""Runs a matmul kernel through tile-run over sizes and points, and stops at the first failure.

    matmul.py KERNEL.tile --device=cpu --level=3 --sizes MxNxK,... --points name=value:name=value,...
"""
import argparse
import subprocess
import sys

import crowd

parser = argparse.ArgumentParser()
parser.add_argument("kernel")
parser.add_argument("--device", default="cpu")
parser.add_argument("--level")
parser.add_argument("--seed")
parser.add_argument("--sms")
parser.add_argument("--fill", default="int")
parser.add_argument("--sizes", required=True)
parser.add_argument("--points", required=True)
options = parser.parse_args()


def command_of(point, size):
    params = [word for pair in point.split(":") for word in ("--param", pair)]
    m, n, k = size.split("x")
    command = ["tile-run", options.kernel, "--device=" + options.device, *params,
               "--arg", "m=" + m, "--arg", "n=" + n, "--arg", "k=" + k,
               "--arg", f"a={options.fill}:f16[{m},{k}]", "--arg", f"b={options.fill}:f16[{k},{n}]",
               "--arg", f"c=poison:f16[{m},{n}]", "--check", "c=matmul(a,b)"]
    for name in ("level", "seed", "sms"):
        if getattr(options, name):
            command.append(f"--{name}={getattr(options, name)}")
    return command


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or "check" not in result.stdout:
        sys.exit(" ".join(command) + "\n" + result.stdout + result.stderr)


commands = [command_of(point, size) for point in options.points.split(",") for size in options.sizes.split(",")]
crowd.for_each(run, commands)
print(len(commands), "runs, all right")

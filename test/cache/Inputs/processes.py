"""Runs eight tilec at once on one cache, then some that are killed at random times: their output must be the same
without a cache.  usage: processes.py KERNEL FOLDER"""
import os
import subprocess
import sys
import time

kernel, folder = sys.argv[1:]
blocks = [128, 256, 512, 1024]


def start(block, *options):
    return subprocess.Popen(
        ["tilec", kernel, "--param", "block=%d" % block, *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def compile_all(*options):
    return [start(block, *options).communicate() for block in blocks]


expected = [output for output, _ in compile_all("--no-cache")]
cached = "--cache-dir=" + folder
running = [(i % 4, start(blocks[i % 4], cached)) for i in range(24)]
for i, process in running:
    output, errors = process.communicate()
    assert process.returncode == 0 and output == expected[i], (i, errors)
for round in range(20):
    if round % 5 == 0:
        subprocess.run(["tile-bench", "cache", "clear", cached], check=True)
    running = [start(block, cached) for block in blocks]
    time.sleep(0.004 * round)
    for process in running:
        process.kill()
        process.communicate()
    for (output, errors), right in zip(compile_all(cached), expected):
        assert output == right, errors
        assert errors == "", errors
shown = subprocess.run(["tile-bench", "cache", "show", cached], stdout=subprocess.PIPE, text=True).stdout
assert "artifacts  4" in shown, shown
assert os.listdir(folder) == ["tile-cache.sqlite"], os.listdir(folder)

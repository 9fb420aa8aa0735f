"""The test format of lit.cfg.py: shell tests whose commands may run on each device, and sweeps of which a share runs.

Devices: a test with %{device} runs once with `cpu` instead, and, if there is a GPU, once more with `cuda`.
A command only for the CPU device has --device=cpu, one only for a GPU is in `%if cuda %{ .. %}`.

Sweeps (shares.py): `RUN: %{sweep} COMMAND` is one of many similar commands, and runs in one share; no other line may
depend on it. %{share} is I/N for a tool's --share. Checks of the whole sweep are in `%if whole-sweeps %{ .. %}`.
"""
import re

import lit.formats
import lit.Test
import lit.TestRunner

import shares
from features import EACH_DEVICE

SWEEP = re.compile(rb"RUN:\s*%\{sweep\}")


def left_out(text, share):
    """The numbers of the sweep's lines that are in other shares."""
    lines = [number for number, line in enumerate(text.split(b"\n"), 1) if SWEEP.search(line)]
    return set(lines) - set(shares.take(lines, share))


class ShellTest(lit.formats.ShTest):
    def __init__(self, share):
        super().__init__(execute_external=False)
        self.share = share

    def execute(self, test, lit_config):
        with open(test.getSourcePath(), "rb") as file:
            text = file.read()
        # A command begins with "%dbg(RUN: at line N) ".
        substitutions = [(rf"(?s)(?<=RUN: at line {number}\) ).*", ":") for number in left_out(text, self.share)]
        substitutions += [(re.escape("%{sweep} "), ""), (re.escape("%{share}"), "%d/%d" % self.share)]
        repeats = EACH_DEVICE.encode() in text and "cuda" in test.config.available_features
        for device in ("cpu", "cuda") if repeats else ("cpu",):
            result = lit.TestRunner.executeShTest(test, lit_config, self.execute_external,
                                                  [*substitutions, (re.escape(EACH_DEVICE), device)])
            if result.code.isFailure or result.code is lit.Test.UNSUPPORTED:
                break
        return result

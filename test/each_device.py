"""The test format of lit.cfg.py: a shell test whose commands may run on each device of the machine.

A test that says %{device} runs once with `cpu` in its place, and where there is a GPU once more with `cuda`. One
command on the CPU device alone says --device=cpu, one on a GPU alone is in `%if cuda %{ .. %}`.
"""
import re

import lit.formats
import lit.Test
import lit.TestRunner

from features import EACH_DEVICE


class EachDeviceTest(lit.formats.ShTest):
    def execute(self, test, lit_config):
        with open(test.getSourcePath(), encoding="utf-8", errors="replace") as file:
            repeats = EACH_DEVICE in file.read() and "cuda" in test.config.available_features
        for device in ("cpu", "cuda") if repeats else ("cpu",):
            substitutions = [*self.extra_substitutions, (re.escape(EACH_DEVICE), device)]
            result = lit.TestRunner.executeShTest(test, lit_config, self.execute_external, substitutions,
                                                  self.preamble_commands)
            if result.code.isFailure or result.code is lit.Test.UNSUPPORTED:
                break
        return result

#!/usr/bin/env python3
"""Runs operations on rows as torch.compile compiles them; started by `tile-bench rows`.

It is a worker with the protocol of `tile-bench worker`, as attention_peers.py is. Each shape is compiled by itself. The
result is compared with that of PyTorch without a compiler, in f64.

  rows OP M N TYPE FLUSH   ready -1 -1 -1 WHAT
  prepare rows OP ..       ready -1 -1 -1 WHAT: compiles into PyTorch's cache, from which other processes take the code
  check                    right part | wrong WHY
  turn, sustain, flush, version   as in attention_peers.py
"""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # the folder may be that of an installation
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # one shape is one kernel; processes compile shapes in parallel
sys.path += [FOLDER, os.path.join(FOLDER, "..", "attention")]
import attention_peers  # noqa: E402
if not attention_peers.missing:
    import torch
    import torch.nn.functional as functional

EPSILON = 1e-5
OPERATIONS = {
    "softmax": lambda x, w, b: torch.softmax(x, 1),
    "layer_norm": lambda x, w, b: functional.layer_norm(x, w.shape, w, b, EPSILON),
    "rms_norm": lambda x, w, b: functional.rms_norm(x, w.shape, w, EPSILON),
    "sum": lambda x, w, b: x.sum(1, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32),
    "max": lambda x, w, b: x.amax(1),
    "argmax": lambda x, w, b: x.argmax(1),
    "scan": lambda x, w, b: x.cumsum(1),
    "transpose": lambda x, w, b: x.t().contiguous(),
}


class Rows(attention_peers.Peer):
    def __init__(self):
        super().__init__("compiled", None)

    def rows(self, op, m, n, type_, flush):
        self.arrays = None
        m, n, self.flush, self.op = int(m), int(n), flush, op
        of_type = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[type_]
        torch.compiler.reset()  # otherwise it gives up after a few shapes
        self.compiled = torch.compile(OPERATIONS[op], dynamic=False)
        torch.manual_seed(1)
        make = [torch.rand(shape, device=self.device) * 4 - 2 for shape in ((m, n), (n,), (n,))]
        self.arrays = [array.to(of_type) for array in make]
        self.launch()
        torch.cuda.synchronize()
        return f"ready -1 -1 -1 PyTorch {torch.__version__}"

    def prepare(self, _, *words):
        ready = self.rows(*words)
        self.arrays = None
        return ready

    def launch(self):
        return self.compiled(*self.arrays)

    def check(self):
        some = slice(0, max(1, (1 << 24) // self.arrays[0].shape[1]))
        arrays = [self.arrays[0][some].double(), self.arrays[1].double(), self.arrays[2].double()]
        got, expected = self.launch(), OPERATIONS[self.op](*arrays)
        got = got[:, some] if self.op == "transpose" else got[some]
        if self.op == "argmax":
            got, expected = (arrays[0].gather(1, index.view(-1, 1)) for index in (got, expected))
        share = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}[self.arrays[0].dtype]
        error = (got.double() - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
        return "right part" if error <= share else f"wrong its error is {error:.3g} of the largest element"

    def version(self):
        return f"version of PyTorch {torch.__version__}"

    def requests(self):
        return {"rows": self.rows, "prepare": self.prepare, "check": self.check, "turn": self.turn, "sustain": self.sustain,
                "version": self.version, "flush": self.set_flush}


if __name__ == "__main__":
    attention_peers.serve(Rows())

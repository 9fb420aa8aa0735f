#!/usr/bin/env python3
"""Runs one of PyTorch's backends of scaled_dot_product_attention; started by `tile-bench attention`.

It is a worker with the protocol of `tile-bench worker`: a request on each line of standard input, an answer on each
line of standard output. It generates q, k and v from two files in the folder. `numbers` has the same number of
32-bit floats for each of the three; `factors` has one for each row of q, then of k. An array repeats its numbers in
memory order, each multiplied by its row's factor.

  attention BATCH HEADS GROUPS M N D CAUSAL TYPE FLUSH   ready -1 -1 -1 WHAT
  flush FLUSH                                            flushing
  inputs own|first                                       loaded: regenerates the inputs; first: all keys of a head
                                                         repeat the numbers of the first one
  compute FILE                                           computed: the result is written
  turn WARMUP COUNT                                      times SECONDS ..
  sustain SECONDS                                        sustained LAUNCHES SECONDS CLOCK POWER ENERGY CAPPED
  version                                                version OF-THE-LIBRARY

A failed request is answered by "failed WHY".
"""
import argparse
import contextlib
import ctypes
import os
import sys
import threading
import time

try:
    import torch
    import torch.nn.functional as functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right
    missing = None if torch.cuda.is_available() else "PyTorch finds no GPU"
except Exception as error:  # raised by an incomplete installation
    missing = f"there is no PyTorch: {error}"

L2_FLUSH_BYTES = 256 << 20
AHEAD_CYCLES = 200_000  # gives the host time to get ahead of the GPU
MOST_AHEAD_CYCLES = 4_000_000


class Power:
    """Samples clock and power while something runs, using NVML if it is available."""

    SM_CLOCK, POWER_CAP = 1, 4

    def __init__(self):
        self.library = None
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
            self.device = ctypes.c_void_p()
            properties = torch.cuda.get_device_properties(0)
            bus = "%08x:%02x:%02x.0" % (properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id)
            if library.nvmlInit_v2() == 0:
                if library.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(self.device)) == 0:
                    self.library = library
        except (OSError, AttributeError):
            pass

    def ask(self, function, kind, *words):
        value = kind()
        if not self.library or getattr(self.library, function)(self.device, *words, ctypes.byref(value)) != 0:
            return 0
        return value.value

    def energy(self):
        return self.ask("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong)

    def watch(self):
        """Starts sampling; stop() returns the mean clock and power, and whether the power limit lowered the clock."""
        self.samples, self.done = [], False
        self.began, self.energy_before = time.monotonic(), self.energy()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while self.library and not self.done:
            clock = self.ask("nvmlDeviceGetClockInfo", ctypes.c_uint, self.SM_CLOCK)
            power = self.ask("nvmlDeviceGetPowerUsage", ctypes.c_uint)
            capped = self.ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong) & self.POWER_CAP
            self.samples.append((clock, 1e-3 * power, bool(capped)))
            time.sleep(0.01)

    def stop(self):
        seconds, energy = time.monotonic() - self.began, self.energy() - self.energy_before
        self.done = True
        self.thread.join()
        if not self.samples:
            return 0, 0, False
        clock, power, capped = (sum(column) / len(self.samples) for column in zip(*self.samples))
        return clock, 1e-3 * energy / seconds if energy > 0 else power, capped > 0.5


class Peer:
    def __init__(self, backend, folder):
        self.backend, self.folder, self.device = backend, folder, "cuda"
        self.arrays, self.power = None, None

    def attention(self, *words):
        self.arrays = None
        batch, heads, groups, m, n, d, causal = map(int, words[:7])
        self.type = {"f16": torch.float16, "bf16": torch.bfloat16}.get(words[7])
        if self.type is None:
            return f"failed it has no attention of {words[7]}"
        self.flush = words[8]
        self.shapes = [(batch, heads, m, d), (batch, groups, n, d), (batch, groups, n, d)]
        # PyTorch aligns the causal mask to the first key. If that differs, an explicit mask of this kind is passed.
        self.options = {"is_causal": bool(causal)} if m == n else {"attn_mask": causal_lower_right(m, n) if causal else None}
        if heads != groups:
            self.options["enable_gqa"] = True
        self.inputs()
        self.launch()
        torch.cuda.synchronize()
        return f"ready -1 -1 -1 PyTorch {torch.__version__}"

    def read(self, name):
        path = os.path.join(self.folder, name)
        floats = torch.from_file(path, size=os.path.getsize(path) // 4, dtype=torch.float32)
        return floats.to(self.device, copy=True)

    def make(self, shape, numbers, factors, first):
        """Batch by batch, because the indices are larger than the array."""
        made = torch.empty(shape, dtype=self.type, device=self.device)
        count = made[0].numel()
        for batch in range(shape[0]):
            place = torch.arange(batch * count, (batch + 1) * count, device=self.device) % numbers.numel()
            part = numbers[place].view(shape[1:])
            if first:
                part = part[:, :1]
            if factors is not None:
                part = part * factors.view(1, -1, 1)
            made[batch] = part.to(self.type)
        return made

    def inputs(self, whose="own"):
        self.arrays = None
        numbers, factors = self.read("numbers").view(3, -1), self.read("factors")
        rows = self.shapes[0][2]
        self.arrays = [self.make(shape, numbers[i], (factors[:rows], factors[rows:], None)[i], i == 1 and whose == "first")
                       for i, shape in enumerate(self.shapes)]
        torch.cuda.synchronize()
        return "loaded"

    def launch(self):
        which = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}[self.backend]
        with sdpa_kernel(which):
            return functional.scaled_dot_product_attention(*self.arrays, **self.options)

    def compute(self, path):
        result = self.launch().contiguous().cpu()
        with open(path, "wb") as file:
            file.write(ctypes.string_at(result.data_ptr(), result.numel() * result.element_size()))
        return "computed"

    def empty_l2(self, buffer):
        if self.flush == "dirty":
            buffer.zero_()
        elif self.flush == "clean":
            buffer.sum()

    def cycles_of_launch(self):
        """The GPU waits so long before each launch, so that the host's time for it is not part of the result."""
        torch.cuda.synchronize()
        began = time.perf_counter()
        self.launch()
        seconds = time.perf_counter() - began
        torch.cuda.synchronize()
        clock = 1e3 * getattr(torch.cuda.get_device_properties(0), "clock_rate", 2_000_000)
        return int(min(AHEAD_CYCLES + 2 * seconds * clock, MOST_AHEAD_CYCLES))

    def turn(self, warmup, count):
        warmup, count = int(warmup), int(count)
        buffer = None if self.flush == "none" else torch.zeros(L2_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        self.launch()
        ahead = self.cycles_of_launch()
        for i in range(-warmup, count):
            self.empty_l2(buffer)
            torch.cuda._sleep(ahead)
            if i >= 0:
                events[i][0].record()
            self.launch()
            if i >= 0:
                events[i][1].record()
        torch.cuda.synchronize()
        return "times " + " ".join("%.9g" % (1e-3 * begin.elapsed_time(end)) for begin, end in events)

    def batch(self, count):
        """This many launches as one graph, so that the host does not limit them; separately if no graph can be made."""
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(count):
                    self.launch()
            return graph.replay
        except RuntimeError:
            torch.cuda.synchronize()
            return lambda: [self.launch() for _ in range(count)]

    def load(self, batch, count, seconds):
        """Batches for this many seconds: number of launches, and their time by the GPU's clock."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        launches, taken, stop = 0, 0, time.monotonic() + seconds
        while True:
            begin.record()
            batch()
            end.record()
            end.synchronize()
            launches, taken = launches + count, taken + 1e-3 * begin.elapsed_time(end)
            if time.monotonic() >= stop:
                return launches, taken

    def sustain(self, seconds):
        seconds = float(seconds)
        self.launch()
        torch.cuda.synchronize()
        _, once = self.load(self.launch, 1, 0)
        count = int(min(max(0.05 / once, 1), 1000))
        batch = self.batch(count)
        self.load(batch, count, seconds / 3)
        self.power = self.power or Power()
        self.power.watch()
        launches, taken = self.load(batch, count, seconds * 2 / 3)
        clock, power, capped = self.power.stop()
        energy = 1e3 * power * taken / launches
        return "sustained %d %.9g %.6g %.6g %.6g %d" % (launches, taken, clock, power, energy, capped)

    def version(self):
        if self.backend == "cudnn":
            number = torch.backends.cudnn.version()
            return "version %d.%d.%d" % (number // 10000, number // 100 % 100, number % 100)
        return f"version of PyTorch {torch.__version__}"

    def set_flush(self, word):
        self.flush = word
        return "flushing"

    def requests(self):
        return {"attention": self.attention, "inputs": self.inputs, "compute": self.compute, "turn": self.turn,
                "sustain": self.sustain, "version": self.version, "flush": self.set_flush}

    def answer(self, line):
        words = line.split()
        requests = self.requests()
        if missing:
            return f"failed {missing}"
        if not words or words[0] not in requests:
            return f"failed the request '{line}' is not understood"
        if words[0] in ("inputs", "compute", "check", "turn", "sustain") and self.arrays is None:
            return "failed there is no product yet"
        return requests[words[0]](*words[1:])


def serve(peer):
    """Answers the requests on standard input."""
    # Redirects PyTorch's own output, because it is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            with torch.no_grad() if not missing else contextlib.nullcontext():
                text = peer.answer(line.strip())
        except Exception as error:  # a failure is an answer
            text = f"failed {error}"
        answers.write(" ".join(text.split()) + "\n")
        answers.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["flash", "cudnn"], required=True)
    parser.add_argument("--folder", required=True, help="of numbers and factors")
    options = parser.parse_args()
    serve(Peer(options.backend, options.folder))


if __name__ == "__main__":
    main()

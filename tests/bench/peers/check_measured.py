#!/usr/bin/env python3
"""Checks what measured.py calls a failure, with a PyTorch that computes by NumPy: `python check_measured.py`."""
import contextlib
import io
import json
import sys
import tempfile
import types

import numpy as np


class Tensor:
    """What measured.py needs of a tensor."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype = self.values.dtype

    def is_floating_point(self):
        return self.values.dtype.kind == "f"

    def fill_(self, value):
        self.values[...] = value

    def copy_(self, other):
        self.values[...] = other.values

    def zero_(self):
        self.values[...] = 0

    def normal_(self):
        return self

    def numel(self):
        return self.values.size

    def double(self):
        return Tensor(self.values.astype(np.float64))

    def norm(self):
        return Tensor(np.linalg.norm(self.values))

    def item(self):
        return float(self.values)

    def __sub__(self, other):
        return Tensor(self.values - other.values)

    def __truediv__(self, other):
        return Tensor(self.values / other.values)


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        pass

    def elapsed_time(self, end):
        return 1.0


def stand_in():
    """The module `torch`, with a GPU that has one name."""
    torch = types.ModuleType("torch")
    torch.Tensor, torch.float32, torch.uint8, torch.__version__ = Tensor, np.float32, np.uint8, "none"
    torch.float16, torch.bfloat16, torch.int8, torch.float8_e4m3fn, torch.int32 = np.float16, None, np.int8, None, np.int32
    torch.iinfo, torch.manual_seed = np.iinfo, lambda seed: None
    torch.empty = lambda count, dtype, device: Tensor(np.zeros(min(count, 16), dtype))
    torch.empty_like = lambda t: Tensor(np.zeros_like(t.values))
    torch.cuda = types.SimpleNamespace(Event=Event, synchronize=lambda: None, is_available=lambda: True, get_device_name=lambda: "none")
    torch.version = types.SimpleNamespace(cuda=None)
    return torch


sys.modules["torch"] = stand_in()
import measured  # noqa: E402: after the stand-in

measured.Ours = lambda path: None
RIGHT = np.arange(1.0, 5.0, dtype=np.float32)


def writes(out, values):
    return lambda: out.copy_(Tensor(np.asarray(values, np.float32)))


def fails(text):
    def f():
        raise RuntimeError(text)
    return f


def status_of(contenders):
    """The exit status of a run that compares contenders, {(who, how): a function of the output that gives the function to measure}. None: a run
    that compares nothing."""
    def run(b, tw):
        out = Tensor(np.zeros(4, np.float32))
        if contenders is not None:
            b.compare("kernel", "4", {key: f(out) for key, f in contenders.items()}, out, Tensor(RIGHT).double(), 32)
    with tempfile.NamedTemporaryFile("r") as file, contextlib.redirect_stdout(io.StringIO()):
        try:
            measured.measure(types.SimpleNamespace(bench_gpu="", quick=False, commit="", json=file.name), run)
        except SystemExit as end:
            json.load(file)
            return end.code
    return None


def main():
    right, wrong = (lambda out: writes(out, RIGHT)), (lambda out: writes(out, RIGHT + 1))
    partial = lambda out: lambda: out.values.__setitem__(slice(0, 3), RIGHT[:3])  # the last element keeps its NaN
    large = lambda out: fails("a program needs 200 KiB of shared memory")
    cases = [
        ("a right result", {("ours", "library"): right, ("torch", ""): right}, 0),
        ("a wrong result", {("ours", "library"): wrong, ("torch", ""): right}, 1),
        ("an element that is not written", {("ours", "library"): partial}, 1),
        ("a wrong peer", {("ours", "library"): right, ("torch", ""): wrong}, 0),
        ("a peer that fails", {("ours", "library"): right, ("torch", ""): lambda out: fails("no kernel")}, 0),
        ("a tile that does not fit beside one that does", {("ours", "128x128"): large, ("ours", "library"): right}, 0),
        ("a tile that fails in another way", {("ours", "128x128"): lambda out: fails("no such kernel"), ("ours", "library"): right}, 1),
        ("a library's choice that does not fit", {("ours", "library"): large, ("ours", "64x64"): right}, 1),
        ("tiles of which none fits", {("ours", "128x128"): large, ("torch", ""): right}, 1),
        ("nothing", None, 1),
    ]
    for what, contenders, want in cases:
        got = status_of(contenders)
        if got != want:
            sys.exit(f"{what}: status {got}, expected {want}")


if __name__ == "__main__":
    main()

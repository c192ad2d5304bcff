#!/usr/bin/env python3
"""Measures configurations of the kernel library on one GPU: the data that its model of GPUs (frontend/kernels/models/matrix_model.h) is fitted to.

    calibrate.py LIBBENCH_GPU --json FILE [--seconds 100] [--processes 16]

Processes compile their share first, which fills the caches of PTX and of the driver; then one process measures alone: each configuration of each
shape some rounds, caches warm, the median. A row has the shape, the configuration and microseconds; a configuration that does not fit
has none.
"""
import argparse
import ctypes
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

import measured
from measured import torch

PRODUCTS = {
    "f16": [(4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512), (16, 4096, 4096), (128, 4096, 4096), (1000, 1000, 1000),
            (1023, 1025, 1021)],
    "tf32": [(2048, 2048, 2048), (1024, 1024, 1024)],
    "i8": [(2048, 2048, 2048), (1023, 1025, 1021)],
}
ATTENTIONS = [(32, 4096, 64, 0), (32, 4096, 64, 1), (32, 4096, 128, 0), (32, 4096, 128, 1), (64, 512, 64, 0)]
ROUNDS, LAUNCHES = 9, 10


def product_configurations(types, m, n, k):
    size = {"f16": 2, "tf32": 4, "i8": 1}[types]
    for bm, bn, bk, warps, stages in itertools.product((16, 32, 64, 128), (32, 64, 128, 256), (32, 64, 128, 256), (2, 4, 8), (2, 3, 4)):
        tile, shared = bm * bn, (bm + bn) * bk * size * stages
        if bk * size not in (64, 128, 256) or tile > warps * 4096 or tile < warps * 256 or shared > 227 << 10:
            continue
        if bm > 2 * m or (m < 64) != (bm < 32) or (tile < 4096 and m * n > 1 << 20 and m > 16) or (stages == 2 and shared < 64 << 10):
            continue
        programs = -(-m // bm) * -(-n // bn)
        for splits in (1, 2, 4, 8):
            if splits == 1 or (programs * splits <= 4 * 132 and m * n < 1 << 20 and stages == 3):
                yield bm, bn, bk, warps, stages, splits


def attention_configurations(depth):
    for bm, bn, warps, stages in itertools.product((32, 64, 128), (32, 64, 128), (2, 4, 8), (2, 3, 4)):
        if 16 * warps <= bm <= 64 * warps and bm * (depth + bn) <= warps * 32 * 192 and (bm * depth + stages * bn * 2 * depth) * 2 <= 227 << 10:
            yield bm, bn, 32, warps, stages, 1


def jobs():
    """(name, shape, the configurations), small shapes first."""
    for types, shapes in PRODUCTS.items():
        for shape in shapes:
            yield types, shape, list(product_configurations(types, *shape))
    for heads, length, depth, causal in ATTENTIONS:
        yield "attention", (heads, length, depth, causal), list(attention_configurations(depth))


class Launcher:
    def __init__(self, tw, name, shape):
        self.tw, self.name, self.shape = tw, name, shape
        self.stream = torch.cuda.current_stream()
        if name == "attention":
            heads, length, depth, _ = shape
            self.buffers = [torch.randn(heads, length, depth, device="cuda").half() for _ in range(4)]
        else:
            self.buffers = measured.factors(name, *shape, False)

    def __call__(self, configuration):
        numbers = (ctypes.c_int * 6)(*configuration)
        if self.name == "attention":
            self.tw.call("tw_library_attention", *self.buffers, *self.shape, numbers)
        else:
            self.tw.call("tw_library_product", self.name.encode(), *self.buffers, *self.shape, numbers)


def compile_share(tw, share, processes, deadline):
    everything = [(name, shape, c) for name, shape, all in jobs() for c in all]
    # A kernel depends on the types, the tiles and the divisibility of extents, not on the shape: most compilations are found.
    for name, shape, c in everything[share::processes]:
        if time.monotonic() > deadline:
            return
        try:
            Launcher(tw, name, shape)(c)
        except RuntimeError:
            pass
    torch.cuda.synchronize()


def microseconds(launch, configuration):
    """Short launches are captured into a graph, since the host, in Python, is slower than they are."""
    launch(configuration)
    torch.cuda.synchronize()

    def timed(f, rounds):
        times = []
        for _ in range(rounds):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            f()
            end.record()
            times.append((begin, end))
        torch.cuda.synchronize()
        return statistics.median(b.elapsed_time(e) for b, e in times) * 1e3

    once = timed(lambda: launch(configuration), 3)
    if once > 400:
        return min(once, timed(lambda: launch(configuration), ROUNDS))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=launch.stream):
        for _ in range(LAUNCHES):
            launch(configuration)
    return timed(graph.replay, ROUNDS) / LAUNCHES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_gpu", help="libbench_gpu.so")
    parser.add_argument("--json", required=True)
    parser.add_argument("--seconds", type=float, default=100, help="of compiling, and as many of measuring")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--share", type=int)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    tw = measured.Ours(options.bench_gpu)
    if options.share is not None:
        return compile_share(tw, options.share, options.processes, time.monotonic() + options.seconds)
    me = [sys.executable, __file__, options.bench_gpu, "--json", options.json, "--seconds", str(options.seconds), "--processes", str(options.processes)]
    for child in [subprocess.Popen(me + ["--share", str(i)]) for i in range(options.processes)]:
        child.wait()
    deadline, rows, left = time.monotonic() + options.seconds, [], 0
    torch.cuda.set_stream(torch.cuda.Stream())  # the default stream cannot be captured
    tw.use_current_stream()
    for name, shape, configurations in jobs():
        launch = Launcher(tw, name, shape)
        for c in configurations:
            if time.monotonic() > deadline:
                left += 1
                continue
            try:
                us = microseconds(launch, c)
            except RuntimeError:
                us = None
            rows.append(dict(kernel=name, shape=list(shape), configuration=list(c), us=us))
        with open(options.json, "w") as f:
            json.dump(dict(device=torch.cuda.get_device_name(), rows=rows), f)
        best = min((r for r in rows if r["kernel"] == name and r["shape"] == list(shape) and r["us"]), key=lambda r: r["us"], default=None)
        print(name, shape, len(configurations), "configurations, best", best, flush=True)
    if left:
        print(f"no time was left for {left} configurations")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Our kernels beside Triton's, PyTorch's and cuBLAS's on one GPU, in one process, in turns.

    python on_gpu.py LIBBENCH_GPU [--json FILE] [--commit HASH] [--only softmax ...]

LIBBENCH_GPU is libbench_gpu.so of the build; Python needs torch and triton. The kernels are those of tests/bench/gpu_kernels.h, line by
line. Every contender runs on the same buffers of random numbers: outputs are poisoned with NaN and compared with double precision first;
then in each of `repeats` rounds each contender runs once, on a cache that was overwritten, between two events of the device. Medians.
`of copy` is the time of a device copy that moves as many bytes, measured in the same rounds, over the contender's.
"""
import argparse
import ctypes
import datetime
import json
import statistics
import subprocess
import time

import torch
import triton

import side_by_side as kernels

REPEATS = 30


class Ours:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tw_failure.restype = ctypes.c_char_p
        self.lib.tw_launch_ns.restype = self.lib.tw_driver_launch_ns.restype = ctypes.c_double
        self.use_current_stream()

    def use_current_stream(self):
        self.call("tw_open", b"cuda:0", ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def call(self, name, *args):
        words = [ctypes.c_uint64(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in args]
        if getattr(self.lib, name)(*words):
            raise RuntimeError(self.lib.tw_failure().decode())

    def launch_ns(self, *tensors, n, launches, function="tw_launch_ns"):
        ns = getattr(self.lib, function)(*(ctypes.c_uint64(t.data_ptr()) for t in tensors), n, launches)
        if ns < 0:
            raise RuntimeError(self.lib.tw_failure().decode())
        return ns


class Bench:
    def __init__(self):
        self.rows = []
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def check(self, out, want):
        """Relative error; NaN where something was not written."""
        return ((out.double() - want).norm() / want.norm()).item()

    def compare(self, kernel, shape, contenders, out, want, moved, flops=None, tolerance=1e-5):
        """contenders: {(who, how): function that fills `out`}."""
        usable, errors = {}, {}
        for key, f in contenders.items():
            out.fill_(float("nan"))
            try:
                f()
                torch.cuda.synchronize()
            except Exception as e:  # one contender's failure is a row, not the end
                print(f"{kernel} {shape} {key}: failed: {str(e).splitlines()[0][:150]}", flush=True)
                self.rows.append(dict(kernel=kernel, shape=shape, who=key[0], how=key[1], failure=str(e)[:400]))
                continue
            errors[key] = self.check(out, want)
            if not errors[key] <= tolerance:
                print(f"{kernel} {shape} {key}: WRONG, relative error {errors[key]}", flush=True)
            usable[key] = f
        source = torch.empty(max(1, moved // 8), dtype=torch.float32, device="cuda").normal_()
        target = torch.empty_like(source)
        usable[("copy", "")] = lambda: target.copy_(source)
        times = {key: [] for key in usable}
        for f in usable.values():
            f()
        events = []
        for _ in range(REPEATS):
            for key, f in usable.items():
                self.flush.zero_()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                f()
                end.record()
                events.append((key, begin, end))
        torch.cuda.synchronize()
        for key, begin, end in events:
            times[key].append(begin.elapsed_time(end) * 1e3)
        copy = statistics.median(times[("copy", "")])
        best = {}
        for key, t in times.items():
            us = statistics.median(t)
            row = dict(kernel=kernel, shape=shape, who=key[0], how=key[1], us=us, gb_s=moved / us / 1e3, of_copy=copy / us,
                       least_us=min(t), error=errors.get(key))
            if flops:
                row["tflop_s"] = flops / us / 1e6
            self.rows.append(row)
            if key[0] not in best or us < best[key[0]][0]:
                best[key[0]] = (us, key[1], row)
        line = "  ".join(f"{who} {us:8.1f} us ({row['of_copy']:.2f}{', %.1f TF' % row['tflop_s'] if flops else ''}) {how}" for who, (us, how, row) in best.items())
        print(f"{kernel:11} {shape:18} {line}", flush=True)


def randn(*shape):
    return torch.randn(*shape, device="cuda")


def vector_add(b, tw):
    for n in (1 << 20, 1 << 24, 1 << 26, 1 << 28, (1 << 26) - 3):
        x, y = randn(n), randn(n)
        out = torch.empty_like(x)
        c = {("torch", ""): lambda: torch.add(x, y, out=out)}
        for block, warps in ((1024, 4), (2048, 4)):
            c["ours", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: tw.call("tw_vector_add", x, y, out, n, block, warps)
            c["triton", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: kernels.vector_add[(triton.cdiv(n, block),)](
                x, y, out, n, BLOCK=block, num_warps=warps)
        b.compare("vector_add", str(n), c, out, x.double() + y.double(), 12 * n)


def rows_cases():
    total = 1 << 26
    for columns in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
        yield total // columns, columns
    for columns in (1000, 1001, 4095, 12345):
        yield total // columns, columns


def warps_for(block):
    return [w for w in (1, 2, 4, 8, 16, 32) if 8 <= block // (32 * w) <= 64] or [32]


def softmax(b, tw):
    for rows, columns in rows_cases():
        x = randn(rows, columns)
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        c = {("torch", ""): lambda: torch.softmax(x, 1, out=out)}
        for warps in warps_for(block):
            c["ours", f"{warps} warps"] = lambda warps=warps: tw.call("tw_softmax", out, x, rows, columns, block, warps)
            c["triton", f"{warps} warps"] = lambda warps=warps: kernels.softmax[(rows,)](out, x, columns, columns, columns, BLOCK=block, num_warps=warps)
        want = torch.softmax(x.double(), 1)
        b.compare("softmax", f"{rows}x{columns}", c, out, want, 8 * rows * columns)


def layer_norm(b, tw):
    for rows, columns in rows_cases():
        if columns < 1000:
            continue
        x, weight, bias = randn(rows, columns), randn(columns), randn(columns)
        means, scales, out = randn(rows), randn(rows), torch.empty_like(x)
        c = {("torch", ""): lambda: torch.ops.aten.native_layer_norm.out(
            x, [columns], weight, bias, 1e-5, out0=out, out1=means.view(rows, 1), out2=scales.view(rows, 1))}
        want = torch.nn.functional.layer_norm(x.double(), (columns,), weight.double(), bias.double(), 1e-5)
        for block, warps in {(1024, 4), (min(4096, triton.next_power_of_2(columns)), 8 if columns > 2048 else 4)}:
            c["ours", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: tw.call(
                "tw_layer_norm", x, out, weight, bias, means, scales, rows, columns, block, warps)
            c["triton", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: kernels.layer_norm[(rows,)](
                x, out, weight, bias, means, scales, columns, columns, 1e-5, BLOCK=block, num_warps=warps)
        b.compare("layer_norm", f"{rows}x{columns}", c, out, want, 8 * rows * columns, tolerance=1e-4)


def transpose(b, tw):
    for m, n in ((4096, 4096), (8192, 8192), (16384, 4096), (8191, 8193)):
        x, out = randn(m, n), torch.empty(n, m, device="cuda")
        c = {("torch", ""): lambda: out.copy_(x.t())}
        for bm, bn, warps in ((64, 64, 4), (32, 32, 4), (32, 64, 4), (64, 64, 8), (64, 128, 8)):
            how = f"{bm}x{bn}, {warps} warps"
            c["ours", how] = lambda bm=bm, bn=bn, warps=warps: tw.call("tw_transpose", x, out, m, n, bm, bn, warps)
            c["triton", how] = lambda bm=bm, bn=bn, warps=warps: kernels.transpose[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
                x, out, n, m, m, n, BM=bm, BN=bn, num_warps=warps)
        b.compare("transpose", f"{m}x{n}", c, out, x.double().t(), 8 * m * n)


def row_sum(b, tw):
    for rows, columns in ((65536, 1024), (16384, 4096)):
        x, out = randn(rows, columns), torch.empty(rows, device="cuda")
        c = {("torch", ""): lambda: torch.sum(x, 1, out=out)}
        for warps in warps_for(columns):
            c["ours", f"{warps} warps"] = lambda warps=warps: tw.call("tw_row_sum", x, out, rows, columns, columns, warps)
            c["triton", f"{warps} warps"] = lambda warps=warps: kernels.row_sum[(rows,)](x, out, columns, columns, BLOCK=columns, num_warps=warps)
        b.compare("row_sum", f"{rows}x{columns}", c, out, x.double().sum(1), 4 * rows * columns)


def matmul(b, tw):
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in (1024, 4096):
        x, y, out = randn(n, n), randn(n, n), torch.empty(n, n, device="cuda")
        c = {("cublas", ""): lambda: torch.mm(x, y, out=out)}
        for bm, bn, bk, warps in ((64, 64, 16, 4), (64, 64, 16, 8), (128, 64, 16, 8), (128, 128, 8, 8)):
            how = f"{bm}x{bn}x{bk}, {warps} warps"
            c["ours", how] = lambda bm=bm, bn=bn, bk=bk, warps=warps: tw.call("tw_matmul", x, y, out, n, n, n, bm, bn, bk, warps)
            if bm == bn == 64:
                c["triton", how] = lambda bm=bm, bn=bn, bk=bk, warps=warps: kernels.matmul[(triton.cdiv(n, bm), triton.cdiv(n, bn))](
                    x, y, out, n, n, n, n, n, n, BM=bm, BN=bn, BK=bk, num_warps=warps)
        b.compare("matmul_f32", f"{n}x{n}x{n}", c, out, x.double() @ y.double(), 12 * n * n, flops=2 * n**3)


def launches(b, tw):
    n = 1024
    x, y, out = randn(n), randn(n), torch.empty(n, device="cuda")

    def host_ns(f, count=500):
        samples = []
        for _ in range(15):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(count):
                f()
            samples.append((time.perf_counter_ns() - start) / count)
        torch.cuda.synchronize()
        return statistics.median(samples)

    def native(function):
        torch.cuda.synchronize()
        return tw.launch_ns(x, y, out, n=n, launches=500, function=function)

    rows = {
        "driver": statistics.median(native("tw_driver_launch_ns") for _ in range(15)),
        "ours": statistics.median(native("tw_launch_ns") for _ in range(15)),
        "triton": host_ns(lambda: kernels.vector_add[(1,)](x, y, out, n, BLOCK=1024)),
        "torch": host_ns(lambda: torch.add(x, y, out=out)),
    }
    for who, ns in rows.items():
        b.rows.append(dict(kernel="launch", shape="vector_add 1024", who=who, how="", host_ns=ns))
    print("host ns per launch: " + "  ".join(f"{who} {ns:.0f}" for who, ns in rows.items()), flush=True)


def graph(b, tw):
    """Our launches on PyTorch's streams, and captured into its graphs: right, in order with what it submits, and as fast as replays can be."""
    n, count = 1 << 16, 50
    x, out = randn(n), torch.zeros(n, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        tw.use_current_stream()
        tw.call("tw_vector_add", x, out, out, n, 1024, 4)  # compiled and loaded before the capture
        out.zero_()
        stream.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured, stream=stream):
            for _ in range(count):
                tw.call("tw_vector_add", x, out, out, n, 1024, 4)
            out.mul_(2)
        captured.replay()
        stream.synchronize()
        error = b.check(out, 2 * count * x.double())
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(10):
            captured.replay()
        end.record()
    torch.cuda.synchronize()
    tw.use_current_stream()
    us = begin.elapsed_time(end) * 1e3 / (10 * (count + 1))
    print(f"graph of {count} launches: relative error {error:.1e}, {us:.2f} us a launch", flush=True)
    assert error < 1e-5
    b.rows.append(dict(kernel="graph", shape=f"vector_add {n}", who="ours", how=f"{count} launches", us=us, error=error))


CASES = dict(launches=launches, graph=graph, vector_add=vector_add, softmax=softmax, layer_norm=layer_norm, transpose=transpose, row_sum=row_sum, matmul=matmul)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_gpu", help="libbench_gpu.so")
    parser.add_argument("--json")
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", nargs="*", default=list(CASES))
    options = parser.parse_args()
    torch.manual_seed(int(time.time()))
    b, tw = Bench(), Ours(options.bench_gpu)
    big = torch.empty(1 << 29, dtype=torch.float32, device="cuda").normal_()
    other = torch.empty_like(big)
    samples = []
    for _ in range(15):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        other.copy_(big)
        end.record()
        torch.cuda.synchronize()
        samples.append(8 * big.numel() / begin.elapsed_time(end) / 1e6)
    copy = statistics.median(samples)
    print(f"copy of 2 GiB: {copy:.0f} GB/s, bytes read and written")
    del big, other
    for name in options.only:
        CASES[name](b, tw)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    result = dict(device=torch.cuda.get_device_name(), driver=driver, date=datetime.date.today().isoformat(), commit=options.commit,
                  torch=torch.__version__, triton=triton.__version__, cuda=torch.version.cuda, repeats=REPEATS, copy_gb_s=copy, rows=b.rows)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()

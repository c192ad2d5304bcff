#!/usr/bin/env python3
"""Our kernels beside Triton's, PyTorch's and cuBLAS's on one GPU, in one process, in turns.

    python on_gpu.py LIBBENCH_GPU [--json FILE] [--commit HASH] [--only softmax ...]

LIBBENCH_GPU is libbench_gpu.so of the build; Python needs torch, and triton for Triton's rows. The kernels are those of
tests/bench/gpu_kernels.h, line by line. Every contender runs on the same buffers of random numbers: outputs are poisoned and compared with
double precision first; then in each of `repeats` rounds each contender runs once, on a cache that was overwritten, between two events of the
device. Medians and quartiles. `of copy` is the time of a device copy that moves as many bytes, measured in the same rounds, over the
contender's. Contenders:

    ours              libbench_gpu.so, our own launches
    triton            Triton as it compiles for this GPU: on Hopper with wgmma
    triton mma.sync   the PTX that Triton makes for sm_80, through the driver: what our products, which use mma.sync too, are to be held to
    cublas            cublasGemmEx itself; torch: PyTorch's operation, which calls cuBLAS for products and FlashAttention for attention

Ends with 77 and a reason as its last line where there is no GPU or no PyTorch, with 1 if a result of ours was wrong.
"""
import argparse
import ctypes
import datetime
import json
import random
import shutil
import statistics
import subprocess
import sys
import time

try:
    import torch
except ImportError as e:
    print(f"python3 cannot import torch: {e}")
    sys.exit(77)
from cublas import Cublas
from gpu_state import GpuState
from ptx_kernel import PtxKernel

REPEATS = 30
triton = kernels = None


def use_triton():
    """Makes Triton a contender where it is installed."""
    global triton, kernels
    try:
        import triton as imported

        import side_by_side
        triton, kernels = imported, side_by_side
    except ImportError as e:
        print(f"without Triton: {e}")


def cdiv(a, b):
    return -(-a // b)


def next_power_of_2(n):
    return 1 << (n - 1).bit_length()


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
    def __init__(self, quick=False):
        self.rows, self.quick, self.failed = [], quick, False
        self.save = lambda: None  # called after each comparison: a run that is stopped leaves what it has measured
        self.said = lambda: ""  # what the driver's assembler said since the last call
        self.state = GpuState()
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def check(self, out, want):
        """Relative error; NaN where something was not written."""
        return ((out.double() - want).norm() / want.norm()).item()

    def compare(self, kernel, shape, contenders, out, want, moved, flops=None, tolerance=1e-5):
        """contenders: {(who, how): function that fills `out`, or returns the result}."""
        usable, errors, assembler = {}, {}, {}
        for key, f in contenders.items():
            if triton is None and key[0].startswith("triton"):
                continue
            out.fill_(float("nan") if out.is_floating_point() else torch.iinfo(out.dtype).min)
            try:
                returned = f()
                torch.cuda.synchronize()
            except Exception as e:  # one contender's failure is a row, not the end
                text = str(e) or type(e).__name__
                print(f"{kernel} {shape} {key}: failed: {text.splitlines()[0][:150]}", flush=True)
                self.rows.append(dict(kernel=kernel, shape=shape, who=key[0], how=key[1], failure=text[:400]))
                self.failed |= key[0] == "ours" and "shared memory" not in text  # a tile that does not fit is refused
                continue
            assembler[key] = self.said()
            errors[key] = self.check(returned if isinstance(returned, torch.Tensor) else out, want)
            if not errors[key] <= tolerance:
                print(f"{kernel} {shape} {key}: WRONG, relative error {errors[key]}", flush=True)
                self.failed |= key[0] == "ours"
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
        state = self.state.now()  # while the device works
        torch.cuda.synchronize()
        for key, begin, end in events:
            times[key].append(begin.elapsed_time(end) * 1e3)
        copy = statistics.median(times[("copy", "")])
        best = {}
        for key, t in times.items():
            us = statistics.median(t)
            quartiles = statistics.quantiles(t, n=4)
            row = dict(kernel=kernel, shape=shape, who=key[0], how=key[1], us=us, quartiles_us=[quartiles[0], quartiles[2]],
                       gb_s=moved / us / 1e3, of_copy=copy / us, least_us=min(t), error=errors.get(key), **state)
            if assembler.get(key):
                row["assembler"] = assembler[key]
            if flops:
                row["tflop_s"] = flops / us / 1e6
            self.rows.append(row)
            if key[0] not in best or us < best[key[0]][0]:
                best[key[0]] = (us, key[1], row)
        line = "  ".join(f"{who} {us:8.1f} us ({row['of_copy']:.2f}{', %.1f TF' % row['tflop_s'] if flops else ''}) {how}" for who, (us, how, row) in best.items())
        print(f"{kernel:11} {shape:18} {line}", flush=True)
        self.save()


def randn(*shape):
    return torch.randn(*shape, device="cuda")


def vector_add(b, tw):
    for n in (1 << 20, 1 << 24, 1 << 26, 1 << 28, (1 << 26) - 3):
        x, y = randn(n), randn(n)
        out = torch.empty_like(x)
        c = {("torch", ""): lambda: torch.add(x, y, out=out)}
        for block, warps in ((1024, 4), (2048, 4)):
            c["ours", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: tw.call("tw_vector_add", x, y, out, n, block, warps)
            c["triton", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: kernels.vector_add[(cdiv(n, block),)](
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
        block = next_power_of_2(columns)
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
        for block, warps in {(1024, 4), (min(4096, next_power_of_2(columns)), 8 if columns > 2048 else 4)}:
            c["ours", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: tw.call(
                "tw_layer_norm", x, out, weight, bias, means, scales, rows, columns, block, warps)
            c["triton", f"block {block}, {warps} warps"] = lambda block=block, warps=warps: kernels.layer_norm[(rows,)](
                x, out, weight, bias, means, scales, columns, columns, 1e-5, BLOCK=block, num_warps=warps)
        b.compare("layer_norm", f"{rows}x{columns}", c, out, want, 8 * rows * columns, tolerance=1e-4)


def transpose(b, tw):
    fresh = [(random.randint(2000, 9000), random.randint(2000, 9000)) for _ in range(3)]
    for m, n in ((4096, 4096), (8192, 8192), (16384, 4096), (8191, 8193), (8190, 8194), (8188, 8196), (37, 1000003), *fresh)[:2 if b.quick else None]:
        x, out = randn(m, n), torch.empty(n, m, device="cuda")
        c = {("torch", ""): lambda: out.copy_(x.t())}
        for bm, bn, warps in ((64, 64, 4), (32, 32, 4), (32, 64, 4), (64, 64, 8), (64, 128, 8)):
            how = f"{bm}x{bn}, {warps} warps"
            c["ours", how] = lambda bm=bm, bn=bn, warps=warps: tw.call("tw_transpose", x, out, m, n, bm, bn, warps)
            c["triton", how] = lambda bm=bm, bn=bn, warps=warps: kernels.transpose[(cdiv(m, bm), cdiv(n, bn))](
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
                c["triton", how] = lambda bm=bm, bn=bn, bk=bk, warps=warps: kernels.matmul[(cdiv(n, bm), cdiv(n, bn))](
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


# ---- products by matrix instructions ----
PRODUCT_SHAPES = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (16, 4096, 4096),
                  (128, 4096, 4096), (4096, 11008, 4096), (4096, 4096, 11008), (4096, 4096, 64), (1000, 1000, 1000), (1023, 1025, 1021)]
# Tile of M, N, K, warps, stages.
PRODUCT_TILES = {
    "f16": [(128, 128, 32, 4, 3), (128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4), (16, 128, 64, 4, 4)],
    "tf32": [(128, 128, 32, 4, 3), (128, 128, 16, 4, 4), (64, 128, 32, 4, 3), (64, 64, 32, 4, 4), (16, 64, 64, 4, 4)],
    "i8": [(128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4), (64, 64, 128, 4, 4), (16, 128, 128, 4, 4)],
}
PRODUCT_TILES["bf16"] = PRODUCT_TILES["f16"]
GROUP = 8
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3, "tf32": 2e-3, "i8": 0, "e4m3": 2e-3}
TRITON_TYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.int8: "i8", torch.int32: "i32"}


def factors(types, m, n, k, transposed):
    """Random A and B, and the empty result."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "i8": torch.int8, "e4m3": torch.float8_e4m3fn}[types]
    shape = (n, k) if transposed else (k, n)
    if types == "i8":
        x, y = (torch.randint(-128, 128, s, dtype=dtype, device="cuda") for s in ((m, k), shape))
    else:
        x, y = (randn(*s).to(dtype) for s in ((m, k), shape))
    return x, y, torch.empty(m, n, dtype={"i8": torch.int32, "e4m3": torch.float16}.get(types, dtype), device="cuda")


class HeldToMmaSync:
    """Triton's product_grouped for sm_80, compiled once for each tile, set of types and divisibility."""

    def __init__(self):
        self.known = {}

    def launch(self, x, y, out, m, n, k, tile, transposed):
        bm, bn, bk, warps, stages = tile
        ldb = k if transposed else n
        integers = dict(M=m, N=n, K=k, lda=k, ldb=ldb, ldc=n)
        key = (x.dtype, transposed, tile, tuple(v % 16 == 0 for v in integers.values()))
        if key not in self.known:
            function = kernels.product_grouped
            sums = kernels.tl.int32 if x.dtype == torch.int8 else kernels.tl.float32
            constants = dict(BM=bm, BN=bn, BK=bk, G=GROUP, T=transposed, S=sums)
            signature = {name: "constexpr" for name in constants} | {name: "i32" for name in integers}
            signature |= {name: "*" + TRITON_TYPES[t.dtype] for name, t in (("a", x), ("b", y), ("c", out))}
            signature = {name: signature[name] for name in function.arg_names}
            attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(function.arg_names) if name in "abc" or
                          (name in integers and integers[name] % 16 == 0)}
            self.known[key] = PtxKernel(*kernels.compile_ptx(function, signature, constants, attributes, warps, stages, 80), warps)
        self.known[key].launch((cdiv(m, bm) * cdiv(n, bn),), torch.cuda.current_stream().cuda_stream, x.data_ptr(), y.data_ptr(), out.data_ptr(),
                               *integers.values())


def add_products(b, tw, c, types, x, y, out, m, n, k, tiles, transposed=False):
    """Contenders for out = x y, or x y^T if `transposed`."""
    held = b.held = getattr(b, "held", None) or HeldToMmaSync()
    name = (types + (" bt" if transposed else "")).encode()
    ldb = k if transposed else n
    for tile in tiles:
        bm, bn, bk, warps, stages = tile
        how = f"{bm}x{bn}x{bk}, {warps} warps, {stages} stages"
        c["ours", how] = lambda tile=tile: tw.call("tw_product", name, x, y, out, m, n, k, *tile, GROUP)
        c["triton mma.sync", how] = lambda tile=tile: held.launch(x, y, out, m, n, k, tile, transposed)
        c["triton", how] = lambda bm=bm, bn=bn, bk=bk, warps=warps, stages=stages: kernels.product_grouped[(cdiv(m, bm) * cdiv(n, bn),)](
            x, y, out, m, n, k, k, ldb, n, BM=bm, BN=bn, BK=bk, G=GROUP, T=transposed,
            S=kernels.tl.int32 if types == "i8" else kernels.tl.float32, num_warps=warps, num_stages=stages)


def add_cublas(b, c, types, x, y, out, m, n, k, transposed=False):
    if not hasattr(b, "cublas"):
        b.workspace = torch.empty(Cublas.workspace_bytes, dtype=torch.uint8, device="cuda")
        try:
            torch.mm(torch.ones(8, 8, device="cuda"), torch.ones(8, 8, device="cuda"))  # loads its cuBLAS
            b.cublas = Cublas(torch.cuda.current_stream().cuda_stream, b.workspace.data_ptr())
        except (RuntimeError, OSError) as e:
            print(f"without cuBLAS: {e}", flush=True)
            b.cublas = None
    if b.cublas:
        c["cublas", ""] = lambda: b.cublas.product(types, x.data_ptr(), y.data_ptr(), out.data_ptr(), m, n, k, transposed)
    right = y.t() if transposed else y
    c["torch", ""] = (lambda: torch._int_mm(x, right, out=out)) if types == "i8" else (lambda: torch.mm(x, right, out=out))


def exact_product(x, y, transposed=False):
    return x.double() @ (y.double().t() if transposed else y.double())


def product(types):
    def run(b, tw):
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        for m, n, k in PRODUCT_SHAPES[:2] if b.quick else PRODUCT_SHAPES:
            x, y, out = factors(types, m, n, k, False)
            c = {}
            add_cublas(b, c, types, x, y, out, m, n, k)
            add_products(b, tw, c, types, x, y, out, m, n, k, [t for t in PRODUCT_TILES[types] if (t[0] < 64) == (m < 64)])
            moved = (x.numel() + y.numel()) * x.element_size() + out.numel() * out.element_size()
            b.compare("product " + types, f"{m}x{n}x{k}", c, out, exact_product(x, y), moved, flops=2 * m * n * k, tolerance=TOLERANCE[types])
    return run


def odd_rows(b, tw):
    """Rows of K elements, whose alignment falls from 16 bytes to 8, 4 and 2."""
    for k in (4096, 4100, 4098, 4097):
        m = n = 512 if b.quick else 4096
        x, y, out = factors("f16", m, n, k, True)
        c = {}
        add_cublas(b, c, "f16", x, y, out, m, n, k, True)
        add_products(b, tw, c, "f16", x, y, out, m, n, k, [(128, 128, 32, 4, 3)], True)
        b.compare("odd rows f16", f"{m}x{n}x{k}", c, out, exact_product(x, y, True), 2 * (m * k + k * n + m * n), flops=2 * m * n * k,
                  tolerance=TOLERANCE["f16"])


def assembler_level(b, tw):
    """Our PTX as the driver's assembler makes it at each of its levels of optimisation."""
    major, minor = torch.cuda.get_device_capability()
    target = (f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")).encode()
    tw.lib.tw_product_ptx.restype = ctypes.c_char_p
    m = n = k = 512 if b.quick else 4096
    for name, tile in (("f16", (128, 128, 32, 4, 3)), ("f16 bt", (128, 128, 32, 4, 3)), ("f16", (128, 256, 64, 8, 3)),
                       ("tf32", (128, 128, 32, 4, 3)), ("i8 bt", (128, 128, 64, 4, 3))):
        types, transposed = name.split()[0], name.endswith("bt")
        x, y, out = factors(types, m, n, k, transposed)
        shared = ctypes.c_int()
        ptx = tw.lib.tw_product_ptx(name.encode(), target, 16, *tile, GROUP, ctypes.byref(shared))
        if ptx is None:
            raise RuntimeError(tw.lib.tw_failure().decode())
        c = {}
        for level in (4, 3, 2, 1):
            kernel = PtxKernel(ptx.decode(), shared.value, tile[3], level)
            c["ours", f"level {level}"] = lambda kernel=kernel: kernel.launch(
                (cdiv(m, tile[0]) * cdiv(n, tile[1]),), torch.cuda.current_stream().cuda_stream, x.data_ptr(), y.data_ptr(), out.data_ptr(),
                m, n, k, k, k if transposed else n, n)
        b.compare("assembler " + name, "x".join(map(str, tile[:3])), c, out, exact_product(x, y, transposed),
                  (m * k + k * n) * x.element_size() + m * n * out.element_size(), flops=2 * m * n * k, tolerance=TOLERANCE[types])


def attention(b, tw):
    """Of f16, without a mask. heads, length, depth"""
    for heads, length, depth in ((64, 1024, 64), (32, 4096, 64), (8, 16384, 64), (32, 4096, 128))[:1 if b.quick else None]:
        q, k, v = (randn(heads, length, depth).half() for _ in range(3))
        out, scale = torch.empty_like(q), depth ** -0.5
        want = torch.cat([torch.softmax(q[h].double() @ k[h].double().t() * scale, 1) @ v[h].double() for h in range(heads)]).view_as(out)
        c = {("torch", ""): lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]}
        for bm, bn, warps, stages in ((128, 64, 4, 2), (128, 64, 4, 3), (64, 64, 4, 3), (128, 64, 8, 3)):
            how = f"{bm}x{bn}, {warps} warps, {stages} stages"
            c["ours", how] = lambda bm=bm, bn=bn, warps=warps, stages=stages: tw.call(
                "tw_attention", q, k, v, out, heads, length, depth, ctypes.c_float(scale), bm, bn, warps, stages)
            c["triton", how] = lambda bm=bm, bn=bn, warps=warps, stages=stages: kernels.attention[(cdiv(length, bm), heads)](
                q, k, v, out, length, scale, BM=bm, BN=bn, D=depth, num_warps=warps, num_stages=stages)
        b.compare("attention f16", f"{heads}x{length}x{depth}", c, out, want, 8 * heads * length * depth, flops=4 * heads * length**2 * depth,
                  tolerance=2e-3)


CASES = dict(launches=launches, graph=graph, vector_add=vector_add, softmax=softmax, layer_norm=layer_norm, transpose=transpose,
             row_sum=row_sum, matmul=matmul, attention=attention, odd_rows=odd_rows, assembler_level=assembler_level,
             **{"product_" + types: product(types) for types in PRODUCT_TILES})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_gpu", help="libbench_gpu.so")
    parser.add_argument("--json")
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--quick", action="store_true", help="few sizes of products and attention")
    parser.add_argument("--contact", action="store_true", help="the rows of a first contact, without Triton")
    parser.add_argument("--seconds", type=int, default=0, help="with --contact: begin no row after so long")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    began = time.monotonic()
    torch.manual_seed(int(time.time()))
    if not options.contact:
        use_triton()
    b, tw = Bench(options.quick), Ours(options.bench_gpu)
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
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(asked, capture_output=True, text=True).stdout.strip() if shutil.which(asked[0]) else None

    def save():
        result = dict(device=torch.cuda.get_device_name(), driver=driver, date=datetime.date.today().isoformat(), commit=options.commit,
                      torch=torch.__version__, triton=triton.__version__ if triton else None,
                      cublas=b.cublas.version if getattr(b, "cublas", None) else None, cuda=torch.version.cuda, repeats=REPEATS, copy_gb_s=copy,
                      rows=b.rows)
        if options.json:
            with open(options.json, "w") as f:
                json.dump(result, f, indent=1)

    b.save = save
    if options.contact:
        import contact
        contact.run(b, tw, began + options.seconds if options.seconds else float("inf"))
    else:
        for name in options.only:
            CASES[name](b, tw)
    save()
    sys.exit(1 if b.failed else 0)


if __name__ == "__main__":
    main()

"""Measures our kernels beside PyTorch's and cuBLAS's on one GPU, in one process, in turns: for contact.py and driver_calls.py. What needs neither
tiles of the caller's choice nor the driver is measured by `tilewright bench`.

Every contender runs on the same buffers of random numbers: outputs are poisoned and compared with double precision first; then in each of
`repeats` rounds each contender runs once, on a cache that was overwritten, between two events of the device. Medians and quartiles. `of copy` is
the time of a device copy that moves as many bytes, measured in the same rounds, over the contender's. Contenders:

    ours      libbench_gpu.so, our own launches
    cublas    cublasGemmEx itself
    torch     PyTorch's operation, which calls cuBLAS for products

Importing this ends the process with 77 and a reason as its last line where there is no PyTorch.
"""
import argparse
import ctypes
import datetime
import json
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

REPEATS = 30
GROUP = 8
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3, "tf32": 2e-3, "i8": 0, "e4m3": 2e-3}


def next_power_of_2(n):
    return 1 << (n - 1).bit_length()


def cdiv(a, b):
    return -(-a // b)


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


def is_refusal(who, how, text):
    """Whether a failure is that of a tile of the caller's choice that does not fit. The library chooses a tile that fits."""
    return who == "ours" and how != "library" and "shared memory" in text


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
            out.fill_(float("nan") if out.is_floating_point() else torch.iinfo(out.dtype).min)
            try:
                returned = f()
                torch.cuda.synchronize()
            except Exception as e:  # one contender's failure is a row, not the end
                text = str(e) or type(e).__name__
                print(f"{kernel} {shape} {key}: failed: {text.splitlines()[0][:150]}", flush=True)
                self.rows.append(dict(kernel=kernel, shape=shape, who=key[0], how=key[1], failure=text[:400]))
                self.failed |= key[0] == "ours" and not is_refusal(*key, text)
                continue
            assembler[key] = self.said()
            errors[key] = self.check(returned if isinstance(returned, torch.Tensor) else out, want)
            if not errors[key] <= tolerance:
                print(f"{kernel} {shape} {key}: WRONG, relative error {errors[key]}", flush=True)
                self.failed |= key[0] == "ours"
            usable[key] = f
        if not any(who == "ours" for who, _ in usable):
            print(f"{kernel} {shape}: none of ours ran", flush=True)
            self.failed = True
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


def factors(types, m, n, k, transposed):
    """Random A and B, and the empty result."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "i8": torch.int8, "e4m3": torch.float8_e4m3fn}[types]
    shape = (n, k) if transposed else (k, n)
    if types == "i8":
        x, y = (torch.randint(-128, 128, s, dtype=dtype, device="cuda") for s in ((m, k), shape))
    else:
        x, y = (randn(*s).to(dtype) for s in ((m, k), shape))
    return x, y, torch.empty(m, n, dtype={"i8": torch.int32, "e4m3": torch.float16}.get(types, dtype), device="cuda")


def add_products(tw, c, types, x, y, out, m, n, k, tiles, transposed=False):
    """Our contenders for out = x y, or x y^T if `transposed`: one of each tile of M, N, K, warps, stages."""
    name = (types + (" bt" if transposed else "")).encode()
    for tile in tiles:
        bm, bn, bk, warps, stages = tile
        c["ours", f"{bm}x{bn}x{bk}, {warps} warps, {stages} stages"] = lambda tile=tile: tw.call("tw_product", name, x, y, out, m, n, k, *tile, GROUP)


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


def copy_gb_s():
    """Of a device copy of 2 GiB: bytes read and written."""
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
    return statistics.median(samples)


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_gpu", help="libbench_gpu.so")
    parser.add_argument("--json")
    parser.add_argument("--commit", default="")
    parser.add_argument("--quick", action="store_true", help="few sizes")
    return parser


def measure(options, run):
    """Calls run(bench, ours), which measures, and writes the file of results after each comparison. Ends the process: with 77 and a reason where
    there is no GPU, with 1 if a result of ours was wrong or missing, or if nothing was measured."""
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    torch.manual_seed(int(time.time()))
    b, tw = Bench(options.quick), Ours(options.bench_gpu)
    copy = copy_gb_s()
    print(f"copy of 2 GiB: {copy:.0f} GB/s, bytes read and written")
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(asked, capture_output=True, text=True).stdout.strip() if shutil.which(asked[0]) else None

    def save():
        result = dict(device=torch.cuda.get_device_name(), driver=driver, date=datetime.date.today().isoformat(), commit=options.commit,
                      torch=torch.__version__, cublas=b.cublas.version if getattr(b, "cublas", None) else None, cuda=torch.version.cuda,
                      repeats=REPEATS, copy_gb_s=copy, rows=b.rows)
        if options.json:
            with open(options.json, "w") as f:
                json.dump(result, f, indent=1)

    b.save = save
    run(b, tw)
    save()
    if not b.rows:
        print("nothing was measured")
    sys.exit(1 if b.failed or not b.rows else 0)

#!/usr/bin/env python3
"""What calls of the driver cost and give, on one GPU with PyTorch: `driver_calls.py LIBBENCH_GPU [--only launches graph assembler_level]`.

    launches          host time of a warm launch: ours, the driver's own call, PyTorch's, and Triton's where it is installed
    graph             our launches on PyTorch's streams, and captured into its graphs
    assembler_level   our PTX of products as the driver's assembler makes it at each of its levels of optimisation

Ends with 77 and a reason as its last line where there is no GPU or no PyTorch, with 1 if a result of ours was wrong.
"""
import ctypes
import os
import statistics
import sys
import time

from measured import GROUP, TOLERANCE, arguments, cdiv, exact_product, factors, measure, randn, torch
from ptx_kernel import PtxKernel

# In the sources; the pack of `./dev gpu` has the file beside this one.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../frontend/cli/bench/peers"))
try:
    import triton_kernels
except ImportError as e:
    print(f"without Triton: {e}")
    triton_kernels = None


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
        "torch": host_ns(lambda: torch.add(x, y, out=out)),
    }
    if triton_kernels:
        rows["triton"] = host_ns(lambda: triton_kernels.vector_add[(1,)](x, y, out, n, BLOCK=1024))
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


CASES = dict(launches=launches, graph=graph, assembler_level=assembler_level)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()

    def run(b, tw):
        for name in options.only:
            CASES[name](b, tw)

    measure(options, run)


if __name__ == "__main__":
    main()

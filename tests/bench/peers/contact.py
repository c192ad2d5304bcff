#!/usr/bin/env python3
"""A first contact with a GPU: products and attention on tensor cores beside cuBLAS and cuDNN, in the order in which they are wanted.

    contact.py LIBBENCH_GPU [--seconds 205] [--json FILE]

measured.py says how they are measured, and how this ends. A row has the clocks, the power, what the driver's assembler said of the kernel, and,
where there is one, the range that was expected of an H100.
"""
import ctypes
import os
import tempfile
import time

import measured
from measured import torch

SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 11008, 4096), (1024, 1024, 1024), (1023, 1025, 1021), (16, 4096, 4096)]
TILES = {
    "f16": [(128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 32, 4, 4), (64, 64, 64, 4, 4), (16, 128, 64, 4, 4)],
    "tf32": [(128, 128, 32, 4, 3), (128, 256, 32, 8, 3), (64, 64, 32, 4, 4), (16, 64, 64, 4, 4)],
    "i8": [(128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (64, 64, 128, 4, 4), (16, 128, 128, 4, 4)],
}
TILES["bf16"] = TILES["f16"]
# TFLOP/s of an H100 SXM, by arithmetic on its issue rates and the wavefronts of shared memory, before any of this ran.
EXPECTED = {("product f16", "8192x8192x8192"): (480, 560), ("product bf16", "8192x8192x8192"): (480, 560), ("product tf32", "8192x8192x8192"): (240, 270),
            ("product i8", "8192x8192x8192"): (800, 1000), ("attention f16", "32x4096x64"): (300, 340), ("attention f16", "32x4096x128"): (330, 380)}


class Assembler:
    """What the library logs of the driver's assembler: standard error goes to a file, from which now() takes what is new."""

    def __init__(self):
        os.environ["TILEWRIGHT_LOG"] = "debug"
        self.file = tempfile.TemporaryFile("w+b")
        self.at = 0
        os.dup2(self.file.fileno(), 2)

    def now(self):
        text = os.pread(self.file.fileno(), 1 << 20, self.at)
        self.at += len(text)
        lines = text.decode(errors="replace").splitlines()
        return "\n".join(line.strip() for line in lines if "registers" in line or "warning" in line.lower() or "spill" in line)[-600:]


def product(b, tw, types, m, n, k):
    x, y, out = measured.factors(types, m, n, k, False)
    c = {}
    measured.add_cublas(b, c, types, x, y, out, m, n, k)
    measured.add_products(tw, c, types, x, y, out, m, n, k, [t for t in TILES[types] if (t[0] < 64) == (m < 64)])
    c["ours", "library"] = lambda: tw.call("tw_library_product", types.encode(), x, y, out, m, n, k, None)
    moved = (x.numel() + y.numel()) * x.element_size() + out.numel() * out.element_size()
    b.compare("product " + types, f"{m}x{n}x{k}", c, out, measured.exact_product(x, y), moved, flops=2 * m * n * k, tolerance=measured.TOLERANCE[types])


def product_fp8(b, tw, m, n, k):
    """B is [n, k]. cuBLAS, through PyTorch, adds parts of sums in less than f32."""
    x, y, out = measured.factors("e4m3", m, n, k, True)
    one = torch.ones((), device="cuda")
    c = {("torch", ""): lambda: torch._scaled_mm(x, y.t(), scale_a=one, scale_b=one, out_dtype=torch.float16)}
    measured.add_products(tw, c, "e4m3", x, y, out, m, n, k, [(128, 128, 64, 4, 3), (128, 256, 64, 8, 3)], True)
    c["ours", "library"] = lambda: tw.call("tw_library_product", b"e4m3 bt", x, y, out, m, n, k, None)
    moved = x.numel() + y.numel() + 2 * out.numel()
    b.compare("product e4m3 bt", f"{m}x{n}x{k}", c, out, measured.exact_product(x, y, True), moved, flops=2 * m * n * k, tolerance=measured.TOLERANCE["e4m3"])


def exact_attention(q, k, v, scale, causal):
    length = q.shape[1]
    hidden = torch.ones(length, length, dtype=torch.bool, device="cuda").triu(1) if causal else None
    heads = []
    for h in range(q.shape[0]):
        scores = q[h].double() @ k[h].double().t() * scale
        if causal:
            scores.masked_fill_(hidden, float("-inf"))
        heads.append((torch.softmax(scores, 1) @ v[h].double()).float())
    return torch.stack(heads).double()


def attention(b, tw, heads, length, depth, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (measured.randn(heads, length, depth).half() for _ in range(3))
    out, scale = torch.empty_like(q), depth ** -0.5
    want = exact_attention(q, k, v, scale, causal)

    def peer(backend):
        def f():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]
        return f
    c = {("cudnn", ""): peer(SDPBackend.CUDNN_ATTENTION), ("flash", ""): peer(SDPBackend.FLASH_ATTENTION)}
    if not causal:
        for bm, bn, warps, stages in ((128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3)):
            c["ours", f"{bm}x{bn}, {warps} warps, {stages} stages"] = lambda bm=bm, bn=bn, warps=warps, stages=stages: tw.call(
                "tw_attention", q, k, v, out, heads, length, depth, ctypes.c_float(scale), bm, bn, warps, stages)
    c["ours", "library"] = lambda: tw.call("tw_library_attention", q, k, v, out, heads, length, depth, int(causal), None)
    b.compare("attention f16" + (" causal" if causal else ""), f"{heads}x{length}x{depth}", c, out, want, 8 * heads * length * depth,
              flops=(2 if causal else 4) * heads * length**2 * depth, tolerance=2e-3)


def softmax(b, tw, rows, columns):
    x = measured.randn(rows, columns)
    out = torch.empty_like(x)
    c = {("torch", ""): lambda: torch.softmax(x, 1, out=out)}
    for warps in (16, 32):
        c["ours", f"{warps} warps"] = lambda warps=warps: tw.call("tw_softmax", out, x, rows, columns, measured.next_power_of_2(columns), warps)
    b.compare("softmax", f"{rows}x{columns}", c, out, torch.softmax(x.double(), 1), 8 * rows * columns)


def rows():
    for shape in SHAPES:
        yield product, ("f16", *shape)
    for shape in ((32, 4096, 64), (32, 4096, 128), (8, 16384, 64)):
        for causal in (False, True):
            yield attention, (*shape, causal)
    for types in ("tf32", "i8", "bf16"):
        for shape in SHAPES:
            yield product, (types, *shape)
    yield product_fp8, (8192, 8192, 8192)
    yield product_fp8, (4096, 4096, 4096)
    yield softmax, (1024, 65536)


def run(b, tw, deadline):
    """Measures the rows; those that could not begin before `deadline` (time.monotonic) are named."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    b.said = Assembler().now
    left = []
    for measure, arguments in rows():
        if b.quick and max(a for a in arguments if not isinstance(a, (str, bool))) > 4096:
            continue
        if time.monotonic() > deadline:
            left.append(f"{measure.__name__} {' '.join(map(str, arguments))}")
            continue
        measured = len(b.rows)
        measure(b, tw, *arguments)
        for row in b.rows[measured:]:
            expected = EXPECTED.get((row["kernel"], row["shape"]))
            if expected and row["who"] == "ours":
                row["expected_tflop_s"] = expected
    b.save()
    if left:
        print("no time was left for: " + "; ".join(left), flush=True)


def main():
    began = time.monotonic()
    parser = measured.arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=0, help="begin no row after so long")
    options = parser.parse_args()
    measured.measure(options, lambda b, tw: run(b, tw, began + options.seconds if options.seconds else float("inf")))


if __name__ == "__main__":
    main()

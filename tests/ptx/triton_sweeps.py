"""Kernels of triton_cases.py in growing sizes and numbers of stages."""
from triton_cases import SOFT, Case, _mm, scan_sum, softmax_row, sort_block

SWEEPS = (
    [Case(f"scale_softmax_{b}", softmax_row, SOFT.format(t="fp32"), dict(BLOCK=b, LOG=False))
     for b in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)]
    + [Case(f"scale_softmax_{b}_w16", softmax_row, SOFT.format(t="fp32"), dict(BLOCK=b, LOG=False), warps=16)
       for b in (16384, 65536)]
    + [_mm(f"scale_matmul_{m}x{n}x{k}_w{w}", m, n, k, w, 3)
       for m, n, k, w in ((64, 64, 32, 4), (64, 128, 32, 4), (128, 128, 32, 4), (128, 128, 64, 4), (128, 128, 128, 4),
                          (128, 256, 32, 4), (128, 256, 64, 4), (128, 256, 64, 8), (256, 128, 64, 8),
                          (256, 256, 32, 8), (256, 256, 64, 8), (256, 256, 64, 16))]
    + [_mm(f"scale_matmul_stages{s}", 128, 128, 32, 4, s) for s in (1, 2, 3, 4, 5, 6)]
    + [Case(f"scale_sort_{b}", sort_block, "x:*fp32! out:*fp32! n:i32!", dict(BLOCK=b)) for b in (128, 512, 2048, 4096)]
    + [Case(f"scale_cumsum_{b}", scan_sum, "x:*fp32! out:*fp32! n:i32!", dict(BLOCK=b)) for b in (256, 4096, 16384)]
)

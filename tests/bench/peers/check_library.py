#!/usr/bin/env python3
"""Checks what libbench_gpu.so launches, on an emulated GPU against NumPy: `python check_library.py LIBBENCH_GPU`. Also how PTX is read that
goes through the driver."""
import ctypes
import sys

import numpy as np

from ptx_kernel import argument, parameters

TOLERANCE = 2e-3


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tw_failure.restype = self.lib.tw_product_ptx.restype = ctypes.c_char_p
        self.lib.tw_allocate.restype = ctypes.c_uint64
        self.call("tw_open", b"emulator:sm_80", None)

    def call(self, name, *args):
        if getattr(self.lib, name)(*args):
            sys.exit(f"{name}: {self.lib.tw_failure().decode()}")

    def array(self, values):
        """An array in memory of the emulated device, which is memory of this process, with its address."""
        address = self.lib.tw_allocate(ctypes.c_int64(values.nbytes))
        if not address:
            sys.exit(self.lib.tw_failure().decode())
        view = np.frombuffer((ctypes.c_uint8 * values.nbytes).from_address(address), values.dtype).reshape(values.shape)
        view[...] = values
        return view, ctypes.c_uint64(address)


def expect(what, got, want):
    error = np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want)
    if not error <= TOLERANCE:
        sys.exit(f"{what}: relative error {error}")


def products(library, random):
    for types, dtype, result in (("f16", np.float16, np.float16), ("f16 bt", np.float16, np.float16), ("tf32", np.float32, np.float32),
                                 ("i8", np.int8, np.int32), ("i8 bt", np.int8, np.int32)):
        for m, n, k in ((64, 64, 64), (70, 33, 45)):
            a, b = ((random.integers(-128, 128, s) if dtype == np.int8 else random.standard_normal(s)).astype(dtype)
                    for s in ((m, k), (n, k) if types.endswith("bt") else (k, n)))
            poison = np.full((m, n), np.iinfo(np.int32).min if result == np.int32 else np.nan, result)
            (_, pa), (_, pb), (out, pc) = (library.array(v) for v in (a, b, poison))
            library.call("tw_product", types.encode(), pa, pb, pc, m, n, k, 32, 32, 32, 4, 3, 2)
            library.call("tw_synchronize")
            right = b.T if types.endswith("bt") else b
            expect(f"{types} {m}x{n}x{k}", out, a.astype(np.float64) @ right.astype(np.float64))


def attention(library, random):
    heads, length, depth = 2, 100, 64
    q, k, v = (random.standard_normal((heads, length, depth)).astype(np.float16) for _ in range(3))
    (_, pq), (_, pk), (_, pv), (out, po) = (library.array(x) for x in (q, k, v, np.full(q.shape, np.nan, np.float16)))
    library.call("tw_attention", pq, pk, pv, po, heads, length, depth, ctypes.c_float(depth ** -0.5), 64, 32, 4, 2)
    library.call("tw_synchronize")
    scores = np.exp(q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * depth ** -0.5)
    expect("attention", out, scores / scores.sum(2, keepdims=True) @ v.astype(np.float64))


def ptx(library):
    shared = ctypes.c_int()
    text = library.lib.tw_product_ptx(b"f16", b"sm_80", 16, 128, 128, 32, 4, 3, 8, ctypes.byref(shared))
    if text is None:
        sys.exit(library.lib.tw_failure().decode())
    entry, kinds = parameters(text.decode())
    if (entry, kinds) != ("product", ["u64"] * 3 + ["u32"] * 6) or shared.value != 3 * 2 * 128 * 32 * 2:
        sys.exit(f"PTX of a product: {entry}, {kinds}, {shared.value} bytes of shared memory")
    triton = ".visible .entry k(\n.param .u64 .ptr .global .align 1 k_param_0,\n.param .f32 k_param_1,\n.param .align 8 .b64 k_param_2\n)\n{ ret; }"
    if parameters(triton) != ("k", ["u64", "f32", "b64"]) or argument("u32", -1).value != 2**32 - 1 or argument("f32", 0.5).value != 0.5:
        sys.exit(f"PTX of Triton: {parameters(triton)}")


def main():
    library, random = Library(sys.argv[1]), np.random.default_rng()
    products(library, random)
    attention(library, random)
    ptx(library)
    print("products, attention and PTX are right")


if __name__ == "__main__":
    main()

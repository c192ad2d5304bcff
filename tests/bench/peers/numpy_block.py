#!/usr/bin/env python3
"""The transformer block of bench_graphs in NumPy, in f32: `python3 numpy_block.py FOLDER REPEATS`.

Reads x.f32 and the weights from FOLDER, which are row-major and little-endian, writes y.f32 there, and prints the least time of REPEATS runs in
ms and the name of the library that NumPy multiplies matrices with."""
import os
import re
import sys
import time

import numpy as np

MODEL, HEADS, KV, DIM, HIDDEN = 1024, 16, 4, 64, 2816
SHAPES = {"gamma1": (MODEL,), "wq": (MODEL, HEADS * DIM), "wk": (MODEL, KV * DIM), "wv": (MODEL, KV * DIM),
          "wo": (HEADS * DIM, MODEL), "gamma2": (MODEL,), "wg": (MODEL, HIDDEN), "wu": (MODEL, HIDDEN), "wd": (HIDDEN, MODEL)}


def rms_norm(x, gamma):
    return x * (1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-6))) * gamma


def rotated(x, cos, sin):
    """x: [..., rows, d]; the pairs i, i + d/2 of each row turn by its angles."""
    low, high = np.split(x, 2, axis=-1)
    return np.concatenate([low * cos - high * sin, low * sin + high * cos], axis=-1)


def softmax_in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def block(x, w, cos, sin, mask):
    rows = x.shape[0]
    normed = rms_norm(x, w["gamma1"])

    def heads(t, each):
        return t.reshape(rows, KV, each, DIM).transpose(1, 2, 0, 3)

    q = rotated(heads(normed @ w["wq"], HEADS // KV), cos, sin)
    k = rotated(heads(normed @ w["wk"], 1), cos, sin)
    v = heads(normed @ w["wv"], 1)
    scores = q @ k.swapaxes(-1, -2)
    scores *= np.float32(0.125)
    scores += mask
    attended = softmax_in_place(scores) @ v
    h = x + attended.transpose(2, 0, 1, 3).reshape(rows, HEADS * DIM) @ w["wo"]
    m = rms_norm(h, w["gamma2"])
    gate = m @ w["wg"]
    gate /= 1 + np.exp(-gate)
    return h + (gate * (m @ w["wu"])) @ w["wd"]


def multiplying_library():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"/(lib[a-z_]*blas[^/\n]*)\.so", maps.read())
    return found.group(1) if found else "unknown"


def main():
    folder, repeats = sys.argv[1], int(sys.argv[2])

    def array(name, shape):
        return np.fromfile(os.path.join(folder, name + ".f32"), "<f4").reshape(shape)

    x = array("x", (-1, MODEL))
    weights = {name: array(name, shape) for name, shape in SHAPES.items()}
    position = np.arange(x.shape[0])
    angle = position[:, None] * 10000.0 ** (-2 * np.arange(DIM // 2) / DIM)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    mask = np.where(position[:, None] >= position, np.float32(0), np.float32(-np.inf))
    best = float("inf")
    for _ in range(1 + repeats):
        start = time.perf_counter()
        y = block(x, weights, cos, sin, mask)
        best = min(best, time.perf_counter() - start)
    y.astype("<f4").tofile(os.path.join(folder, "y.f32"))
    print(1e3 * best, multiplying_library())


if __name__ == "__main__":
    main()

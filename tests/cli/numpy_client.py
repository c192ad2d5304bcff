#!/usr/bin/env python3
"""numpy_client.py TILEWRIGHT KERNELS: NumPy as a client of `tilewright run`. Makes inputs, runs the kernels, compares with NumPy in float64."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

program, kernels = sys.argv[1], pathlib.Path(sys.argv[2])
seed = int.from_bytes(np.random.bytes(4), "little") if len(sys.argv) < 4 else int(sys.argv[3])
random = np.random.default_rng(seed)
folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-numpy-"))
failures = 0


def run(kernel, device, grid, outputs, **arguments):
    """Launches a kernel; arrays travel as files. Returns the arrays that `outputs` names."""
    command = [program, "run", str(kernels / f"{kernel}.tile"), "--kernel", kernel, "--device", device, "--check",
               "--grid", ",".join(str(g) for g in grid)]
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            path = folder / f"{name}.npy"
            np.save(path, value)
            value = path
        command += ["--arg", f"{name}={value}"]
    for name in outputs:
        command += ["--out", f"{name}={folder / ('out-' + name + '.npy')}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or done.stdout or done.stderr:
        sys.exit(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return [np.load(folder / f"out-{name}.npy") for name in outputs]


def check(what, device, got, expected, tolerance=0.0):
    """Every element within `tolerance`, relative to the larger of 1 and its magnitude; the same shape; no NaN."""
    global failures
    expected = np.asarray(expected)
    problem = ""
    if got.shape != expected.shape:
        problem = f"shape {got.shape}, expected {expected.shape}"
    else:
        error = np.abs(got.astype(np.float64) - expected.astype(np.float64)) / np.maximum(1.0, np.abs(expected.astype(np.float64)))
        if not np.all(error <= tolerance):
            problem = f"error {np.max(error):.3g}, at most {tolerance:.3g} allowed"
    failures += bool(problem)
    print(f"{what:<12} {device:<18} {problem or 'ok'}")


def to_bf16(x):
    """The bits of float32 values rounded to bf16, to nearest even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def main(device):
    n = int(random.integers(1, 3000))
    x, y = random.standard_normal((2, n)).astype(np.float32)
    z, = run("add", device, [-(-n // 256)], ["z"], x=x, y=y, z=f"zeros:f32:{n}", n=f"i32:{n}")
    check("add", device, z, x.astype(np.float64) + y, 1e-7)

    rows, columns = int(random.integers(1, 40)), int(random.integers(1, 129))
    x = (random.standard_normal((rows, columns)) * 10).astype(np.float32)
    out, = run("softmax", device, [rows], ["out"], **{"in": x, "out": np.full_like(x, np.nan), "columns": f"int32:{columns}"})
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    check("softmax", device, out, e / e.sum(axis=1, keepdims=True), 1e-6)

    m, n, k = 64, 96, 80
    a, b = random.standard_normal((m, k)).astype(np.float16), random.standard_normal((k, n)).astype(np.float16)
    c, = run("matmul", device, [m // 32, n // 32], ["c"], a=a, b=b, c=np.full((m, n), np.nan, np.float32), n=f"i32:{n}", k=f"i32:{k}")
    check("matmul", device, c, a.astype(np.float64) @ b.astype(np.float64), 1e-5)

    rows, columns = int(random.integers(1, 20)), int(random.integers(2, 257))
    x = (random.standard_normal((rows, columns)) + 3).astype(np.float32)
    weight, bias = random.standard_normal((2, columns)).astype(np.float32)
    y, = run("layer_norm", device, [rows], ["y"], x=x, weight=weight, bias=bias, y=np.full_like(x, np.nan), columns=f"i32:{columns}",
             epsilon="f32:1e-5")
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    check("layer_norm", device, y, normal * weight + bias, 1e-5)

    m, n = 48, 64
    x = random.integers(-32768, 32768, (m, n)).astype(np.int16)
    out, = run("transpose", device, [m // 16, n // 32], ["out"], **{"in": x, "out": np.zeros((n, m), np.int16), "m": f"i32:{m}", "n": f"i32:{n}"})
    check("transpose", device, out, x.T)

    rows, columns = int(random.integers(1, 30)), int(random.integers(1, 65))
    x = random.integers(-5, 6, (rows, columns)).astype(np.float64)  # so that there are equals
    value, index = run("argmax", device, [rows], ["value", "index"], x=x, value=f"zeros:float64:{rows}", index=f"zeros:i32:{rows}",
                       columns=f"i32:{columns}")
    check("argmax", device, value, x.max(axis=1))
    check("argmax", device, index, x.argmax(axis=1))

    n = int(random.integers(1, 300))
    x = to_bf16(random.standard_normal(n))
    out, = run("scale_bf16", device, [-(-n // 64)], ["x"], x=x.view("V2"), factor="float32:1.7", n=f"i32:{n}")
    check("scale_bf16", device, out.view(np.uint16), to_bf16(from_bf16(x) * np.float32(1.7)))


for name in ["cpu", "cpu:x86-64", "interpreter"]:
    main(name)
for path in folder.iterdir():
    path.unlink()
folder.rmdir()
if failures:
    sys.exit(f"{failures} of these failed; seed {seed} makes the same inputs")

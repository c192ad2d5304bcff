#!/usr/bin/env python3
"""Machine code of our kernels beside Triton's, on a machine with no GPU.

    python3 -m venv /tmp/triton && /tmp/triton/bin/pip install triton
    /tmp/triton/bin/python side_by_side.py BENCH_PTX [--json FILE] [--kernels add_f32 ...]

BENCH_PTX is the program of that name from the build, which writes our PTX. Both texts go through the assembler and the
disassembler that come with Triton, so that the difference is the compilers'. `sass` counts the instructions in the code, `path` those of
the shortest way through it that goes back nowhere: in a kernel without loops what a warp executes of a tile that its masks pass whole;
`loop` those of the main loop of a product, over its matrix instructions or, if it has none, its multiply-adds of f32. The
kernels are those of tests/bench/gpu_kernels.h and of triton_kernels.py, line by line; _loose: sizes of any value, not multiples of 16.
"""
import argparse
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../frontend/cli/bench/peers"))
from triton_kernels import attention, layer_norm_2pass, product, row_sum, softmax_row, transpose_tile, vector_add


# ---- kernels ----
def matrix(m, n, k, transposed, sums, precision="tf32"):
    return {"BM": m, "BN": n, "BK": k, "T": transposed, "S": sums, "PRECISION": precision}


# name: function, constants, warps, stages
KERNELS = {
    "add_f32": (vector_add, {"BLOCK": 1024}, 4, 3),
    "softmax_f32_1024": (softmax_row, {"BLOCK": 1024, "LOG": False}, 4, 3),
    "softmax_f32_4096_w8": (softmax_row, {"BLOCK": 4096, "LOG": False}, 8, 3),
    "layernorm2_f32": (layer_norm_2pass, {"BLOCK": 1024}, 4, 3),
    "transpose_f32": (transpose_tile, {"BM": 64, "BN": 64}, 4, 3),
    "rowsum_f32_1024": (row_sum, {"BLOCK": 1024}, 4, 3),
    "matmul_f32_64x64x16_ieee": (product, matrix(64, 64, 16, False, tl.float32, "ieee"), 4, 3),
    "matmul_f16_128x128x32": (product, matrix(128, 128, 32, False, tl.float32), 4, 3),
    "matmul_f16_128x128x32_bt": (product, matrix(128, 128, 32, True, tl.float32), 4, 3),
    "matmul_f16_128x256x64_w8": (product, matrix(128, 256, 64, False, tl.float32), 8, 3),
    "matmul_tf32_128x128x32": (product, matrix(128, 128, 32, False, tl.float32), 4, 3),
    "matmul_tf32_128x128x32_bt": (product, matrix(128, 128, 32, True, tl.float32), 4, 3),
    "matmul_i8_128x128x64": (product, matrix(128, 128, 64, False, tl.int32), 4, 3),
    "matmul_i8_128x128x64_bt": (product, matrix(128, 128, 64, True, tl.int32), 4, 3),
    "attention_f16_128x64_d64": (attention, {"BM": 128, "BN": 64, "D": 64, "CAUSAL": False}, 4, 3),
}
POINTERS = {"x", "y", "out", "weight", "bias", "mean_out", "rstd_out", "a", "b", "c", "q", "k", "v"}
TARGETS = {80: "sm_80", 90: "sm_90a"}


def element(name, arg):
    """The type that a pointer argument of a kernel points to."""
    if "_f16_" in name and arg != "c":
        return "fp16"
    if "_i8_" in name:
        return "i32" if arg == "c" else "i8"
    return "fp32"


def targets(name):
    """On Hopper Triton's products by matrix instructions are wgmma, and ours are not yet."""
    return [c for c in TARGETS if c == 80 or "ieee" in name or KERNELS[name][0] not in (product, attention)]


def compile_ptx(function, signature, constants, attributes, warps, stages, capability):
    """PTX and shared bytes of Triton's compilation for a GPU that need not be there."""
    with tempfile.TemporaryDirectory() as folder:
        kept, triton.knobs.cache.dir = triton.knobs.cache.dir, folder
        try:
            compiled = triton.compile(ASTSource(function, signature, constants, attributes), target=GPUTarget("cuda", capability, 32),
                                      options={"num_warps": warps, "num_stages": stages})
        finally:
            triton.knobs.cache.dir = kept
    return compiled.asm["ptx"], compiled.metadata.shared


def triton_ptx(name, capability, loose):
    """PTX and shared bytes of Triton's compilation."""
    function, constants, warps, stages = KERNELS[name]
    signature, attributes = {}, {}
    for i, arg in enumerate(function.arg_names):
        is_pointer = arg in POINTERS
        signature[arg] = "constexpr" if arg in constants else "*" + element(name, arg) if is_pointer else "fp32" if arg in ("eps", "scale") else "i32"
        if is_pointer or (signature[arg] == "i32" and not loose):
            attributes[(i,)] = [["tt.divisibility", 16]]
    return compile_ptx(function, signature, constants, attributes, warps, stages, capability)


# ---- machine code ----
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,6})\*/\s+(@!?U?P[T0-9]+\s+)?([A-Z][A-Za-z0-9_.]*)\s*(.*?)\s*;")


def tool(name):
    from triton.backends.nvidia import compiler
    return os.path.join(os.path.dirname(compiler.__file__), "bin", name)


def assembler(capability):
    from triton.backends.nvidia.compiler import get_ptxas
    return get_ptxas(capability).path


def width(opcode):
    for part in opcode.split(".")[1:]:
        if part in ("128", "64", "U16", "S16", "U8", "S8"):
            return part.lstrip("US")
    return "32"


def shortest_path(code):
    """Instructions from the entry to the nearest exit, over branches forward. code: (address, predicate, opcode, operands) of each."""
    index = {address: i for i, (address, *_) in enumerate(code)}
    steps, shortest = {0: 1}, len(code)
    for i, (_, predicate, opcode, operands) in enumerate(code):
        if i not in steps:
            continue
        root = opcode.split(".")[0]
        following = [i + 1] if predicate or root not in ("EXIT", "BRA") else []
        if root == "EXIT":
            shortest = min(shortest, steps[i])
        if root == "BRA":
            target = index.get(operands.split("0x")[-1].zfill(4), 0)
            following += [target] if target > i else []
        for j in following:
            steps[j] = min(steps.get(j, len(code)), steps[i] + 1)
    return shortest


def main_loop(code):
    """Instructions of the loop with the most products, over their number."""
    roots = [c[2].split(".")[0] for c in code]
    by_matrices = any(r.endswith("MMA") for r in roots)
    most, length = 0, 0
    for i, (address, _, opcode, operands) in enumerate(code):
        if opcode.split(".")[0] != "BRA" or "0x" not in operands:
            continue
        target = int(operands.split("0x")[-1], 16)
        body = [r for r, c in zip(roots[:i + 1], code) if int(c[0], 16) >= target]
        products = sum(r.endswith("MMA") if by_matrices else r == "FFMA" for r in body)
        if products > most:
            most, length = products, len(body)
    return f"{length}/{most}" if most else "-"


def measure(ptx, shared, capability):
    """Counts of the machine code that ptxas makes of a text."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        with open(source, "w") as out:
            out.write(ptx)
        target = re.search(r"^\.target\s+(\w+)", ptx, re.M).group(1)
        done = subprocess.run([assembler(capability), "-v", "--gpu-name=" + target, source, "-o", cubin], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr + done.stdout)
        said = done.stderr + done.stdout
        sass = subprocess.run([tool("cuobjdump"), "-sass", cubin], check=True, capture_output=True, text=True).stdout
    code = [m.groups() for m in map(INSTRUCTION.match, sass.splitlines()) if m]
    # Behind the end stand a branch to itself and padding.
    while code and code[-1][2] in ("NOP", "BRA"):
        code.pop()
    roots = collections.Counter(opcode.split(".")[0] for _, _, opcode, _ in code)
    memory = collections.defaultdict(collections.Counter)
    for _, _, opcode, _ in code:
        memory[opcode.split(".")[0]][width(opcode)] += 1
    said_number = lambda pattern: int(found.group(1)) if (found := re.search(pattern, said)) else 0
    result = {"sass": len(code), "path": shortest_path(code), "loop": main_loop(code), "registers": said_number(r"Used (\d+) registers"), "spills": said_number(r"(\d+) bytes spill stores"),
              "shared": shared + said_number(r"(\d+) bytes smem"), "BAR": roots["BAR"], "SHFL": roots["SHFL"], "MUFU": roots["MUFU"]}
    for name in ("LDG", "STG", "LDS", "STS"):
        counts = memory[name] if name != "LDG" else memory["LDG"] + memory["LDGSTS"]
        result[name] = "+".join(f"{n}x{w}" for w, n in sorted(counts.items(), key=lambda item: -int(item[0]))) or "-"
    return result


def our_ptx(folder, name, capability):
    with open(os.path.join(folder, f"{name}.{TARGETS[capability]}.ptx")) as source:
        ptx = source.read()
    return ptx, int(re.search(r"^// shared (\d+)", ptx, re.M).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench_ptx")
    parser.add_argument("--json")
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.bench_ptx, "--repeats", "1", "--ptx", folder], check=True, stdout=subprocess.DEVNULL)
        rows = []
        for kernel in options.kernels:
            for loose in (False, True):
                for capability in targets(kernel):
                    name = kernel + ("_loose" if loose else "")
                    row = {"kernel": name, "target": TARGETS[capability]}
                    row["ours"] = measure(*our_ptx(folder, name, capability), capability)
                    row["triton"] = measure(*triton_ptx(kernel, capability, loose), capability)
                    rows.append(row)
                    show(row, first=len(rows) == 1)
    if options.json:
        with open(options.json, "w") as out:
            commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short", "HEAD"],
                                    capture_output=True, text=True).stdout.strip()
            json.dump({"date": datetime.date.today().isoformat(), "device": "none: machine code is counted, not run", "commit": commit,
                       "triton": triton.__version__, "rows": rows}, out, indent=1)


def show(row, first):
    columns = {c: 14 if c[:2] in ("LD", "ST") else 11 for c in row["ours"]}
    line = lambda values: print("  ".join(v.rjust(w) for v, w in zip(values, columns.values())), flush=True)
    if first:
        print("ours over Triton " + triton.__version__ + "'s")
        print(" " * 40, end="")
        line(columns)
    for compiler in ("ours", "triton"):
        print(f"{row['kernel']:<31}{row['target']:<9}" if compiler == "ours" else " " * 40, end="")
        line([str(row[compiler][c]) for c in columns])


if __name__ == "__main__":
    main()

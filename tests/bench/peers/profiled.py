#!/usr/bin/env python3
"""Counters of four kernels with tensor cores, by Nsight Compute: `profiled.py [--json FILE] LIBBENCH_GPU`.

Launches, under ncu, a product of f16, one of tf32, and attention of heads of 64 and of 128 elements, on random numbers. Ends with 77 where there
is no ncu, no GPU or no PyTorch.
"""
import argparse
import csv
import ctypes
import io
import json
import shutil
import subprocess
import sys

SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "Occupancy", "WarpStateStats", "SchedulerStats", "LaunchStats")
METRICS = ("sm__inst_executed_pipe_tensor.sum", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum",
           "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "lts__t_sectors_srcunit_tex.sum",
           "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
           "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
           "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
           "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
           "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
           "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio")
KERNELS = ("f16 4096^3, 128x256x64, 8 warps, 3 stages", "tf32 4096^3, 128x128x32, 4 warps, 3 stages", "attention 32x4096x64, 128x64, 4 warps, 3 stages",
           "attention 32x4096x128, 128x64, 8 warps, 3 stages")


def launch(path):
    import torch

    from measured import GROUP, Ours, factors
    tw = Ours(path)
    m = n = k = 4096
    for types, tile in (("f16", (128, 256, 64, 8, 3)), ("tf32", (128, 128, 32, 4, 3))):
        x, y, out = factors(types, m, n, k, False)
        tw.call("tw_product", types.encode(), x, y, out, m, n, k, *tile, GROUP)
    for depth, warps in ((64, 4), (128, 8)):
        q, k, v = (torch.randn(32, 4096, depth, device="cuda").half() for _ in range(3))
        tw.call("tw_attention", q, k, v, torch.empty_like(q), 32, 4096, depth, ctypes.c_float(depth ** -0.5), 128, 64, warps, 3)
    torch.cuda.synchronize()


def counters(text):
    """A dictionary of metrics for each kernel, in the order of the launches."""
    table = text[text.index('"ID"'):] if '"ID"' in text else ""
    kernels = {}
    for row in csv.DictReader(io.StringIO(table)):
        kernels.setdefault(int(row["ID"]), {})[row["Metric Name"]] = row["Metric Value"] + " " + row["Metric Unit"]
    return [kernels[i] for i in sorted(kernels)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_gpu", help="libbench_gpu.so")
    parser.add_argument("--json")
    parser.add_argument("--launch", action="store_true", help="launch them, without ncu")
    options = parser.parse_args()
    if options.launch:
        return launch(options.bench_gpu)
    if not shutil.which("ncu"):
        print("there is no ncu")
        sys.exit(77)
    words = ["ncu", "--clock-control", "none", "--csv", "--page", "details", "-k", "regex:^(product|attention)$", "-c", str(len(KERNELS)),
             "--metrics", ",".join(METRICS)]
    for section in SECTIONS:
        words += ["--section", section]
    done = subprocess.run(words + [sys.executable, __file__, "--launch", options.bench_gpu], capture_output=True, text=True)
    found = counters(done.stdout)
    rows = [dict(kernel=name, metrics=metrics) for name, metrics in zip(KERNELS, found)]
    if options.json:
        with open(options.json, "w") as f:
            json.dump(dict(counters=rows), f, indent=1)
    if len(rows) < len(KERNELS):
        print(done.stdout[-2000:], done.stderr[-2000:])
        sys.exit("ncu has the counters of %d of %d kernels" % (len(rows), len(KERNELS)))
    for row in rows:
        print(row["kernel"])
        for name, value in row["metrics"].items():
            print(f"  {name:90} {value}")


if __name__ == "__main__":
    main()

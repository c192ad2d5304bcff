#!/usr/bin/env python3
"""A table of a run of on_gpu.py: `python gpu_table.py RESULTS.json [SIZE...]`, of all sizes or those named. Times are each contender's best
way of running the kernel."""
import json
import sys


def main():
    result = json.load(open(sys.argv[1]))
    best = {}
    for row in result["rows"]:
        if row.get("us") is None or row["kernel"] == "graph":
            continue
        key = (row["kernel"], row["shape"])
        known = best.setdefault(key, {}).get(row["who"])
        if known is None or row["us"] < known["us"]:
            best[key][row["who"]] = row
    print(f"{result['device']}, driver {result['driver']}, {result['date']}, commit {result['commit'][:9]}; PyTorch {result['torch']}, Triton "
          f"{result['triton']}; a copy of 2 GiB moves {result['copy_gb_s']:.0f} GB/s\n")
    print("| kernel, f32 | size | us | of copy | Triton us | PyTorch us |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (kernel, shape), who in best.items():
        if "ours" not in who or (len(sys.argv) > 2 and shape not in sys.argv[2:]):
            continue
        peer = who.get("torch") or who.get("cublas")
        cell = lambda row: f"{row['us']:.1f}" if row else "-"
        share = f"{who['ours']['tflop_s']:.1f} TFLOP/s" if "tflop_s" in who["ours"] else f"{who['ours']['of_copy']:.2f}"
        print(f"| {kernel.replace('_', ' ')} | {shape} | {cell(who['ours'])} | {share} | {cell(who.get('triton'))} | {cell(peer)} |")
    launches = {row["who"]: row["host_ns"] for row in result["rows"] if row["kernel"] == "launch"}
    if launches:
        print("\nhost ns of a warm launch: " + ", ".join(f"{who} {ns:.0f}" for who, ns in launches.items()))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The emulator's counters beside those that Nsight Compute reads from a GPU, of one launch of each kernel of a folder.

    python beside_ncu.py [--program TILEWRIGHT] [--device cuda:0] [--json FILE] FOLDER

FOLDER holds .tile files with the directives `grid`, `warps` and `arg` of counters_test.cpp. `tilewright run` launches each one on the GPU, under
ncu, and on the emulator of that GPU, whose --report is read. Requests must be equal, and sectors or wavefronts a request as --report rounds
them. Instructions are shown, not compared: the emulator counts PTX. Ends with 77 where there is no GPU or no ncu.
"""
import argparse
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
L1 = "l1tex__"
# What the emulator calls it: the metric of its requests, the metric of its sectors or wavefronts.
COUNTERS = {
    "load global": (L1 + "t_requests_pipe_lsu_mem_global_op_ld.sum", L1 + "t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    "store global": (L1 + "t_requests_pipe_lsu_mem_global_op_st.sum", L1 + "t_sectors_pipe_lsu_mem_global_op_st.sum"),
    "load shared": ("smsp__inst_executed_op_shared_ld.sum", L1 + "data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    "store shared": ("smsp__inst_executed_op_shared_st.sum", L1 + "data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
}
INSTRUCTIONS = "smsp__inst_executed.sum"
METRICS = [INSTRUCTIONS] + [m for pair in COUNTERS.values() for m in pair]


def directives(path):
    found = {"grid": [], "warps": [], "arg": []}
    for line in path.read_text().splitlines():
        if (m := re.match(r"// (\w+): (.*)", line)) and m[1] in found:
            found[m[1]].append(m[2])
    return found


def command(program, path, device):
    asked = directives(path)
    words = [program, "run", str(path), "--device", device, "--grid", asked["grid"][0], "--warps", (asked["warps"] or ["4"])[0]]
    for arg in asked["arg"]:
        words += ["--arg", arg]
    return words


def done(words):
    result = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {result.returncode}: {(result.stderr + result.stdout).strip()[-300:]}")
    return result.stdout, result.stderr


def by_emulator(program, path, device):
    """{counter: (requests, units a request)} and the number of warp instructions."""
    _, said = done(command(program, path, device) + ["--report"])
    counted = {name: (0, 0.0) for name in COUNTERS}
    for name in COUNTERS:
        if m := re.search(rf"^  {name} .*: (\d+) requests of ([0-9.]+) ", said, re.M):
            counted[name] = (int(m[1]), float(m[2]))
    return counted, int(re.search(r": (\d+) warp instructions", said)[1])


def by_ncu(program, path, device):
    said, _ = done(["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(METRICS), *command(program, path, device)])
    rows = csv.DictReader(io.StringIO(said[said.index('"ID"'):]))
    values = {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) for row in rows}
    counted = {}
    for name, (requests, units) in COUNTERS.items():
        n = int(values[requests])
        counted[name] = (n, values[units] / n if n else 0.0)
    return counted, int(values[INSTRUCTIONS])


def emulator_of(program, device):
    """The emulator of the GPU: "cuda:0  NVIDIA H100, compute capability 9.0, ..." is emulator:sm_90a."""
    listed, _ = done([program, "devices"])
    m = re.search(rf"^{re.escape(device)} .*compute capability (\d+)\.(\d+)", listed, re.M)
    if not m:
        print(f"{device} is not usable here")
        sys.exit(77)
    return f"emulator:sm_{m[1]}{m[2]}" + ("a" if (m[1], m[2]) == ("9", "0") else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "bin" / "tilewright"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--emulated", action="store_true", help="the device is an emulator: for the test of this script")
    options = parser.parse_args()
    if not options.device.startswith("cuda:") and not options.emulated:
        print(f"{options.device} is not a GPU")
        sys.exit(77)
    emulator = options.device if options.emulated else emulator_of(options.program, options.device)
    if not shutil.which("ncu"):
        print("ncu not found")
        sys.exit(77)
    rows, differences = [], 0
    for path in sorted(options.folder.glob("*.tile")):
        emulated, emulated_instructions = by_emulator(options.program, path, emulator)
        measured, measured_instructions = by_ncu(options.program, path, options.device)
        print(f"{path.stem}: {emulated_instructions} instructions of PTX, {measured_instructions} of machine code")
        row = dict(kernel=path.stem, emulator=emulator, instructions=dict(emulator=emulated_instructions, ncu=measured_instructions))
        for name in COUNTERS:
            (requests, units), (ncu_requests, ncu_units) = emulated[name], measured[name]
            equal = requests == ncu_requests and abs(units - ncu_units) <= 0.005 + 1e-9
            differences += not equal
            row[name] = dict(emulator=[requests, units], ncu=[ncu_requests, ncu_units], equal=equal)
            if requests or ncu_requests:
                print(f"  {name:13} {requests:8} requests of {units:6.2f}   ncu {ncu_requests:8} of {ncu_units:6.2f}   {'' if equal else 'DIFFERENT'}")
        rows.append(row)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(dict(counters=rows), out, indent=1)
    print(f"{len(rows)} kernels, {differences} counters differ")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()

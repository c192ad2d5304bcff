#!/usr/bin/env python3
"""Merges what `run` left in a folder into one file of tests/bench/results.

    python collect.py RESULTS [--out FOLDER]

RESULTS is the folder, or its .tar.gz. Writes FOLDER/<date>-<device>.json: the device, the driver, versions, the commit; each step with how it ended; the rows of all
benchmarks; the counters. FOLDER is tests/bench/results if not given. A file of the same day and device is not overwritten but gets the
steps of this run: those of the same name are replaced.
"""
import argparse
import json
import pathlib
import re
import sys
import tarfile
import tempfile

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "bench" / "results"


def read(path):
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else {}


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"nvidia|hbm\d\w*|\d+gb", "", name.lower())).strip("-")


def steps_of(folder):
    """The last line of each step."""
    steps = {}
    for number, line in enumerate((folder / "steps.jsonl").read_text().splitlines(), 1):
        try:
            step = json.loads(line)
        except ValueError as e:
            sys.exit(f"{folder}/steps.jsonl:{number}: {e}")
        steps[step.pop("step")] = step
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS)
    options = parser.parse_args()
    if options.results.is_dir():
        return collect(options.results, options.out)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(options.results) as archive:
                files = [m for m in archive if m.isfile() and not m.name.startswith("/") and ".." not in m.name.split("/")]
                archive.extractall(folder, files)
        except (OSError, tarfile.TarError) as e:
            sys.exit(f"'{options.results}' is neither a folder nor an archive: {e}")
        found = sorted(pathlib.Path(folder).glob("*/steps.jsonl"))
        collect(found[0].parent if found else pathlib.Path(folder), options.out)


def collect(results, out):
    if not (results / "steps.jsonl").exists():
        sys.exit(f"'{results}' has no steps.jsonl: run did not write it")
    steps = steps_of(results)
    described, pack = read(results / "device.json"), read(results / "pack.json")
    kind = next(iter(steps.values()))["device"]
    merged = dict(date=described.get("date") or pack.get("packed", "")[:10], device=described.get("device") or kind, driver=described.get("driver"),
                  commit=pack.get("commit"), torch=described.get("torch"), triton=described.get("triton"), ncu=described.get("ncu"),
                  properties=described.get("properties"), steps={}, rows=[], counters=[])
    file = out / f"{merged['date']}-{slug(merged['device'])}.json"
    before = read(file)
    for name in ("steps", "rows", "counters"):
        merged[name] = before.get(name, merged[name])
    rows, counters = [], []
    for name, step in steps.items():
        merged["steps"][name] = step
        measured = read(results / f"{name}.json")
        rows += [dict(row, step=name) for row in measured.get("rows", measured.get("cases", []))]
        counters += measured.get("counters", [])
        for key in ("cublas", "copy_gb_s", "cuda"):
            if measured.get(key):
                merged[key] = measured[key]
    merged["rows"] = [row for row in merged["rows"] if row.get("step") not in steps] + rows
    merged["counters"] = counters or merged["counters"]
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(merged, indent=1) + "\n")
    ended = [step["status"] for step in steps.values()]
    print(f"wrote {file}: {len(steps)} steps (" + ", ".join(f"{ended.count(s)} {s}" for s in sorted(set(ended))) + f"), {len(rows)} rows, "
          f"{len(counters)} kernels with counters")


if __name__ == "__main__":
    main()

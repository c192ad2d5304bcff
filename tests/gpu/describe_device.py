#!/usr/bin/env python3
"""Writes what a GPU and the software around it are called: `describe_device.py --json FILE`. What is not found is null."""
import argparse
import datetime
import importlib
import json
import platform
import shutil
import subprocess


def asked(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def version(module):
    try:
        return importlib.import_module(module).__version__
    except Exception:  # whatever stops it, it cannot be used
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    fields = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "power.limit")
    said = asked("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader", "--id=0")
    known = dict(zip(fields, said.split(", "))) if said else {}
    result = dict(device=known.get("name"), driver=known.get("driver_version"), properties=known, date=datetime.date.today().isoformat(),
                  system=platform.platform(), python=platform.python_version(), torch=version("torch"), triton=version("triton"),
                  ncu=asked("ncu", "--version").splitlines()[-1] if shutil.which("ncu") and asked("ncu", "--version") else None)
    with open(options.json, "w") as out:
        json.dump(result, out, indent=1)
    print(", ".join(f"{key} {result[key] or 'not found'}" for key in ("device", "driver", "torch", "triton", "ncu")))


if __name__ == "__main__":
    main()

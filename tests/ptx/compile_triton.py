#!/usr/bin/env python3
"""Compiles the cases of triton_cases.py to PTX with the Triton of this Python, no GPU needed.

    python compile_triton.py FOLDER [PATTERN ...]
    TRITON_PTX=FOLDER test_runtime -tc='emulator triton*'

writes FOLDER/<kernel>.sm_<cc>.ptx for every kernel whose name matches a pattern (all without one), which the emulator's tests then run.
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.errors import PTXASError

from triton_cases import CASES
from triton_sweeps import SWEEPS


def without_folders(ptx):
    """Leaves out where this machine keeps its files: in the debug sections, what refers to them, and the names of files."""
    ptx = re.sub(r"\s*\.section[^{}]*\{[^{}]*\}", "", ptx)
    ptx = re.sub(r", function_name \S+, inlined_at [\d ]+", " ", ptx)
    return re.sub(r'(\.file\s+\d+\s+)"[^"]*/', r'\1"', ptx)


def compile_case(case, target):
    source = ASTSource(case.fn, case.signature(), dict(case.consts), case.attributes())
    options = {"num_warps": case.warps, "num_stages": case.stages}
    return without_folders(triton.compile(source, target=GPUTarget("cuda", target, 32), options=options).asm["ptx"])


def main():
    folder, patterns = pathlib.Path(sys.argv[1]), sys.argv[2:] or ["*"]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        for case in CASES + SWEEPS:
            for target in case.targets:
                name = f"{case.name}.sm_{target}"
                if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                    continue
                try:
                    (folder / f"{name}.ptx").write_text(compile_case(case, target))
                    print(name)
                except PTXASError:  # one sweep asks for more registers than there are
                    print(f"{name}: ptxas refuses it")


if __name__ == "__main__":
    main()

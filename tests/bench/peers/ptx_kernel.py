"""Kernels as PTX through the CUDA driver's functions, beside what else runs in this process (PyTorch has made the context)."""
import ctypes
import re

_OPTIMIZATION_LEVEL = 7  # CU_JIT_OPTIMIZATION_LEVEL
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_CTYPES = {"64": ctypes.c_uint64, "32": ctypes.c_uint32, "16": ctypes.c_uint16, "8": ctypes.c_uint8}


def parameters(ptx):
    """The types of an entry's parameters, as "u64", "f32", ..."""
    header = re.search(r"\.entry\s+([\w$]+)\s*\((.*?)\)", ptx, re.S)
    return header.group(1), re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+\d+)", header.group(2))


def argument(kind, value):
    """A value as the driver takes it. kind: as parameters() has it."""
    if kind == "f32":
        return ctypes.c_float(value)
    if kind == "f64":
        return ctypes.c_double(value)
    bits = re.sub(r"\D", "", kind)
    return _CTYPES[bits](value & ((1 << int(bits)) - 1))


class PtxKernel:
    """A kernel of a PTX text. level: of the driver's assembler, 0 to 4; 4 is its default. shared: dynamic shared memory in bytes."""

    def __init__(self, ptx, shared, warps, level=4, driver=None):
        self.driver = driver or ctypes.CDLL("libcuda.so.1")
        self.shared, self.warps = shared, warps
        entry, self.kinds = parameters(ptx)
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        options, values = (ctypes.c_int * 1)(_OPTIMIZATION_LEVEL), (ctypes.c_void_p * 1)(level)
        self._call("cuModuleLoadDataEx", ctypes.byref(self.module), ctypes.c_char_p(ptx.encode()), ctypes.c_uint(1), options, values)
        self._call("cuModuleGetFunction", ctypes.byref(self.function), self.module, ctypes.c_char_p(entry.encode()))
        if shared > 48 << 10:
            self._call("cuFuncSetAttribute", self.function, ctypes.c_int(_MAX_DYNAMIC_SHARED_SIZE_BYTES), ctypes.c_int(shared))

    def _call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")

    def launch(self, grid, stream, *values):
        """values: integers and floats, pointers as integers. Parameters behind them, which Triton adds for scratch memory, get 0."""
        values = list(values) + [0] * (len(self.kinds) - len(values))
        arguments = [argument(kind, value) for kind, value in zip(self.kinds, values)]
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(*(ctypes.addressof(a) for a in arguments))
        grid = tuple(grid) + (1,) * (3 - len(grid))
        self._call("cuLaunchKernel", self.function, *(ctypes.c_uint(g) for g in grid), ctypes.c_uint(32 * self.warps), ctypes.c_uint(1),
                   ctypes.c_uint(1), ctypes.c_uint(self.shared), ctypes.c_void_p(stream), pointers, None)

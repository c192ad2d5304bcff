"""cuBLAS through its C functions, found where PyTorch has loaded it or on the system. Row-major products without padding."""
import ctypes

# library_types.h and cublas_api.h: cudaDataType, cublasComputeType_t, cublasOperation_t.
_TYPES = {"f16": 2, "bf16": 14, "f32": 0, "i8": 3, "i32": 10}
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_32I = 68, 77, 72
_OP_N, _OP_T = 0, 1
_DEFAULT_ALGORITHM = -1
_WORKSPACE_BYTES = 64 << 20


def _library():
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "libcublas.so" in line}
    for name in [*sorted(loaded), "libcublas.so.13", "libcublas.so.12", "libcublas.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise RuntimeError("no libcublas.so was found")


class Cublas:
    def __init__(self, stream, workspace):
        """workspace: the address of 64 MiB, which Hopper's kernels want."""
        self.lib = _library()
        self.handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self.handle))
        self._call("cublasSetStream_v2", self.handle, ctypes.c_void_p(stream))
        self._call("cublasSetWorkspace_v2", self.handle, ctypes.c_void_p(workspace), ctypes.c_size_t(_WORKSPACE_BYTES))
        version = ctypes.c_int()
        self._call("cublasGetVersion_v2", self.handle, ctypes.byref(version))
        self.version = version.value

    workspace_bytes = _WORKSPACE_BYTES

    def _call(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: status {code}")

    def product(self, types, a, b, c, m, n, k, transposed=False):
        """c = a b, addresses of row-major matrices; types: "f16", "bf16", "tf32", "i8"; b is [k, n] or, transposed, [n, k].
        cuBLAS has columns where these have rows: it computes c^T = b^T a^T."""
        factor = {"tf32": "f32"}.get(types, types)
        result = {"i8": "i32", "tf32": "f32"}.get(types, types)
        compute = {"i8": _COMPUTE_32I, "tf32": _COMPUTE_32F_FAST_TF32}.get(types, _COMPUTE_32F)
        scalar = ctypes.c_int if types == "i8" else ctypes.c_float
        one, zero = scalar(1), scalar(0)
        i, p = ctypes.c_int, ctypes.c_void_p
        self._call("cublasGemmEx", self.handle, i(_OP_T if transposed else _OP_N), i(_OP_N), i(n), i(m), i(k), ctypes.byref(one), p(b),
                   i(_TYPES[factor]), i(k if transposed else n), p(a), i(_TYPES[factor]), i(k), ctypes.byref(zero), p(c), i(_TYPES[result]), i(n),
                   i(compute), i(_DEFAULT_ALGORITHM))

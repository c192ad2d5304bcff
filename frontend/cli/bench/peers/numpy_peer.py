"""NumPy on the cpu, as a user writes these kernels: products by its BLAS, the rest by whole-array expressions."""
import time


class Library:
    def open(self, device, threads, ieee):
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(variable, str(threads))
        global np
        import numpy as np

        self.random = np.random.default_rng(1)
        return "NumPy " + np.__version__

    def load(self, path, element, shape):
        if element not in self.types():
            raise RuntimeError("it is not measured in " + element)
        return np.fromfile(path, self.types()[element]).reshape(shape)

    @staticmethod
    def types():
        return {"f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64, "i1": np.bool_}

    def save(self, array, element, path):
        np.ascontiguousarray(array, self.types()[element]).tofile(path)

    def time(self, run, launches):
        start = time.perf_counter()
        for _ in range(launches):
            run()
        return (time.perf_counter() - start) * 1e3

    @property
    def kernels(self):
        return {
            "matmul": self.matmul,
            "matmul_bias_relu": lambda t, s: lambda: np.maximum(t["a"] @ t["b"] + t["bias"], 0),
            "matmul_batched": self.matmul,
            "matmul_scaled": self.matmul_scaled,
            "grouped_matmul": self.grouped_matmul,
            "matvec": self.matvec,
            "gated_mlp": self.gated_mlp,
            "softmax": self.softmax,
            "log_softmax": self.log_softmax,
            "layer_norm": self.layer_norm,
            "rms_norm": self.rms_norm,
            "cross_entropy": self.cross_entropy,
            "top_k": self.top_k,
            "attention": lambda t, s: lambda: self.attention(t["q"], t["k"], t["v"], False),
            "attention_causal": lambda t, s: lambda: self.attention(t["q"], t["k"], t["v"], True),
            "decode_attention": lambda t, s: lambda: self.attention(t["q"][:, :, None], t["k_cache"], t["v_cache"], False)[:, :, 0],
            "rotary": self.rotary,
            "softmax_backward": lambda t, s: lambda: t["y"] * (t["dy"] - (t["y"] * t["dy"]).sum(axis=-1, keepdims=True)),
            "layer_norm_backward": lambda t, s: lambda: self.norm_backward(t, t["mean"]),
            "rms_norm_backward": lambda t, s: lambda: self.norm_backward(t, None),
            "cross_entropy_backward": self.cross_entropy_backward,
            "transpose": lambda t, s: lambda: self.into(t["y"], t["x"].T),
            "copy": lambda t, s: lambda: self.into(t["y"], t["x"]),
            "fill": lambda t, s: lambda: self.into(t["y"], 1.5),
            "random_uniform": lambda t, s: lambda: self.random.random(dtype=t["y"].dtype, out=t["y"]),
            "random_normal": lambda t, s: lambda: self.random.standard_normal(dtype=t["y"].dtype, out=t["y"]),
            "dropout": self.dropout,
            "stencil": self.stencil,
            "stencil_3d": self.stencil,
            "reduce": lambda t, s: lambda: np.sum(t["x"]),
            "reduce_rows": lambda t, s: lambda: np.sum(t["x"], axis=1, out=t["y"]),
            "reduce_columns": lambda t, s: lambda: np.sum(t["x"], axis=0, out=t["y"]),
            "scan": lambda t, s: lambda: np.cumsum(t["x"], out=t["y"]),
            "sort": self.sort,
            "sort_keys": lambda t, s: lambda: np.sort(t["keys"]),
            "histogram": lambda t, s: lambda: np.bincount(t["x"], minlength=s[1]),
            "group_by": self.group_by,
            "compact": self.compact,
            "gather": lambda t, s: lambda: np.take(t["x"], t["index"], axis=0, out=t["y"], mode="clip"),
            "scatter_add": self.scatter_add,
            "spmv": self.spmv,
            "fft": self.fft,
        }

    @staticmethod
    def into(to, values):
        np.copyto(to, values)
        return to

    @staticmethod
    def refuse_int8(array):
        if array.dtype == np.int8:
            raise RuntimeError("its products of int8 are int8")

    def matmul(self, t, shape):
        self.refuse_int8(t["a"])
        return lambda: np.matmul(t["a"], t["b"], out=t["c"])

    def matvec(self, t, shape):
        self.refuse_int8(t["a"])
        return lambda: np.matmul(t["a"], t["x"], out=t["y"])

    def matmul_scaled(self, t, shape):
        scales = t["a_scale"][:, None] * t["b_scale"]
        return lambda: (t["a"].astype(np.float32) @ t["b"].astype(np.float32)) * scales

    def grouped_matmul(self, t, shape):
        self.refuse_int8(t["a"])
        begins = [0, *t["group_ends"][:-1]]

        def run():
            for begin, end, b in zip(begins, t["group_ends"], t["b"]):
                np.matmul(t["a"][begin:end], b, out=t["c"][begin:end])
            return t["c"]

        return run

    def gated_mlp(self, t, shape):
        def run():
            gate = t["x"] @ t["wg"]
            return (gate / (1 + np.exp(-gate)) * (t["x"] @ t["wu"])) @ t["wd"]

        return run

    def softmax(self, t, shape):
        def run():
            e = np.exp(t["x"] - t["x"].max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)

        return run

    def log_softmax(self, t, shape):
        def run():
            z = t["x"] - t["x"].max(axis=-1, keepdims=True)
            return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))

        return run

    def layer_norm(self, t, shape):
        def run():
            z = t["x"] - t["x"].mean(axis=-1, keepdims=True)
            return z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + t["x"].dtype.type(1e-5)) * t["gamma"] + t["beta"]

        return run

    def rms_norm(self, t, shape):
        def run():
            x = t["x"]
            return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5)) * t["gamma"]

        return run

    def cross_entropy(self, t, shape):
        rows = np.arange(shape[0])

        def run():
            x = t["logits"]
            most = x.max(axis=-1)
            return most + np.log(np.exp(x - most[:, None]).sum(axis=-1)) - x[rows, t["targets"]]

        return run

    def cross_entropy_backward(self, t, shape):
        rows = np.arange(shape[0])

        def run():
            d = np.exp(t["logits"] - t["lse"][:, None])
            d[rows, t["targets"]] -= 1
            return d * t["dlosses"][:, None]

        return run

    def norm_backward(self, t, mean):
        x = t["x"] if mean is None else t["x"] - mean[:, None]
        x = x * t["rstd"][:, None]
        g = t["dy"] * t["gamma"]
        dx = g - x * (g * x).mean(axis=-1, keepdims=True)
        if mean is None:
            return dx * t["rstd"][:, None], (t["dy"] * x).sum(axis=0)
        dx -= g.mean(axis=-1, keepdims=True)
        return dx * t["rstd"][:, None], (t["dy"] * x).sum(axis=0), t["dy"].sum(axis=0)

    def top_k(self, t, shape):
        k = shape[2]

        def run():
            indices = np.argpartition(-t["x"], k - 1, axis=-1)[:, :k]
            values = np.take_along_axis(t["x"], indices, -1)
            order = np.argsort(-values, axis=-1)
            return np.take_along_axis(values, order, -1), np.take_along_axis(indices, order, -1)

        return run

    def rotary(self, t, shape):
        x, half = t["x"], shape[3] // 2
        angles = t["positions"][:, None] * 10000.0 ** (-np.arange(half) / half)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)

        def run():
            a, b = x[..., :half], x[..., half:]
            return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

        return run

    def dropout(self, t, shape):
        x = t["x"]
        return lambda: x * (self.random.random(x.shape, np.float32) >= 0.25) / x.dtype.type(0.75)

    def stencil(self, t, shape):
        x, axes = t["x"], len(shape)
        part = x.dtype.type(0.125 if axes == 2 else 0.0625)

        def run():
            y = x * (1 - 2 * axes * part)
            for axis in range(axes):
                before = tuple(slice(None, -1) if i == axis else slice(None) for i in range(axes))
                after = tuple(slice(1, None) if i == axis else slice(None) for i in range(axes))
                y[before] += x[after] * part
                y[after] += x[before] * part
            return y

        return run

    def sort(self, t, shape):
        def run():
            order = np.argsort(t["keys"], kind="stable")
            return t["keys"][order], t["values"][order]

        return run

    def group_by(self, t, shape):
        def run():
            order = np.argsort(t["keys"], kind="stable")
            keys = t["keys"][order]
            first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
            return keys[first], np.add.reduceat(t["values"][order], first)

        return run

    def compact(self, t, shape):
        def run():
            y = t["x"][t["mask"]]
            return y, len(y)

        return run

    def scatter_add(self, t, shape):
        def run():
            np.add.at(t["y"], t["index"], t["x"])
            return t["y"]

        return run

    def spmv(self, t, shape):
        rows = np.repeat(np.arange(shape[0]), np.diff(t["row_ends"], prepend=0))
        return lambda: np.bincount(rows, t["values"] * t["x"][t["columns"]], shape[0])

    def fft(self, t, shape):
        x = t["x"].view(np.complex64 if t["x"].dtype == np.float32 else np.complex128)[..., 0]
        return lambda: np.fft.fft(x).astype(x.dtype, copy=False).view(t["x"].dtype)

    def attention(self, q, k, v, causal):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.dtype.type(q.shape[-1]))
        if causal:
            scores = np.where(np.tri(q.shape[-2], dtype=bool), scores, q.dtype.type(-np.inf))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v


Server(Library()).serve()

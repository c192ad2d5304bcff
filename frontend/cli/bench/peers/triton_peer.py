"""Triton on a GPU: the kernels of triton_kernels.py, autotuned over a few sizes of tiles where they have tiles."""
import torch

product_tuned = triton.autotune(
    [triton.Config(dict(BM=m, BN=n, BK=k), num_warps=warps, num_stages=stages)
     for m, n, k, warps, stages in ((128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 32, 4, 4), (64, 128, 64, 4, 4), (64, 64, 32, 4, 3))],
    key=["M", "N", "K"])(product_grouped)

attention_tuned = triton.autotune(
    [triton.Config(dict(BM=m, BN=n), num_warps=warps, num_stages=stages)
     for m, n, warps, stages in ((128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (64, 32, 4, 3))],
    key=["length", "D", "CAUSAL"])(attention)


def warps_for(block):
    return 4 if block <= 2048 else 8 if block <= 4096 else 16


class Library(TorchArrays):
    def open(self, device, threads, ieee):
        self.ieee = ieee
        return "Triton %s; %s" % (triton.__version__, super().open(device, threads, ieee))

    @property
    def kernels(self):
        return {
            "matmul": self.matmul,
            "softmax": lambda t, s: self.softmax(t, s, False),
            "log_softmax": lambda t, s: self.softmax(t, s, True),
            "layer_norm": lambda t, s: self.norm(t, s, True),
            "rms_norm": lambda t, s: self.norm(t, s, False),
            "transpose": self.transpose,
            "attention": lambda t, s: self.attention(t, s, False),
            "attention_causal": lambda t, s: self.attention(t, s, True),
        }

    def matmul(self, t, shape):
        m, n, k = shape
        if t["a"].dtype == torch.float64:
            raise RuntimeError("its products of f64 are not measured")
        sums = tl.int32 if t["a"].dtype == torch.int8 else tl.float32
        grid = lambda c: (triton.cdiv(m, c["BM"]) * triton.cdiv(n, c["BN"]),)

        def run():
            product_tuned[grid](t["a"], t["b"], t["c"], m, n, k, k, n, n, G=8, T=False, S=sums, PRECISION="ieee" if self.ieee else "tf32")
            return t["c"]

        return run

    def softmax(self, t, shape, log):
        block = triton.next_power_of_2(shape[1])

        def run():
            softmax_row[(shape[0],)](t["y"], t["x"], shape[1], shape[1], shape[1], BLOCK=block, LOG=log, num_warps=warps_for(block))
            return t["y"]

        return run

    def norm(self, t, shape, centered):
        block = triton.next_power_of_2(shape[1])

        def run():
            norm_row[(shape[0],)](t["y"], t["x"], t["gamma"], t.get("beta", t["gamma"]), shape[1], 1e-5, BLOCK=block, CENTERED=centered,
                                   num_warps=warps_for(block))
            return t["y"]

        return run

    def transpose(self, t, shape):
        m, n = shape

        def run():
            transpose_tile[(triton.cdiv(m, 64), triton.cdiv(n, 64))](t["x"], t["y"], n, m, m, n, BM=64, BN=64, num_warps=4)
            return t["y"]

        return run

    def attention(self, t, shape, causal):
        batch, heads, length, d = shape
        if d & (d - 1) or d < 16:
            raise RuntimeError("its attention needs D that is a power of two")
        grid = lambda c: (triton.cdiv(length, c["BM"]), batch * heads)

        def run():
            attention_tuned[grid](t["q"], t["k"], t["v"], t["out"], length, d**-0.5, D=d, CAUSAL=causal)
            return t["out"]

        return run


Server(Library()).serve()

"""Triton on a GPU: kernels as its tutorials write them, autotuned over a few sizes of tiles."""
import torch
import triton
import triton.language as tl


def configurations(*rows):
    return [triton.Config(dict(BM=m, BN=n, BK=k), num_warps=warps, num_stages=stages) for m, n, k, warps, stages in rows]


@triton.autotune(configurations((128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 32, 4, 4), (64, 128, 64, 4, 4), (64, 64, 32, 4, 3)),
                 key=["M", "N", "K"])
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, S: tl.constexpr, IEEE: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    width = G * tiles_n
    first = tl.program_id(0) // width * G
    height = min(tl.cdiv(M, BM) - first, G)
    i = ((first + tl.program_id(0) % width % height) * BM + tl.arange(0, BM))[:, None]
    j = (tl.program_id(0) % width // height * BN + tl.arange(0, BN))[None, :]
    k = tl.arange(0, BK)
    s = tl.zeros([BM, BN], S)
    for at in range(0, K, BK):
        ka = (at + k)[None, :]
        kb = (at + k)[:, None]
        ta = tl.load(a + i * K + ka, mask=(i < M) & (ka < K), other=0.0)
        tb = tl.load(b + kb * N + j, mask=(kb < K) & (j < N), other=0.0)
        s = tl.dot(ta, tb, s, input_precision="ieee" if IEEE else "tf32", out_dtype=S)
    tl.store(c + i * N + j, s.to(c.dtype.element_ty), mask=(i < M) & (j < N))


@triton.jit
def softmax_rows(y, x, n, BLOCK: tl.constexpr, LOG: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf")).to(tl.float32)
    z = v - tl.max(v, axis=0)
    e = tl.exp(z)
    if LOG:
        result = z - tl.log(tl.sum(e, axis=0))
    else:
        result = e / tl.sum(e, axis=0)
    tl.store(y + row * n + column, result.to(y.dtype.element_ty), mask=column < n)


@triton.jit
def norm_rows(y, x, gamma, beta, n, eps, BLOCK: tl.constexpr, CENTERED: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < n
    v = tl.load(x + row * n + column, mask=live, other=0.0).to(tl.float32)
    if CENTERED:
        v = tl.where(live, v - tl.sum(v, axis=0) / n, 0.0)
    result = v / tl.sqrt(tl.sum(v * v, axis=0) / n + eps) * tl.load(gamma + column, mask=live, other=0.0)
    if CENTERED:
        result += tl.load(beta + column, mask=live, other=0.0)
    tl.store(y + row * n + column, result.to(y.dtype.element_ty), mask=live)


@triton.jit
def transpose_tiles(y, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.load(x + i[:, None] * N + j[None, :], mask=(i[:, None] < M) & (j[None, :] < N))
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(t), mask=(j[:, None] < N) & (i[None, :] < M))


@triton.autotune([triton.Config(dict(BM=m, BN=n), num_warps=warps, num_stages=stages)
                  for m, n, warps, stages in ((128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (64, 32, 4, 3))],
                 key=["length", "D", "CAUSAL"])
@triton.jit
def attention_rows(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * D
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    rows = i[:, None]
    d = tl.arange(0, D)
    tq = tl.load(q + head + rows * D + d[None, :], mask=rows < length, other=0.0)
    biggest = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    s = tl.zeros([BM, D], tl.float32)
    last = min((tl.program_id(0) + 1) * BM, length) if CAUSAL else length
    for at in range(0, last, BN):
        n = at + tl.arange(0, BN)
        tk = tl.load(k + head + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        seen = n[None, :] < length
        if CAUSAL:
            seen = seen & (n[None, :] <= rows)
        scores = tl.where(seen, tl.dot(tq, tk) * scale, -float("inf"))
        bigger = tl.maximum(biggest, tl.max(scores, 1))
        weights = tl.exp2((scores - bigger[:, None]) * 1.4426950408889634)
        rescale = tl.exp2((biggest - bigger) * 1.4426950408889634)
        total = total * rescale + tl.sum(weights, 1)
        tv = tl.load(v + head + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        s = tl.dot(weights.to(tv.dtype), tv, s * rescale[:, None])
        biggest = bigger
    tl.store(out + head + rows * D + d[None, :], (s / total[:, None]).to(out.dtype.element_ty), mask=rows < length)


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
            product[grid](t["a"], t["b"], t["c"], m, n, k, G=8, S=sums, IEEE=self.ieee)
            return t["c"]

        return run

    def softmax(self, t, shape, log):
        block = triton.next_power_of_2(shape[1])

        def run():
            softmax_rows[(shape[0],)](t["y"], t["x"], shape[1], BLOCK=block, LOG=log, num_warps=warps_for(block))
            return t["y"]

        return run

    def norm(self, t, shape, centered):
        block = triton.next_power_of_2(shape[1])

        def run():
            norm_rows[(shape[0],)](t["y"], t["x"], t["gamma"], t.get("beta", t["gamma"]), shape[1], 1e-5, BLOCK=block, CENTERED=centered,
                                   num_warps=warps_for(block))
            return t["y"]

        return run

    def transpose(self, t, shape):
        m, n = shape

        def run():
            transpose_tiles[(triton.cdiv(m, 64), triton.cdiv(n, 64))](t["y"], t["x"], m, n, BM=64, BN=64, num_warps=4)
            return t["y"]

        return run

    def attention(self, t, shape, causal):
        batch, heads, length, d = shape
        if d & (d - 1) or d < 16:
            raise RuntimeError("its attention needs D that is a power of two")
        grid = lambda c: (triton.cdiv(length, c["BM"]), batch * heads)

        def run():
            attention_rows[grid](t["q"], t["k"], t["v"], t["out"], length, d**-0.5, D=d, CAUSAL=causal)
            return t["out"]

        return run


Server(Library()).serve()

"""Kernels in Triton, as its tutorials write them: those that are measured, those whose machine code is counted, and those that the emulator runs.

Arrays are row-major; ld is the distance of rows in elements. `tilewright bench` holds this text in front of triton_peer.py.
"""
import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, mask=live) + tl.load(y + at, mask=live), mask=live)


@triton.jit
def softmax_row(out, x, ld_out, ld_x, n, BLOCK: tl.constexpr, LOG: tl.constexpr = False):
    """A row a program. LOG: of its result the logarithm."""
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    v = tl.load(x + row * ld_x + col, mask=live, other=-float("inf")).to(tl.float32)
    z = v - tl.max(v, axis=0)
    e = tl.exp(z)
    if LOG:
        p = z - tl.log(tl.sum(e, axis=0))
    else:
        p = e / tl.sum(e, axis=0)
    tl.store(out + row * ld_out + col, p.to(out.dtype.element_ty), mask=live)


@triton.jit
def layer_norm_2pass(x, out, weight, bias, mean_out, rstd_out, ld, n, eps, BLOCK: tl.constexpr):
    """Statistics by sum and sum of squares in one sweep, then normalise in a second."""
    row = tl.program_id(0)
    src = x + row * ld
    dst = out + row * ld
    s = tl.zeros([BLOCK], tl.float32)
    q = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        col = at + tl.arange(0, BLOCK)
        v = tl.load(src + col, mask=col < n, other=0.0).to(tl.float32)
        s += v
        q += v * v
    mean = tl.sum(s, axis=0) / n
    var = tl.sum(q, axis=0) / n - mean * mean
    rstd = 1 / tl.sqrt(var + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for at in range(0, n, BLOCK):
        col = at + tl.arange(0, BLOCK)
        live = col < n
        v = tl.load(src + col, mask=live, other=0.0).to(tl.float32)
        g = tl.load(weight + col, mask=live)
        h = tl.load(bias + col, mask=live)
        tl.store(dst + col, ((v - mean) * rstd * g + h).to(out.dtype.element_ty), mask=live)


@triton.jit
def norm_row(out, x, gamma, beta, n, eps, BLOCK: tl.constexpr, CENTERED: tl.constexpr):
    """A whole row in registers: layer_norm if CENTERED, else rms_norm, which reads no beta."""
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    v = tl.load(x + row * n + col, mask=live, other=0.0).to(tl.float32)
    if CENTERED:
        v = tl.where(live, v - tl.sum(v, axis=0) / n, 0.0)
    result = v / tl.sqrt(tl.sum(v * v, axis=0) / n + eps) * tl.load(gamma + col, mask=live, other=0.0)
    if CENTERED:
        result += tl.load(beta + col, mask=live, other=0.0)
    tl.store(out + row * n + col, result.to(out.dtype.element_ty), mask=live)


@triton.jit
def transpose_tile(x, out, ld_x, ld_out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.load(x + i[:, None] * ld_x + j[None, :], mask=(i[:, None] < M) & (j[None, :] < N))
    tl.store(out + j[:, None] * ld_out + i[None, :], tl.trans(t), mask=(j[:, None] < N) & (i[None, :] < M))


@triton.jit
def row_sum(x, out, ld, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * ld + col, mask=col < n, other=0.0).to(tl.float32), axis=0))


@triton.jit
def grouped_order(M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Program id to tile coordinates, GROUP tile rows at a time for reuse in the L2 cache."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    first = pid // per_group * GROUP
    height = min(tiles_m - first, GROUP)
    return first + pid % per_group % height, pid % per_group // height


@triton.jit
def product_tile(a, b, i, j, M, N, K, lda, ldb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, T: tl.constexpr, S: tl.constexpr,
                 PRECISION: tl.constexpr):
    """The sum over K of one tile of a product, in type S. b is [K, N] or, with T, [N, K]."""
    k = tl.arange(0, BK)
    s = tl.zeros([BM, BN], S)
    for at in range(0, K, BK):
        ka = (at + k)[None, :]
        kb = (at + k)[:, None]
        ta = tl.load(a + i * lda + ka, mask=(i < M) & (ka < K), other=0.0)
        pb = b + j * ldb + kb if T else b + kb * ldb + j
        tb = tl.load(pb, mask=(kb < K) & (j < N), other=0.0)
        s = tl.dot(ta, tb, s, input_precision=PRECISION, out_dtype=S)
    return s


@triton.jit
def product(a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, T: tl.constexpr, S: tl.constexpr,
            PRECISION: tl.constexpr = "tf32"):
    """c = a b on a grid of two axes; c is of type S."""
    i = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    j = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    s = product_tile(a, b, i, j, M, N, K, lda, ldb, BM, BN, BK, T, S, PRECISION)
    tl.store(c + i * ldc + j, s, mask=(i < M) & (j < N))


@triton.jit
def product_grouped(a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, T: tl.constexpr,
                    S: tl.constexpr, PRECISION: tl.constexpr = "tf32"):
    """The same on a grid of one axis, in groups of G tile rows; c is of any type."""
    tile_m, tile_n = grouped_order(M, N, BM, BN, G)
    i = (tile_m * BM + tl.arange(0, BM))[:, None]
    j = (tile_n * BN + tl.arange(0, BN))[None, :]
    s = product_tile(a, b, i, j, M, N, K, lda, ldb, BM, BN, BK, T, S, PRECISION)
    tl.store(c + i * ldc + j, s.to(c.dtype.element_ty), mask=(i < M) & (j < N))


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr = False):
    """softmax(scale q k^T) v of one head along axis 1 of the grid and BM rows along axis 0; heads are [length, D]."""
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
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
        weights = tl.exp(scores - bigger[:, None])
        rescale = tl.exp(biggest - bigger)
        total = total * rescale + tl.sum(weights, 1)
        tv = tl.load(v + head + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        s = tl.dot(weights.to(tv.dtype), tv, s * rescale[:, None])
        biggest = bigger
    tl.store(out + head + rows * D + d[None, :], (s / total[:, None]).to(out.dtype.element_ty), mask=rows < length)

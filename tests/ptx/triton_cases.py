"""Configurations in which compile_triton.py compiles kernels of Triton, and kernels that only the emulator's tests run.

The others are those of frontend/cli/bench/peers/triton_kernels.py. A Case names one kernel with one set of argument types,
alignment facts, compile-time constants and launch options; triton_sweeps.py has the same in growing sizes. Argument specification:
`name:type`, with a trailing `!` where a real launch would tell the compiler that the value is divisible by 16 (aligned pointer, leading dimension
and extent that are multiples of 16). Unit strides are left out: a launch specialises them away.
"""
import pathlib
import sys
from dataclasses import dataclass, field

import triton
import triton.language as tl

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "frontend/cli/bench/peers"))
from triton_kernels import grouped_order, layer_norm_2pass, row_sum, softmax_row, transpose_tile, vector_add


# ---------------------------------------------------------------------------------------------
# Elementwise and row kernels
# ---------------------------------------------------------------------------------------------
@triton.jit
def vector_add_wide(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, mask=live) + tl.load(y + at, mask=live), mask=live)


@triton.jit
def softmax_row_lean(out, x, ld_out, ld_x, n, BLOCK: tl.constexpr):
    """softmax_row with the algebra done by hand: base-2 exponential of one fused multiply-add, one reciprocal."""
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    v = tl.load(x + row * ld_x + col, mask=live, other=-float("inf")).to(tl.float32)
    top = tl.max(v, axis=0) * 1.4426950408889634
    e = tl.exp2(v * 1.4426950408889634 - top)
    p = e * (1.0 / tl.sum(e, axis=0))
    tl.store(out + row * ld_out + col, p.to(out.dtype.element_ty), mask=live)


@triton.jit
def layer_norm_3pass(x, out, weight, bias, mean_out, rstd_out, ld, n, eps, BLOCK: tl.constexpr):
    """Mean, then centred variance, then normalise: three sweeps over the row."""
    row = tl.program_id(0)
    src = x + row * ld
    dst = out + row * ld
    s = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        col = at + tl.arange(0, BLOCK)
        s += tl.load(src + col, mask=col < n, other=0.0).to(tl.float32)
    mean = tl.sum(s, axis=0) / n
    q = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        col = at + tl.arange(0, BLOCK)
        v = tl.load(src + col, mask=col < n, other=0.0).to(tl.float32)
        d = tl.where(col < n, v - mean, 0.0)
        q += d * d
    rstd = 1 / tl.sqrt(tl.sum(q, axis=0) / n + eps)
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
def row_sum_tile(x, out, ld, m, n, BM: tl.constexpr, BN: tl.constexpr):
    """BM rows a program, columns in a loop of BN."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.zeros([BM], tl.float32)
    for at in range(0, n, BN):
        j = at + tl.arange(0, BN)
        t = tl.load(x + i[:, None] * ld + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n), other=0.0)
        s += tl.sum(t, axis=1)
    tl.store(out + i, s, mask=i < m)


@triton.jit
def row_sum_native(x, out, ld, n, BLOCK: tl.constexpr):
    """Sum in the input's own type: shows the type in which the compiler accumulates."""
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * ld + col, mask=col < n, other=0.0), axis=0))


@triton.jit
def scan_sum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), axis=0), mask=at < n)


@triton.jit
def sort_block(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at, mask=at < n, other=float("inf"))), mask=at < n)


@triton.jit
def topk_block(x, out, n, BLOCK: tl.constexpr, K: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.topk(tl.load(x + at, mask=at < n, other=-float("inf")), K)
    tl.store(out + tl.program_id(0) * K + tl.arange(0, K), v)


@triton.jit
def argmax_row(x, out, ld, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    tl.store(out + row, tl.argmax(tl.load(x + row * ld + col, mask=col < n, other=-float("inf")), axis=0))


@triton.jit
def histogram_block(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), h, sem="relaxed")


# ---------------------------------------------------------------------------------------------
# Matrix products
# ---------------------------------------------------------------------------------------------
@triton.jit
def matmul(a, b, c, M, N, K, lda, ldb, ldc,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           EDGE: tl.constexpr, PRECISION: tl.constexpr, BT: tl.constexpr):
    """C[M,N] = A[M,K] B[K,N], row major; BT: B is stored as [N,K]. EDGE: "wrap" takes rows and columns modulo the
    extent and masks K, "mask" masks M, N and K on every load, "none" masks nothing (extents are multiples of the tile).
    """
    tm, tn = grouped_order(M, N, BM, BN, GROUP)
    i = tm * BM + tl.arange(0, BM)
    j = tn * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    im = i % M if EDGE == "wrap" else i
    jn = j % N if EDGE == "wrap" else j
    pa = a + im[:, None] * lda + k[None, :]
    pb = b + k[:, None] + jn[None, :] * ldb if BT else b + k[:, None] * ldb + jn[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        if EDGE == "none":
            ta = tl.load(pa)
            tb = tl.load(pb)
        else:
            left = K - step * BK
            ma = k[None, :] < left
            mb = k[:, None] < left
            if EDGE == "mask":
                ma = ma & (i[:, None] < M)
                mb = mb & (j[None, :] < N)
            ta = tl.load(pa, mask=ma, other=0.0)
            tb = tl.load(pb, mask=mb, other=0.0)
        acc = tl.dot(ta, tb, acc, input_precision=PRECISION)
        pa += BK
        pb += BK if BT else BK * ldb
    pc = c + i[:, None] * ldc + j[None, :]
    r = acc.to(c.dtype.element_ty)
    if EDGE == "none":
        tl.store(pc, r)
    else:
        tl.store(pc, r, mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def matmul_desc(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """The same product through tensor descriptors (TMA on sm_90)."""
    tm, tn = grouped_order(M, N, BM, BN, GROUP)
    acc = tl.zeros([BM, BN], tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(a.load([tm * BM, step * BK]), b.load([step * BK, tn * BN]), acc)
    c.store([tm * BM, tn * BN], acc.to(tl.float16))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                      SPLIT_WARPS: tl.constexpr, FLATTEN: tl.constexpr):
    """One program per multiprocessor walks over the tiles; descriptors; optionally loads in their own warps."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0),
                         flatten=FLATTEN, warp_specialize=SPLIT_WARPS):
        first = tile // per_group * GROUP
        height = min(tiles_m - first, GROUP)
        tm = first + tile % per_group % height
        tn = tile % per_group // height
        acc = tl.zeros([BM, BN], tl.float32)
        for step in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(a.load([tm * BM, step * BK]), b.load([step * BK, tn * BN]), acc)
        c.store([tm * BM, tn * BN], acc.to(tl.float16))


@triton.jit
def matmul_split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                 PERSISTENT: tl.constexpr):
    """Warp specialised: loads and products in different warps. Descriptors are made in the kernel."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    if PERSISTENT:
        tiles_m = tl.cdiv(M, BM)
        tiles_n = tl.cdiv(N, BN)
        per_group = GROUP * tiles_n
        for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), warp_specialize=True):
            first = tile // per_group * GROUP
            height = min(tiles_m - first, GROUP)
            tm = first + tile % per_group % height
            tn = tile % per_group // height
            acc = tl.zeros([BM, BN], tl.float32)
            for step in range(0, tl.cdiv(K, BK)):
                acc = tl.dot(da.load([tm * BM, step * BK]), db.load([step * BK, tn * BN]), acc)
            dc.store([tm * BM, tn * BN], acc.to(tl.float16))
    else:
        tm, tn = grouped_order(M, N, BM, BN, GROUP)
        acc = tl.zeros([BM, BN], tl.float32)
        for step in tl.range(0, tl.cdiv(K, BK), warp_specialize=True):
            acc = tl.dot(da.load([tm * BM, step * BK]), db.load([step * BK, tn * BN]), acc)
        dc.store([tm * BM, tn * BN], acc.to(tl.float16))


# ---------------------------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------------------------
@triton.jit
def _attend(acc, top, den, q, pk, pv, row, lo, hi, n_ctx, ld, scale, BN: tl.constexpr, D: tl.constexpr,
            DIAGONAL: tl.constexpr, EDGE: tl.constexpr):
    """Online softmax over key blocks [lo, hi); base-2 exponentials, `scale` already times log2(e)."""
    d = tl.arange(0, D)
    for at in range(lo, hi, BN):
        col = at + tl.arange(0, BN)
        if EDGE:
            k = tl.load(pk + col[:, None] * ld + d[None, :], mask=col[:, None] < n_ctx, other=0.0)
        else:
            k = tl.load(pk + col[:, None] * ld + d[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        if DIAGONAL:
            s = tl.where(row[:, None] >= col[None, :], s, -float("inf"))
        if EDGE:
            s = tl.where(col[None, :] < n_ctx, s, -float("inf"))
        peak = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - peak[:, None])
        fade = tl.exp2(top - peak)
        den = den * fade + tl.sum(p, 1)
        acc = acc * fade[:, None]
        if EDGE:
            v = tl.load(pv + col[:, None] * ld + d[None, :], mask=col[:, None] < n_ctx, other=0.0)
        else:
            v = tl.load(pv + col[:, None] * ld + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        top = peak
    return acc, top, den


@triton.jit
def attention_fwd(q, k, v, out, lse, scale, ld_head, ld, n_ctx, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                  CAUSAL: tl.constexpr, EDGE: tl.constexpr):
    """softmax(scale Q K^T) V for one head and BM query rows; Q, K, V, out [heads, n_ctx, D]."""
    tile = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * ld_head
    row = tile * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    at = base + row[:, None] * ld + d[None, :]
    if EDGE:
        tq = tl.load(q + at, mask=row[:, None] < n_ctx, other=0.0)
    else:
        tq = tl.load(q + at)
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    den = tl.zeros([BM], tl.float32)
    s2 = scale * 1.4426950408889634
    if CAUSAL:
        acc, top, den = _attend(acc, top, den, tq, k + base, v + base, row, 0, tile * BM, n_ctx, ld, s2, BN, D,
                                False, False)
        acc, top, den = _attend(acc, top, den, tq, k + base, v + base, row, tile * BM, (tile + 1) * BM, n_ctx, ld, s2,
                                BN, D, True, EDGE)
    else:
        acc, top, den = _attend(acc, top, den, tq, k + base, v + base, row, 0, n_ctx, n_ctx, ld, s2, BN, D,
                                False, EDGE)
    r = (acc / den[:, None]).to(out.dtype.element_ty)
    stat = lse + tl.program_id(1) * n_ctx + row
    if EDGE:
        tl.store(out + at, r, mask=row[:, None] < n_ctx)
        tl.store(stat, top + tl.log2(den), mask=row < n_ctx)
    else:
        tl.store(out + at, r)
        tl.store(stat, top + tl.log2(den))


@triton.jit
def attention_lean(q, k, v, out, lse, scale, ld_head, ld, n_ctx, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """attention_fwd, not causal, with the scale folded by hand: the maximum is taken of unscaled scores and the
    exponent is one fused multiply-add."""
    tile = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * ld_head
    row = tile * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    at = base + row[:, None] * ld + d[None, :]
    tq = tl.load(q + at)
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    den = tl.zeros([BM], tl.float32)
    s2 = scale * 1.4426950408889634
    for start in range(0, n_ctx, BN):
        col = start + tl.arange(0, BN)
        s = tl.dot(tq, tl.trans(tl.load(k + base + col[:, None] * ld + d[None, :])))
        peak = tl.maximum(top, tl.max(s, 1) * s2)
        p = tl.exp2(s * s2 - peak[:, None])
        fade = tl.exp2(top - peak)
        den = den * fade + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + base + col[:, None] * ld + d[None, :]), acc * fade[:, None])
        top = peak
    tl.store(out + at, (acc * (1.0 / den)[:, None]).to(out.dtype.element_ty))
    tl.store(lse + tl.program_id(1) * n_ctx + row, top + tl.log2(den))


@triton.jit
def attention_split(q, k, v, out, scale, n_ctx, heads, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Warp specialised, not causal, descriptors made in the kernel."""
    n_rows = heads * n_ctx
    dq = tl.make_tensor_descriptor(q, [n_rows, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k, [n_rows, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v, [n_rows, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(out, [n_rows, D], [D, 1], [BM, D])
    tile = tl.program_id(0)
    base = tl.program_id(1) * n_ctx
    tq = dq.load([base + tile * BM, 0])
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    den = tl.zeros([BM], tl.float32)
    s2 = scale * 1.4426950408889634
    for at in tl.range(0, n_ctx, BN, warp_specialize=True):
        s = tl.dot(tq, dk.load([base + at, 0]).T) * s2
        peak = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - peak[:, None])
        fade = tl.exp2(top - peak)
        den = den * fade + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([base + at, 0]), acc * fade[:, None])
        top = peak
    do.store([base + tile * BM, 0], (acc / den[:, None]).to(tl.float16))


@triton.jit
def attention_desc(q, k, v, out, lse, scale, n_ctx, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                   CAUSAL: tl.constexpr):
    """attention_fwd through tensor descriptors over [heads * n_ctx, D] (TMA on sm_90)."""
    tile = tl.program_id(0)
    base = tl.program_id(1) * n_ctx
    row = tile * BM + tl.arange(0, BM)
    tq = q.load([base + tile * BM, 0])
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.full([BM], -float("inf"), tl.float32)
    den = tl.zeros([BM], tl.float32)
    s2 = scale * 1.4426950408889634
    full = tile * BM if CAUSAL else n_ctx
    for at in range(0, full, BN):
        s = tl.dot(tq, k.load([base + at, 0]).T) * s2
        peak = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - peak[:, None])
        fade = tl.exp2(top - peak)
        den = den * fade + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v.load([base + at, 0]), acc * fade[:, None])
        top = peak
    if CAUSAL:
        for at in range(tile * BM, (tile + 1) * BM, BN):
            col = at + tl.arange(0, BN)
            s = tl.where(row[:, None] >= col[None, :], tl.dot(tq, k.load([base + at, 0]).T) * s2, -float("inf"))
            peak = tl.maximum(top, tl.max(s, 1))
            p = tl.exp2(s - peak[:, None])
            fade = tl.exp2(top - peak)
            den = den * fade + tl.sum(p, 1)
            acc = tl.dot(p.to(tl.float16), v.load([base + at, 0]), acc * fade[:, None])
            top = peak
    out.store([base + tile * BM, 0], (acc / den[:, None]).to(tl.float16))
    tl.store(lse + base + row, top + tl.log2(den))


# ---------------------------------------------------------------------------------------------
# Configurations
# ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Case:
    name: str
    fn: object
    args: str
    consts: dict = field(default_factory=dict)
    warps: int = 4
    stages: int = 3
    targets: tuple = (80, 90)

    def signature(self):
        types = {}
        for item in self.args.split():
            name, _, kind = item.partition(":")
            types[name] = kind.rstrip("!")
        types.update({name: "constexpr" for name in self.consts})
        order = self.fn.arg_names
        assert sorted(types) == sorted(order), (self.name, sorted(types), sorted(order))
        return {name: types[name] for name in order}

    def attributes(self):
        aligned = {item.split(":")[0] for item in self.args.split() if item.endswith("!")}
        return {(i,): [["tt.divisibility", 16]] for i, name in enumerate(self.fn.arg_names) if name in aligned}


ADD = "x:*fp32! y:*fp32! out:*fp32! n:i32!"
SOFT = "out:*{t}! x:*{t}! ld_out:i32! ld_x:i32! n:i32!"
NORM = "x:*{t}! out:*{t}! weight:*{t}! bias:*{t}! mean_out:*fp32! rstd_out:*fp32! ld:i32! n:i32! eps:fp32"
MM = "a:*{t}! b:*{t}! c:*{o}! M:i32! N:i32! K:i32! lda:i32! ldb:i32! ldc:i32!"
MMS = "a:*fp16! b:*fp16! c:*fp16! M:i32! N:i32! K:i32!"
ATT = "q:*fp16! k:*fp16! v:*fp16! out:*fp16! lse:*fp32! scale:fp32 ld_head:i32! ld:i32! n_ctx:i32!"


def _loose(spec):
    """The same arguments with aligned pointers only: extents and leading dimensions of any value."""
    return " ".join(s if ":*" in s else s.rstrip("!") for s in spec.split())


def _unaligned(spec):
    return spec.replace("!", "")


def _mm(name, bm, bn, bk, warps, stages, t="fp16", o="fp16", edge="wrap", precision="tf32", spec=MM, targets=(80, 90),
        bt=False):
    return Case(name, matmul, spec.format(t=t, o=o),
                dict(BM=bm, BN=bn, BK=bk, GROUP=8, EDGE=edge, PRECISION=precision, BT=bt), warps, stages, targets)


def _mm_desc(name, fn, bm, bn, bk, warps, stages, **extra):
    spec = (f"a:tensordesc<fp16[{bm},{bk}]> b:tensordesc<fp16[{bk},{bn}]> c:tensordesc<fp16[{bm},{bn}]> "
            "M:i32! N:i32! K:i32!")
    return Case(name, fn, spec, dict(BM=bm, BN=bn, BK=bk, GROUP=8, **extra), warps, stages, (90,))


def _att(name, causal, edge, spec=ATT, warps=4, stages=3, bm=128, bn=64, d=64):
    return Case(name, attention_fwd, spec, dict(BM=bm, BN=bn, D=d, CAUSAL=causal, EDGE=edge), warps, stages)


def _att_desc(name, causal, warps=4, stages=3, bm=128, bn=64, d=64):
    spec = (f"q:tensordesc<fp16[{bm},{d}]> k:tensordesc<fp16[{bn},{d}]> v:tensordesc<fp16[{bn},{d}]> "
            f"out:tensordesc<fp16[{bm},{d}]> lse:*fp32! scale:fp32 n_ctx:i32!")
    return Case(name, attention_desc, spec, dict(BM=bm, BN=bn, D=d, CAUSAL=causal), warps, stages, (90,))


CASES = [
    Case("add_f32", vector_add, ADD, dict(BLOCK=1024)),
    Case("add_f32_loose", vector_add, _loose(ADD), dict(BLOCK=1024)),
    Case("add_f32_unaligned", vector_add, _unaligned(ADD), dict(BLOCK=1024)),
    Case("add_f32_wide", vector_add_wide, ADD.replace("n:i32!", "n:i64!"), dict(BLOCK=1024)),

    Case("softmax_f32_1024", softmax_row, SOFT.format(t="fp32"), dict(BLOCK=1024, LOG=False)),
    Case("softmax_f32_4096", softmax_row, SOFT.format(t="fp32"), dict(BLOCK=4096, LOG=False)),
    Case("softmax_f32_4096_w8", softmax_row, SOFT.format(t="fp32"), dict(BLOCK=4096, LOG=False), warps=8),
    Case("softmax_bf16_1024", softmax_row, SOFT.format(t="bf16"), dict(BLOCK=1024, LOG=False)),
    Case("softmax_bf16_4096", softmax_row, SOFT.format(t="bf16"), dict(BLOCK=4096, LOG=False)),
    Case("softmax_bf16_4096_w8", softmax_row, SOFT.format(t="bf16"), dict(BLOCK=4096, LOG=False), warps=8),
    Case("softmax_lean_f32_1024", softmax_row_lean, SOFT.format(t="fp32"), dict(BLOCK=1024)),
    Case("softmax_lean_bf16_4096_w8", softmax_row_lean, SOFT.format(t="bf16"), dict(BLOCK=4096), warps=8),
    Case("softmax_f32_1024_loose", softmax_row, _loose(SOFT.format(t="fp32")), dict(BLOCK=1024, LOG=False)),
    Case("softmax_bf16_4096_loose", softmax_row, _loose(SOFT.format(t="bf16")), dict(BLOCK=4096, LOG=False)),

    Case("layernorm2_f32", layer_norm_2pass, NORM.format(t="fp32"), dict(BLOCK=1024)),
    Case("layernorm3_f32", layer_norm_3pass, NORM.format(t="fp32"), dict(BLOCK=1024)),
    Case("layernorm3_f16", layer_norm_3pass, NORM.format(t="fp16"), dict(BLOCK=1024)),
    Case("layernorm3_f32_loose", layer_norm_3pass, _loose(NORM.format(t="fp32")), dict(BLOCK=1024)),

    Case("transpose_f32", transpose_tile, "x:*fp32! out:*fp32! ld_x:i32! ld_out:i32! M:i32! N:i32!",
         dict(BM=64, BN=64)),
    Case("transpose_f32_loose", transpose_tile, "x:*fp32! out:*fp32! ld_x:i32 ld_out:i32 M:i32 N:i32",
         dict(BM=64, BN=64)),
    Case("transpose_f16", transpose_tile, "x:*fp16! out:*fp16! ld_x:i32! ld_out:i32! M:i32! N:i32!",
         dict(BM=64, BN=64)),

    Case("rowsum_f32_1024", row_sum, "x:*fp32! out:*fp32! ld:i32! n:i32!", dict(BLOCK=1024)),
    Case("rowsum_f32_tile16x128", row_sum_tile, "x:*fp32! out:*fp32! ld:i32! m:i32! n:i32!", dict(BM=16, BN=128)),
    Case("rowsum_bf16_native", row_sum_native, "x:*bf16! out:*bf16! ld:i32! n:i32!", dict(BLOCK=1024)),
    Case("cumsum_f32_1024", scan_sum, "x:*fp32! out:*fp32! n:i32!", dict(BLOCK=1024)),
    Case("cumsum_bf16_1024", scan_sum, "x:*bf16! out:*bf16! n:i32!", dict(BLOCK=1024)),
    Case("sort_f32_1024", sort_block, "x:*fp32! out:*fp32! n:i32!", dict(BLOCK=1024)),
    Case("topk32_f32_1024", topk_block, "x:*fp32! out:*fp32! n:i32!", dict(BLOCK=1024, K=32)),
    Case("argmax_f32_1024", argmax_row, "x:*fp32! out:*i32! ld:i32! n:i32!", dict(BLOCK=1024)),
    Case("histogram_1024_256", histogram_block, "x:*i32! out:*i32! n:i32!", dict(BLOCK=1024, BINS=256)),

    _mm("matmul_f16_128x128x32_s3", 128, 128, 32, 4, 3),
    _mm("matmul_f16_128x128x32_s4", 128, 128, 32, 4, 4),
    _mm("matmul_f16_128x256x64_s3", 128, 256, 64, 8, 3),
    _mm("matmul_f16_128x128x64_w8", 128, 128, 64, 8, 3),
    _mm("matmul_f16_128x128x32_mask", 128, 128, 32, 4, 3, edge="mask"),
    _mm("matmul_f16_128x128x32_even", 128, 128, 32, 4, 3, edge="none"),
    _mm("matmul_f16_128x128x32_loose", 128, 128, 32, 4, 3, spec=_loose(MM)),
    _mm("matmul_tf32_128x128x32", 128, 128, 32, 4, 3, t="fp32", o="fp32"),
    _mm("matmul_f32_64x64x16_ieee", 64, 64, 16, 4, 3, t="fp32", o="fp32", precision="ieee"),
    _mm("matmul_fp8_128x128x64", 128, 128, 64, 4, 3, t="fp8e4nv", targets=(89, 90)),
    _mm("matmul_fp8_128x128x64_bt", 128, 128, 64, 4, 3, t="fp8e4nv", targets=(89, 90), bt=True),
    _mm("matmul_fp8_128x256x128_bt", 128, 256, 128, 8, 3, t="fp8e4nv", targets=(90,), bt=True),
    _mm("matmul_f16_128x128x32_bt", 128, 128, 32, 4, 3, bt=True),
    _mm_desc("matmul_desc_128x128x64", matmul_desc, 128, 128, 64, 4, 3),
    _mm_desc("matmul_desc_128x256x64", matmul_desc, 128, 256, 64, 8, 3),
    _mm_desc("matmul_persist_128x256x64", matmul_persistent, 128, 256, 64, 8, 3, SPLIT_WARPS=False, FLATTEN=False),
    _mm_desc("matmul_persist_flat_128x256x64", matmul_persistent, 128, 256, 64, 8, 3, SPLIT_WARPS=False, FLATTEN=True),
    _mm_desc("matmul_split_host_128x128x64", matmul_persistent, 128, 128, 64, 4, 3, SPLIT_WARPS=True, FLATTEN=False),
    Case("matmul_split_128x128x64", matmul_split, MMS, dict(BM=128, BN=128, BK=64, GROUP=8, PERSISTENT=False),
         targets=(90,)),
    Case("matmul_split_128x256x64", matmul_split, MMS, dict(BM=128, BN=256, BK=64, GROUP=8, PERSISTENT=False),
         targets=(90,)),
    Case("matmul_split_persist_128x256x64", matmul_split, MMS, dict(BM=128, BN=256, BK=64, GROUP=8, PERSISTENT=True),
         targets=(90,)),

    _att("attention_f16", False, False),
    _att("attention_f16_causal", True, False),
    _att("attention_f16_edge", False, True),
    _att("attention_f16_causal_edge", True, True, spec=_loose(ATT).replace("ld_head:i32", "ld_head:i32!").replace(
        " ld:i32", " ld:i32!")),
    _att("attention_f16_d128_w8", False, False, warps=8, d=128),
    _att("attention_f16_d128_w8_causal", True, False, warps=8, d=128),
    Case("attention_lean_f16", attention_lean, ATT, dict(BM=128, BN=64, D=64)),
    _att_desc("attention_desc_f16", False),
    _att_desc("attention_desc_f16_causal", True),
    _att_desc("attention_desc_f16_d128_w8", False, warps=8, d=128, bn=128),
    Case("attention_split_f16_d128", attention_split,
         "q:*fp16! k:*fp16! v:*fp16! out:*fp16! scale:fp32 n_ctx:i32! heads:i32!", dict(BM=128, BN=128, D=128),
         stages=2, targets=(90,)),
]

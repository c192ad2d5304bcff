// The formulas: attention, norms with products, losses, and what no single pass can compute.
#include "tests/unit/passes/fusion/workloads.h"

#include <cmath>

namespace tilewright::passes::fusion::test {

namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;

constexpr int B = 2, H = 4, S = 9, N = 53, D = 8, E = 6;  // batch, heads, queries, keys, head sizes
constexpr int R = 5, K = 53, F = 7, V = 61;               // rows, contracted, columns, vocabulary
const double kMasked = -HUGE_VAL;

void output(Graph& g, const char* name, Formula f) { builder(g).output(name, f.id); }

// ---- functions in several spellings ----

Formula mean(Formula x, Variants& v) {
  const double n = static_cast<double>(x.shape().back().value());
  switch (v.choose(4)) {
    case 1: return sum(x) * (1.0 / n);
    case 2: return sum(x / n);
    case 3: return sum(x) / n;
    default: return {x.graph, builder(*x.graph).mean(x.id, std::vector<std::int64_t>{-1}, true)};
  }
}
Formula log_softmax(Formula s) {
  const Formula m = max(s);
  return (s - m) - log(sum(exp(s - m)));
}
Formula logsumexp(Formula s) {
  const Formula m = max(s);
  return m + log(sum(exp(s - m)));
}
Formula softmax(Formula s, Variants& v) {
  switch (v.choose(4)) {
    case 1: {
      const Formula e = exp(s - max(s));
      return e * (1.0 / sum(e));
    }
    case 2: return exp(log_softmax(s));
    case 3: {
      const Formula m = max(s);
      return exp(s - (m + log(sum(exp(s - m)))));
    }
    default: {
      const Formula e = exp(s - max(s));
      return e / sum(e);
    }
  }
}
Formula rms_norm(Formula x, Formula gamma, Variants& v) {
  const Formula variance = mean(square(x), v) + 1e-6;
  switch (v.choose(4)) {
    case 1: return x / sqrt(variance) * gamma;
    case 2: return (gamma * x) * (1.0 / sqrt(variance));
    case 3: return gamma * (x * rsqrt(variance));
    default: return x * rsqrt(variance) * gamma;
  }
}
Formula layer_norm(Formula x, Formula gamma, Formula beta, Variants& v) {
  const Formula d = x - mean(x, v);
  return d * rsqrt(mean(square(d), v) + 1e-5) * gamma + beta;
}
Formula sigmoid(Formula x) { return 1.0 / (1.0 + exp(-x)); }
Formula silu(Formula x, Variants& v) {
  switch (v.choose(3)) {
    case 1: return x / (1.0 + exp(-x));
    case 2: return sigmoid(x) * x;
    default: return x * sigmoid(x);
  }
}

// ---- attention ----

struct Qkv {
  Formula q, k, v;
};
Qkv qkv(Graph& g, int n = N, int s = S) { return {input(g, "q", {B, H, s, D}), input(g, "k", {B, H, n, D}), input(g, "v", {B, H, n, E})}; }

Formula scores(Formula q, Formula k, Variants& v) {
  const double c = 0.375;
  switch (v.choose(4)) {
    case 1: return einsum("bhqd,bhkd->bhqk", {q * c, k});
    case 2: return einsum("bhqd,bhkd->bhqk", {q, k * c});
    case 3: return einsum("bhqd,bhkd->bhqk", {q, k}) / (1 / c);
    default: return einsum("bhqd,bhkd->bhqk", {q, k}) * c;
  }
}
Formula weighted(Formula p, Formula v) { return einsum("bhqk,bhke->bhqe", {p, v}); }
Formula masked(Formula mask, Formula s, Variants& v) {
  if (v.choose(2) == 1) return s + where(mask, like(s, 0), like(s, kMasked));
  return where(mask, s, like(s, kMasked));
}
Formula rows(Graph& g, int n) { return iota(g, {n, 1}, 0); }
Formula columns(Graph& g, int n) { return iota(g, {1, n}, 1); }

void attention(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v), x.v));
}
void causal(Graph& g, Variants& v) {
  const Qkv x = qkv(g, S, S);
  const Formula mask = v.choose(2) == 1 ? map(ir::OpKind::le_, {columns(g, S), rows(g, S)}) : greater_equal(rows(g, S), columns(g, S));
  output(g, "o", weighted(softmax(masked(mask, scores(x.q, x.k, v), v), v), x.v));
}
void window(Graph& g, Variants& v) {
  const Qkv x = qkv(g, N, N);
  const Formula i = rows(g, N), j = columns(g, N);
  const Formula mask = both(greater_equal(i, j), less(i - j, like(i, 8)));
  output(g, "o", weighted(softmax(where(mask, scores(x.q, x.k, v), number(g, kMasked)), v), x.v));
}
void document(Graph& g, Variants& v) {
  const Qkv x = qkv(g, S, S);
  const Formula a = input(g, "dq", {B, S}, Element::i32), b = input(g, "dk", {B, S}, Element::i32);
  const Formula same = equal(reshape(a, {B, 1, S, 1}), reshape(b, {B, 1, 1, S}));
  output(g, "o", weighted(softmax(where(same, scores(x.q, x.k, v), number(g, kMasked)), v), x.v));
}
void alibi(Graph& g, Variants& v) {
  const Qkv x = qkv(g, S, S);
  const Formula slope = reshape(input(g, "slope", {H}), {H, 1, 1});
  const Formula distance = cast(columns(g, S) - rows(g, S), Element::f32);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v) + slope * distance, v), x.v));
}
void softcap(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  output(g, "o", weighted(softmax(tanh(scores(x.q, x.k, v) / 20.0) * 20.0, v), x.v));
}
void gqa(Graph& g, Variants& v) {
  const Formula q = input(g, "q", {B, 4, S, D}), k = input(g, "k", {B, 2, N, D}), w = input(g, "v", {B, 2, N, E});
  const auto repeated = [](Formula t) {
    const Dim last = t.shape().back();
    return reshape(broadcast_to(expand(t, 2), {B, 2, 2, N, last}), {B, 4, N, last});
  };
  output(g, "o", weighted(softmax(scores(q, repeated(k), v), v), repeated(w)));
}
void mla(Graph& g, Variants& v) {
  const Formula qc = input(g, "qc", {B, H, S, 16}), qr = input(g, "qr", {B, H, S, 4}), c = input(g, "c", {B, N, 16}),
                kr = input(g, "kr", {B, N, 4});
  const Formula s = (einsum("bhqc,bkc->bhqk", {qc, c}) + einsum("bhqr,bkr->bhqk", {qr, kr})) * 0.25;
  output(g, "o", einsum("bhqk,bkc->bhqc", {softmax(s, v), c}));
}
void self_attention(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {B, N, D});
  output(g, "o", einsum("bij,bjd->bid", {softmax(einsum("bid,bjd->bij", {x, x}) * 0.25, v), x}));
}
void sinks(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula s = scores(x.q, x.k, v), z = reshape(input(g, "sink", {H}), {H, 1, 1});
  const Formula m = maximum(max(s), z), e = exp(s - m);
  output(g, "o", weighted(e / (sum(e) + exp(z - m)), x.v));
}
void sinks_by_concat(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula z = broadcast_to(reshape(input(g, "sink", {H}), {1, H, 1, 1}), {B, H, S, 1});
  output(g, "o", weighted(slice(softmax(concat({scores(x.q, x.k, v), z}, -1), v), -1, 0, N), x.v));
}
void append(Graph& g, Variants& v) {
  const Qkv x = qkv(g, N, 1);
  const Formula k = concat({x.k, input(g, "k2", {B, H, 1, D})}, 2), w = concat({x.v, input(g, "v2", {B, H, 1, E})}, 2);
  output(g, "o", weighted(softmax(einsum("bhqd,bhkd->bhqk", {x.q, k}) * 0.25, v), w));
}
void convolution(Graph& g, Variants&) {
  const Formula x = input(g, "x", {N, D});
  const Formula y = slice(x, 0, 2, N) * 0.5 + slice(x, 0, 1, N - 1) * slice(x, 0, 0, N - 2);
  output(g, "y", {&g, builder(g).mean(y.id, std::vector<std::int64_t>{0}, false)});
}
void dropout(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula keep = input(g, "keep", {B, H, S, N}, Element::boolean);
  output(g, "o", weighted(where(keep, softmax(scores(x.q, x.k, v), v) / 0.875, number(g, 0)), x.v));
}
void decode(Graph& g, Variants& v) {
  const Qkv x = qkv(g, N, 1);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v), x.v));
}
void differential(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula q2 = input(g, "q2", {B, H, S, D}), k2 = input(g, "k2", {B, H, N, D}), lambda = reshape(input(g, "lam", {H}), {H, 1, 1});
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v) - lambda * softmax(scores(q2, k2, v), v), x.v));
}
void statistics(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula s = scores(x.q, x.k, v);
  output(g, "o", weighted(softmax(s, v), x.v));
  output(g, "m", squeeze(max(s)));
  output(g, "lse", squeeze(logsumexp(s)));
}
void without_maximum(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula e = exp(scores(x.q, x.k, v));
  output(g, "o", weighted(e / sum(e), x.v));
}
void normed_attention(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  output(g, "y", rms_norm(weighted(softmax(scores(x.q, x.k, v), v), x.v), input(g, "g", {E}), v));
}
void heads(Graph& g, Variants& v) {
  const auto split = [&](const char* name, int n) { return permute(reshape(input(g, name, {B, n, H * D}), {B, n, H, D}), {0, 2, 1, 3}); };
  const Formula q = split("q", S), k = split("k", N), w = split("v", N);
  output(g, "o", reshape(permute(weighted(softmax(scores(q, k, v), v), w), {0, 2, 1, 3}), {B, S, H * D}));
}
void qk_norm(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula gain = input(g, "g", {D});
  output(g, "o", weighted(softmax(scores(rms_norm(x.q, gain, v), rms_norm(x.k, gain, v), v), v), x.v));
}
void variance(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula p = softmax(scores(x.q, x.k, v), v), m = weighted(p, x.v);
  const Formula d = reshape(x.v, {B, H, 1, N, E}) - reshape(m, {B, H, S, 1, E});
  output(g, "o", einsum("bhqk,bhqke->bhqe", {p, square(d)}));
}
void two_norm(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula p = softmax(scores(x.q, x.k, v), v);
  output(g, "o", weighted(p * rsqrt(sum(square(p))), x.v));
}

// ---- norms and products ----

struct Rows {
  Formula x, gamma, w;
};
Rows rows_of(Graph& g) { return {input(g, "x", {R, K}), input(g, "g", {K}), input(g, "W", {K, F})}; }
Formula matmul(Formula x, Formula w) { return einsum("rk,kf->rf", {x, w}); }

void rms_product(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(rms_norm(x.x, x.gamma, v), x.w));
}
void gated(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  const Formula n = rms_norm(x.x, x.gamma, v);
  output(g, "y", silu(matmul(n, x.w), v) * matmul(n, input(g, "U", {K, F})));
}
void layer_product(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(layer_norm(x.x, x.gamma, input(g, "b", {K}), v), x.w) + input(g, "bias", {F}));
}
void residual(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  const Formula z = x.x + input(g, "res", {R, K});
  output(g, "y", matmul(rms_norm(z, x.gamma, v), x.w));
  output(g, "z", z);
}
void amax_product(Graph& g, Variants&) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(x.x / max(abs(x.x)), x.w));
}
void norm_amax(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  const Formula n = rms_norm(x.x, x.gamma, v), a = max(abs(n));
  output(g, "y", matmul(n / a, x.w));
  output(g, "a", squeeze(a));
}
void probabilities(Graph& g, Variants& v) { output(g, "p", softmax(input(g, "x", {R, K}), v)); }
void norm_output(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  output(g, "y", rms_norm(x.x, x.gamma, v));
}

// ---- losses ----

struct Logits {
  Formula x, w, logits, targets;
};
Logits logits(Graph& g) {
  const Formula x = input(g, "x", {R, D}), w = input(g, "W", {V, D});
  return {x, w, einsum("rd,vd->rv", {x, w}), input(g, "t", {R, 1}, Element::i32)};
}
void cross_entropy(Graph& g, Variants& v) {
  const Logits x = logits(g);
  if (v.choose(2) == 1)
    output(g, "loss", -take_along(log_softmax(x.logits), x.targets, -1));
  else
    output(g, "loss", logsumexp(x.logits) - take_along(x.logits, x.targets, -1));
}
void cross_entropy_gradient(Graph& g, Variants&) {
  const Logits x = logits(g);
  const Formula lse = input(g, "lse", {R, 1}), scale = input(g, "gs", {R, 1});
  const Formula hot = where(equal(columns(g, V), x.targets), number(g, 1), number(g, 0));
  output(g, "dx", einsum("rv,vd->rd", {(exp(x.logits - lse) - hot) * scale, x.w}));
}
void entropy(Graph& g, Variants& v) {
  const Logits x = logits(g);
  output(g, "h", -squeeze(sum(softmax(x.logits, v) * log_softmax(x.logits))));
}
void lse_pooling(Graph& g, Variants&) {
  const Formula x = input(g, "x", {B, N, D}), m = max(x, {1});
  output(g, "o", m + log(Formula{&g, builder(g).mean(exp(x - m).id, std::vector<std::int64_t>{1}, true)}));
}
void softmax_over_two_axes(Graph& g, Variants&) {
  const Formula x = input(g, "x", {R, 4, K}), e = exp(x - max(x, {1, 2}));
  output(g, "o", einsum("rsk,sk->r", {e / sum(e, {1, 2}), input(g, "w", {4, K})}));
}

// ---- refused ----

void exp_of_scaled(Graph& g, Variants& v) {
  const Qkv x = qkv(g);
  const Formula s = scores(x.q, x.k, v);
  output(g, "o", weighted(exp(s * rsqrt(mean(square(s), v))), x.v));
}
void rounded(Graph& g, Variants&) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(rint(x.x / max(abs(x.x)) * 127.0), x.w));
}
void silu_of_norm(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(silu(rms_norm(x.x, x.gamma, v), v), x.w));
}
void division_by_mixture(Graph& g, Variants& v) {
  const Rows x = rows_of(g);
  output(g, "y", matmul(x.x / (abs(x.x) + mean(abs(x.x), v)), x.w));
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> kAll = {
      {"attention", attention},
      {"causal", causal},
      {"window", window},
      {"document", document},
      {"alibi", alibi},
      {"softcap", softcap},
      {"gqa", gqa},
      {"mla", mla},
      {"self_attention", self_attention},
      {"sinks", sinks},
      {"sinks_by_concat", sinks_by_concat},
      {"append", append},
      {"convolution", convolution},
      {"dropout", dropout},
      {"decode", decode},
      {"differential", differential},
      {"statistics", statistics},
      {"without_maximum", without_maximum},
      {"normed_attention", normed_attention},
      {"heads", heads},
      {"qk_norm", qk_norm},
      {"variance", variance},
      {"two_norm", two_norm},
      {"rms_product", rms_product},
      {"gated", gated},
      {"layer_product", layer_product},
      {"residual", residual},
      {"amax_product", amax_product},
      {"norm_amax", norm_amax},
      {"probabilities", probabilities, 2},
      {"norm_output", norm_output, 2},
      {"cross_entropy", cross_entropy},
      {"cross_entropy_gradient", cross_entropy_gradient},
      {"entropy", entropy},
      {"lse_pooling", lse_pooling},
      {"softmax_over_two_axes", softmax_over_two_axes},
      {"exp_of_scaled", exp_of_scaled, 2, true},
      {"rounded", rounded, 2, true},
      {"silu_of_norm", silu_of_norm, 2, true},
      {"division_by_mixture", division_by_mixture, 2, true},
  };
  return kAll;
}

}  // namespace tilewright::passes::fusion::test

// The formulas: attention, norms with products, losses, and what no single pass can compute.
#include "tests/unit/passes/fusion/workloads.h"

#include <cmath>

namespace tilewright::passes::fusion::test {

namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;

const double kMasked = -HUGE_VAL;

void output(Graph& g, const char* name, Formula f) { builder(g).output(name, f.id); }

// ---- functions in several spellings ----

Formula mean(Formula x, Variants& v) {
  const Formula n{x.graph, builder(*x.graph).extent(Element::f32, x.shape().back())};
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
Qkv qkv(Graph& g, Variants& v, const Dim& queries, const Dim& keys) {
  return {input(g, "q", {v.at.batch, v.at.heads, queries, v.at.head}), input(g, "k", {v.at.batch, v.at.heads, keys, v.at.head}),
          input(g, "v", {v.at.batch, v.at.heads, keys, v.at.value_head})};
}
Qkv qkv(Graph& g, Variants& v) { return qkv(g, v, v.at.queries, v.at.keys); }

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
Formula rows(Graph& g, const Dim& n) { return iota(g, {n, 1}, 0); }
Formula columns(Graph& g, const Dim& n) { return iota(g, {1, n}, 1); }

void attention(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v), x.v));
}
void causal(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, v.at.queries, v.at.queries);
  const Formula mask = v.choose(2) == 1 ? map(ir::OpKind::le_, {columns(g, v.at.queries), rows(g, v.at.queries)})
                                        : greater_equal(rows(g, v.at.queries), columns(g, v.at.queries));
  output(g, "o", weighted(softmax(masked(mask, scores(x.q, x.k, v), v), v), x.v));
}
void window(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, v.at.keys, v.at.keys);
  const Formula i = rows(g, v.at.keys), j = columns(g, v.at.keys);
  const Formula mask = both(greater_equal(i, j), less(i - j, like(i, 8)));
  output(g, "o", weighted(softmax(where(mask, scores(x.q, x.k, v), number(g, kMasked)), v), x.v));
}
void document(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, v.at.queries, v.at.queries);
  const Formula a = input(g, "dq", {v.at.batch, v.at.queries}, Element::i32), b = input(g, "dk", {v.at.batch, v.at.queries}, Element::i32);
  const Formula same = equal(reshape(a, {v.at.batch, 1, v.at.queries, 1}), reshape(b, {v.at.batch, 1, 1, v.at.queries}));
  output(g, "o", weighted(softmax(where(same, scores(x.q, x.k, v), number(g, kMasked)), v), x.v));
}
void alibi(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, v.at.queries, v.at.queries);
  const Formula slope = reshape(input(g, "slope", {v.at.heads}), {v.at.heads, 1, 1});
  const Formula distance = cast(columns(g, v.at.queries) - rows(g, v.at.queries), Element::f32);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v) + slope * distance, v), x.v));
}
void softcap(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  output(g, "o", weighted(softmax(tanh(scores(x.q, x.k, v) / 20.0) * 20.0, v), x.v));
}
void gqa(Graph& g, Variants& v) {
  const Formula q = input(g, "q", {v.at.batch, v.at.heads, v.at.queries, v.at.head}),
                k = input(g, "k", {v.at.batch, v.at.heads / 2, v.at.keys, v.at.head}),
                w = input(g, "v", {v.at.batch, v.at.heads / 2, v.at.keys, v.at.value_head});
  const auto repeated = [&](Formula t) {
    const Dim last = t.shape().back();
    return reshape(broadcast_to(expand(t, 2), {v.at.batch, v.at.heads / 2, 2, v.at.keys, last}), {v.at.batch, v.at.heads, v.at.keys, last});
  };
  output(g, "o", weighted(softmax(scores(q, repeated(k), v), v), repeated(w)));
}
void mla(Graph& g, Variants& v) {
  const Formula qc = input(g, "qc", {v.at.batch, v.at.heads, v.at.queries, v.at.latent}),
                qr = input(g, "qr", {v.at.batch, v.at.heads, v.at.queries, v.at.rotary}),
                c = input(g, "c", {v.at.batch, v.at.keys, v.at.latent}), kr = input(g, "kr", {v.at.batch, v.at.keys, v.at.rotary});
  const Formula s = (einsum("bhqc,bkc->bhqk", {qc, c}) + einsum("bhqr,bkr->bhqk", {qr, kr})) * 0.25;
  output(g, "o", einsum("bhqk,bkc->bhqc", {softmax(s, v), c}));
}
void self_attention(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {v.at.batch, v.at.keys, v.at.head});
  output(g, "o", einsum("bij,bjd->bid", {softmax(einsum("bid,bjd->bij", {x, x}) * 0.25, v), x}));
}
void sinks(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula s = scores(x.q, x.k, v), z = reshape(input(g, "sink", {v.at.heads}), {v.at.heads, 1, 1});
  const Formula m = maximum(max(s), z), e = exp(s - m);
  output(g, "o", weighted(e / (sum(e) + exp(z - m)), x.v));
}
void sinks_by_concat(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula z = broadcast_to(reshape(input(g, "sink", {v.at.heads}), {1, v.at.heads, 1, 1}), {v.at.batch, v.at.heads, v.at.queries, 1});
  output(g, "o", weighted(slice(softmax(concat({scores(x.q, x.k, v), z}, -1), v), -1, 0, v.at.keys), x.v));
}
void append(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, 1, v.at.keys);
  const Formula k = concat({x.k, input(g, "k2", {v.at.batch, v.at.heads, 1, v.at.head})}, 2),
                w = concat({x.v, input(g, "v2", {v.at.batch, v.at.heads, 1, v.at.value_head})}, 2);
  output(g, "o", weighted(softmax(einsum("bhqd,bhkd->bhqk", {x.q, k}) * 0.25, v), w));
}
void convolution(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {v.at.keys, v.at.head});
  const Formula y = slice(x, 0, 2, v.at.keys) * 0.5 + slice(x, 0, 1, v.at.keys - 1) * slice(x, 0, 0, v.at.keys - 2);
  output(g, "y", {&g, builder(g).mean(y.id, std::vector<std::int64_t>{0}, false)});
}
void dropout(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula keep = input(g, "keep", {v.at.batch, v.at.heads, v.at.queries, v.at.keys}, Element::boolean);
  output(g, "o", weighted(where(keep, softmax(scores(x.q, x.k, v), v) / 0.875, number(g, 0)), x.v));
}
void dropout_by_counter(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula random{&g, builder(g).rand(7, {v.at.batch, v.at.heads, v.at.queries, v.at.keys})};
  const Formula p = softmax(scores(x.q, x.k, v), v);
  output(g, "o", weighted(where(greater_equal(random, like(random, 0.125)), p / 0.875, number(g, 0)), x.v));
}
void decode(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v, 1, v.at.keys);
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v), x.v));
}
void differential(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula q2 = input(g, "q2", {v.at.batch, v.at.heads, v.at.queries, v.at.head}),
                k2 = input(g, "k2", {v.at.batch, v.at.heads, v.at.keys, v.at.head}),
                lambda = reshape(input(g, "lam", {v.at.heads}), {v.at.heads, 1, 1});
  output(g, "o", weighted(softmax(scores(x.q, x.k, v), v) - lambda * softmax(scores(q2, k2, v), v), x.v));
}
void statistics(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula s = scores(x.q, x.k, v);
  output(g, "o", weighted(softmax(s, v), x.v));
  output(g, "m", squeeze(max(s)));
  output(g, "lse", squeeze(logsumexp(s)));
}
void without_maximum(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula e = exp(scores(x.q, x.k, v));
  output(g, "o", weighted(e / sum(e), x.v));
}
void normed_attention(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  output(g, "y", rms_norm(weighted(softmax(scores(x.q, x.k, v), v), x.v), input(g, "g", {v.at.value_head}), v));
}
void heads(Graph& g, Variants& v) {
  const auto split = [&](const char* name, const Dim& n) {
    return permute(reshape(input(g, name, {v.at.batch, n, v.at.heads * v.at.head}), {v.at.batch, n, v.at.heads, v.at.head}), {0, 2, 1, 3});
  };
  const Formula q = split("q", v.at.queries), k = split("k", v.at.keys), w = split("v", v.at.keys);
  output(g, "o",
         reshape(permute(weighted(softmax(scores(q, k, v), v), w), {0, 2, 1, 3}), {v.at.batch, v.at.queries, v.at.heads * v.at.head}));
}
void qk_norm(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula gain = input(g, "g", {v.at.head});
  output(g, "o", weighted(softmax(scores(rms_norm(x.q, gain, v), rms_norm(x.k, gain, v), v), v), x.v));
}
void variance(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula p = softmax(scores(x.q, x.k, v), v), m = weighted(p, x.v);
  const Formula d = reshape(x.v, {v.at.batch, v.at.heads, 1, v.at.keys, v.at.value_head}) -
                    reshape(m, {v.at.batch, v.at.heads, v.at.queries, 1, v.at.value_head});
  output(g, "o", einsum("bhqk,bhqke->bhqe", {p, square(d)}));
}
void two_norm(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula p = softmax(scores(x.q, x.k, v), v);
  output(g, "o", weighted(p * rsqrt(sum(square(p))), x.v));
}

// ---- norms and products ----

struct Rows {
  Formula x, gamma, w;
};
Rows rows_of(Graph& g, Variants& v) {
  return {input(g, "x", {v.at.rows, v.at.inner}), input(g, "g", {v.at.inner}), input(g, "W", {v.at.inner, v.at.columns})};
}
Formula matmul(Formula x, Formula w) { return einsum("rk,kf->rf", {x, w}); }

void rms_product(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", matmul(rms_norm(x.x, x.gamma, v), x.w));
}
void gated(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  const Formula n = rms_norm(x.x, x.gamma, v);
  output(g, "y", silu(matmul(n, x.w), v) * matmul(n, input(g, "U", {v.at.inner, v.at.columns})));
}
void layer_product(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", matmul(layer_norm(x.x, x.gamma, input(g, "b", {v.at.inner}), v), x.w) + input(g, "bias", {v.at.columns}));
}
void residual(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  const Formula z = x.x + input(g, "res", {v.at.rows, v.at.inner});
  output(g, "y", matmul(rms_norm(z, x.gamma, v), x.w));
  output(g, "z", z);
}
void amax_product(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", matmul(x.x / max(abs(x.x)), x.w));
}
void norm_amax(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  const Formula n = rms_norm(x.x, x.gamma, v), a = max(abs(n));
  output(g, "y", matmul(n / a, x.w));
  output(g, "a", squeeze(a));
}
void probabilities(Graph& g, Variants& v) { output(g, "p", softmax(input(g, "x", {v.at.rows, v.at.inner}), v)); }
void norm_output(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", rms_norm(x.x, x.gamma, v));
}

// ---- losses ----

struct Logits {
  Formula x, w, logits, targets;
};
Logits logits(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {v.at.rows, v.at.head}), w = input(g, "W", {v.at.vocabulary, v.at.head});
  return {x, w, einsum("rd,vd->rv", {x, w}), input(g, "t", {v.at.rows, 1}, Element::i32)};
}
void cross_entropy(Graph& g, Variants& v) {
  const Logits x = logits(g, v);
  if (v.choose(2) == 1)
    output(g, "loss", -take_along(log_softmax(x.logits), x.targets, -1));
  else
    output(g, "loss", logsumexp(x.logits) - take_along(x.logits, x.targets, -1));
}
void cross_entropy_gradient(Graph& g, Variants& v) {
  const Logits x = logits(g, v);
  const Formula lse = input(g, "lse", {v.at.rows, 1}), scale = input(g, "gs", {v.at.rows, 1});
  const Formula hot = where(equal(columns(g, v.at.vocabulary), x.targets), number(g, 1), number(g, 0));
  output(g, "dx", einsum("rv,vd->rd", {(exp(x.logits - lse) - hot) * scale, x.w}));
}
void entropy(Graph& g, Variants& v) {
  const Logits x = logits(g, v);
  output(g, "h", -squeeze(sum(softmax(x.logits, v) * log_softmax(x.logits))));
}
void lse_pooling(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {v.at.batch, v.at.keys, v.at.head}), m = max(x, {1});
  output(g, "o", m + log(Formula{&g, builder(g).mean(exp(x - m).id, std::vector<std::int64_t>{1}, true)}));
}
void softmax_over_two_axes(Graph& g, Variants& v) {
  const Formula x = input(g, "x", {v.at.rows, 4, v.at.inner}), e = exp(x - max(x, {1, 2}));
  output(g, "o", einsum("rsk,sk->r", {e / sum(e, {1, 2}), input(g, "w", {4, v.at.inner})}));
}

// ---- refused ----

void exp_of_scaled(Graph& g, Variants& v) {
  const Qkv x = qkv(g, v);
  const Formula s = scores(x.q, x.k, v);
  output(g, "o", weighted(exp(s * rsqrt(mean(square(s), v))), x.v));
}
void rounded(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", matmul(rint(x.x / max(abs(x.x)) * 127.0), x.w));
}
void silu_of_norm(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
  output(g, "y", matmul(silu(rms_norm(x.x, x.gamma, v), v), x.w));
}
void division_by_mixture(Graph& g, Variants& v) {
  const Rows x = rows_of(g, v);
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
      {"dropout_by_counter", dropout_by_counter},
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

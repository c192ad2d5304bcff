// The gradients of attention. The weights are computed again, from the scores and from the lse that attention stored.
#pragma once
#include "tilewright/kernels/attention.h"

namespace tilewright::kernels {

/// sum(out * dout) of each query.
template <class T>
void attention_delta_kernel(View<const T, 4> out, View<const T, 4> dout, View<Accumulator<T>, 3> delta, int block) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto a = row_of(out, row).load({0}, {block}).template to<S>(), b = row_of(dout, row).load({0}, {block}).template to<S>();
  store_number(delta, row, sum(a * b, 0));
}

/// The weights [bm, bn] of the queries from i on and the keys from n on, and the gradient of the products q k^T.
template <class S>
struct AttentionGradient {
  Tile<S> weights, dproducts;
};
template <class T>
AttentionGradient<Accumulator<T>> attention_gradient(const Tile<T>& q, const Tile<T>& k, const Tile<T>& v, const Tile<T>& dout,
                                                     const Tile<Accumulator<T>>& lse, const Tile<Accumulator<T>>& delta, const I32& i,
                                                     const I32& n, const I32& queries, const I32& keys, const AttentionNumbers& numbers,
                                                     const I32& head, AttentionTiles t, Precision precision, ScorePointer<T> score,
                                                     bool masked) {
  using S = Accumulator<T>;
  const auto [scaled, scores] = attention_scores<T>(q, k, i, n, queries, keys, numbers, head, t, precision, score, masked);
  auto weights = exp(scores - column(lse));
  // The lse of a query that sees no key is -inf. The weights of queries past the end have no meaning, but must not be NaN.
  const auto seen = scores != -inf && column(i + arange(0, t.bm)) < queries;
  if (masked || score) weights = where(seen, weights, S(0));
  const auto dweights = dot(dout, v, {}, precision);
  auto dscores = weights * (dweights - column(delta));
  if (score) dscores = where(seen, dscores * derivative_of(scores, scaled, "attention_backward", "the score function", "its score"), S(0));
  return {weights, dscores * numbers.scale.template to<S>()};
}

/// dq of bm queries: the sum over the keys.
template <class T>
void attention_dq_kernel(View<const T, 4> q, View<const T, 4> k, View<const T, 4> v, View<const Accumulator<T>, 3> lse,
                         View<const Accumulator<T>, 3> delta, View<const T, 4> dout, View<T, 4> dq, AttentionNumbers numbers,
                         AttentionTiles t, Precision precision, ScorePointer<T> score) {
  const I32 heads = q.extent(1).template to<std::int32_t>(), key_heads = k.extent(1).template to<std::int32_t>();
  const I32 queries = q.extent(2).template to<std::int32_t>(), keys = k.extent(2).template to<std::int32_t>();
  const I32 tiles = cdiv(queries, t.bm), at = program_id(0);
  const I32 i = at % tiles * t.bm, head = at / tiles % heads, batch = at / tiles / heads;
  const I32 key_head = head / (heads / key_heads);
  const auto key_rows = k.at(batch).at(key_head), value_rows = v.at(batch).at(key_head);

  const auto query_tile = q.at(batch).at(head).load({i, 0}, {t.bm, t.depth});
  const auto dout_tile = dout.at(batch).at(head).load({i, 0}, {t.bm, t.value_depth});
  const auto lse_tile = lse.at(batch).at(head).load({i}, {t.bm}), delta_tile = delta.at(batch).at(head).load({i}, {t.bm});
  auto sums = zeros<Accumulator<T>>({t.bm, t.depth});
  for_each_step(keys_seen(i, queries, keys, numbers, t), t.bn, [&](const I32& n, bool masked) {
    const auto key_tile = key_rows.load({n, 0}, {t.bn, t.depth}), value_tile = value_rows.load({n, 0}, {t.bn, t.value_depth});
    const auto gradient = attention_gradient<T>(query_tile, transpose(key_tile), transpose(value_tile), dout_tile, lse_tile, delta_tile, i,
                                                n, queries, keys, numbers, head, t, precision, score, masked);
    sums = dot(gradient.dproducts.template to<T>(), key_tile, sums, precision);
  });
  dq.at(batch).at(head).store({i, 0}, sums.template to<T>());
}

/// dk and dv of bn keys: sums over the queries of all heads that share these keys.
template <class T>
void attention_dkv_kernel(View<const T, 4> q, View<const T, 4> k, View<const T, 4> v, View<const Accumulator<T>, 3> lse,
                          View<const Accumulator<T>, 3> delta, View<const T, 4> dout, View<T, 4> dk, View<T, 4> dv,
                          AttentionNumbers numbers, AttentionTiles t, Precision precision, ScorePointer<T> score) {
  const I32 heads = q.extent(1).template to<std::int32_t>(), key_heads = k.extent(1).template to<std::int32_t>();
  const I32 queries = q.extent(2).template to<std::int32_t>(), keys = k.extent(2).template to<std::int32_t>();
  const I32 tiles = cdiv(keys, t.bn), at = program_id(0), group = heads / key_heads;
  const I32 n = at % tiles * t.bn, key_head = at / tiles % key_heads, batch = at / tiles / key_heads;

  const auto key_tile = transposed(k.at(batch).at(key_head)).load({0, n}, {t.depth, t.bn});
  const auto value_tile = transposed(v.at(batch).at(key_head)).load({0, n}, {t.value_depth, t.bn});
  auto key_sums = zeros<Accumulator<T>>({t.bn, t.depth}), value_sums = zeros<Accumulator<T>>({t.bn, t.value_depth});
  const SeenRange seen = queries_seen(n, queries, keys, numbers, t);
  for (auto head : range(key_head * group, (key_head + 1) * group))
    for_each_step(seen, t.bm, [&](const I32& i, bool masked) {
      const auto query_tile = q.at(batch).at(head).load({i, 0}, {t.bm, t.depth});
      const auto dout_tile = dout.at(batch).at(head).load({i, 0}, {t.bm, t.value_depth});
      const auto gradient = attention_gradient<T>(query_tile, key_tile, value_tile, dout_tile, lse.at(batch).at(head).load({i}, {t.bm}),
                                                  delta.at(batch).at(head).load({i}, {t.bm}), i, n, queries, keys, numbers, head, t,
                                                  precision, score, masked);
      value_sums = dot(transpose(gradient.weights.template to<T>()), dout_tile, value_sums, precision);
      key_sums = dot(transpose(gradient.dproducts.template to<T>()), query_tile, key_sums, precision);
    });
  dk.at(batch).at(key_head).store({n, 0}, key_sums.template to<T>());
  dv.at(batch).at(key_head).store({n, 0}, value_sums.template to<T>());
}

/// The gradients of attention, from its result, the lse that it stored, and dout. The options must be the same. A score function is
/// differentiated by the scores only (as by tw::derivative), so it must consist of element-wise operations.
template <class Q, class K, class V, class O, class DO, class T>
TW_PER_MODULE void attention_backward(const View<Q, 4>& q, const View<K, 4>& k, const View<V, 4>& v, const View<O, 4>& out,
                                      const View<const Accumulator<T>, 3>& lse, const View<DO, 4>& dout, const View<T, 4>& dq,
                                      const std::type_identity_t<View<T, 4>>& dk, const std::type_identity_t<View<T, 4>>& dv,
                                      const AttentionOptionsOf<Accumulator<T>>& attention = {}, const Options& options = {},
                                      Here at = Here::current()) {
  using S = Accumulator<T>;
  static_assert(host::kIsFloat<T> && std::is_same_v<std::remove_const_t<Q>, T> && std::is_same_v<std::remove_const_t<K>, T> &&
                    std::is_same_v<std::remove_const_t<V>, T> && std::is_same_v<std::remove_const_t<O>, T> &&
                    std::is_same_v<std::remove_const_t<DO>, T>,
                "q, k, v, out and their gradients have one element type: f16, bf16, float or double");
  host::ArgumentCheck check("attention_backward", at);
  check.input("q", q);
  check.input("k", k);
  check.input("v", v);
  check.input("out", out);
  check.input("lse", lse);
  check.input("dout", dout);
  check.output("dq", dq);
  check.output("dk", dk);
  check.output("dv", dv);
  host::AttentionPlan plan = host::plan_attention(check, sizeof(T), attention, options);
  plan.shape.backward = true;
  check.same_shape("out", "q", 3);
  check.equal("out", 3, "d", "v", 3);
  check.same_shape("lse", "q");
  check.same_shape("dout", "out");
  check.same_shape("dq", "q");
  check.same_shape("dk", "k");
  check.same_shape("dv", "v");
  check.finish();
  const std::int64_t rows = plan.batch * plan.heads * plan.queries, key_rows = plan.batch * plan.key_heads * plan.keys;
  if (rows == 0 && key_rows == 0) return;
  static const Kernel delta_kernel("attention_delta", attention_delta_kernel<T>);
  static const Kernel dq_kernel("attention_dq", attention_dq_kernel<T>);
  static const Kernel dkv_kernel("attention_dkv", attention_dkv_kernel<T>);
  Buffer<S> memory = check.device().template allocate<S>(rows, at);
  const View<S, 3> delta = view(memory, {plan.batch, plan.heads, plan.queries}, at);
  const auto launch = [&](const Options& o) {
    const AttentionTiles tiles = plan.tiles(*o.configuration);
    if (rows > 0) {
      delta_kernel(host::staged_launch_of(rows, o), out, dout, delta, tiles.value_depth, at);
      const std::int64_t blocks = plan.batch * plan.heads * tilewright::cdiv(plan.queries, std::int64_t{tiles.bm});
      dq_kernel(host::staged_launch_of(blocks, o), q, k, v, lse, delta, dout, dq, {plan.scale, plan.window}, tiles, o.precision,
                attention.score.pointer(), at);
    }
    if (key_rows > 0) {
      const std::int64_t blocks = plan.batch * plan.key_heads * tilewright::cdiv(plan.keys, std::int64_t{tiles.bn});
      dkv_kernel(host::staged_launch_of(blocks, o), q, k, v, lse, delta, dout, dk, dv, {plan.scale, plan.window}, tiles, o.precision,
                 attention.score.pointer(), at);
    }
  };
  host::launch_tuned(check, plan.shape, options, launch, attention.score.type());
}

}  // namespace tilewright::kernels

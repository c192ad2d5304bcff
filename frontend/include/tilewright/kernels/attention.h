// Attention over whole sequences, in one pass over the keys: the sums are rescaled when a larger score is found.
#pragma once
#include <cmath>

#include "tilewright/kernels/attention_options.h"
#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/rows.h"
#include "tilewright/kernels/tiles.h"

namespace tilewright::kernels {

/// out = softmax(scores) v for bm queries of one head. q: [batch, heads, M, d], k: [batch, key heads, N, d], v: [batch, key heads, N, dv].
/// A query that sees no key gets 0, and lse -inf.
template <class T>
void attention_kernel(View<const T, 4> q, View<const T, 4> k, View<const T, 4> v, View<T, 4> out, View<Accumulator<T>, 3> lse,
                      AttentionNumbers numbers, AttentionTiles t, Precision precision, ScorePointer<T> score, bool store_lse) {
  using S = Accumulator<T>;
  const I32 heads = q.extent(1).template to<std::int32_t>(), key_heads = k.extent(1).template to<std::int32_t>();
  const I32 queries = q.extent(2).template to<std::int32_t>(), keys = k.extent(2).template to<std::int32_t>();
  const I32 tiles = cdiv(queries, t.bm), at = program_id(0);
  // Under a causal mask the last queries see most keys. Their programs begin first, so that the last programs to end are short.
  const I32 tile = t.causal ? tiles - 1 - at % tiles : at % tiles;
  const I32 i = tile * t.bm, head = at / tiles % heads, batch = at / tiles / heads;
  const I32 key_head = head / (heads / key_heads);
  const auto key_rows = k.at(batch).at(key_head), value_rows = v.at(batch).at(key_head);

  const auto query_tile = q.at(batch).at(head).load({i, 0}, {t.bm, t.depth});
  auto largest = full<S>({t.bm}, -inf), total = zeros<S>({t.bm});
  auto sums = zeros<S>({t.bm, t.value_depth});
  for_each_step(keys_seen(i, queries, keys, numbers, t), t.bn, [&](const I32& n, bool masked) {
    const bool inside = !masked && t.whole_depth;
    const auto key_tile = tile_at<T>(transposed(key_rows), 0, n, {t.depth, t.bn}, inside);
    const auto scores = attention_scores<T>(query_tile, key_tile, i, n, queries, keys, numbers, head, t, precision, score, masked).scores;
    const auto larger = maximum(largest, max(scores, 1));
    const auto shift = masked || score ? where(larger == -inf, S(0), larger) : larger;  // the shift is 0 while no key has been seen
    const auto weights = exp(scores - column(shift)), rescale = exp(largest - shift);
    total = total * rescale + sum(weights, 1);
    const auto value_tile = tile_at<T>(value_rows, n, 0, {t.bn, t.value_depth}, inside);
    sums = dot(weights.template to<T>(), value_tile, sums * column(rescale), precision);
    largest = larger;
  });
  const auto divisor = where(total == S(0), S(1), total);
  out.at(batch).at(head).store({i, 0}, (sums / column(divisor)).template to<T>());
  if (store_lse) lse.at(batch).at(head).store({i}, largest + log(total));
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The plan that attention and its gradients share.
struct AttentionPlan {
  std::int64_t batch, heads, key_heads, queries, keys;
  double scale;
  std::int64_t window;
  int depth, value_depth;  // extents of tiles
  bool causal, windowed, whole_depth;
  AttentionShape shape;
  AttentionTiles tiles(const Configuration& c) const {
    return {.bm = c.bm,
            .bn = c.bn,
            .depth = depth,
            .value_depth = value_depth,
            .causal = causal,
            .windowed = windowed,
            .ragged_queries = queries % c.bm != 0,
            .ragged_keys = keys % c.bn != 0,
            .whole_depth = whole_depth};
  }
};

/// The extent of a tile that holds a head.
inline int tile_depth(std::int64_t depth) { return static_cast<int>(std::max<std::int64_t>(16, tilewright::next_power_of_two(depth))); }

/// The scale of scores: 1 / sqrt(d) if the caller gives none.
inline double scale_of(const ArgumentCheck& check, const std::optional<double>& given, std::int64_t depth) {
  if (given && !std::isfinite(*given)) check.fail("scale = " + std::to_string(*given) + "; it must be finite");
  return given.value_or(depth > 0 ? 1 / std::sqrt(static_cast<double>(depth)) : 1);
}

/// Checks the shapes of q, k and v, which are inputs of `check` already.
template <class S>
AttentionPlan plan_attention(const ArgumentCheck& check, int element_bytes, const AttentionOptionsOf<S>& attention,
                             const Options& options) {
  AttentionPlan p{check.extent("q", 0),
                  check.extent("q", 1),
                  check.extent("k", 1),
                  check.extent("q", 2),
                  check.extent("k", 2),
                  0,
                  0,
                  0,
                  0,
                  attention.causal,
                  attention.window > 0,
                  false,
                  {}};
  check.equal("k", 0, "batch", "q", 0);
  check.equal("k", 3, "d", "q", 3);
  check.equal("v", 0, "batch", "k", 0);
  check.equal("v", 1, "heads", "k", 1);
  check.equal("v", 2, "N", "k", 2);
  check.head_group("q", "k", 1);
  check.at_most("q", 3, 256);
  check.at_most("v", 3, 256);
  if (attention.window < 0) check.fail("window = " + std::to_string(attention.window) + "; it must not be negative");
  check.options(options);
  const std::int64_t depth = check.extent("q", 3), value_depth = check.extent("v", 3);
  p.scale = scale_of(check, attention.scale, depth);
  p.window = std::min<std::int64_t>(attention.window, INT32_MAX / 2);
  p.depth = tile_depth(depth), p.value_depth = tile_depth(value_depth);
  p.whole_depth = p.depth == depth && p.value_depth == value_depth;
  const std::int64_t seen = attention.window > 0 ? std::min(p.keys, p.window * (attention.causal ? 1 : 2)) : p.keys;
  p.shape = {.heads = p.batch * p.heads,
             .queries = p.queries,
             .keys = seen,
             .depth = p.depth,
             .value_depth = p.value_depth,
             .element_bytes = element_bytes,
             .causal = attention.causal};
  return p;
}

/// An array that holds one number for each query. It has the accumulator type.
template <class S>
const View<S, 3>& numbers_of(const ArgumentCheck& check, const char* name, const PerQuery& given) {
  constexpr bool kDouble = std::is_same_v<S, double>;
  if (kDouble ? is_given(given.in_float) : is_given(given.in_double))
    check.fail(std::string("'") + name + "' holds " +
               (kDouble ? "float; it must be double, as q" : "double; it must be float, the type of the sums"));
  if constexpr (kDouble)
    return given.in_double;
  else
    return given.in_float;
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// out = softmax(q k^T * scale) v for each head. q: [batch, heads, M, d], k: [batch, key heads, N, d], v: [batch, key heads, N, dv],
/// out: [batch, heads, M, dv]. The number of heads is a multiple of the number of key heads; neighbours share one. d and dv are at most
/// 256. AttentionOptionsOf defines which keys a query sees.
template <class Q, class K, class V, class O>
TW_PER_MODULE void attention(const View<Q, 4>& q, const View<K, 4>& k, const View<V, 4>& v, const View<O, 4>& out,
                             const AttentionOptionsOf<Accumulator<Q>>& attention = {}, const Options& options = {},
                             Here at = Here::current()) {
  using S = Accumulator<Q>;
  static_assert(host::kIsFloat<Q> && std::is_same_v<std::remove_const_t<Q>, O> && std::is_same_v<std::remove_const_t<K>, O> &&
                    std::is_same_v<std::remove_const_t<V>, O>,
                "q, k, v and out have one element type: f16, bf16, float or double");
  host::ArgumentCheck check("attention", at);
  check.input("q", q);
  check.input("k", k);
  check.input("v", v);
  check.output("out", out);
  const host::AttentionPlan plan = host::plan_attention(check, sizeof(O), attention, options);
  check.same_shape("out", "q", 3);
  check.equal("out", 3, "d", "v", 3);
  const View<S, 3>& lse = host::numbers_of<S>(check, "lse", attention.lse);
  if (host::is_given(lse)) check.output("lse", lse), check.same_shape("lse", "q");
  check.finish();
  if (plan.batch * plan.heads * plan.queries == 0) return;
  static const Kernel kernel("attention", attention_kernel<O>);
  const auto launch = [&](const Options& o) {
    const AttentionTiles tiles = plan.tiles(*o.configuration);
    const std::int64_t programs = plan.batch * plan.heads * tilewright::cdiv(plan.queries, std::int64_t{tiles.bm});
    kernel(host::staged_launch_of(programs, o), q, k, v, out, host::or_none(lse, at), {plan.scale, plan.window}, tiles, o.precision,
           attention.score.pointer(), host::is_given(lse), at);
  };
  host::launch_tuned(check, plan.shape, options, launch, attention.score.type());
}

}  // namespace tilewright::kernels

// Attention over whole sequences, in one pass over the keys: the sums are rescaled when a larger score is found.
#pragma once
#include "tilewright/kernels/attention_options.h"
#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/attention_plan.h"
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

// Options of attention and of its gradients: which keys a query sees, and how its scores are changed.
#pragma once
#include <functional>
#include <optional>
#include <type_traits>

#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/kernels/detail/callers_functions.h"
#include "tilewright/ops.h"

namespace tilewright::kernels {

/// A function of a tile of scores [BM, BN] in S, the positions of its queries [BM, 1], its keys [1, BN], and the head: a lambda without
/// captures, which may have `auto` parameters. It returns a tile of scores of the same shape. AttentionOptionsOf defines positions.
template <class S>
class ScoreFunctionOf {
 public:
  using Pointer = Tile<S> (*)(const Tile<S>& score, const I32& query, const I32& key, const I32& head);
  ScoreFunctionOf() = default;
  template <class F>
    requires(std::is_empty_v<F> && std::is_default_constructible_v<F> && std::is_invocable_r_v<Tile<S>, F, Tile<S>, I32, I32, I32>)
  ScoreFunctionOf(F)
      : pointer_([](const Tile<S>& s, const I32& q, const I32& k, const I32& h) -> Tile<S> { return F()(s, q, k, h); }),
        type_(&typeid(F)) {}
  Pointer pointer() const { return pointer_; }
  /// The type of the function; void if there is none.
  const std::type_info& type() const { return *type_; }

 private:
  Pointer pointer_ = nullptr;
  const std::type_info* type_ = &typeid(void);
};
/// The type of the scores of q and k of type T: the accumulator type.
template <class T>
using ScorePointer = typename ScoreFunctionOf<Accumulator<T>>::Pointer;

/// One number for each query, in the accumulator type: double for double, else float.
class PerQuery {
 public:
  PerQuery() = default;
  PerQuery(const View<float, 3>& v) : in_float(v) {}
  PerQuery(const View<double, 3>& v) : in_double(v) {}
  View<float, 3> in_float;
  View<double, 3> in_double;
};

/// Query i of M has position i + N - M among the N keys, so the last query is at the last key. S is the type of the scores: double if q
/// is double, else float.
template <class S>
struct AttentionOptionsOf {
  bool causal = false;               // a query sees the keys up to its position
  std::int64_t window = 0;           // it sees the keys less than this far from its position; 0: all
  std::optional<double> scale = {};  // scores are multiplied by it; default: 1 / sqrt(d)
  PerQuery lse = {};                 // [batch, heads, M]: log(sum(exp(scores))) is stored there if it is given
  ScoreFunctionOf<S> score = {};     // applied to the scaled scores, with the query's position
};
using AttentionOptions = AttentionOptionsOf<float>;

/// The compile-time constants of the kernels of attention.
struct AttentionTiles {
  int bm, bn;              // queries and keys of a tile
  int depth, value_depth;  // extents of a head, as extents of tiles
  bool causal, windowed;
  bool ragged_queries, ragged_keys;  // the last tile has queries, or keys, past the end
  bool whole_depth;                  // a tile has no elements past the end of a head
};

/// The run-time numbers that the kernels of attention take besides the arrays.
struct AttentionNumbers {
  F64 scale;
  I32 window;
};

/// Scores of the queries from i on and the keys from n on.
template <class T>
struct Scores {
  Tile<Accumulator<T>> scaled, scores;  // q k^T * scale, before and after the score function and the mask
};

/// q: [bm, depth], k: [depth, bn]; queries from number i on, keys from number n on. `masked`: scores are -inf where the query does not see
/// the key. Queries past the end may see any key.
template <class T>
Scores<T> attention_scores(const Tile<T>& q, const Tile<T>& k, const I32& i, const I32& n, const I32& queries, const I32& keys,
                           const AttentionNumbers& numbers, const I32& head, AttentionTiles t, Precision precision, ScorePointer<T> score,
                           bool masked) {
  using S = Accumulator<T>;
  const auto position = column(i + (keys - queries) + arange(0, t.bm)), key = row(n + arange(0, t.bn));
  const auto scaled = dot(q, k, {}, precision) * numbers.scale.template to<S>();
  auto scores = scaled;
  if (score) {
    scores = score(scaled, position, key, head);
    expect_shape(scores, {t.bm, t.bn}, "attention", "the score function", "the scores that it got");
  }
  if (!masked) return {scaled, scores};
  auto seen = t.causal ? key <= position : key < keys;  // the position of a query is always less than the number of keys
  if (t.windowed) seen = seen && key > position - numbers.window;
  if (t.windowed && !t.causal) seen = seen && key < position + numbers.window;
  return {scaled, where(seen, scores, -inf)};
}

/// The steps of a loop over keys, or over queries, from `first` to `last`. From `whole_first` to `whole_last` every query sees every key,
/// so these steps need no mask. All bounds except `last` are multiples of the step.
struct SeenRange {
  I32 first, whole_first, whole_last, last;
  bool masked_before, masked_after;  // whether there may be other steps before the whole ones, and after them
};
/// Rounds the bounds to multiples of the step. The bounds of `whole` are rounded inwards, so that it has no step that needs a mask.
inline SeenRange seen_range(const I32& first, const I32& whole_first, const I32& whole_last, const I32& last, int step, bool masked_before,
                            bool masked_after) {
  const I32 begin = first / step * step, end = maximum(maximum(whole_last, 0) / step * step, begin);
  return {.first = begin,
          .whole_first = masked_before ? clamp(cdiv(whole_first, step) * step, begin, end) : begin,
          .whole_last = end,
          .last = maximum(last, begin),
          .masked_before = masked_before,
          .masked_after = masked_after};
}

/// Calls body(at, masked) for each step, in two loops: one for the steps without a mask, one for the steps before and after them.
template <class Body>
void for_each_step(const SeenRange& seen, int step, Body body) {
  for (auto at : range(seen.whole_first, seen.whole_last, step)) body(at, false);
  const I32 whole = seen.whole_last - seen.whole_first;
  if (seen.masked_before && seen.masked_after)
    for (auto at : range(seen.first, seen.last - whole, step)) body(where(at < seen.whole_first, at, at + whole), true);
  else if (seen.masked_before)
    for (auto at : range(seen.first, seen.whole_first, step)) body(at, true);
  else if (seen.masked_after)
    for (auto at : range(seen.whole_last, seen.last, step)) body(at, true);
}

/// The keys that queries i .. i + bm - 1 see.
inline SeenRange keys_seen(const I32& i, const I32& queries, const I32& keys, const AttentionNumbers& numbers, AttentionTiles t) {
  const I32 first = i + (keys - queries), last = minimum(i + t.bm, queries) + (keys - queries) - 1;  // positions of the queries
  I32 begin = 0, whole_begin = 0, whole_end = keys, end = keys;
  if (t.windowed) begin = maximum(first - numbers.window + 1, 0), whole_begin = maximum(last - numbers.window + 1, 0);
  if (t.causal)
    whole_end = first + 1, end = maximum(last + 1, 0);
  else if (t.windowed)
    whole_end = minimum(keys, first + numbers.window), end = minimum(keys, last + numbers.window);
  return seen_range(begin, whole_begin, whole_end, end, t.bn, t.windowed, t.causal || t.windowed || t.ragged_keys);
}

/// The queries that see keys n .. n + bn - 1.
inline SeenRange queries_seen(const I32& n, const I32& queries, const I32& keys, const AttentionNumbers& numbers, AttentionTiles t) {
  const I32 shift = keys - queries, first = n - shift, last = minimum(n + t.bn, keys) - 1 - shift;  // queries at the keys' positions
  I32 begin = 0, whole_begin = 0, whole_end = queries, end = queries;
  if (t.causal)
    begin = maximum(first, 0), whole_begin = maximum(last, 0);
  else if (t.windowed)
    begin = maximum(first - numbers.window + 1, 0), whole_begin = maximum(last - numbers.window + 1, 0);
  if (t.windowed) whole_end = minimum(queries, first + numbers.window), end = minimum(queries, last + numbers.window);
  return seen_range(begin, whole_begin, whole_end, end, t.bm, t.causal || t.windowed, t.windowed || t.ragged_queries);
}

}  // namespace tilewright::kernels

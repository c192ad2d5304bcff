// Options of attention, forwards and backwards: which keys a query sees, and what becomes of its scores.
#pragma once
#include <functional>
#include <optional>
#include <type_traits>

#include "tilewright/kernels/arguments.h"
#include "tilewright/kernels/callers_functions.h"
#include "tilewright/ops.h"

namespace tilewright::kernels {

/// A function of a tile of scores [BM, BN] in S, its queries [BM, 1], its keys [1, BN], and the head: a lambda without captures, that may
/// have `auto` parameters. It returns a tile of scores of the same shape.
template <class S>
class ScoreFunctionOf {
 public:
  using Pointer = Tile<S> (*)(const Tile<S>& score, const I32& query, const I32& key, const I32& head);
  ScoreFunctionOf() = default;
  template <class F>
    requires(std::is_empty_v<F> && std::is_default_constructible_v<F> && std::is_invocable_r_v<Tile<S>, F, Tile<S>, I32, I32, I32>)
  ScoreFunctionOf(F)
      : pointer_([](const Tile<S>& s, const I32& q, const I32& k, const I32& h) -> Tile<S> { return F()(s, q, k, h); }), type_(&typeid(F)) {}
  Pointer pointer() const { return pointer_; }
  /// That of the function; void if there is none.
  const std::type_info& type() const { return *type_; }

 private:
  Pointer pointer_ = nullptr;
  const std::type_info* type_ = &typeid(void);
};
/// The type of scores of q and k of T is that of their sums.
template <class T>
using ScorePointer = typename ScoreFunctionOf<Accumulator<T>>::Pointer;

/// A number for each query, in the type of the sums: double for double, else float.
class PerQuery {
 public:
  PerQuery() = default;
  PerQuery(const View<float, 3>& v) : in_float(v) {}
  PerQuery(const View<double, 3>& v) : in_double(v) {}
  View<float, 3> in_float;
  View<double, 3> in_double;
};

/// Query i of M stands at position i + N - M among the N keys: the last query at the last key. S is the type of the scores: double where q
/// is of double, else float.
template <class S>
struct AttentionOptionsOf {
  bool causal = false;               // a query sees the keys up to its position
  std::int64_t window = 0;           // it sees the keys less than this far from its position; 0: all
  std::optional<double> scale = {};  // of the scores; 1 / sqrt(d) if not given
  PerQuery lse = {};                 // [batch, heads, M]: log(sum(exp(scores))) is stored there if it is given
  ScoreFunctionOf<S> score = {};     // applied to the scaled scores
};
using AttentionOptions = AttentionOptionsOf<float>;

/// The constants of the kernels of attention.
struct AttentionTiles {
  int bm, bn;              // queries, keys
  int depth, value_depth;  // of a head, as extents of tiles
  bool causal, windowed;
};

/// What the kernels of attention compute with, besides the arrays.
struct AttentionNumbers {
  F64 scale;
  I32 window;
};

/// The scaled scores of queries i.. and keys n.., -inf where the query does not see the key. q: [bm, depth], k: [depth, bn].
template <class T>
Tile<Accumulator<T>> attention_scores(const Tile<T>& q, const Tile<T>& k, const I32& i, const I32& n, const I32& queries, const I32& keys,
                                      const AttentionNumbers& numbers, const I32& head, AttentionTiles t, Precision precision,
                                      ScorePointer<T> score) {
  using S = Accumulator<T>;
  const auto query = column(i + arange(0, t.bm)), key = row(n + arange(0, t.bn));
  auto scores = dot(q, k, {}, precision) * numbers.scale.template to<S>();
  if (score) {
    scores = score(scores, query, key, head);
    expect_shape(scores, {t.bm, t.bn}, "attention", "the score function", "the scores that it got");
  }
  auto seen = key < keys;
  const auto position = query + (keys - queries);
  if (t.causal) seen = seen && key <= position;
  if (t.windowed) seen = seen && key > position - numbers.window && key < position + numbers.window;
  return where(seen, scores, -inf);
}

/// The keys that any of the queries i .. i + bm - 1 sees: from the first, a multiple of bn, up to and without the last.
inline std::pair<I32, I32> keys_seen(const I32& i, const I32& queries, const I32& keys, const AttentionNumbers& numbers, AttentionTiles t) {
  const I32 shift = keys - queries;
  I32 first = 0, last = keys;
  if (t.causal) last = clamp(minimum(i + t.bm, queries) + shift, 0, keys);
  if (t.windowed) {
    first = maximum(i + shift - numbers.window + 1, 0) / t.bn * t.bn;
    if (!t.causal) last = minimum(last, i + (t.bm - 1) + shift + numbers.window);
  }
  return {first, last};
}

}  // namespace tilewright::kernels

// Checks the arguments of attention and of its gradients, and plans their launches.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "tilewright/kernels/attention_options.h"
#include "tilewright/kernels/configuration.h"

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

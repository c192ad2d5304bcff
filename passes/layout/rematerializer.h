// Provides tiles under layouts other than their own: recomputed from their operands, or converted (after Triton's LayoutRematerialization).
#pragma once
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "passes/layout/layout_cost.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// The limits of recomputation. Costs are those of layout_cost.h.
struct RematerializationPolicy {
  enum class Threshold : std::uint8_t {
    always,      // recompute every tile that may be recomputed
    if_cheaper,  // recompute tiles that cost less than their conversion; an operand counts as the cheaper of both
  } threshold;
  int max_depth;  // number of ops between a tile and the tiles that it is recomputed from
  /// Whether a tile may be recomputed. Called only if recompute_cost of its op is not none.
  std::function<bool(ValueId)> may_recompute;
  /// The layout in which a tile without a layout is computed when it is first requested under `layout`.
  std::function<LayoutId(ValueId, LayoutId layout)> first_layout;
};

/// Recomputed tiles and conversions are inserted directly after the definition of the tile: so they are computed once, and outside of the
/// loops that use them.
///
///   x = cast y; a = use(x under L)   ->   x = cast y; y' = convert y to L; x' = cast y'; a = use x'     if y has smaller elements than x
class Rematerializer {
 public:
  Rematerializer(Rewriter& rw, ConversionCosts& costs, RematerializationPolicy policy)
      : rw_(rw), f_(rw.function()), costs_(costs), policy_(std::move(policy)), original_operands_(f_.op_capacity()) {}

  /// The tile under this layout: the tile itself, the result of an earlier call, or a new recomputation or conversion.
  ValueId get(ValueId v, LayoutId layout) { return get(v, layout, policy_.max_depth); }
  /// Whether get() costs less than a conversion of v.
  bool is_cheaper_than_conversion(ValueId v, LayoutId layout);

 private:
  ValueId get(ValueId, LayoutId, int depth);
  ValueId known(ValueId, LayoutId) const;
  bool recomputes(ValueId, LayoutId, int depth);
  int cost(ValueId, LayoutId, int limit, int depth);
  int cost_of_recomputation(ValueId, LayoutId, int limit, int depth);
  ValueId compute_first(ValueId, LayoutId);
  ValueId recompute(ValueId, LayoutId, int depth);
  ValueId convert(ValueId, LayoutId);
  ValueId insert_behind(ValueId v, OpKind, std::span<const ValueId> operands, std::vector<ir::Attr>, LayoutId);
  const std::vector<ValueId>& operands(OpId) const;
  LayoutId operand_layout(OpId, ValueId operand, LayoutId result);

  Rewriter& rw_;
  Function& f_;
  ConversionCosts& costs_;
  RematerializationPolicy policy_;
  std::vector<std::vector<ValueId>> original_operands_;  // indexed by op: operands before compute_first replaced them; else empty
  std::map<std::pair<ValueId, LayoutId>, ValueId> made_;
};

}  // namespace tilewright::passes

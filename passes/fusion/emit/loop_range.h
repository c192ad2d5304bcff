// The positions that the loop of a program visits.
#pragma once
#include <optional>
#include <span>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

/// The positions of an axis that a loop visits, `step` at a time.
struct LoopRange {
  Axis axis;
  std::int64_t step;
  Part begin, end;
  bool is_whole;         // no position of a tile is outside of the axis
  bool is_part = false;  // others visit the other positions of the axis
};

class LoopRanges {
 public:
  LoopRanges(EmitContext& context, const LoopPlan& plan, const TileSizes& sizes)
      : context_(context), exprs_(context.exprs), scopes_(context.scopes), build_(context.build), plan_(plan), sizes_(sizes) {}

  /// The loop's whole axis; without outputs along the axis, only the positions at which some accumulator of the pass is not masked for some
  /// row of the program.
  LoopRange whole(const PassState&, bool has_outputs);
  /// The positions of one part of a divided loop, without those that masks exclude.
  LoopRange part(const PassState&, const SplitLoop&);

 private:
  std::optional<Part> greatest_in_program(std::span<const Term>, ir::Element);
  void apply_masks(const PassState&, ir::Element, LoopRange&);

  EmitContext& context_;
  ExprBuilder& exprs_;
  Scopes& scopes_;
  TileBuilder& build_;
  const LoopPlan& plan_;
  const TileSizes& sizes_;
};

}  // namespace tilewright::passes::fusion

// Emits the passes of a plan: the loop over tiles that updates the state (state_emitter.h), and the reductions that are complete after it.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "passes/fusion/emit/loop_range.h"
#include "passes/fusion/emit/state_emitter.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

class PassEmitter {
 public:
  /// Keeps the references. order: the axes of accumulators; order_with_loop: the axes of the outputs.
  PassEmitter(EmitContext& context, TileValues& tiles, const LoopPlan& plan, const TileSizes& sizes, const Order& order,
              const Order& order_with_loop)
      : context_(context),
        ir_(context.ir),
        exprs_(context.exprs),
        scopes_(context.scopes),
        build_(context.build),
        folds_(context.folds),
        tiles_(tiles),
        plan_(plan),
        sizes_(sizes),
        order_(order),
        order_with_loop_(order_with_loop),
        states_(context, tiles, plan, order),
        ranges_(context, plan, sizes) {}

  /// Emits a pass, and stores outputs along the loop's axis in the last one.
  void emit_pass(int pass);
  /// Emits the loop over one part, and stores the state.
  void emit_part(const SplitLoop&);
  /// Emits the merge of the states of all parts, `at_once` at a time.
  void emit_merge(const SplitLoop&, std::int64_t at_once);
  void store(const KernelOutput&);

 private:
  std::map<int, Part> emit_loop(const PassState&, const LoopRange&, const std::vector<const KernelOutput*>& along, const SplitLoop*);
  std::optional<Part> share_of_visited(const PassState&, const LoopRange&, ir::ValueId counter);
  ir::ValueId from_the_end(ir::OpId loop, ir::ValueId counter, ir::Element);
  std::vector<Part> run_scans(const std::vector<Part>& before);
  TileState loaded_states(const SplitLoop&);
  void estimate_shifts(int pass);
  Part of_some(const Reduction&, const Part&);
  Part not_below_zero(const Reduction&, const Part&);
  void complete(int pass, const std::map<int, Part>& accumulated, bool has_references = true);

  EmitContext& context_;
  ir::Builder& ir_;
  ExprBuilder& exprs_;
  Scopes& scopes_;
  TileBuilder& build_;
  Folds& folds_;
  TileValues& tiles_;
  const LoopPlan& plan_;
  const TileSizes& sizes_;
  const Order &order_, &order_with_loop_;
  StateEmitter states_;
  LoopRanges ranges_;
};

}  // namespace tilewright::passes::fusion

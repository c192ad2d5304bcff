// Emits the parts of a loop, and what merges their states.
#include "passes/fusion/sequence/divided_loop.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "passes/fusion/cover/limits.h"
#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/report/error_bound.h"
#include "passes/fusion/sequence/kernel_arguments.h"
#include "passes/fusion/sequence/kernel_report.h"
#include "passes/fusion/tiles/split_loop.h"

namespace tilewright::passes::fusion {

void emit_divided(SequenceContext& c, ExprBuilder& b, const LoopPlan& plan, Tiling& tiling, const NamedKernel& named,
                  std::vector<SequenceKernel>& to) {
  const std::int64_t parts = tiling.split.parts;
  TileSizes& sizes = tiling.sizes;
  const SplitLoop split =
      split_loop(b, plan, accumulator_order(plan, sizes), parts, [&](Expr reduction) { return c.buffers.name_state(b.pool(), reduction); });
  const std::string name_of_parts = c.kernel_names.add(named.name + "_parts");
  EmittedKernel of_parts =
      emit_within_limits(sizes, c.target, [&] { return emit_part_kernel(name_of_parts, b, plan, sizes, split); }).kernel;
  std::int64_t at_once = 1;
  TileSizes merging = merge_tiles(plan, sizes, parts, at_once);
  EmittedKernel merge =
      emit_within_limits(merging, c.target, [&] { return emit_merge_kernel(named.name, b, plan, merging, split, at_once); }).kernel;

  SequenceKernel first = reported_kernel(c.graph, b.pool(), plan, Share::reductions, tiling.split.reason + "\n" + named.reason, plan.text(),
                                         c.buffers.labels());
  first.estimate = named.estimate;
  add_emitted(std::move(first), std::move(of_parts), sizes, c.buffers, to);
  SequenceKernel second =
      reported_kernel(c.graph, b.pool(), plan, Share::rest, fmt::format("merges the states of {} parts in a fixed order", parts),
                      merge_text(plan, 1), c.buffers.labels());
  second.error_text = error_text(plan, sum_bounds(b, plan, sizes, parts));
  add_emitted(std::move(second), std::move(merge), merging, c.buffers, to);
}

}  // namespace tilewright::passes::fusion

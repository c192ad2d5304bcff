// The pipelines: the passes for a target, in order, with the reasons for the order.
#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "tileir/op_kind.h"
#include "tilewright/error.h"

namespace tilewright::passes {

std::vector<std::string_view> pipeline(const ir::TargetDesc& target) {
  std::vector<std::string_view> passes = {
      // First: hints and assertions are about the values that the user wrote; the pass turns them into ordinary IR.
      "lower_assumptions",
      // The trace holds every constant and broadcast that the user's expressions implied; later passes match canonical forms.
      "canonicalize",
      // Before canonicalize_pointers: equal addresses and steps must be one value for that pass to recognise them.
      "cse",
      // Before canonicalize, which turns the sums made here, (init + broadcast(offset)) + x, into scalar arithmetic.
      "canonicalize_pointers",
      "canonicalize",
      // After canonicalize_pointers: sums with carried tiles have become loop-invariant.
      "licm",
      // Before combine, which moves a tile that is added to a dot into its accumulator.
      "expand_dot_scaled",
      // After licm, so that an invariant product stays outside of its loop; before expand_math, whose polynomials contain fmas already.
      "combine",
      // Before expand_math and legalize_floats, which rewrite the arithmetic in the regions made here.
      "legalize_atomics",
      "expand_math",
      // After combine, which has moved sums into accumulators; before widen_dot, which handles dots without a matrix instruction.
      "select_mma",
      // Before legalize_floats, which rewrites the casts made here.
      "widen_dot",
      // After expand_math, which makes 16-bit arithmetic too.
      "legalize_floats",
      // The last two passes rewrite one op at a time: they leave pairs of inverse casts, constants inside of loops, and repeated casts of
      // one value.
      "canonicalize",
      "cse",
      "licm",
  };
  if (target.is_gpu()) {
    const std::string_view distributed[] = {
        // It runs before assign_layouts, which may compute an offset once for each layout. Hosts do not need it: their registers have 64
        // bits.
        "narrow_offsets",
        // After narrow_offsets, which needs the ranges of whole offsets; before assign_layouts, so that few registers change in a loop.
        "reassociate",
        // Before assign_layouts, which may compute a mask once for each layout.
        "drop_dead_passthru",
        // Before assign_layouts, which chooses layouts for the unmasked accesses.
        "version_masked_accesses",
        // From here on every tile has a layout; the passes above do not support layouts.
        "assign_layouts",
        // After assign_layouts, which inserts each conversion directly after the definition of the converted tile.
        "remove_layout_conversions",
        // The two passes before may have computed one tile under one layout in two ways.
        "cse",
        // After cse, which does not merge the buffers made here.
        "expand_async_mma",
        // After layouts, and so the conversions of operands, are final.
        "promote_to_shared",
        // After promote_to_shared, which makes the buffers that this pass fills ahead; before pipeline_loops, which takes the other loops.
        "use_tma",
        // After promote_to_shared, too.
        "pipeline_loops",
        // After pipeline_loops, which makes the slots that products of one iteration read during the next one.
        "place_mma_waits",
        // After place_mma_waits: only behind the wait for the last products the memory of their factors is free.
        "promote_stores",
        // After place_mma_waits, which decides when the slots of a loop are free again; before the ops of the body move to a role.
        "specialize_warps",
        // After specialize_warps: the role that copies waits for the slots, in whichever iteration they are handed back.
        "overlap_products",
        // After layouts are final: they determine which ops use scratch, and how much.
        "allocate_shared",
        // Last: hazards depend on the offsets of scratch.
        "insert_barriers",
    };
    passes.insert(passes.end(), std::begin(distributed), std::end(distributed));
  } else {
    // After combine, which recognises the scores of a softmax by their dot; before widen_dot, which puts casts around the loads of factors.
    passes.insert(std::find(passes.begin(), passes.end(), "select_mma"), "sum_dots");
    // After the passes that rewrite ops, which would rewrite two loops; before narrow_comparisons, which changes the form of the masks.
    passes.insert(passes.end() - 3, "split_masked_loops");
    // Before the last canonicalize, which drops the comparisons that always hold, and the last licm.
    passes.insert(passes.end() - 3, "narrow_comparisons");
  }
  return passes;
}

std::vector<std::string_view> pipeline_for(const ir::Function& f, const ir::TargetDesc& target) {
  std::vector<std::string_view> passes = pipeline(target);
  if (!target.is_gpu()) return passes;
  // If the function has layouts, every pass up to assign_layouts has run; the later passes that improve layouts are optional.
  if (f.is_distributed()) {
    passes.erase(passes.begin(), std::find(passes.begin(), passes.end(), "allocate_shared"));
    return passes;
  }
  f.walk([&](ir::OpId id) {
    if (ir::is_made_by_passes(f.kind(id)) && f.kind(id) != ir::OpKind::mma_)
      throw Error(f.where(id), fmt::format("{}: it needs tiles with layouts, as the passes for GPUs make them", ir::text(f.kind(id))));
  });
  return passes;
}

}  // namespace tilewright::passes

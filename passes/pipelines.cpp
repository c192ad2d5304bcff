// Which passes make a good program for a target, in which order, and why.
#include "passes/pass_manager.h"

#include <algorithm>

namespace tilewright::passes {

std::vector<std::string_view> pipeline(const ir::TargetDesc& target) {
  std::vector<std::string_view> passes = {
      // First: hints say more, and assertions are about, the values that the user wrote; what they become is ordinary IR from here on.
      "lower_assumptions",
      // The trace holds every constant and broadcast that the user's expressions implied; the passes after this one look for plain forms.
      "canonicalize",
      // Two spellings of one address must be one value before loops are looked at: the same step is then seen to be the same.
      "cse",
      // Before canonicalize gets to see its sums: (init + broadcast(offset)) + x is what that pass turns into scalar arithmetic.
      "canonicalize_pointers",
      "canonicalize",
      // After the carried tiles are gone: what they were added to no longer varies in the loop.
      "licm",
      // Before combine, which puts what is added to a product into its accumulator.
      "expand_dot_scaled",
      // After licm, so that an invariant product stays outside of its loop; before expand_math, whose polynomials already are the
      // sums of products that they are meant to be.
      "combine",
      // Before expand_math and legalize_floats, which take up the arithmetic of the regions that it makes.
      "legalize_atomics",
      "expand_math",
      // Before legalize_floats, which takes up the casts that it makes.
      "widen_dot",
      // After expand_math, which writes 16-bit arithmetic too.
      "legalize_floats",
      // The last two work op by op: they leave casts to and fro, constants inside of loops, and the same cast of one value many times.
      "canonicalize",
      "cse",
      "licm",
  };
  if (target.is_gpu()) {
    const std::string_view distributed[] = {
        // While an offset is computed once, whatever layouts it is asked for in. Hosts have 64-bit registers.
        "narrow_offsets",
        // While a mask is one value, whatever layouts it is asked for in.
        "drop_dead_passthru",
        // Before layouts: they are chosen for the tiles that need no mask.
        "version_masked_accesses",
        // From here on every tile lies somewhere; the passes above know nothing of places.
        "assign_layouts",
        // It leaves conversions op by op, each where its tile is made.
        "remove_layout_conversions",
        // Two ways of coming by one tile under one layout.
        "cse",
        // Once no op needs another place any more: what works in shared memory is known.
        "allocate_shared",
        // Last: hazards are between places in memory.
        "insert_barriers",
    };
    passes.insert(passes.end(), std::begin(distributed), std::end(distributed));
  }
  return passes;
}

std::vector<std::string_view> pipeline_for(const ir::Function& f, const ir::TargetDesc& target) {
  std::vector<std::string_view> passes = pipeline(target);
  // A layout shows that every pass up to assign_layouts has run; the passes after it that find better layouts are optional.
  if (f.is_distributed()) passes.erase(passes.begin(), std::find(passes.begin(), passes.end(), "allocate_shared"));
  return passes;
}

}  // namespace tilewright::passes

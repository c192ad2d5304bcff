// The loads of a loop that can be copies to shared memory, started iterations ahead of the one that uses them.
#pragma once
#include <set>
#include <vector>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

struct PipelinedLoad {
  OpId load, store, alloc;  // store, alloc: of the buffer of one slot; none: there is no buffer yet
  LayoutId layout;          // of the buffer
  ValueId mask;             // of all iterations but the last, if that is copied first; none: all-true
  ValueId buffer = {};      // of all slots
};

/// The pipelined loads of a loop (a for), and the ops and carried values that their addresses and masks are computed from.
struct PipelinedLoads {
  std::vector<PipelinedLoad> loads;
  std::set<OpId> address_ops;    // in the loop's body
  std::set<int> address_values;  // carried values, by number
  /// The last iteration is done first: then the others have all-true masks along the axis that the loop moves along. Only for loops that
  /// do nothing but add products to accumulators: their order is free.
  bool last_comes_first = false;
};

///   1. Find loads whose only use is a buffer_store, and which cp.async can do. If `copies_all`, all others as well: each thread reads back
///      what it has copied.
///   2. Keep those whose addresses and masks can be computed for a later iteration: by pure ops, from the counter and from carried values
///      that are computed likewise.
///   3. Reduce masks to what iterations before the last need, if the loop's order is free (passes/pipeline/last_iteration.h).
PipelinedLoads find_pipelined_loads(Rewriter&, OpId loop, bool copies_all);

}  // namespace tilewright::passes

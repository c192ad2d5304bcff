// The loads of a loop that can be copies to shared memory, started iterations ahead of the one that uses them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "passes/pipeline/loop_stores.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

struct PipelinedLoad {
  OpId load, store, alloc;  // store, alloc: of the buffer of one slot; none: there is no buffer yet
  LayoutId layout;          // of the buffer
  bool through_registers;   // cp.async cannot copy it: a thread loads it, and stores it at the end of the iteration
  ValueId mask;             // of all iterations but the last, if that is copied first; none: all-true
  ValueId buffer = {};      // of all slots
};

/// What values of a loop are computed from in an iteration.
struct Slice {
  std::set<OpId> ops;    // pure, in the loop's body
  std::set<int> values;  // that the loop carries, by number
};

/// A load that stays in its iteration, and why.
struct RefusedLoad {
  OpId load;
  std::string reason;
};

/// The pipelined loads of a loop (a for), and what their addresses and masks are computed from.
struct PipelinedLoads {
  std::vector<PipelinedLoad> loads;
  std::vector<RefusedLoad> refused;
  /// Loads in the body on which addresses or masks of others depend: x = load(base + load(table + i)). Their own addresses and masks depend
  /// on no load.
  std::vector<OpId> index_loads;
  Slice of_tiles;    // but for index_loads themselves
  Slice of_indices;  // a part of of_tiles
  /// The last iteration is done first: then the others have all-true masks along the axis that the loop moves along. Only for loops that
  /// do nothing but add products to accumulators: their order is free.
  bool last_comes_first = false;
  /// A thread has no registers that hold for an iteration what goes through registers: it is loaded right before it is stored.
  bool loads_late = false;
};

///   1. Find loads whose only use is a buffer_store: those that cp.async can do, and others (of rows at odd addresses), through
///      registers. Of other loads find those from which factors of products are computed or, if
///      `copies_all`, all that cp.async can do: each thread reads back what it has copied. No load that may read what the loop stores.
///   2. Keep those whose addresses and masks can be computed for a later iteration: by pure ops, from the counter, from carried values that
///      are computed likewise, and from index loads, as far as a thread has registers to carry their values.
///   3. Reduce masks to what iterations before the last need, if the loop's order is free (passes/pipeline/last_iteration.h).
PipelinedLoads find_pipelined_loads(Rewriter&, OpId loop, const LoopStores&, bool copies_all);

}  // namespace tilewright::passes

// The loads of a loop that can become copies to shared memory, started some iterations before the one that uses them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "passes/pipeline/loop_stores.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// How a bulk copy does a load (passes/pipeline/tensor_box.h).
struct BulkLoad {
  ValueId map;
  std::vector<ValueId> coordinates;  // in the iteration that uses the tile
  bool is_turned = false;            // the map's axes are those of the tile in the other order
};
using BulkLoads = std::map<OpId, BulkLoad>;

struct PipelinedLoad {
  OpId load, store, alloc;            // store, alloc: of the buffer with one slot; none if there is no buffer yet
  LayoutId layout;                    // of the buffer
  bool through_registers;             // cp.async cannot copy it: a thread loads it to registers and stores it at the end of the iteration
  ValueId mask;                       // in all iterations but the last one, if that is copied first; none: all-true
  ValueId buffer = {};                // with all slots
  std::optional<BulkLoad> bulk = {};  // a bulk copy does it; its pointer and its mask are not needed
};

/// The ops and carried values from which values are computed in an iteration.
struct Slice {
  std::set<OpId> ops;    // pure ops in the loop's body
  std::set<int> values;  // indices of values that the loop carries
};

/// A load that stays in its iteration, and the reason.
struct RefusedLoad {
  OpId load;
  std::string reason;
};

/// The pipelined loads of a loop (a for), and the slices from which their addresses and masks are computed.
struct PipelinedLoads {
  std::vector<PipelinedLoad> loads;
  std::vector<RefusedLoad> refused;
  /// Loads in the body on which addresses or masks of other loads depend: x = load(base + load(table + i)). Their own addresses and masks
  /// depend on no load.
  std::vector<OpId> index_loads;
  Slice of_tiles;    // except index_loads themselves
  Slice of_indices;  // a part of of_tiles
  /// The last iteration is executed first: then the other iterations have all-true masks along the axis that the loop moves along. Only for
  /// loops that do nothing but add products to accumulators: their order is free.
  bool last_comes_first = false;
  /// A thread has too few registers to hold tiles that go through registers for an iteration: they are loaded directly before the store.
  bool loads_late = false;
};

///   1. Find loads whose only use is a buffer_store: those that cp.async can do, and others (of rows at odd addresses), which go through
///      registers. Also find loads from which factors of products are computed or, with `copies_all`, all loads that cp.async can do: each
///      thread reads back the data that it has copied. Loads that may read what the loop stores are excluded.
///   2. Keep those whose addresses and masks can be computed for a later iteration: by pure ops from the counter, from carried values that
///      can be computed in the same way, and from index loads, if a thread has enough registers to carry their values.
///   3. Reduce masks to the part that iterations before the last need, if the loop's order is free (passes/pipeline/last_iteration.h).
PipelinedLoads find_pipelined_loads(Rewriter&, OpId loop, const LoopStores&, bool copies_all, const BulkLoads& bulk = {});

}  // namespace tilewright::passes

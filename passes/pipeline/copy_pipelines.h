// The loops of a function that bulk copies fill, and when their slots are free again.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// A loop whose tiles come by bulk copies alone.
struct CopyPipeline {
  OpId full;                 // the mbarriers that count bytes
  OpId loop, wait, expect;   // wait, expect: of these mbarriers, in the loop
  std::vector<OpId> first;   // expectations and copies before the loop
  std::vector<OpId> copies;  // in the loop
  std::set<OpId> buffers;    // that the copies write
  ValueId slot, later;       // numbers of the slot that an iteration reads, and of the one that it copies to
  ValueId limit;             // the counter from which on no iteration copies
  std::int64_t unit = 1;     // slot numbers count in these
  int lag = 0;               // the products of an iteration are complete at its end, or 1: at the end of the next one
  bool only_products_read = true;

  ValueId counter(const Function& f) const { return f.arg(f.region(loop), 0); }
  /// The slot that the iteration before has read: a carried value whose next one is this iteration's slot. None if there is no such value.
  ValueId slot_before(const Function&) const;
};

struct CopyPipelines {
  std::vector<CopyPipeline> found;  // in the order of the function; empty: it has no bulk copies
  OpId at;                          // an op with a problem
  std::string why;                  // the first problem: the loops have another form. Then the pipelines are not complete
};

/// The pipelines of all bulk copies. Each has its own mbarriers, is in a loop of the body, and hands over a slot in each iteration.
CopyPipelines find_copy_pipelines(const Function&);

/// The index of a value that the loop carries; -1 if it carries none.
int carried_index(const Function&, OpId loop, ValueId);

}  // namespace tilewright::passes

// Where the threads of a program have to wait for each other: places in shared memory that are taken again, and addresses of global memory
// that one thread writes and another one reads or writes.
#pragma once
#include <string>
#include <vector>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

/// A barrier before an op, and the earlier op (in the order in which they run) that it has to wait for.
struct Barrier {
  ir::OpId before, after;
};

/// The rules.
///
/// Shared memory: an op writes its scratch only when nobody still works in an overlapping one. An op that waits for all threads between its
/// writes and its reads (has_internal_barrier) thereby orders everything before it.
///
/// Global memory: an access waits for an earlier one of an address that may be the same, if one of the two writes and another thread may
/// have made it: loads see the stores before them and none after. Addresses are told apart by the bounds of their offsets from one
/// parameter; pointers from different parameters may be anything to each other, unless the launch promises that one is disjoint.
/// Nothing waits for accesses through the same tile of pointers in which each element has one thread: every thread then meets only
/// itself; nor atomics of one kind for each other whose results nobody looks at. A scalar atomic of order release or acq_rel waits for
/// everything.
///
/// Loops: the back edge counts; what only the way into a loop asks for, happens before the loop.
std::vector<Barrier> find_hazards(const ir::Function&, const ir::TargetDesc&, int num_warps);

/// One line a barrier: "before store: load of the same parameter".
std::string print_hazards(const ir::Function&, const ir::TargetDesc&, int num_warps);

}  // namespace tilewright::passes

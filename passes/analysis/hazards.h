// Hazards: pairs of accesses by different threads to one location of shared or global memory, at least one a write, that need a barrier
// between them (after Triton's Membar).
#pragma once
#include <string>
#include <vector>

#include "passes/plans/lowering_plans.h"

namespace tilewright::passes {

/// A barrier before an op, and the earlier op of the hazard (earlier in execution order).
struct Barrier {
  ir::OpId before, after;
};

/// The rules.
///
/// Shared memory: an op must not write its scratch while another thread uses an overlapping one. An op with a barrier between its writes
/// and its reads (LoweringPlans::has_internal_barrier) orders all accesses before it.
///
/// Buffers: a store waits for earlier accesses, a load for earlier stores, of the same bytes. Of an ordered buffer (alloc_buffer {ordered})
/// the pass that made it has put an async_wait, which is a barrier, between conflicting accesses in one block; accesses in other blocks are
/// waited for as those of any buffer.
///
/// Roles: barriers in a role are of its threads, and order these alone; what roles do to each other's buffers, mbarriers order. An
/// mbarrier_arrive is a barrier of its role. No barrier in a role orders an access before the roles, which is therefore waited for before
/// the roles; so is an mbarrier_wait of the body, if a role arrives at its mbarrier.
///
/// Global memory: an access waits for an earlier one whose address may be the same, if one of the two writes and they may belong to
/// different threads: loads see the stores before them and none after. Two addresses are disjoint if the bounds of their offsets from one
/// parameter are. Pointers from different parameters may alias, unless the argument attribute `disjoint` excludes it. Exceptions: accesses
/// through the same tile of pointers in which each element has one thread, since every location is then accessed by one thread; atomics of
/// one kind whose results have no use. A scalar atomic of order release or acq_rel waits for all earlier accesses.
///
/// Loops: a hazard along the back edge requires a barrier in the loop; a hazard with accesses before the loop only requires one before it.
std::vector<Barrier> find_hazards(const ir::Function&, const LoweringPlans&);

/// One line a barrier: "before store: load of the same parameter".
std::string print_hazards(const ir::Function&, const LoweringPlans&);

}  // namespace tilewright::passes

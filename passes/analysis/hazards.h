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

/// The rules:
///
/// Shared memory: an op must not write its scratch while another thread uses overlapping scratch. An op with a barrier between its writes
/// and its reads (LoweringPlans::has_internal_barrier) orders all accesses before it.
///
/// Buffers: a store waits for earlier accesses to the same bytes, a load for earlier stores. For an ordered buffer (alloc_buffer {ordered})
/// the pass that made it has put an async_wait, which is a barrier, between conflicting accesses in one block; accesses in other blocks are
/// handled as for any buffer.
///
/// Bulk copies: one waits for earlier accesses to its slot. Later ones wait for it at its mbarrier, which no barrier can replace. The
/// program does not write the tensors that they read.
///
/// Bulk stores: one waits for earlier stores to its slot, of threads, and a later write of the slot for a barrier behind a bulk_wait. The
/// program does not access what they write before such a wait.
///
/// Roles: a barrier in a role involves only threads of the role and orders only these; mbarriers order the accesses of different roles to
/// buffers. An mbarrier_arrive is a barrier of its role. No barrier in a role orders an access before the roles, so the barrier for such an
/// access is before the roles; the same holds for an mbarrier_wait of the body if a role arrives at its mbarrier.
///
/// Global memory: an access waits for an earlier one whose address may be the same, if one of the two writes and they may be done by
/// different threads: a load sees the stores before it and none after it. Two addresses are disjoint if the bounds of their offsets from
/// one parameter are disjoint. Pointers from different parameters may alias, unless the argument attribute `disjoint` excludes it.
/// Exceptions: accesses through the same tile of pointers in which each element has one thread, since one thread then accesses each
/// location; atomics of one kind whose results are unused. A scalar atomic of order release or acq_rel waits for all earlier accesses.
///
/// Loops: a hazard along the back edge requires a barrier in the loop; a hazard only with accesses before the loop, one before the loop.
std::vector<Barrier> find_hazards(const ir::Function&, const LoweringPlans&);

/// One line for each barrier: "before store: load of the same parameter".
std::string print_hazards(const ir::Function&, const LoweringPlans&);

}  // namespace tilewright::passes

// The lowering plans of a distributed function: made once, then read by shared-memory allocation, hazard analysis and GPU lowering.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>

#include "passes/ir_names.h"
#include "passes/plans/atomic_plan.h"
#include "passes/plans/conversion_plan.h"
#include "passes/plans/dot_plan.h"
#include "passes/plans/reduce_plan.h"
#include "passes/plans/scan_plan.h"
#include "passes/plans/sort_plan.h"

namespace tilewright::passes {

inline constexpr std::int64_t kMbarrierBytes = 8;

/// The plan of each op that moves data between threads, and the bytes of shared memory in which it works (its scratch).
///
/// A plan depends on the op, its types, its layouts, and on whether its results are used. So plans stay valid while passes only set the
/// attribute `shared` or add barriers.
class LoweringPlans {
 public:
  /// `num_warps`: of the program; an op is planned for the warps that execute it (tileir/roles.h). Requires: a distributed function.
  LoweringPlans(const ir::Function&, int num_warps);

  /// Requires: a convert_layout, or a flip of a tile.
  const Conversion& conversion(ir::OpId id) const { return plan<Conversion>(id); }
  const ReducePlan& reduce(ir::OpId id) const { return plan<ReducePlan>(id); }
  const ScanPlan& scan(ir::OpId id) const { return plan<ScanPlan>(id); }
  const SortPlan& sort(ir::OpId id) const { return plan<SortPlan>(id); }
  const DotPlan& dot(ir::OpId id) const { return plan<DotPlan>(id); }
  AtomicResults atomic_results(ir::OpId id) const { return plan<AtomicResults>(id); }

  /// Whether the op is of a kind that may need scratch.
  bool has_plan(ir::OpId id) const { return by_op_.contains(id.index); }

  /// Bytes of shared memory in which the op works (for alloc_buffer, the buffer's); 0: none. The op writes there without waiting for other
  /// threads, and orders its own writes and reads. Other warps may still read when the first warp has finished the op (see
  /// insert_barriers).
  std::int64_t scratch_bytes(ir::OpId) const;

  /// For an allocated function: the bytes of shared memory that a program needs, which is the end of the last scratch.
  std::int64_t shared_bytes(const ir::Function&) const;

  /// For an allocated function: the shared memory of a role. Each instance has its own: the first one starts at byte `begin`, each further
  /// one `stride` bytes later. {0, 0}: none.
  struct InstanceMemory {
    std::int64_t begin = 0, stride = 0;
  };
  InstanceMemory instance_memory(const ir::Function&, ir::BlockId role) const;
  static constexpr std::int64_t kInstanceAlignment = 1024;  // the greatest alignment of a buffer

  /// Whether the op, which has scratch, executes a barrier of all threads of its role after its accesses to global memory and its first
  /// writes to the scratch, and before its last reads. When a thread has finished the op, these accesses and all earlier ops are then
  /// complete.
  bool has_internal_barrier(ir::OpId) const;

 private:
  struct OpPlan {
    /// monostate: the op has scratch but needs no plan.
    std::variant<std::monostate, Conversion, ReducePlan, ScanPlan, SortPlan, DotPlan, AtomicResults> how;
    std::int64_t scratch_bytes = 0;
  };
  static std::optional<OpPlan> make(const ir::Function&, ir::OpId, int num_warps);
  template <class Plan>
  const Plan& plan(ir::OpId id) const {
    return std::get<Plan>(by_op_.at(id.index).how);
  }

  std::unordered_map<std::uint32_t, OpPlan> by_op_;
};

/// Keeps the plans of one function for the passes and the lowering; they are made at the first request. run_passes drops them after a pass
/// that changes the function, unless the pass keeps plans (passes.def).
class PlanCache {
 public:
  const LoweringPlans& get(const ir::Function& f, int num_warps) {
    if (!plans_) plans_.emplace(f, num_warps);
    return *plans_;
  }
  void invalidate() { plans_.reset(); }

 private:
  std::optional<LoweringPlans> plans_;
};

}  // namespace tilewright::passes

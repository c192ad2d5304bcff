// Forms the steps of a block: loop nests that fuse the ops that may share one, and single ops between them.
#pragma once
#include <optional>
#include <vector>

#include "backend/host/evaluation_plan.h"
#include "backend/host/loop_distribution.h"
#include "backend/host/memory_order.h"
#include "backend/host/recomputation.h"

namespace tilewright::backend::host {

/// Plans one block and the blocks nested in it, in program order, except that loads of rows come before loads of tiles. An op joins the
/// earliest loop nest with its extents that comes after everything it needs, and that keeps the order of accesses to memory (MemoryOrder).
/// Chains that are too long for one nest are distributed over several (LoopDistribution).
class BlockPlanner {
 public:
  BlockPlanner(EvaluationPlan&, BlockId);
  void run();

 private:
  std::vector<OpId> ops_in_order() const;
  int ready(ValueId) const;
  int needs(OpId, const std::vector<std::int64_t>& extents) const;
  int operand_needs(ValueId operand, const std::vector<std::int64_t>& extents) const;
  void require_buffer(ValueId);
  int append(Step);
  void schedule_scalar(OpId);
  void schedule_fused(OpId);
  /// Ensures that an operand of an op of a loop nest is in a buffer, or that the nest computes it before the op.
  void require_in_nest(ValueId operand, int nest);
  /// The axis along which the memory of a load or store is contiguous, if it is not the tile's last one; -1 otherwise.
  int interchanged_axis(OpId) const;
  /// Makes a load or store along an axis other than the tile's last one a step of its own, so that all other accesses of the tile run along
  /// its last axis. Returns false, and changes nothing, if this is no better than one element after another.
  bool schedule_interchanged(OpId);
  void schedule_permute(OpId);
  void schedule_reshape(OpId);
  void schedule_dot(OpId);
  void schedule_on_buffers(OpId);
  void schedule_control(OpId);
  void schedule_terminator(OpId);
  /// Appends a loop nest that stores a value to a buffer.
  void fill(ValueId, ClassId target);
  /// Ensures that the operand's value is in a buffer: its own, or one that a loop nest fills.
  void read_whole(OpId, int operand);
  /// Ensures that a value is in `to` when the terminator is reached.
  void deliver(ValueId, ClassId to, Step& terminator);
  void yield_to_for(OpId yield, OpId loop);
  bool continues(OpId loop, ValueId argument, ValueId tile) const;
  bool may_share(ValueId yielded, ValueId argument) const;
  std::vector<OpId> readers(ValueId) const;
  bool starts_at_zero(OpId loop, ValueId argument) const;
  bool accesses_memory(OpId) const;

  EvaluationPlan& p_;
  const Function& f_;
  BlockId block_;
  std::vector<Step>& steps_;
  std::vector<OpId> pending_;  // scalars that go before the next step
  std::vector<int> ready_;     // indexed by value: the first step that may use it, apart from its own loop nest
  std::vector<int> made_in_;   // indexed by value: the loop nest that computes it, or -1
  MemoryOrder memory_order_;
  std::optional<LoopDistribution> distribution_;
  std::optional<Recomputation> recomputation_;
  std::vector<int> part_of_step_;  // LoopDistribution::part of the items of a loop nest; of other steps 0
};

}  // namespace tilewright::backend::host

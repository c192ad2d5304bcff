// Schedules the ops of a block into steps: loop nests that fuse what may share one, and single ops between them.
#pragma once
#include <vector>

#include "backend/host/plan.h"

namespace tilewright::backend::host {

/// Plans one block and what is nested in it, in program order. An op joins the earliest loop nest of its extents that comes after
/// everything it needs; memory keeps its order: a load never passes a store, and a store never shares a nest with another access,
/// because lanes of one may be what other lanes of the other touch.
class BlockPlanner {
 public:
  BlockPlanner(Plan&, BlockId);
  void run();

 private:
  int ready(ValueId) const;
  int needs(OpId, const std::vector<std::int64_t>& extents) const;
  int operand_needs(ValueId operand, const std::vector<std::int64_t>& extents) const;
  void require_stored(ValueId);
  int append(Step);
  void schedule_scalar(OpId);
  void schedule_looped(OpId);
  void schedule_reshape(OpId);
  void schedule_dot(OpId);
  void schedule_on_buffers(OpId);
  void schedule_control(OpId);
  void schedule_terminator(OpId);
  /// A loop nest of its own that writes a value into a buffer.
  void fill(ValueId, ClassId target);
  /// Has the operand's value in a buffer: its own, or one it is filled into.
  void read_whole(OpId, int operand);
  /// Has a value in `to` when the terminator is reached.
  void deliver(ValueId, ClassId to, Step& terminator);
  void yield_to_for(OpId yield, OpId loop);
  bool may_share(ValueId yielded, ValueId argument) const;
  std::vector<OpId> readers(ValueId) const;
  bool accesses_memory(OpId) const;

  Plan& p_;
  const Function& f_;
  BlockId block_;
  std::vector<Step>& steps_;
  std::vector<OpId> pending_;      // scalars that go before the next step
  std::vector<int> ready_;         // by value: the step before which it may be used other than in its own loop nest
  std::vector<int> made_in_;       // by value: the loop nest that makes it, -1 otherwise
  int load_floor_ = 0, store_floor_ = 0;
};

}  // namespace tilewright::backend::host

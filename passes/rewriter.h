// The one way in which a pass changes IR: a Builder that also replaces and erases, and remembers what deserves a second look.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "passes/ir_names.h"
#include "tileir/builder.h"

namespace tilewright::passes {

class Rewriter : public ir::Builder {
 public:
  explicit Rewriter(ir::Function& f) : Builder(f) {}

  const ir::Function& ir() { return function(); }
  /// Inserts before `id`, at its location: what takes the place of an op keeps where the user wrote it.
  void at(ir::OpId id);

  void replace_uses(ir::ValueId from, ir::ValueId to);
  /// The op's results become `values`; the op goes.
  void replace(ir::OpId, std::span<const ir::ValueId> values);
  void replace(ir::OpId id, ir::ValueId value) { replace(id, std::span(&value, 1)); }
  void set_operand(ir::OpId, int i, ir::ValueId);
  void erase_operand(ir::OpId, int i);
  /// Requires: no result has a use.
  void erase(ir::OpId);
  /// Erases the pure op that makes a value nobody uses, and what that alone was computed from.
  void erase_unused(ir::ValueId);
  void erase_arg(ir::BlockId, int i);
  void erase_result(ir::OpId, int i);
  void move_before(ir::OpId, ir::OpId where);
  void move_to_end(ir::OpId, ir::BlockId);

  /// Moves the ops of a region before `where`, its arguments becoming `values`; the terminator goes and its operands are returned.
  std::vector<ir::ValueId> inline_block(ir::BlockId, std::span<const ir::ValueId> values, ir::OpId where);

  bool changed() const { return changed_; }
  /// Ops that were made, whose operands changed (or those that their regions end with), or whose results lost a use, since the last call.
  std::vector<ir::OpId> take_touched();

 private:
  void touch(ir::OpId);
  void touch_definer(ir::ValueId);

  bool changed_ = false;
  std::size_t seen_ops_ = function().op_capacity();
  std::vector<ir::OpId> touched_;
};

}  // namespace tilewright::passes

// The rewriter is the only way in which a pass changes IR: a Builder that also replaces and erases ops, and records the ops around each
// change.
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
  /// Sets the insertion point to before `id`, and the location to that of `id`, so that a replacement keeps the user's line.
  void at(ir::OpId id);

  void replace_uses(ir::ValueId from, ir::ValueId to);
  /// Replaces the op's results by `values` and erases the op.
  void replace(ir::OpId, std::span<const ir::ValueId> values);
  void replace(ir::OpId id, ir::ValueId value) { replace(id, std::span(&value, 1)); }
  void set_operand(ir::OpId, int i, ir::ValueId);
  void erase_operand(ir::OpId, int i);
  /// Requires: no result has a use.
  void erase(ir::OpId);
  /// Erases the pure op that defines a value without uses; then its operands, in the same way, if they have become unused.
  void erase_unused(ir::ValueId);
  void erase_arg(ir::BlockId, int i);
  void erase_result(ir::OpId, int i);
  void move_before(ir::OpId, ir::OpId where);
  void move_to_end(ir::OpId, ir::BlockId);

  /// Moves the ops of a region before `where` and replaces its arguments by `values`. Erases the terminator and returns its operands.
  std::vector<ir::ValueId> inline_block(ir::BlockId, std::span<const ir::ValueId> values, ir::OpId where);

  bool changed() const { return changed_; }
  /// The ops, since the last call, that were made, whose operands or whose regions' terminators changed, or whose results lost a use.
  std::vector<ir::OpId> take_touched();

 private:
  void touch(ir::OpId);
  void touch_definer(ir::ValueId);

  bool changed_ = false;
  std::size_t seen_ops_ = function().op_capacity();
  std::vector<ir::OpId> touched_;
};

}  // namespace tilewright::passes

// Every change records the ops around it.
#include "passes/rewriter.h"

#include "tileir/diagnostics.h"

namespace tilewright::passes {

using ir::info;
using ir::kTerminator;

void Rewriter::at(OpId id) {
  before(id);
  set_loc(ir().op(id).loc);
}

void Rewriter::touch(OpId id) {
  touched_.push_back(id);
  const OpId parent = ir().erased(id) ? OpId{} : ir().block(ir().op(id).parent).parent;
  if (parent && info(ir().kind(id)).has(kTerminator)) touched_.push_back(parent);  // rules match the operands of its terminators
}

void Rewriter::touch_definer(ValueId v) {
  const ir::ValueData& d = ir().value(v);
  const OpId id = d.op ? d.op : ir().block(d.block).parent;  // an argument belongs to the loop, which may drop it
  if (id) touch(id);
}

void Rewriter::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  changed_ = true;
  for (OpId user : ir().value(from).users) touch(user);
  function().replace_uses(from, to);
  touch_definer(from);
}

void Rewriter::replace(OpId id, std::span<const ValueId> values) {
  TW_CHECK(values.size() == ir().op(id).results.size(), "an op is replaced by another number of values");
  for (std::size_t i = 0; i < values.size(); ++i) replace_uses(ir().result(id, static_cast<int>(i)), values[i]);
  erase(id);
}

void Rewriter::set_operand(OpId id, int i, ValueId v) {
  changed_ = true;
  const ValueId old = ir().operand(id, i);
  function().set_operand(id, i, v);
  touch(id);
  touch_definer(old);
}

void Rewriter::erase_operand(OpId id, int i) {
  changed_ = true;
  const ValueId old = ir().operand(id, i);
  function().erase_operand(id, i);
  touch(id);
  touch_definer(old);
}

void Rewriter::erase(OpId id) {
  changed_ = true;
  for (ValueId v : ir().op(id).operands) touch_definer(v);
  for (BlockId b : ir().op(id).regions)
    ir().walk(b, [&](OpId inner) {
      for (ValueId v : ir().op(inner).operands) touch_definer(v);
    });
  function().erase(id);
}

void Rewriter::erase_unused(ValueId v) {
  const OpId id = ir().value(v).op;
  if (!id || ir().erased(id) || !ir::info(ir().kind(id)).has(ir::kPure)) return;
  for (ValueId result : ir().op(id).results)
    if (ir().has_uses(result)) return;
  const std::vector<ValueId> operands = ir().op(id).operands;
  erase(id);
  for (ValueId x : operands) erase_unused(x);
}

void Rewriter::erase_arg(BlockId b, int i) {
  changed_ = true;
  function().erase_arg(b, i);
}

void Rewriter::erase_result(OpId id, int i) {
  changed_ = true;
  function().erase_result(id, i);
}

void Rewriter::move_before(OpId id, OpId where) {
  changed_ = true;
  function().move_before(id, where);
}

void Rewriter::move_to_end(OpId id, BlockId b) {
  changed_ = true;
  function().move_to_end(id, b);
}

std::vector<ValueId> Rewriter::inline_block(BlockId b, std::span<const ValueId> values, OpId where) {
  TW_CHECK(values.size() == ir().block(b).args.size(), "a block is inlined with another number of values than it has arguments");
  for (std::size_t i = 0; i < values.size(); ++i) replace_uses(ir().arg(b, static_cast<int>(i)), values[i]);
  const OpId end = ir().terminator(b);
  std::vector<ValueId> out = ir().op(end).operands;
  erase(end);
  for (OpId id : ir().ops(b)) {
    move_before(id, where);
    touch(id);
  }
  return out;
}

std::vector<OpId> Rewriter::take_touched() {
  for (; seen_ops_ < ir().op_capacity(); ++seen_ops_) touch(OpId{static_cast<std::uint32_t>(seen_ops_)});
  return std::exchange(touched_, {});
}

}  // namespace tilewright::passes

// Interprets matrix instructions. A product computes as dot does: an instruction may sum in any order and round in any way, so the most exact
// result is allowed. An asynchronous product is in flight until the mma_wait for it: using its accumulator, or overwriting a buffer that it
// reads, is an Error at the op. Until the wait no other agent overwrites the buffer, so the wait counts as the read.
#include <fmt/format.h>

#include "tileir/interpreter/state.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

void Interpreter::run_mma(OpId id) { run_dot(id); }

void Interpreter::check_in_flight(OpId id) const {
  const OpKind k = f_.kind(id);
  // Loops, and the ends of their regions, pass accumulators on.
  if (k == OpKind::mma_wait_ || k == OpKind::for_ || k == OpKind::while_ || info(k).has(kTerminator)) return;
  const auto& operands = f_.op(id).operands;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (is_in_flight(operands[i]) && !(k == OpKind::mma_async_ && i == 2))
      throw Error(f_.where(id), fmt::format("{}: '{}' is an accumulator in flight; an mma_wait is missing", text(k),
                                            info(k).operand_name(static_cast<int>(i))));
}

Interpreter::Words Interpreter::factor(OpId id, ValueId v) {
  if (!type(v).is_buffer()) return words(v);
  Words elements;
  for (const std::uint64_t cell : words(v)) {
    check_read(id, cell);
    elements.push_back(cells_[cell].word);
    if (cells_[cell].is_unfenced)
      throw Error(f_.where(id), fmt::format("{}: no proxy_fence is between this and the write of an element", text(f_.kind(id))));
  }
  return elements;
}

void Interpreter::run_mma_async(OpId id) {
  const ValueId a = f_.operand(id, 0), b = f_.operand(id, 1);
  const Words left = factor(id, a), right = factor(id, b);
  multiply(id, left, right);
  now_->product_of[f_.result(id).index] = ++now_->started_products;
  auto& cells = now_->products.emplace_back();
  for (ValueId v : {a, b})
    if (type(v).is_buffer()) cells.insert(cells.end(), words(v).begin(), words(v).end());
  for (const std::uint64_t cell : cells) ++cells_[cell].products;
}

void Interpreter::run_mma_wait(OpId id) {
  while (static_cast<std::int64_t>(now_->products.size()) > f_.attr(id, AttrName::pending)) {
    for (const std::uint64_t cell : now_->products.front()) {
      Cell& c = cells_[cell];
      --c.products;
      // Other threads may still read it.
      c.awaited[now_->number] = epoch(), c.product_epoch[now_->number] = now_->clock[now_->number + kProducts];
    }
    now_->products.pop_front();
  }
  copy(f_.op(id).operands, f_.op(id).results);
}

}  // namespace tilewright::ir

// Emits blocks, phis and conditions of loops and branches.
#include "backend/nvptx/control_flow.h"

#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"

namespace tilewright::backend::nvptx {

namespace {

/// The number of iterations of a loop over a constant range whose length plus step exceeds the range of its type; otherwise null. LLVM's
/// strength reduction turns the exit of such a loop into a comparison of a counter that wraps around; ptxas assumes that it does not wrap,
/// and unrolls the loop with too few iterations (seen in 12.9, 13.0 and 13.4). So the loop gets a counter of iterations that is opaque to
/// both.
Value* iterations_of_wrapping_range(llvm::IRBuilder<>& b, Value* lo, Value* hi, Value* step, bool is_signed) {
  const auto *from = llvm::dyn_cast<llvm::ConstantInt>(lo), *to = llvm::dyn_cast<llvm::ConstantInt>(hi),
             *by = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (!from || !to || !by || by->isZero()) return nullptr;
  const bool down = is_signed && by->isNegative();
  const llvm::APInt distance = down ? from->getValue() - to->getValue() : to->getValue() - from->getValue();
  const llvm::APInt stride = down ? -by->getValue() : by->getValue();
  bool wraps = false;
  (void)distance.uadd_ov(stride, wraps);
  if (!wraps) return nullptr;
  const llvm::APInt iterations = llvm::APIntOps::RoundingUDiv(distance, stride, llvm::APInt::Rounding::UP);
  const bool is_long = iterations.getBitWidth() > 32;
  return inline_ptx(b, fmt::format("mov.b{} $0, {};", is_long ? 64 : 32, iterations.getZExtValue()),
                    is_long ? b.getInt64Ty() : b.getInt32Ty(), {});
}

/// Carried tiles of 8- and 16-bit elements that come from words of 4 bytes, as ldmatrix delivers them, are carried as words: phis of
/// elements would have to be packed again for each use.
class CarriedWords {
 public:
  explicit CarriedWords(llvm::IRBuilder<>& b) : b_(b) {}

  /// Adds a carried value; returns its initial registers in the form in which they are carried.
  Registers add(Type t, const Registers& init) {
    const bool is_packed = !t.is_pointer() && come_from_words(b_, t.scalar(), init);
    carried_.push_back({t.scalar(), init.size(), is_packed});
    return packed(carried_.size() - 1, init);
  }
  Registers packed(std::size_t i, const Registers& elements) const {
    const Carried& c = carried_[i];
    return c.is_packed ? pack(b_, c.element, elements) : elements;
  }
  Registers elements(std::size_t i, const Registers& packed) const {
    const Carried& c = carried_[i];
    return c.is_packed ? unpack(b_, c.element, packed, c.count) : packed;
  }

 private:
  struct Carried {
    Type element;
    std::size_t count;
    bool is_packed;
  };
  llvm::IRBuilder<>& b_;
  std::vector<Carried> carried_;
};

}  // namespace

void emit_for(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const bool is_signed = ir::is_signed(f.type(operands[0]).element());
  Value *lo = e.scalar(operands[0]), *hi = e.scalar(operands[1]), *step = e.scalar(operands[2]);
  Value* zero = llvm::ConstantInt::get(step->getType(), 0);
  // If the sign of the step is known only at run time, both comparisons are emitted.
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool up = known && known->getSExtValue() > 0, down = known && known->isNegative();
  Value* forward = is_signed ? b.CreateICmpSGT(step, zero) : b.CreateICmpNE(step, zero);
  const auto less = [&](Value* x, Value* y) { return is_signed ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y); };
  Value* enters = nullptr;
  if (up || !is_signed) {
    enters = b.CreateAnd(forward, less(lo, hi));
  } else {
    Value* backward = less(step, zero);
    enters = b.CreateOr(b.CreateAnd(forward, less(lo, hi)), b.CreateAnd(backward, less(hi, lo)));
  }
  CarriedWords words(b);
  std::vector<Registers> init;
  for (std::size_t i = 3; i < operands.size(); ++i) init.push_back(words.add(f.type(operands[i]), e.registers(operands[i])));

  Value* iterations = iterations_of_wrapping_range(b, lo, hi, step, is_signed);
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = e.new_block("loop"), *after = e.new_block("done");
  b.CreateCondBr(enters, body, after);

  b.SetInsertPoint(body);
  llvm::PHINode* left = nullptr;
  if (iterations) {
    left = b.CreatePHI(iterations->getType(), 2);
    left->addIncoming(iterations, before);
  }
  auto* index = b.CreatePHI(lo->getType(), 2);
  index->addIncoming(lo, before);
  const std::vector<Registers> carried = make_phis(b, init, 2);
  add_incoming(carried, init, before);
  const BlockId region = f.region(id);
  e.set(f.arg(region, 0), {index});
  for (std::size_t i = 0; i < carried.size(); ++i) e.set(f.arg(region, static_cast<int>(i) + 1), words.elements(i, carried[i]));
  e.emit_block(region);
  std::vector<Registers> next = e.yielded(region);
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = words.packed(i, next[i]);
  // The distance to the end is exact as an unsigned number, while index + step may wrap.
  Value* next_index = b.CreateAdd(index, step);
  const auto goes_on_up = [&] { return b.CreateICmpUGT(b.CreateSub(hi, index), step); };
  const auto goes_on_down = [&] { return b.CreateICmpUGT(b.CreateSub(index, hi), b.CreateNeg(step)); };
  Value* goes_on = nullptr;
  if (left) {
    Value* fewer = b.CreateSub(left, llvm::ConstantInt::get(left->getType(), 1));
    left->addIncoming(fewer, b.GetInsertBlock());
    goes_on = b.CreateIsNotNull(fewer);
  } else {
    goes_on = up || !is_signed ? goes_on_up() : down ? goes_on_down() : b.CreateSelect(forward, goes_on_up(), goes_on_down());
  }
  llvm::BasicBlock* last = b.GetInsertBlock();
  index->addIncoming(next_index, last);
  add_incoming(carried, next, last);
  b.CreateCondBr(goes_on, body, after);

  b.SetInsertPoint(after);
  const std::vector<Registers> results = make_phis(b, init, 2);
  add_incoming(results, init, before);
  add_incoming(results, next, last);
  for (std::size_t i = 0; i < results.size(); ++i) e.set(f.result(id, static_cast<int>(i)), words.elements(i, results[i]));
}

void emit_if(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  llvm::BasicBlock *then = e.new_block("then"), *otherwise = e.new_block("else"), *after = e.new_block("endif");
  constexpr std::uint32_t kLikely = 2000;
  const bool is_likely = f.attr(id, ir::AttrName::likely) != 0;
  b.CreateCondBr(e.scalar(f.operand(id, 0)), then, otherwise,
                 is_likely ? llvm::MDBuilder(b.getContext()).createBranchWeights(kLikely, 1) : nullptr);
  std::vector<Registers> values[2];
  llvm::BasicBlock* ends[2];
  for (int i = 0; i < 2; ++i) {
    b.SetInsertPoint(i == 0 ? then : otherwise);
    e.emit_block(f.region(id, i));
    values[i] = e.yielded(f.region(id, i));
    ends[i] = b.GetInsertBlock();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
  const std::vector<Registers> results = make_phis(b, values[0], 2);
  for (int i = 0; i < 2; ++i) add_incoming(results, values[i], ends[i]);
  for (std::size_t i = 0; i < results.size(); ++i) e.set(f.result(id, static_cast<int>(i)), results[i]);
}

void emit_while(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  std::vector<Registers> init;
  for (ValueId v : f.op(id).operands) init.push_back(e.registers(v));
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.new_block("while"), *body = e.new_block("do"), *after = e.new_block("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  const std::vector<Registers> carried = make_phis(b, init, 2);
  add_incoming(carried, init, before);
  for (std::size_t i = 0; i < carried.size(); ++i) e.set(f.arg(f.region(id, 0), static_cast<int>(i)), carried[i]);
  e.emit_block(f.region(id, 0));
  const std::vector<Registers> forwarded = e.yielded(f.region(id, 0), 1);
  b.CreateCondBr(e.scalar(f.operand(f.terminator(f.region(id, 0)), 0)), body, after);
  b.SetInsertPoint(body);
  for (std::size_t i = 0; i < forwarded.size(); ++i) e.set(f.arg(f.region(id, 1), static_cast<int>(i)), forwarded[i]);
  e.emit_block(f.region(id, 1));
  add_incoming(carried, e.yielded(f.region(id, 1)), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  for (std::size_t i = 0; i < forwarded.size(); ++i) e.set(f.result(id, static_cast<int>(i)), forwarded[i]);
}

}  // namespace tilewright::backend::nvptx

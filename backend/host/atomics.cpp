// Atomics: lane after lane in row-major order, each an instruction or a loop around a compare-exchange of its own.
#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;
using ir::OpKind;
using ir::Type;
using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;

namespace {

AtomicOrdering ordering(const Function& f, OpId id) {
  switch (static_cast<ir::Order>(f.attr(id, AttrName::order))) {
    case ir::Order::relaxed: return AtomicOrdering::Monotonic;
    case ir::Order::acquire: return AtomicOrdering::Acquire;
    case ir::Order::release: return AtomicOrdering::Release;
    case ir::Order::acq_rel: return AtomicOrdering::AcquireRelease;
  }
  TW_UNREACHABLE("an order of atomics");
}

AtomicRMWInst::BinOp instruction(OpKind k, Type t) {
  const bool is_signed = t.is_integer() && ir::is_signed(t.element());
  switch (k) {
    case OpKind::atomic_add_: return t.is_float() ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
    case OpKind::atomic_max_: return is_signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
    case OpKind::atomic_min_: return is_signed ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
    case OpKind::atomic_and_: return AtomicRMWInst::And;
    case OpKind::atomic_or_: return AtomicRMWInst::Or;
    case OpKind::atomic_xor_: return AtomicRMWInst::Xor;
    case OpKind::atomic_exchange_: return AtomicRMWInst::Xchg;
    default: TW_UNREACHABLE("no atomic of one instruction");
  }
}

}  // namespace

/// One lane that is on: what was there before.
Value* HostLowering::update_memory(OpId id, const Values& x) {
  const OpKind k = f_.kind(id);
  const Type t = f_.type(f_.result(id)).scalar();
  const AtomicOrdering order = ordering(f_, id);
  const llvm::Align align(static_cast<std::uint64_t>(t.element_bytes()));
  llvm::Type *element = register_type(c_, t), *word = b_.getIntNTy(static_cast<unsigned>(ir::bits(t.element())));
  Value* p = b_.CreateIntToPtr(x[0], b_.getPtrTy());
  const auto exchange_if = [&](Value* expected, Value* desired) {
    return b_.CreateAtomicCmpXchg(p, b_.CreateBitCast(expected, word), b_.CreateBitCast(desired, word), align, order,
                                  llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  };
  if (k == OpKind::atomic_cas_) return b_.CreateBitCast(b_.CreateExtractValue(exchange_if(x[1], x[2]), 0), element);
  if (k != OpKind::atomic_update_) {
    const bool needs_loop = t.is_float() && (ir::bits(t.element()) < 32 || k == OpKind::atomic_max_ || k == OpKind::atomic_min_);
    TW_CHECK(!needs_loop, "an atomic that legalize_atomics should have rewritten");
    return b_.CreateAtomicRMW(instruction(k, t), p, x[1], align, order);
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(c_, "update", function_);
  auto* done = llvm::BasicBlock::Create(c_, "updated", function_);
  auto* first = b_.CreateAlignedLoad(word, p, align);
  first->setAtomic(AtomicOrdering::Monotonic);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto* seen = b_.CreatePHI(word, 2, "old");
  seen->addIncoming(first, before);
  Value* old = b_.CreateBitCast(seen, element);
  Value* exchanged = exchange_if(old, combine(id, {old}, {x[1]})[0]);
  seen->addIncoming(b_.CreateExtractValue(exchanged, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(exchanged, 1), done, loop);
  b_.SetInsertPoint(done);
  return old;
}

/// One lane: what was there before, 0 if the lane is off.
Value* HostLowering::atomic_lane(OpId id, const Values& x) {
  Value* mask = ir::mask_of(f_, id) ? x.back() : nullptr;
  if (check_) mask = checked(x[0], mask, 1, id, true, f_.type(f_.result(id)).element_bytes());
  if (!mask) return update_memory(id, x);
  llvm::BasicBlock* off = b_.GetInsertBlock();
  auto* active = llvm::BasicBlock::Create(c_, "active", function_);
  auto* join = llvm::BasicBlock::Create(c_, "join", function_);
  b_.CreateCondBr(mask, active, join);
  b_.SetInsertPoint(active);
  Value* old = update_memory(id, x);
  llvm::BasicBlock* on = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  auto* result = b_.CreatePHI(old->getType(), 2);
  result->addIncoming(llvm::Constant::getNullValue(old->getType()), off);
  result->addIncoming(old, on);
  return result;
}

void HostLowering::emit_atomic(OpId id) {
  const auto& op = f_.op(id);
  const ValueId result = op.results[0];
  Values x;
  if (f_.type(result).is_scalar()) {
    for (ValueId v : op.operands) x.push_back(scalar(v));
    scalars_[result.index] = atomic_lane(id, x);
    return;
  }
  Values from;
  for (std::size_t i = 0; i < op.operands.size(); ++i) from.push_back(buffer(plan_.operand_class(id, static_cast<int>(i))));
  Value* to = plan_.is_stored(result) ? buffer(plan_.class_of(result)) : nullptr;
  emit_loop(i64(0), i64(f_.type(result).elements()), i64(1), {}, false, [&](Value* lane, const Values&) {
    Values of_lane;
    for (std::size_t i = 0; i < from.size(); ++i) of_lane.push_back(read_lanes(from[i], f_.type(op.operands[i]), lane, 1));
    Value* old = atomic_lane(id, of_lane);
    if (to) write_lanes(to, f_.type(result), lane, old);
    return Values{};
  });
}

}  // namespace tilewright::backend::host

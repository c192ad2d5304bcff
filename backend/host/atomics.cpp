// Atomics: lanes one after another in row-major order, each by an instruction or by a compare-exchange loop of its own, or through a window
// that combines values first (combined_atomics.h).
#include "backend/host/atomics.h"

#include "backend/host/bounds.h"
#include "backend/host/combine.h"
#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;
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

Value* update_memory(Emitter& e, OpId id, const Values& x) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const OpKind k = f.kind(id);
  const Type t = f.type(f.result(id)).scalar();
  const AtomicOrdering order = ordering(f, id);
  const llvm::Align align(static_cast<std::uint64_t>(t.element_bytes()));
  llvm::Type* element = register_type(e.context(), t);
  llvm::Type* word = b.getIntNTy(static_cast<unsigned>(ir::bits(t.element())));
  Value* p = b.CreateIntToPtr(x[0], b.getPtrTy());
  const auto exchange_if = [&](Value* expected, Value* desired) {
    return b.CreateAtomicCmpXchg(p, b.CreateBitCast(expected, word), b.CreateBitCast(desired, word), align, order,
                                 llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  };
  if (k == OpKind::atomic_cas_) return b.CreateBitCast(b.CreateExtractValue(exchange_if(x[1], x[2]), 0), element);
  if (k != OpKind::atomic_update_) {
    const bool needs_loop = t.is_float() && (ir::bits(t.element()) < 32 || k == OpKind::atomic_max_ || k == OpKind::atomic_min_);
    TW_CHECK(!needs_loop, "an atomic that legalize_atomics should have rewritten");
    return b.CreateAtomicRMW(instruction(k, t), p, x[1], align, order);
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = e.new_block("update");
  auto* done = e.new_block("updated");
  auto* first = b.CreateAlignedLoad(word, p, align);
  first->setAtomic(AtomicOrdering::Monotonic);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* seen = b.CreatePHI(word, 2, "old");
  seen->addIncoming(first, before);
  Value* old = b.CreateBitCast(seen, element);
  Value* exchanged = exchange_if(old, combine(e, id, {old}, {x[1]})[0]);
  seen->addIncoming(b.CreateExtractValue(exchanged, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(exchanged, 1), done, loop);
  b.SetInsertPoint(done);
  return old;
}

namespace {

/// The old value of one lane, 0 if the lane is inactive. Null if the lane's value is combined.
Value* atomic_lane(Emitter& e, OpId id, const Values& x, bool is_combined) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  Value* mask = ir::mask_of(f, id) ? x.back() : nullptr;
  if (e.check()) mask = check_addresses(e, x[0], mask, 1, id, true, f.type(f.result(id)).element_bytes());
  const auto update = [&]() -> Value* {
    if (!is_combined) return update_memory(e, id, x);
    e.combined_atomics().add(e, id, x);
    return nullptr;
  };
  if (!mask) return update();
  llvm::BasicBlock* off = b.GetInsertBlock();
  auto* active = e.new_block("active");
  auto* join = e.new_block("join");
  b.CreateCondBr(mask, active, join);
  b.SetInsertPoint(active);
  Value* old = update();
  llvm::BasicBlock* on = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  if (!old) return nullptr;
  auto* result = b.CreatePHI(old->getType(), 2);
  result->addIncoming(llvm::Constant::getNullValue(old->getType()), off);
  result->addIncoming(old, on);
  return result;
}

}  // namespace

void emit_atomic(Emitter& e, OpId id) {
  const Function& f = e.f();
  const auto& op = f.op(id);
  const ValueId result = op.results[0];
  Values x;
  if (f.type(result).is_scalar()) {
    for (ValueId v : op.operands) x.push_back(e.scalar(v));
    e.set_scalar(result, atomic_lane(e, id, x, false));
    return;
  }
  Values from;
  for (std::size_t i = 0; i < op.operands.size(); ++i) from.push_back(e.operand_buffer(id, i));
  Value* to = e.plan().has_buffer(result) ? e.buffer_of(result) : nullptr;
  const auto read = [&](std::size_t operand, Value* first, unsigned lanes) {
    return e.read_lanes(from[operand], f.type(op.operands[operand]), first, lanes);
  };
  const auto update = [&](Value* lane, bool is_combined) {
    Values of_lane;
    for (std::size_t i = 0; i < from.size(); ++i) of_lane.push_back(read(i, lane, 1));
    Value* old = atomic_lane(e, id, of_lane, is_combined);
    if (to && old) e.write_lanes(to, f.type(result), lane, old);
  };
  if (e.combined_atomics().has(id))
    e.combined_atomics().for_each_lane(e, id, read, update);
  else
    e.loop(f.type(result).elements(), 1, [&](Value* lane) { update(lane, false); });
}

}  // namespace tilewright::backend::host

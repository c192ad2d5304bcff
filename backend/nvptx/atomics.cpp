// Atomics on global memory: for each element one thread, an instruction or a loop around a compare-and-swap (PTX ISA, "atom" and "red").
//
// What an atomic orders is a matter of the whole program: before one that releases, all threads meet at a barrier, so that their stores
// come before it; after one that acquires they meet again, so that their loads come after it. The memory model of PTX makes the chain
// of a barrier and an atomic of a scope hold for that scope (PTX ISA, "Memory Consistency Model: Causality Order").
#include <fmt/format.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "passes/plans/atomic_plan.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

using ir::AttrName;
using passes::AtomicResults;

namespace {

struct Semantics {
  bool acquires, releases;
  std::string order, scope;  // as PTX spells them
};

Semantics semantics(const Function& f, OpId id) {
  Semantics s{};
  switch (static_cast<ir::Order>(f.attr(id, AttrName::order))) {
    case ir::Order::relaxed: s = {false, false, ".relaxed", {}}; break;
    case ir::Order::acquire: s = {true, false, ".acquire", {}}; break;
    case ir::Order::release: s = {false, true, ".release", {}}; break;
    case ir::Order::acq_rel: s = {true, true, ".acq_rel", {}}; break;
  }
  switch (static_cast<ir::Scope>(f.attr(id, AttrName::scope))) {
    case ir::Scope::block: s.scope = ".cta"; break;
    case ir::Scope::device: s.scope = ".gpu"; break;
    case ir::Scope::system: s.scope = ".sys"; break;
  }
  return s;
}

/// ".add.noftz.f16", ".max.s32", ".exch.b64", ...
std::string operation(OpKind k, Type t) {
  const int bits = ir::bits(t.element());
  const bool is_signed = ir::is_signed(t.element());
  switch (k) {
    case OpKind::atomic_add_:
      if (t.is_float()) return fmt::format(".add{}.{}", bits == 16 ? ".noftz" : "", text(t.element()));
      return fmt::format(".add.u{}", bits);
    case OpKind::atomic_max_: return fmt::format(".max.{}{}", is_signed ? 's' : 'u', bits);
    case OpKind::atomic_min_: return fmt::format(".min.{}{}", is_signed ? 's' : 'u', bits);
    case OpKind::atomic_and_: return fmt::format(".and.b{}", bits);
    case OpKind::atomic_or_: return fmt::format(".or.b{}", bits);
    case OpKind::atomic_xor_: return fmt::format(".xor.b{}", bits);
    case OpKind::atomic_exchange_: return fmt::format(".exch.b{}", bits);
    case OpKind::atomic_cas_:
    case OpKind::atomic_update_: return fmt::format(".cas.b{}", bits);
    default: TW_UNREACHABLE("no atomic");
  }
}

/// Whether all threads have just met: then they need not meet again.
bool is_after_barrier(const llvm::IRBuilder<>& b) {
  const llvm::BasicBlock* block = b.GetInsertBlock();
  const auto* call = block->empty() ? nullptr : llvm::dyn_cast<llvm::IntrinsicInst>(&block->back());
  return call && (call->getIntrinsicID() == llvm::Intrinsic::nvvm_barrier0 || call->getIntrinsicID() == llvm::Intrinsic::nvvm_bar_warp_sync);
}

}  // namespace

/// One element, where the predicate (null: always) holds; what was there before, 0 elsewhere, null if `used` is false.
Value* NvptxLowering::update_global(OpId id, std::span<Value* const> x, Value* predicate, bool used) {
  const OpKind k = f_.kind(id);
  const Type element = f_.type(f_.result(id)).scalar();
  const Semantics s = semantics(f_, id);
  llvm::Type* type = register_type(c_, element);
  if (k == OpKind::atomic_update_) return update_by_loop(id, x, predicate);

  // red has no acquire: that is a matter of what is read. (It may be observed without the value, so it stays.)
  const bool reduces = !used && !s.acquires && k != OpKind::atomic_exchange_ && k != OpKind::atomic_cas_;
  const std::string name = (reduces ? "red" : "atom") + s.order + s.scope + ".global" + operation(k, element);
  std::vector<Value*> inputs;
  if (!reduces && predicate) inputs.push_back(llvm::Constant::getNullValue(type));
  const std::size_t tied = inputs.size();
  inputs.insert(inputs.end(), x.begin(), x.end());
  if (predicate) inputs.push_back(predicate);
  int next = reduces ? 0 : 1;
  std::string text = name + (reduces ? "" : " $0,");
  for (std::size_t i = 0; i < x.size(); ++i) text += i == 0 ? fmt::format(" [${}]", next++) : fmt::format(", ${}", next++);
  if (predicate) text = fmt::format("@${} ", next) + text;
  llvm::Type* outputs[] = {type};
  const auto out = inline_ptx(b_, text + ";", std::span(outputs, reduces ? 0 : 1), inputs, kMemory, tied);
  return reduces ? nullptr : out[0];
}

Value* NvptxLowering::update_by_loop(OpId id, std::span<Value* const> x, Value* predicate) {
  const Type element = f_.type(f_.result(id)).scalar();
  const Semantics s = semantics(f_, id);
  llvm::Type *type = register_type(c_, element), *word = b_.getIntNTy(static_cast<unsigned>(ir::bits(element.element())));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *read = new_block("read"), *loop = new_block("update"), *after = new_block("updated");
  if (predicate) {
    b_.CreateCondBr(predicate, read, after);
  } else {
    b_.CreateBr(read);
  }
  b_.SetInsertPoint(read);
  const int bits = ir::bits(element.element());
  Value* first = inline_ptx(b_, fmt::format("ld.relaxed{}.global.b{} $0, [$1];", s.scope, bits), word, {x[0]}, kMemory);
  b_.CreateBr(loop);

  b_.SetInsertPoint(loop);
  auto* old = b_.CreatePHI(word, 2);
  old->addIncoming(first, read);
  Value* earlier[] = {b_.CreateBitCast(old, type)};
  Value* desired = b_.CreateBitCast(combine(id, earlier, x.subspan(1, 1))[0], word);
  const std::string text = "atom" + s.order + s.scope + ".global" + operation(OpKind::atomic_update_, element) + " $0, [$1], $2, $3;";
  Value* seen = inline_ptx(b_, text, word, {x[0], old, desired}, kMemory);
  old->addIncoming(seen, b_.GetInsertBlock());
  llvm::BasicBlock* last = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpEQ(seen, old), after, loop);

  b_.SetInsertPoint(after);
  auto* result = b_.CreatePHI(type, 2);
  if (predicate) result->addIncoming(llvm::Constant::getNullValue(type), before);
  result->addIncoming(earlier[0], last);
  return result;
}

void NvptxLowering::emit_atomic(OpId id) {
  const auto& operands = f_.op(id).operands;
  const ValueId result = f_.result(id);
  const Type element = f_.type(result).scalar();
  const AtomicResults results = passes::atomic_results(f_, id, num_warps_);
  const Semantics s = semantics(f_, id);
  const bool is_scalar = f_.type(result).is_scalar();
  const bool has_mask = ir::mask_of(f_, id).valid();
  if (s.releases && !is_after_barrier(b_)) emit_barrier();
  const Registers active = active_elements(id);

  Value* acts = is_scalar ? is_first_thread() : is_canonical(layout(result));
  const std::uint32_t copies = is_scalar ? 0 : layout(result).free_bits(HardwareDim::reg);
  Registers old;  // of registers that are no copies
  for (std::uint32_t r = 0; r < registers(operands[0]).size(); ++r) {
    if (r & copies) continue;
    std::vector<Value*> x;
    for (ValueId v : operands) x.push_back(registers(v)[r]);
    if (has_mask) x.pop_back();
    Value* predicate = acts && active[r] ? b_.CreateAnd(acts, active[r]) : acts ? acts : active[r];
    old.push_back(update_global(id, x, predicate, results != AtomicResults::unused));
  }

  if (results == AtomicResults::by_memory) {
    const std::int64_t bytes = element.element_bytes();
    Value* base = shared_address(shared_offset(id));
    const LinearLayout kept = is_scalar ? LinearLayout() : layout(result).without_free_registers();
    const auto address = [&](std::uint32_t r) {
      return is_scalar ? base : b_.CreateAdd(base, b_.CreateMul(flat_index(kept, r), i32(bytes)));
    };
    for (std::uint32_t r = 0; r < old.size(); ++r) store_shared(element, address(r), 0, std::span(&old[r], 1), acts);
    emit_barrier();
    for (std::uint32_t r = 0; r < old.size(); ++r) old[r] = load_shared(element, address(r), 0, 1)[0];
  } else if (s.acquires) {
    emit_barrier();
  }
  if (results == AtomicResults::by_shuffles) {
    const std::uint32_t lanes = is_scalar ? 31 : layout(result).free_bits(HardwareDim::lane);
    Value* source = b_.CreateAnd(lane(), i32(31 & ~lanes));
    for (Value*& v : old) v = shuffle(Shuffle::idx, v, source);
  }
  if (results == AtomicResults::unused) {
    // Nobody reads them.
    return set(result, Registers(registers(operands[0]).size(), poison_of(element)));
  }
  if (copies) {
    const auto holder = match_registers(layout(result).without_free_registers(), layout(result), [](std::uint32_t flat) { return flat; });
    Registers all;
    for (std::uint32_t r : holder) all.push_back(old[r]);
    old = std::move(all);
  }
  set(result, std::move(old));
}

}  // namespace tilewright::backend::nvptx

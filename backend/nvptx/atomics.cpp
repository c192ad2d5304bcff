// Atomics on global memory: one thread for each element executes an instruction or a compare-and-swap loop (PTX ISA, "atom" and "red").
//
// An atomic orders the accesses of the whole program: before an atomic that releases, all threads wait at a barrier, so that their stores
// come before it; after an atomic that acquires they wait again, so that their loads come after it. In the memory model of PTX, a barrier
// followed by an atomic of some scope establishes order within that scope (PTX ISA, "Memory Consistency Model: Causality Order").
#include "backend/nvptx/atomics.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/ptx_asm.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

using ir::AttrName;
using passes::AtomicResults;

namespace {

struct Semantics {
  bool acquires, releases;
  std::string order, scope;  // in PTX syntax
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

/// Whether the last instruction is a barrier, so that another one is not needed.
bool is_after_barrier(const llvm::IRBuilder<>& b) {
  const llvm::BasicBlock* block = b.GetInsertBlock();
  const auto* call = block->empty() ? nullptr : llvm::dyn_cast<llvm::IntrinsicInst>(&block->back());
  return call &&
         (call->getIntrinsicID() == llvm::Intrinsic::nvvm_barrier0 || call->getIntrinsicID() == llvm::Intrinsic::nvvm_bar_warp_sync);
}

/// Updates memory by a compare-and-swap loop.
Value* update_by_loop(Emitter& e, OpId id, std::span<Value* const> x, Value* predicate) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const Type element = f.type(f.result(id)).scalar();
  const Semantics s = semantics(f, id);
  llvm::Type *type = register_type(b.getContext(), element), *word = b.getIntNTy(static_cast<unsigned>(ir::bits(element.element())));
  llvm::BasicBlock *before = b.GetInsertBlock(), *read = e.new_block("read"), *loop = e.new_block("update"),
                   *after = e.new_block("updated");
  if (predicate) {
    b.CreateCondBr(predicate, read, after);
  } else {
    b.CreateBr(read);
  }
  b.SetInsertPoint(read);
  const int bits = ir::bits(element.element());
  Value* first = inline_ptx(b, fmt::format("ld.relaxed{}.global.b{} $0, [$1];", s.scope, bits), word, {x[0]}, kMemory);
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  auto* old = b.CreatePHI(word, 2);
  old->addIncoming(first, read);
  Value* earlier[] = {b.CreateBitCast(old, type)};
  Value* desired = b.CreateBitCast(e.combine(id, earlier, x.subspan(1, 1))[0], word);
  const std::string text = "atom" + s.order + s.scope + ".global" + operation(OpKind::atomic_update_, element) + " $0, [$1], $2, $3;";
  Value* seen = inline_ptx(b, text, word, {x[0], old, desired}, kMemory);
  old->addIncoming(seen, b.GetInsertBlock());
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpEQ(seen, old), after, loop);

  b.SetInsertPoint(after);
  auto* result = b.CreatePHI(type, 2);
  if (predicate) result->addIncoming(llvm::Constant::getNullValue(type), before);
  result->addIncoming(earlier[0], last);
  return result;
}

/// The atomic of one element, executed where the predicate (null: always) holds. Returns the old value, which is 0 where the predicate does
/// not hold; null if `used` is false.
Value* update_global(Emitter& e, OpId id, std::span<Value* const> x, Value* predicate, bool used) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const OpKind k = f.kind(id);
  const Type element = f.type(f.result(id)).scalar();
  const Semantics s = semantics(f, id);
  llvm::Type* type = register_type(b.getContext(), element);
  if (k == OpKind::atomic_update_) return update_by_loop(e, id, x, predicate);

  // red reads nothing and so cannot acquire; an atomic that acquires orders later loads even if its result is unused.
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
  const auto out = inline_ptx(b, text + ";", std::span(outputs, reduces ? 0 : 1), inputs, kMemory, tied);
  return reduces ? nullptr : out[0];
}

}  // namespace

void emit_atomic(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const ValueId result = f.result(id);
  const Type element = f.type(result).scalar();
  const AtomicResults results = e.plans().atomic_results(id);
  const Semantics s = semantics(f, id);
  const bool is_scalar = f.type(result).is_scalar();
  const bool has_mask = ir::mask_of(f, id).valid();
  if (s.releases && !is_after_barrier(b)) e.barrier();
  const Registers active = bounds.active_elements(id);

  Value* acts = is_scalar ? e.is_first_thread() : e.redundant_thread_predicate(e.layout(result));
  const std::uint32_t copies = is_scalar ? 0 : e.layout(result).free_bits(HardwareDim::reg);
  Registers old;  // the old values of the registers that are not copies
  for (std::uint32_t r = 0; r < e.registers(operands[0]).size(); ++r) {
    if (r & copies) continue;
    std::vector<Value*> x;
    for (ValueId v : operands) x.push_back(e.registers(v)[r]);
    if (has_mask) x.pop_back();
    Value* predicate = acts && active[r] ? b.CreateAnd(acts, active[r]) : acts ? acts : active[r];
    old.push_back(update_global(e, id, x, predicate, results != AtomicResults::unused));
  }

  if (results == AtomicResults::by_memory) {
    const std::int64_t bytes = element.element_bytes();
    Value* base = e.shared_address(e.scratch_offset(id));
    const LinearLayout kept = is_scalar ? LinearLayout() : e.layout(result).without_free_registers();
    const auto address = [&](std::uint32_t r) {
      return is_scalar ? base : b.CreateAdd(base, b.CreateMul(e.flat_index(kept, r), e.i32(bytes)));
    };
    for (std::uint32_t r = 0; r < old.size(); ++r) e.store_shared(element, address(r), 0, std::span(&old[r], 1), acts);
    e.barrier();
    for (std::uint32_t r = 0; r < old.size(); ++r) old[r] = e.load_shared(element, address(r), 0, 1)[0];
  } else if (s.acquires) {
    e.barrier();
  }
  if (results == AtomicResults::by_shuffles) {
    const std::uint32_t lanes = is_scalar ? 31 : e.layout(result).free_bits(HardwareDim::lane);
    Value* source = b.CreateAnd(e.lane(), e.i32(31 & ~lanes));
    for (Value*& v : old) v = e.shuffle(Shuffle::idx, v, source);
  }
  if (results == AtomicResults::unused)
    return e.set(result, Registers(e.registers(operands[0]).size(), llvm::PoisonValue::get(register_type(b.getContext(), element))));
  if (copies) old = select_registers(old, e.layout(result).without_free_registers(), e.layout(result));
  e.set(result, std::move(old));
}

}  // namespace tilewright::backend::nvptx

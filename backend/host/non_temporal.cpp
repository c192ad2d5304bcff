// Computes the conditions of a launch and of a row for non-temporal stores, and emits the stores.
#include "backend/host/non_temporal.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "backend/host/launch_bytes.h"
#include "backend/host/next_program.h"
#include "backend/host_abi.h"
#include "passes/analysis/address_form.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

NonTemporalStores::NonTemporalStores(Emitter& e) : e_(e) {
  const Function& f = e.f();
  bool has_atomics = false;
  f.walk([&](OpId id) {
    has_atomics = has_atomics || ir::info(f.kind(id)).family == ir::Family::atomic;
    if (f.kind(id) == OpKind::load_) loaded_.insert(passes::base_parameter(f, f.operand(id, 0)));
  });
  // An atomic may tell another program that earlier stores are visible.
  if (e.check() || has_atomics) return;
  Value* total = emit_launch_bytes(e);
  if (!total) return;
  llvm::IRBuilder<>& b = e.b();
  Value* kib = e.launch_field(b.getInt32Ty(), offsetof(HostLaunch, cache_kib));
  Value* cache = b.CreateShl(b.CreateZExt(kib, b.getInt64Ty()), 10);
  exceeds_caches_ = b.CreateAnd(b.CreateICmpNE(kib, b.getInt32(0)), b.CreateICmpUGT(total, cache), "non_temporal");
}

bool NonTemporalStores::updates_memory(OpId store) const {
  const ValueId base = passes::base_parameter(e_.f(), e_.f().operand(store, 0));
  return std::any_of(loaded_.begin(), loaded_.end(), [&](ValueId loaded) { return passes::may_share_memory(e_.f(), base, loaded); });
}

/// Whether this is a store of whole registers to successive addresses (only this form has an instruction) whose address is known before the
/// row. A line that has been read is in the caches, from which a non-temporal store would have to remove it first.
bool NonTemporalStores::is_candidate(const Nest& nest, OpId id) const {
  const Function& f = e_.f();
  if (f.kind(id) != OpKind::store_ || !nest.is_vectorised() || updates_memory(id)) return false;
  const ValueId pointer = f.operand(id, 0);
  if (e_.plan().schedule(e_.plan().resolve(pointer).value) != Schedule::inlined) return false;
  const Type t = f.type(pointer);
  const AxisMap dims = nest.dims_of(t);
  int axis = 0;
  while (dims[axis] != nest.vector_dim()) ++axis;
  return static_cast<int>(nest.lanes()) * ir::bytes(t.element()) * 8 == e_.target().vector_bits &&
         e_.axes()(pointer).contiguity[axis] >= static_cast<std::int64_t>(nest.lanes());
}

Value* NonTemporalStores::first_address(Nest& nest, OpId id) {
  const ValueId pointer = e_.f().operand(id, 0);
  AxisMap first = nest.dims_of(e_.f().type(pointer));
  std::replace(first.begin(), first.end(), static_cast<std::int8_t>(nest.vector_dim()), std::int8_t{-1});
  return nest.evaluate(pointer, first, false);
}

OpId NonTemporalStores::aligned_store(const Nest& nest) const {
  constexpr std::int64_t kLongRow = 16;  // vectors, of which the parts at both ends are one more
  const Function& f = e_.f();
  const std::int64_t extent = nest.step().extents.back();
  if (!nest.is_vectorised() || nest.step().is_unrolled || extent < kLongRow * nest.lanes()) return {};
  OpId store;
  for (const Item& item : nest.step().items) {
    if (!item.op || f.kind(item.op) == OpKind::reduce_) return {};
    const bool is_store = f.kind(item.op) == OpKind::store_;
    if (is_store && store) return {};
    if (is_store) store = item.op;
    for (ValueId r : f.op(item.op).results)
      if (!item.is_recomputed && e_.plan().has_buffer(r)) return {};  // perhaps that of an operand, which then is not there any more
    if (!is_store && f.kind(item.op) != OpKind::load_) continue;
    if (f.attr(item.op, ir::AttrName::is_volatile) != 0) return {};
    // A vector that begins between two runs of neighbouring addresses would have addresses of both.
    const ValueId pointer = f.operand(item.op, 0);
    const AxisMap dims = nest.dims_of(f.type(pointer));
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis] == nest.vector_dim() && e_.axes()(pointer).contiguity[axis] < extent) return {};
  }
  return store && is_candidate(nest, store) ? store : OpId{};
}

Value* NonTemporalStores::elements_before_whole_registers(Nest& nest, OpId store) {
  llvm::IRBuilder<>& b = e_.b();
  const auto size = static_cast<std::uint64_t>(ir::bytes(e_.f().type(e_.f().operand(store, 0)).element()));
  Value* const bytes = b.CreateAnd(b.CreateNeg(first_address(nest, store)), e_.i64(e_.target().vector_bits / 8 - 1));
  Value* const is_multiple = b.CreateICmpEQ(b.CreateAnd(bytes, b.getInt64(size - 1)), e_.i64(0));
  return b.CreateSelect(is_multiple, b.CreateUDiv(bytes, b.getInt64(size)), e_.i64(0));
}

void NonTemporalStores::fetch_ends(Nest& nest, OpId store, Value* count) {
  if (!exceeds_caches_) return;
  llvm::IRBuilder<>& b = e_.b();
  const ValueId pointer = e_.f().operand(store, 0);
  Value *first = first_address(nest, store), *const size = e_.i64(ir::bytes(e_.f().type(pointer).element()));
  if (Value* const distance = distance_to_next_program(e_, pointer)) first = b.CreateAdd(first, distance);
  Value* const last = b.CreateAdd(first, b.CreateMul(b.CreateSub(count, e_.i64(1)), size));
  for (Value* address : {first, last}) {
    Value* const line = b.CreateIntToPtr(address, b.getPtrTy());
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b.getInt32(1), b.getInt32(3), b.getInt32(1)});
  }
}

Value* NonTemporalStores::row_condition(Nest& nest, Value* ahead) {
  if (!exceeds_caches_) return nullptr;
  llvm::IRBuilder<>& b = e_.b();
  Value* condition = nullptr;
  for (const Item& item : nest.step().items) {
    if (!item.op || !is_candidate(nest, item.op)) continue;
    Value* const bytes = b.CreateMul(ahead, e_.i64(ir::bytes(e_.f().type(e_.f().operand(item.op, 0)).element())));
    Value* misaligned = b.CreateAnd(b.CreateAdd(first_address(nest, item.op), bytes), e_.i64(e_.target().vector_bits / 8 - 1));
    condition = b.CreateAnd(condition ? condition : exceeds_caches_, b.CreateICmpEQ(misaligned, e_.i64(0)));
  }
  return condition;
}

Value* NonTemporalStores::rows_condition(OpId store, Value* first, Value* distance) {
  if (!exceeds_caches_ || updates_memory(store)) return nullptr;
  llvm::IRBuilder<>& b = e_.b();
  Value* const bits = b.CreateOr(b.CreatePtrToInt(first, b.getInt64Ty()), distance);
  Value* const misaligned = b.CreateAnd(bits, e_.i64(e_.target().vector_bits / 8 - 1));
  return b.CreateAnd(exceeds_caches_, b.CreateICmpEQ(misaligned, e_.i64(0)));
}

void NonTemporalStores::store(Value* v, Value* address) {
  llvm::IRBuilder<>& b = e_.b();
  auto* store = b.CreateAlignedStore(v, b.CreateIntToPtr(address, b.getPtrTy()), llvm::Align(e_.target().vector_bits / 8));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(e_.context(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
  used_ = true;
}

void NonTemporalStores::finish() {
  if (used_) e_.b().CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

}  // namespace tilewright::backend::host

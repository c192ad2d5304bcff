// Stores around the caches: a launch that writes more than they hold would otherwise read every line before it overwrites it, half as
// much traffic again.
#include <llvm/IR/IntrinsicsX86.h>

#include "backend/host/lowering.h"
#include "backend/host_abi.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

/// Whether all programs together store more than the last-level cache holds; null if no tiles are to be stored that way.
Value* HostLowering::output_exceeds_caches() {
  std::int64_t bytes = 0;  // of one program, masks and loops left out of account
  bool has_atomics = false;
  f_.walk([&](OpId id) {
    has_atomics = has_atomics || ir::info(f_.kind(id)).family == ir::Family::atomic;
    if (f_.kind(id) != OpKind::store_) return;
    const Type t = f_.type(f_.operand(id, 1));
    if (!t.is_scalar()) bytes += t.elements() * t.element_bytes();
  });
  // An atomic may tell another program that what was stored before it is there.
  if (bytes == 0 || check_ || has_atomics) return nullptr;
  Value* kib = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, offsetof(HostLaunch, cache_kib)));
  Value* cache = b_.CreateShl(b_.CreateZExt(kib, b_.getInt64Ty()), 10);
  Value* total = i64(bytes);
  for (Value* extent : grid_) total = b_.CreateMul(total, b_.CreateZExt(extent, b_.getInt64Ty()));
  return b_.CreateAnd(b_.CreateICmpNE(kib, b_.getInt32(0)), b_.CreateICmpUGT(total, cache), "streaming");
}

/// A store of whole registers to successive addresses, the only form there is an instruction for, whose address is known before the row.
bool HostLowering::is_streamable(const Nest& nest, OpId id) const {
  if (f_.kind(id) != OpKind::store_ || !nest.vectorised()) return false;
  const ValueId pointer = f_.operand(id, 0);
  if (plan_.place(plan_.resolve(pointer).value) != Place::recomputed) return false;
  const Type t = f_.type(pointer);
  const AxisMap dims = squeezed_axes(t);
  int axis = 0;
  while (dims[axis] != nest.vector_dim()) ++axis;
  return static_cast<int>(nest.lanes) * ir::bytes(t.element()) * 8 == target_.vector_bits &&
         axes_(pointer).contiguity[axis] >= static_cast<std::int64_t>(nest.lanes);
}

/// For the current row: whether the launch streams and every streamable store of the nest starts on a register's boundary. Null if no
/// store of the nest is streamable.
Value* HostLowering::may_stream(Nest& nest) {
  if (!streaming_) return nullptr;
  Value* condition = nullptr;
  for (const Item& item : nest.step->items) {
    if (!item.op || !is_streamable(nest, item.op)) continue;
    const ValueId pointer = f_.operand(item.op, 0);
    AxisMap first = squeezed_axes(f_.type(pointer));
    for (auto& dim : first)
      if (dim == nest.vector_dim()) dim = -1;
    Value* misaligned = b_.CreateAnd(evaluate(nest, pointer, first, false), i64(target_.vector_bits / 8 - 1));
    condition = b_.CreateAnd(condition ? condition : streaming_, b_.CreateICmpEQ(misaligned, i64(0)));
  }
  return condition;
}

void HostLowering::store_around_caches(Value* v, Value* address) {
  auto* store = b_.CreateAlignedStore(v, b_.CreateIntToPtr(address, b_.getPtrTy()), llvm::Align(target_.vector_bits / 8));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(c_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  streamed_ = true;
}

/// Such stores are ordered by no lock or atomic that follows, only by a fence.
void HostLowering::finish_streaming() {
  if (streamed_) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

}  // namespace tilewright::backend::host

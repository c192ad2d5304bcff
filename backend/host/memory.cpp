// Loads and stores of a loop nest's lanes: whole vectors where addresses follow each other, lane by lane otherwise.
#include "backend/host/lowering.h"
#include "backend/host_abi.h"
#include "backend/lowering/elementwise.h"
#include "backend/lowering/pointer_origin.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"

namespace tilewright::backend::host {

using ir::AttrName;
using ir::OpKind;
using ir::Type;

namespace {
llvm::Constant* zero_of(llvm::Type* t) { return llvm::Constant::getNullValue(t); }
bool all_true(Value* mask) {
  const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return !mask || (c && c->isAllOnesValue());
}
}  // namespace

/// Eight bytes that masked-off lanes may touch in place of what they must not.
Value* HostLowering::dummy() {
  if (!dummy_) dummy_ = alloca_in_entry(b_.getInt64Ty(), 1, 8);
  return dummy_;
}

/// Masked vector instructions that the target has; elsewhere LLVM would branch around every lane.
bool HostLowering::has_masked_access(llvm::Type* element, unsigned lanes) const {
  const unsigned bits = element->getScalarSizeInBits();
  if (!target_.has_masked_memory || lanes * bits < 128) return false;
  return target_.vector_bits >= 512 || bits >= 32;
}

HostLowering::Access HostLowering::access(Nest& nest, OpId id, bool is_store) {
  const auto& op = f_.op(id);
  const ValueId pointer = op.operands[0];
  const Type t = f_.type(pointer);
  Access a;
  a.element_bytes = ir::bytes(t.element());
  const bool vector = nest.vectorised();
  if (const ValueId mask = ir::mask_of(f_, id)) {
    a.mask = operand(nest, mask, vector);
    if (all_true(a.mask)) a.mask = nullptr;
  }
  const AxisMap dims = squeezed_axes(t);
  if (check_) {
    Value* addresses = operand(nest, pointer, vector);
    a.address = addresses;
    a.mask = checked(addresses, a.mask, nest.lanes, id, is_store, a.element_bytes);
    return a;
  }
  if (vector) {
    int axis = 0;
    while (dims[axis] != nest.vector_dim()) ++axis;
    a.contiguous = axes_(pointer).contiguity[axis] >= static_cast<std::int64_t>(nest.lanes);
  }
  a.address = evaluate(nest, pointer, dims, vector && !a.contiguous);
  return a;
}

Value* HostLowering::lane_addresses(const Access& a, unsigned lanes) {
  Value* addresses = a.address;
  if (a.contiguous) {
    std::vector<llvm::Constant*> offsets;
    for (unsigned i = 0; i < lanes; ++i) offsets.push_back(b_.getInt64(static_cast<std::uint64_t>(i) * a.element_bytes));
    addresses = b_.CreateAdd(b_.CreateVectorSplat(lanes, addresses), llvm::ConstantVector::get(offsets));
  }
  if (a.mask) {
    Value* aside = b_.CreateVectorSplat(lanes, b_.CreatePtrToInt(dummy(), b_.getInt64Ty()));
    addresses = b_.CreateSelect(a.mask, addresses, aside);
  }
  return addresses;
}

Value* HostLowering::load_lanes(const Access& a, llvm::Type* element, Value* other, bool is_volatile) {
  auto* type = llvm::cast<llvm::FixedVectorType>(other->getType());
  const unsigned lanes = type->getNumElements();
  const llvm::Align align(a.element_bytes);
  if (a.contiguous && (!a.mask || (has_masked_access(element, lanes) && !is_volatile))) {
    Value* p = b_.CreateIntToPtr(a.address, b_.getPtrTy());
    if (a.mask) return b_.CreateMaskedLoad(type, p, align, a.mask, other);
    return b_.CreateAlignedLoad(type, p, align, is_volatile);
  }
  Value* addresses = lane_addresses(a, lanes);
  Value* v = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < lanes; ++i) {
    Value* p = b_.CreateIntToPtr(b_.CreateExtractElement(addresses, i), b_.getPtrTy());
    v = b_.CreateInsertElement(v, b_.CreateAlignedLoad(element, p, align, is_volatile), i);
  }
  return a.mask ? b_.CreateSelect(a.mask, v, other) : v;
}

void HostLowering::store_lanes(const Access& a, Value* v, bool is_volatile) {
  auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  const unsigned lanes = type->getNumElements();
  const llvm::Align align(a.element_bytes);
  if (a.contiguous && (!a.mask || (has_masked_access(type->getElementType(), lanes) && !is_volatile))) {
    Value* p = b_.CreateIntToPtr(a.address, b_.getPtrTy());
    if (a.mask)
      b_.CreateMaskedStore(v, p, align, a.mask);
    else
      b_.CreateAlignedStore(v, p, align, is_volatile);
    return;
  }
  // In lane order: of lanes that share an address the last one stays.
  Value* addresses = lane_addresses(a, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    Value* p = b_.CreateIntToPtr(b_.CreateExtractElement(addresses, i), b_.getPtrTy());
    b_.CreateAlignedStore(b_.CreateExtractElement(v, i), p, align, is_volatile);
  }
}

Value* HostLowering::load_one(Value* address, Value* mask, llvm::Type* element, Value* other, bool is_volatile) {
  Value* p = b_.CreateIntToPtr(address, b_.getPtrTy());
  if (all_true(mask)) return b_.CreateAlignedLoad(element, p, llvm::Align(1), is_volatile);
  b_.CreateStore(other, dummy());
  return b_.CreateAlignedLoad(element, b_.CreateSelect(mask, p, dummy()), llvm::Align(1), is_volatile);
}

void HostLowering::store_one(Value* address, Value* mask, Value* v, bool is_volatile) {
  Value* p = b_.CreateIntToPtr(address, b_.getPtrTy());
  if (!all_true(mask)) p = b_.CreateSelect(mask, p, dummy());
  b_.CreateAlignedStore(v, p, llvm::Align(1), is_volatile);
}

/// After a volatile load and before a volatile store: programs that wait for each other that way expect of LLVM what the processor does
/// anyway, that other accesses stay on their side.
void HostLowering::keep_order() { b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread); }

Value* HostLowering::emit_load(Nest& nest, OpId id) {
  const auto& op = f_.op(id);
  const Type t = f_.type(op.results[0]);
  llvm::Type* element = memory_type(c_, t);
  const bool vector = nest.vectorised(), is_volatile = f_.attr(id, AttrName::is_volatile) != 0;
  const Access a = access(nest, id, false);
  Value* other = op.operands.size() > 2 ? to_memory(operand(nest, op.operands[2], vector), t)
                                        : zero_of(vector ? llvm::FixedVectorType::get(element, nest.lanes) : element);
  Value* v = vector ? load_lanes(a, element, other, is_volatile) : load_one(a.address, a.mask, element, other, is_volatile);
  if (is_volatile) keep_order();
  return from_memory(v, t);
}

void HostLowering::emit_store(Nest& nest, OpId id) {
  const auto& op = f_.op(id);
  const Type t = f_.type(op.operands[1]);
  const bool is_volatile = f_.attr(id, AttrName::is_volatile) != 0;
  const Access a = access(nest, id, true);
  Value* v = to_memory(operand(nest, op.operands[1], nest.vectorised()), t);
  if (is_volatile) keep_order();
  if (nest.streams && !a.mask && !is_volatile && is_streamable(nest, id))
    store_around_caches(v, a.address);
  else if (nest.vectorised())
    store_lanes(a, v, is_volatile);
  else
    store_one(a.address, a.mask, v, is_volatile);
}

void HostLowering::scalar_load(OpId id) {
  const auto& op = f_.op(id);
  const Type t = f_.type(op.results[0]);
  llvm::Type* element = memory_type(c_, t);
  Value* address = scalar(op.operands[0]);
  const ValueId masked_by = ir::mask_of(f_, id);
  Value* mask = masked_by ? scalar(masked_by) : nullptr;
  if (check_) mask = checked(address, mask, 1, id, false, ir::bytes(t.element()));
  Value* other = op.operands.size() > 2 ? to_memory(scalar(op.operands[2]), t) : zero_of(element);
  const bool is_volatile = f_.attr(id, AttrName::is_volatile) != 0;
  scalars_[op.results[0].index] = from_memory(load_one(address, mask, element, other, is_volatile), t);
  if (is_volatile) keep_order();
}

void HostLowering::scalar_store(OpId id) {
  const auto& op = f_.op(id);
  const Type t = f_.type(op.operands[1]);
  Value* address = scalar(op.operands[0]);
  const ValueId masked_by = ir::mask_of(f_, id);
  Value* mask = masked_by ? scalar(masked_by) : nullptr;
  if (check_) mask = checked(address, mask, 1, id, true, ir::bytes(t.element()));
  const bool is_volatile = f_.attr(id, AttrName::is_volatile) != 0;
  if (is_volatile) keep_order();
  store_one(address, mask, to_memory(scalar(op.operands[1]), t), is_volatile);
}

/// Asks the runtime which lanes may access memory; the mask of those that may.
Value* HostLowering::checked(Value* addresses, Value* mask, unsigned lanes, OpId id, bool is_store, int bytes) {
  auto* lanes_type = addresses->getType()->isVectorTy() ? addresses->getType() : nullptr;
  Value* place = alloca_in_entry(b_.getInt64Ty(), lanes, 64);
  Value* active = alloca_in_entry(b_.getInt8Ty(), lanes, 64);
  llvm::Type* flags = lanes_type ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(b_.getInt8Ty(), lanes)) : b_.getInt8Ty();
  b_.CreateAlignedStore(addresses, place, llvm::Align(8));
  b_.CreateAlignedStore(mask ? b_.CreateZExt(mask, flags) : llvm::ConstantInt::get(flags, 1), active, llvm::Align(1));
  const auto site = static_cast<std::int32_t>(sites_.size());
  const bool is_atomic = ir::info(f_.kind(id)).family == ir::Family::atomic;
  sites_.push_back({f_.where(id), is_store, bytes, pointer_origin(f_, f_.operand(id, 0)), is_atomic});
  Value* function = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, offsetof(HostLaunch, check)));
  Value* context =
      b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, offsetof(HostLaunch, check_context)));
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty()}, false);
  b_.CreateCall(type, function, {context, place, active, b_.getInt32(lanes), b_.getInt32(static_cast<std::uint32_t>(site))});
  Value* after = b_.CreateAlignedLoad(flags, active, llvm::Align(1));
  return b_.CreateICmpNE(after, zero_of(flags));
}

}  // namespace tilewright::backend::host

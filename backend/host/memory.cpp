// Loads and stores: whole vectors where addresses are consecutive, otherwise lane by lane.
#include "backend/host/memory.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/PatternMatch.h>

#include <optional>
#include <utility>

#include "backend/host/bounds.h"
#include "backend/lowering/elementwise.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

llvm::Constant* zero_of(llvm::Type* t) { return llvm::Constant::getNullValue(t); }

bool all_true(Value* mask) {
  const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return !mask || (c && c->isAllOnesValue());
}

/// The lanes of one load or store.
struct Access {
  Value* address = nullptr;  // i64, or a vector of them
  Value* mask = nullptr;     // null: all lanes
  bool contiguous = false;   // `address` is that of the first lane, and the other lanes follow consecutively
  bool paired = false;       // `address` is that of the first lane, and each other lane is two elements further
  int element_bytes = 0;
};

/// The distance between neighbours among `lanes` elements along an axis, of an index or, in elements, of a pointer; none if it is not a
/// constant, or if it takes more than `depth` ops to find out. Signed index arithmetic is assumed not to wrap.
std::optional<std::int64_t> stride_of(const Emitter& e, ValueId v, int axis, std::int64_t lanes, int depth = 8) {
  const Function& f = e.f();
  const passes::AxisInfo& info = e.axes()(v);
  if (f.type(v).is_scalar() || info.constancy[axis] >= lanes) return 0;
  if (info.contiguity[axis] >= lanes) return 1;
  const OpId id = f.value(v).op;
  // A product of small integers wraps where indices do not.
  const bool is_index = ir::is_signed(f.type(v).element()) && ir::bits(f.type(v).element()) >= 32;
  if (!id || depth == 0 || !(f.type(v).is_pointer() || is_index)) return std::nullopt;
  const auto of_operand = [&](int i) { return stride_of(e, f.operand(id, i), axis, lanes, depth - 1); };
  const auto sum = [&](std::int64_t sign) -> std::optional<std::int64_t> {
    const auto a = of_operand(0), b = of_operand(1);
    return a && b ? std::optional(*a + sign * *b) : std::nullopt;
  };
  switch (f.kind(id)) {
    case OpKind::add_ptr_:
    case OpKind::add_: return sum(1);
    case OpKind::sub_: return sum(-1);
    case OpKind::mul_:
      // Only products by 2 are of use.
      if (const auto by = f.constant_bits(f.operand(id, 1)); by == std::uint64_t{2})
        if (const auto a = of_operand(0); a == 1) return 2;
      return std::nullopt;
    case OpKind::cast_: {
      const Type from = f.type(f.operand(id, 0));
      const bool widens = from.is_integer() && ir::is_signed(from.element()) && ir::bits(from.element()) <= ir::bits(f.type(v).element());
      return widens ? of_operand(0) : std::nullopt;
    }
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return of_operand(0);
    default: return std::nullopt;
  }
}

/// Whether the target has masked vector instructions for the access; otherwise LLVM would branch around every lane.
bool has_masked_access(const ir::TargetDesc& target, llvm::Type* element, unsigned lanes) {
  const unsigned bits = element->getScalarSizeInBits();
  if (!target.has_masked_memory || lanes * bits < 128) return false;
  return target.vector_bits >= 512 || bits >= 32;
}

Access access_of(Nest& nest, OpId id, bool is_store) {
  Emitter& e = nest.e();
  const ValueId pointer = e.f().operand(id, 0);
  const Type t = e.f().type(pointer);
  Access a;
  a.element_bytes = ir::bytes(t.element());
  const bool vector = nest.is_vectorised();
  if (const ValueId mask = ir::mask_of(e.f(), id)) {
    a.mask = nest.operand(mask);
    if (all_true(a.mask)) a.mask = nullptr;
  }
  if (Value* const count = is_store ? nullptr : nest.first_lanes()) {
    llvm::Type* const lanes = llvm::FixedVectorType::get(e.b().getInt64Ty(), nest.lanes());
    Value* const below = e.b().CreateICmpULT(e.b().CreateStepVector(lanes), e.b().CreateVectorSplat(nest.lanes(), count));
    a.mask = a.mask ? e.b().CreateAnd(a.mask, below) : below;
  }
  const AxisMap dims = nest.dims_of(t);
  if (e.check()) {
    a.address = nest.operand(pointer);
    a.mask = check_addresses(e, a.address, a.mask, nest.lanes(), id, is_store, a.element_bytes);
    return a;
  }
  if (vector) {
    int axis = 0;
    while (dims[axis] != nest.vector_dim()) ++axis;
    a.contiguous = e.axes()(pointer).contiguity[axis] >= static_cast<std::int64_t>(nest.lanes());
    a.paired = !is_store && !a.contiguous && !a.mask && e.f().attr(id, AttrName::is_volatile) == 0 &&
               stride_of(e, pointer, axis, nest.lanes()) == 2;
  }
  a.address = nest.evaluate(pointer, dims, vector && !a.contiguous && !a.paired);
  return a;
}

/// A vector of addresses; where the mask is false, the address of the dummy.
Value* lane_addresses(Emitter& e, const Access& a, unsigned lanes) {
  llvm::IRBuilder<>& b = e.b();
  Value* addresses = a.address;
  if (a.contiguous) {
    std::vector<llvm::Constant*> offsets;
    for (unsigned i = 0; i < lanes; ++i) offsets.push_back(b.getInt64(static_cast<std::uint64_t>(i) * a.element_bytes));
    addresses = b.CreateAdd(b.CreateVectorSplat(lanes, addresses), llvm::ConstantVector::get(offsets));
  }
  if (a.mask) {
    Value* aside = b.CreateVectorSplat(lanes, b.CreatePtrToInt(e.dummy(), b.getInt64Ty()));
    addresses = b.CreateSelect(a.mask, addresses, aside);
  }
  return addresses;
}

/// Whether the target gathers lanes by an instruction, which is faster than a load for each lane on every processor with AVX-512.
bool has_gather(const ir::TargetDesc& target, llvm::Type* element, unsigned lanes) {
  const unsigned bits = element->getScalarSizeInBits();
  return target.vector_bits >= 512 && (bits == 32 || bits == 64) && lanes * bits >= 128;
}

/// Pointers to the lanes, from a vector of addresses. Where the addresses are one base and indices that are scaled by the size of an element,
/// they are written so, because the instruction takes this form, with indices of 32 bits if they were extended to 64.
Value* lane_pointers(llvm::IRBuilder<>& b, Value* addresses, llvm::Type* element) {
  namespace match = llvm::PatternMatch;
  Value *x = nullptr, *y = nullptr, *index = nullptr;
  if (match::match(addresses, match::m_Add(match::m_Value(x), match::m_Value(y))))
    for (const auto& [splat, scaled] : {std::pair(x, y), std::pair(y, x)})
      if (Value* base = llvm::getSplatValue(splat);
          base && match::match(scaled, match::m_Mul(match::m_Value(index), match::m_SpecificInt(element->getScalarSizeInBits() / 8))))
        return b.CreateGEP(element, b.CreateIntToPtr(base, b.getPtrTy()), index);
  return b.CreateIntToPtr(addresses, with_lanes_of(b.getPtrTy(), addresses));
}

/// Every second element of memory. The two vectors have an element in common, so that nothing is read beyond the last lane.
Value* load_pairs(llvm::IRBuilder<>& b, const Access& a, llvm::FixedVectorType* type) {
  const unsigned lanes = type->getNumElements();
  const auto from = [&](unsigned first) {
    Value* address = b.CreateAdd(a.address, b.getInt64(std::uint64_t{first} * static_cast<unsigned>(a.element_bytes)));
    return b.CreateAlignedLoad(type, b.CreateIntToPtr(address, b.getPtrTy()), llvm::Align(a.element_bytes));
  };
  Value* low = from(0);
  Value* high = from(lanes - 1);
  llvm::SmallVector<int, 64> taken;
  for (unsigned i = 0; i < lanes; ++i) taken.push_back(static_cast<int>(2 * i < lanes ? 2 * i : 2 * i + 1));
  return b.CreateShuffleVector(low, high, taken);
}

/// The pointer, or where the mask hides all lanes the dummy. A masked load of a page that the process does not have, as behind the last row of
/// a matrix, hides the fault in microcode, even if no lane is loaded; this takes hundreds of cycles (measured on Zen 5, 2026-12-01: some 300).
/// Only tiles of products reach so far behind a matrix, in all their rows; elsewhere the choice costs more than it gains (a fifth of rotary).
Value* where_some_lane(Emitter& e, Value* mask, Value* pointer) {
  if (!e.plan().has_contractions()) return pointer;
  return e.b().CreateSelect(e.b().CreateOrReduce(mask), pointer, e.dummy(), "some_lane");
}

Value* load_lanes(Emitter& e, const Access& a, llvm::Type* element, Value* other, bool is_volatile) {
  llvm::IRBuilder<>& b = e.b();
  auto* type = llvm::cast<llvm::FixedVectorType>(other->getType());
  const unsigned lanes = type->getNumElements();
  const llvm::Align align(a.element_bytes);
  if (a.contiguous && (!a.mask || (has_masked_access(e.target(), element, lanes) && !is_volatile))) {
    Value* p = b.CreateIntToPtr(a.address, b.getPtrTy());
    if (a.mask) return b.CreateMaskedLoad(type, where_some_lane(e, a.mask, p), align, a.mask, other);
    return b.CreateAlignedLoad(type, p, align, is_volatile);
  }
  if (a.paired) return load_pairs(b, a, type);
  if (!a.contiguous && !is_volatile && has_gather(e.target(), element, lanes))
    return b.CreateMaskedGather(type, lane_pointers(b, a.address, element), align, a.mask, other);
  Value* addresses = lane_addresses(e, a, lanes);
  Value* v = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < lanes; ++i) {
    Value* p = b.CreateIntToPtr(b.CreateExtractElement(addresses, i), b.getPtrTy());
    v = b.CreateInsertElement(v, b.CreateAlignedLoad(element, p, align, is_volatile), i);
  }
  return a.mask ? b.CreateSelect(a.mask, v, other) : v;
}

void store_lanes(Emitter& e, const Access& a, Value* v, bool is_volatile) {
  llvm::IRBuilder<>& b = e.b();
  auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  const unsigned lanes = type->getNumElements();
  const llvm::Align align(a.element_bytes);
  if (a.contiguous && (!a.mask || (has_masked_access(e.target(), type->getElementType(), lanes) && !is_volatile))) {
    Value* p = b.CreateIntToPtr(a.address, b.getPtrTy());
    if (a.mask)
      b.CreateMaskedStore(v, p, align, a.mask);
    else
      b.CreateAlignedStore(v, p, align, is_volatile);
    return;
  }
  // In lane order: if lanes share an address, the last one must win.
  Value* addresses = lane_addresses(e, a, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    Value* p = b.CreateIntToPtr(b.CreateExtractElement(addresses, i), b.getPtrTy());
    b.CreateAlignedStore(b.CreateExtractElement(v, i), p, align, is_volatile);
  }
}

/// Stores `count` lanes of consecutive addresses, and does not access the lines of the others, as an instruction with a mask would.
void store_first_lanes(Emitter& e, const Access& a, Value* v, Value* count) {
  llvm::IRBuilder<>& b = e.b();
  const llvm::Align align(64), of_element(static_cast<std::uint64_t>(a.element_bytes));
  Value* const copy = e.alloca_in_entry(v->getType(), 1, 64);
  b.CreateAlignedStore(v, copy, align);
  Value* const to = b.CreateIntToPtr(a.address, b.getPtrTy());
  if (!a.mask) {
    b.CreateMemCpy(to, of_element, copy, align, b.CreateMul(count, e.i64(a.element_bytes)));
    return;
  }
  llvm::Type* const element = llvm::cast<llvm::FixedVectorType>(v->getType())->getElementType();
  e.loop(e.i64(0), count, e.i64(1), {}, true, [&](Value* lane, const Values&) {
    Value* const place = b.CreateSelect(b.CreateExtractElement(a.mask, lane), b.CreateInBoundsGEP(element, to, lane), e.dummy());
    b.CreateAlignedStore(b.CreateLoad(element, b.CreateInBoundsGEP(element, copy, lane)), place, of_element);
    return Values{};
  });
}

Value* load_one(Emitter& e, Value* address, Value* mask, llvm::Type* element, Value* other, bool is_volatile) {
  llvm::IRBuilder<>& b = e.b();
  Value* p = b.CreateIntToPtr(address, b.getPtrTy());
  if (all_true(mask)) return b.CreateAlignedLoad(element, p, llvm::Align(1), is_volatile);
  b.CreateStore(other, e.dummy());
  return b.CreateAlignedLoad(element, b.CreateSelect(mask, p, e.dummy()), llvm::Align(1), is_volatile);
}

void store_one(Emitter& e, Value* address, Value* mask, Value* v, bool is_volatile) {
  llvm::IRBuilder<>& b = e.b();
  Value* p = b.CreateIntToPtr(address, b.getPtrTy());
  if (!all_true(mask)) p = b.CreateSelect(mask, p, e.dummy());
  b.CreateAlignedStore(v, p, llvm::Align(1), is_volatile);
}

/// Emitted after a volatile load and before a volatile store. Programs that synchronise through these need other accesses to stay on their
/// side. The processor guarantees this order, but LLVM must be told.
void keep_order(Emitter& e) { e.b().CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread); }

bool is_volatile(const Function& f, OpId id) { return f.attr(id, AttrName::is_volatile) != 0; }

}  // namespace

Value* load_at(Nest& nest, OpId id) {
  Emitter& e = nest.e();
  const auto& op = e.f().op(id);
  const Type t = e.f().type(op.results[0]);
  llvm::Type* element = memory_type(e.context(), t);
  const bool vector = nest.is_vectorised();
  const bool in_order = is_volatile(e.f(), id);
  const Access a = access_of(nest, id, false);
  Value* other = op.operands.size() > 2 ? e.to_memory(nest.operand(op.operands[2]), t)
                                        : zero_of(vector ? llvm::FixedVectorType::get(element, nest.lanes()) : element);
  Value* v = vector ? load_lanes(e, a, element, other, in_order) : load_one(e, a.address, a.mask, element, other, in_order);
  if (in_order) keep_order(e);
  return e.from_memory(v, t);
}

void store_at(Nest& nest, OpId id, NonTemporalStores& non_temporal) {
  store_at(nest, id, non_temporal, nest.operand(nest.e().f().operand(id, 1)));
}

void store_at(Nest& nest, OpId id, NonTemporalStores& non_temporal, Value* elements) {
  Emitter& e = nest.e();
  const auto& op = e.f().op(id);
  const Type t = e.f().type(op.operands[1]);
  const bool in_order = is_volatile(e.f(), id);
  const Access a = access_of(nest, id, true);
  Value* v = e.to_memory(elements, t);
  if (Value* const count = nest.first_lanes()) return store_first_lanes(e, a, v, count);
  if (in_order) keep_order(e);
  if (!a.mask && !in_order && non_temporal.applies_to(nest, id))
    non_temporal.store(v, a.address);
  else if (nest.is_vectorised())
    store_lanes(e, a, v, in_order);
  else
    store_one(e, a.address, a.mask, v, in_order);
}

void load_scalar(Emitter& e, OpId id) {
  const auto& op = e.f().op(id);
  const Type t = e.f().type(op.results[0]);
  llvm::Type* element = memory_type(e.context(), t);
  Value* address = e.scalar(op.operands[0]);
  const ValueId masked_by = ir::mask_of(e.f(), id);
  Value* mask = masked_by ? e.scalar(masked_by) : nullptr;
  if (e.check()) mask = check_addresses(e, address, mask, 1, id, false, ir::bytes(t.element()));
  Value* other = op.operands.size() > 2 ? e.to_memory(e.scalar(op.operands[2]), t) : zero_of(element);
  const bool in_order = is_volatile(e.f(), id);
  e.set_scalar(op.results[0], e.from_memory(load_one(e, address, mask, element, other, in_order), t));
  if (in_order) keep_order(e);
}

void store_scalar(Emitter& e, OpId id) {
  const auto& op = e.f().op(id);
  const Type t = e.f().type(op.operands[1]);
  Value* address = e.scalar(op.operands[0]);
  const ValueId masked_by = ir::mask_of(e.f(), id);
  Value* mask = masked_by ? e.scalar(masked_by) : nullptr;
  if (e.check()) mask = check_addresses(e, address, mask, 1, id, true, ir::bytes(t.element()));
  const bool in_order = is_volatile(e.f(), id);
  if (in_order) keep_order(e);
  store_one(e, address, mask, e.to_memory(e.scalar(op.operands[1]), t), in_order);
}

}  // namespace tilewright::backend::host

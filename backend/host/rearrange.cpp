// flip, join, split, cat: blocks of elements that lie in another order in the result's buffer than in the operands'.
#include <algorithm>

#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::Type;

namespace {
/// Elements that lie between neighbours along an axis, row-major.
std::int64_t stride(Type t, int axis) {
  std::int64_t n = 1;
  for (int i = axis + 1; i < t.rank(); ++i) n *= t.extent(i);
  return n;
}
}  // namespace

void HostLowering::move_block(Type t, std::int64_t elements, Value* to, Value* to_block, Value* from, Value* from_block) {
  llvm::Type* element = memory_type(c_, t);
  const std::int64_t bytes = elements * t.element_bytes();
  const llvm::Align align(static_cast<std::uint64_t>(std::min<std::int64_t>(64, bytes)));
  Value* target = b_.CreateInBoundsGEP(element, to, b_.CreateMul(to_block, i64(elements), "", true, true));
  Value* source = b_.CreateInBoundsGEP(element, from, b_.CreateMul(from_block, i64(elements), "", true, true));
  if (elements == 1)
    b_.CreateAlignedStore(b_.CreateAlignedLoad(element, source, align), target, align);
  else
    b_.CreateMemCpy(target, align, source, align, static_cast<std::uint64_t>(bytes));
}

Value* HostLowering::read_lanes(Value* base, Type t, Value* index, unsigned lanes) {
  llvm::Type* element = memory_type(c_, t);
  llvm::Type* type = lanes > 1 ? llvm::FixedVectorType::get(element, lanes) : element;
  const llvm::Align align(std::min<std::uint64_t>(64, static_cast<std::uint64_t>(t.element_bytes()) * lanes));
  return from_memory(b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(element, base, index), align), t);
}

void HostLowering::write_lanes(Value* base, Type t, Value* index, Value* v) {
  llvm::Type* element = memory_type(c_, t);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  const std::uint64_t bytes = static_cast<std::uint64_t>(t.element_bytes()) * (vector ? vector->getNumElements() : 1);
  const llvm::Align align(std::min<std::uint64_t>(64, bytes));
  b_.CreateAlignedStore(to_memory(v, t), b_.CreateInBoundsGEP(element, base, index), align);
}

void HostLowering::emit_flip(OpId id) {
  const Type t = f_.type(f_.result(id));
  const auto axis = static_cast<int>(f_.attr(id, ir::AttrName::axis));
  const std::int64_t inner = stride(t, axis), extent = t.extent(axis), outer = t.elements() / (inner * extent);
  Value *from = buffer(plan_.operand_class(id, 0)), *to = buffer(plan_.class_of(f_.result(id)));
  emit_loop(i64(0), i64(outer), i64(1), {}, false, [&](Value* o, const Values&) {
    Value* first = b_.CreateMul(o, i64(extent), "", true, true);
    Value* last = b_.CreateAdd(first, i64(extent - 1), "", true, true);
    emit_loop(i64(0), i64(extent), i64(1), {}, false, [&](Value* i, const Values&) {
      move_block(t, inner, to, b_.CreateAdd(first, i, "", true, true), from, b_.CreateSub(last, i, "", true, true));
      return Values{};
    });
    return Values{};
  });
}

/// Blocks of a and b in turn.
void HostLowering::emit_pair(OpId id) {
  const Type part = f_.type(f_.operand(id, 0)), whole = f_.type(f_.result(id));
  Value* to = buffer(plan_.class_of(f_.result(id)));
  if (part.is_scalar()) {
    llvm::Type* element = memory_type(c_, part);
    for (int i = 0; i < 2; ++i) {
      Value* at = b_.CreateConstInBoundsGEP1_64(element, to, static_cast<std::uint64_t>(i));
      b_.CreateAlignedStore(to_memory(scalar(f_.operand(id, i)), part), at, llvm::Align(static_cast<std::uint64_t>(part.element_bytes())));
    }
    return;
  }
  const auto axis = static_cast<int>(f_.attr(id, ir::AttrName::axis));
  const std::int64_t block = f_.kind(id) == ir::OpKind::join_ ? 1 : stride(part, axis) * part.extent(axis);
  Value* const from[] = {buffer(plan_.operand_class(id, 0)), buffer(plan_.operand_class(id, 1))};
  emit_loop(i64(0), i64(part.elements() / block), i64(1), {}, false, [&](Value* i, const Values&) {
    Value* first = b_.CreateShl(i, 1, "", true, true);
    move_block(whole, block, to, first, from[0], i);
    move_block(whole, block, to, b_.CreateOr(first, i64(1)), from[1], i);
    return Values{};
  });
}

void HostLowering::emit_split(OpId id) {
  const Type part = f_.type(f_.result(id));
  Value* from = buffer(plan_.operand_class(id, 0));
  if (part.is_scalar()) {
    llvm::Type* element = memory_type(c_, part);
    for (int i = 0; i < 2; ++i) {
      Value* at = b_.CreateConstInBoundsGEP1_64(element, from, static_cast<std::uint64_t>(i));
      scalars_[f_.result(id, i).index] =
          from_memory(b_.CreateAlignedLoad(element, at, llvm::Align(static_cast<std::uint64_t>(part.element_bytes()))), part);
    }
    return;
  }
  Value* const to[] = {buffer(plan_.class_of(f_.result(id, 0))), buffer(plan_.class_of(f_.result(id, 1)))};
  emit_loop(i64(0), i64(part.elements()), i64(1), {}, false, [&](Value* i, const Values&) {
    Value* first = b_.CreateShl(i, 1, "", true, true);
    move_block(part, 1, to[0], i, from, first);
    move_block(part, 1, to[1], i, from, b_.CreateOr(first, i64(1)));
    return Values{};
  });
}

}  // namespace tilewright::backend::host

// flip, join, split, cat: copy blocks of elements to another order in the result's buffer.
#include <algorithm>

#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The row-major distance between neighbours along an axis, in elements.
std::int64_t stride(Type t, int axis) {
  std::int64_t n = 1;
  for (int i = axis + 1; i < t.rank(); ++i) n *= t.extent(i);
  return n;
}

/// Copies blocks of a and of b alternately.
void emit_pair(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const Type part = f.type(f.operand(id, 0));
  const Type whole = f.type(f.result(id));
  Value* to = e.buffer_of(f.result(id));
  if (part.is_scalar()) {
    llvm::Type* element = memory_type(e.context(), part);
    for (int i = 0; i < 2; ++i) {
      Value* at = b.CreateConstInBoundsGEP1_64(element, to, static_cast<std::uint64_t>(i));
      b.CreateAlignedStore(e.to_memory(e.scalar(f.operand(id, i)), part), at,
                           llvm::Align(static_cast<std::uint64_t>(part.element_bytes())));
    }
    return;
  }
  const auto axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  const std::int64_t block = f.kind(id) == OpKind::join_ ? 1 : stride(part, axis) * part.extent(axis);
  Value* const from[] = {e.operand_buffer(id, 0), e.operand_buffer(id, 1)};
  e.loop(part.elements() / block, 1, [&](Value* i) {
    Value* first = b.CreateShl(i, 1, "", true, true);
    e.move_block(whole, block, to, first, from[0], i);
    e.move_block(whole, block, to, b.CreateOr(first, e.i64(1)), from[1], i);
  });
}

}  // namespace

void emit_flip(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const Type t = f.type(f.result(id));
  const auto axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  const std::int64_t inner = stride(t, axis);
  const std::int64_t extent = t.extent(axis);
  Value* from = e.operand_buffer(id, 0);
  Value* to = e.buffer_of(f.result(id));
  e.loop(t.elements() / (inner * extent), 1, [&](Value* o) {
    Value* first = b.CreateMul(o, e.i64(extent), "", true, true);
    Value* last = b.CreateAdd(first, e.i64(extent - 1), "", true, true);
    e.loop(extent, 1, [&](Value* i) {
      e.move_block(t, inner, to, b.CreateAdd(first, i, "", true, true), from, b.CreateSub(last, i, "", true, true));
    });
  });
}

void emit_join(Emitter& e, OpId id) { emit_pair(e, id); }
void emit_cat(Emitter& e, OpId id) { emit_pair(e, id); }

void emit_split(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const Type part = f.type(f.result(id));
  Value* from = e.operand_buffer(id, 0);
  if (part.is_scalar()) {
    llvm::Type* element = memory_type(e.context(), part);
    for (int i = 0; i < 2; ++i) {
      Value* at = b.CreateConstInBoundsGEP1_64(element, from, static_cast<std::uint64_t>(i));
      const llvm::Align align(static_cast<std::uint64_t>(part.element_bytes()));
      e.set_scalar(f.result(id, i), e.from_memory(b.CreateAlignedLoad(element, at, align), part));
    }
    return;
  }
  Value* const to[] = {e.buffer_of(f.result(id, 0)), e.buffer_of(f.result(id, 1))};
  e.loop(part.elements(), 1, [&](Value* i) {
    Value* first = b.CreateShl(i, 1, "", true, true);
    e.move_block(part, 1, to[0], i, from, first);
    e.move_block(part, 1, to[1], i, from, b.CreateOr(first, e.i64(1)));
  });
}

}  // namespace tilewright::backend::host

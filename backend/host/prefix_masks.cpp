// Counts the lanes of a row for which a mask holds.
#include "backend/host/prefix_masks.h"

#include <algorithm>
#include <optional>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// How many lanes of the current row the mask holds for, if they are certain to be the first ones of the row. Appends to `parts` the values
/// that are true in all of them.
std::optional<Value*> prefix_count(Nest& nest, ValueId mask, const AxisMap& dims, std::vector<ValueId>& parts) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  parts.push_back(mask);
  const std::int64_t extent = nest.step().extents.back();
  const Source s = e.plan().resolve(mask);
  const AxisMap through = nest.through(s, dims);
  if (e.plan().schedule(s.value) == Schedule::fused && nest.has_register(s.value)) return std::nullopt;
  if (!nest.uses_vector_dim(through)) return b.CreateSelect(nest.evaluate(s.value, through, false), e.i64(extent), e.i64(0));
  const OpId id = f.value(s.value).op;
  if (!id || e.plan().schedule(s.value) != Schedule::inlined) return std::nullopt;
  const auto& op = f.op(id);
  if (op.kind == OpKind::broadcast_ || op.kind == OpKind::constant_)  // of a scalar
    return b.CreateSelect(nest.evaluate(s.value, kNoAxes, false), e.i64(extent), e.i64(0));
  if (op.kind == OpKind::bit_and_) {
    const auto first = prefix_count(nest, op.operands[0], through, parts);
    if (!first) return std::nullopt;
    const auto second = prefix_count(nest, op.operands[1], through, parts);
    if (!second) return std::nullopt;
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, *first, *second);
  }
  const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_;
  const bool greater = op.kind == OpKind::gt_ || op.kind == OpKind::ge_;
  if (!less && !greater) return std::nullopt;
  const Type t = f.type(op.operands[0]);
  if (!t.is_integer() || t.element() == ir::Element::u64) return std::nullopt;
  // index < bound, where the index counts up along the row and the bound is constant along it.
  const ValueId index = op.operands[less ? 0 : 1];
  const ValueId bound = op.operands[less ? 1 : 0];
  int axis = 0;
  while (through[axis] != nest.vector_dim()) ++axis;
  if (e.axes()(index).contiguity[axis] < extent || e.axes()(bound).constancy[axis] < extent) return std::nullopt;
  AxisMap first = through;
  first[axis] = -1;
  const auto wide = [&](ValueId v) { return b.CreateIntCast(nest.evaluate(v, first, false), b.getInt64Ty(), ir::is_signed(t.element())); };
  Value* distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, wide(bound), wide(index));
  // Clamped before the 1 of "index <= bound" is added, which could overflow.
  distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, e.i64(extent));
  distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, e.i64(-1));
  if (op.kind == OpKind::le_ || op.kind == OpKind::ge_) distance = b.CreateAdd(distance, e.i64(1));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, e.i64(extent)), e.i64(0));
}

}  // namespace

std::vector<PrefixMask> prefix_masks(Nest& nest) {
  std::vector<PrefixMask> out;
  const Function& f = nest.e().f();
  if (!nest.is_vectorised() || nest.e().check()) return out;
  for (const Item& item : nest.step().items) {
    if (!item.op) continue;
    const OpKind kind = f.kind(item.op);
    const ValueId mask = ir::mask_of(f, item.op);
    if ((kind != OpKind::load_ && kind != OpKind::store_) || !mask) continue;
    if (std::any_of(out.begin(), out.end(), [&](const PrefixMask& p) { return p.masks.front() == mask; })) continue;
    std::vector<ValueId> parts;
    if (const auto count = prefix_count(nest, mask, squeezed_axes(f.type(mask)), parts)) out.push_back({std::move(parts), *count});
  }
  return out;
}

}  // namespace tilewright::backend::host

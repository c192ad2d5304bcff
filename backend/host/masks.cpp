// Masks that hold for the first lanes of a row and no others, as bounds checks do: how many lanes that are.
#include "backend/host/lowering.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

/// How many lanes of the current row the mask holds for, if they are the row's first ones for sure; and the values that are true in
/// all of them.
std::optional<Value*> HostLowering::prefix_count(Nest& nest, ValueId mask, const AxisMap& dims, std::vector<std::uint32_t>& parts) {
  parts.push_back(mask.index);
  const std::int64_t extent = nest.step->extents.back();
  const Source s = plan_.resolve(mask);
  AxisMap through = kNoAxes;
  for (int i = 0; i < f_.type(s.value).rank(); ++i)
    if (s.map[i] >= 0) through[i] = dims[s.map[i]];
  if (plan_.place(s.value) == Place::looped && nest.registers.contains(s.value.index)) return std::nullopt;
  if (!uses_vector_dim(nest, through)) return b_.CreateSelect(evaluate(nest, s.value, through, false), i64(extent), i64(0));
  const OpId id = f_.value(s.value).op;
  if (!id || plan_.place(s.value) != Place::recomputed) return std::nullopt;
  const auto& op = f_.op(id);
  if (op.kind == OpKind::broadcast_ || op.kind == OpKind::constant_)  // of a scalar
    return b_.CreateSelect(evaluate(nest, s.value, kNoAxes, false), i64(extent), i64(0));
  if (op.kind == OpKind::bit_and_) {
    const auto a = prefix_count(nest, op.operands[0], through, parts);
    if (!a) return std::nullopt;
    const auto b = prefix_count(nest, op.operands[1], through, parts);
    if (!b) return std::nullopt;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, *a, *b);
  }
  const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_, greater = op.kind == OpKind::gt_ || op.kind == OpKind::ge_;
  if (!less && !greater) return std::nullopt;
  const Type t = f_.type(op.operands[0]);
  if (!t.is_integer() || t.element() == ir::Element::u64) return std::nullopt;
  // index < bound, where the index counts up along the row and the bound stays.
  const ValueId index = op.operands[less ? 0 : 1], bound = op.operands[less ? 1 : 0];
  int axis = 0;
  while (through[axis] != nest.vector_dim()) ++axis;
  if (axes_(index).contiguity[axis] < extent || axes_(bound).constancy[axis] < extent) return std::nullopt;
  AxisMap first = through;
  first[axis] = -1;
  const auto wide = [&](ValueId v) {
    return b_.CreateIntCast(evaluate(nest, v, first, false), b_.getInt64Ty(), ir::is_signed(t.element()));
  };
  Value* distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, wide(bound), wide(index));
  // Clamped before the 1 of "index <= bound" is added, which could overflow.
  distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, i64(extent));
  distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, i64(-1));
  if (op.kind == OpKind::le_ || op.kind == OpKind::ge_) distance = b_.CreateAdd(distance, i64(1));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, i64(extent)), i64(0));
}

std::vector<HostLowering::Prefix> HostLowering::prefixes(Nest& nest) {
  std::vector<Prefix> out;
  if (!nest.vectorised() || check_) return out;
  for (const Item& item : nest.step->items) {
    if (!item.op) continue;
    const auto& op = f_.op(item.op);
    const ValueId mask = ir::mask_of(f_, item.op);
    if ((op.kind != OpKind::load_ && op.kind != OpKind::store_) || !mask) continue;
    if (std::any_of(out.begin(), out.end(), [&](const Prefix& p) { return p.masks.front() == mask.index; })) continue;
    std::vector<std::uint32_t> parts;
    if (const auto count = prefix_count(nest, mask, squeezed_axes(f_.type(mask)), parts)) out.push_back({std::move(parts), *count});
  }
  return out;
}

}  // namespace tilewright::backend::host

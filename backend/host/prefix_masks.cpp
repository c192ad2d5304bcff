// Counts the first lanes of a row for which a mask holds.
#include "backend/host/prefix_masks.h"

#include <algorithm>
#include <optional>

#include "passes/analysis/live_extents.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The lanes of a row for which a mask holds: all lanes before `count`, and none from `end` on.
struct Lanes {
  Value *count, *end;
};

Lanes both(llvm::IRBuilder<>& b, Lanes x, Lanes y) {
  return {b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x.count, y.count), b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x.end, y.end)};
}

/// The lanes of a comparison of an index that counts up along the row with a bound that is constant along it.
std::optional<Lanes> compared_lanes(Nest& nest, OpId id, const AxisMap& dims) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = e.f().op(id);
  const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_, or_equal = op.kind == OpKind::le_ || op.kind == OpKind::ge_;
  if (!less && op.kind != OpKind::gt_ && op.kind != OpKind::ge_) return std::nullopt;
  const Type t = e.f().type(op.operands[0]);
  if (!t.is_integer() || t.element() == ir::Element::u64) return std::nullopt;
  const std::int64_t extent = nest.step().extents.back();
  int axis = 0;
  while (dims[axis] != nest.vector_dim()) ++axis;
  const auto is_index = [&](ValueId v) { return e.axes()(v).contiguity[axis] >= extent && !e.axes()(v).assumes_no_wrap; };
  const auto is_bound = [&](ValueId v) { return e.axes()(v).constancy[axis] >= extent; };
  AxisMap first = dims;
  first[axis] = -1;
  const auto wide = [&](ValueId v) { return b.CreateIntCast(nest.evaluate(v, first, false), b.getInt64Ty(), ir::is_signed(t.element())); };
  const ValueId low = op.operands[less ? 0 : 1], high = op.operands[less ? 1 : 0];
  const auto unless_it_wraps = [&](ValueId index, Lanes lanes) {
    Value* any = wraps(b, t.element(), wide(index), extent);
    return Lanes{b.CreateSelect(any, e.i64(0), lanes.count), b.CreateSelect(any, e.i64(extent), lanes.end)};
  };
  if (is_bound(low) && is_index(high)) {
    // A lower bound holds for the whole row, unless the row begins below it.
    Value* holds = or_equal ? b.CreateICmpSLE(wide(low), wide(high)) : b.CreateICmpSLT(wide(low), wide(high));
    return unless_it_wraps(high, {b.CreateSelect(holds, e.i64(extent), e.i64(0)), e.i64(extent)});
  }
  if (!is_index(low) || !is_bound(high)) return std::nullopt;
  Value* distance = lanes_before_bound(nest, id, dims);
  return unless_it_wraps(low, {distance, distance});
}

/// The lanes of the current row for which the mask holds, if these are certainly, or probably, the first lanes. Appends to `parts` the
/// values that are true in all lanes before the count.
std::optional<Lanes> prefix_lanes(Nest& nest, ValueId mask, const AxisMap& dims, std::vector<ValueId>& parts) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  parts.push_back(mask);
  const auto all_or_none = [&](Value* holds) {
    Value* count = b.CreateSelect(holds, e.i64(nest.step().extents.back()), e.i64(0));
    return Lanes{count, count};
  };
  const Source s = e.plan().resolve(mask);
  const AxisMap through = nest.through(s, dims);
  if (e.plan().schedule(s.value) == Schedule::fused && nest.has_register(s.value)) return std::nullopt;
  if (!nest.uses_vector_dim(through)) return all_or_none(nest.evaluate(s.value, through, false));
  const OpId id = f.value(s.value).op;
  if (!id || e.plan().schedule(s.value) != Schedule::inlined) return std::nullopt;
  const auto& op = f.op(id);
  if (op.kind == OpKind::broadcast_ || op.kind == OpKind::constant_)  // both have one value in all lanes
    return all_or_none(nest.evaluate(s.value, kNoAxes, false));
  if (op.kind != OpKind::bit_and_) return compared_lanes(nest, id, through);
  const auto first = prefix_lanes(nest, op.operands[0], through, parts);
  if (!first) return std::nullopt;
  const auto second = prefix_lanes(nest, op.operands[1], through, parts);
  if (!second) return std::nullopt;
  return both(b, *first, *second);
}

}  // namespace

Value* lanes_before_bound(Nest& nest, OpId id, const AxisMap& dims) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  const passes::PrefixComparison comparison = passes::prefix_comparison(e.f(), id);
  const bool is_signed = ir::is_signed(e.f().type(comparison.index).element());
  AxisMap first = dims;
  std::replace(first.begin(), first.end(), static_cast<std::int8_t>(nest.vector_dim()), std::int8_t{-1});
  const auto wide = [&](ValueId v) { return b.CreateIntCast(nest.evaluate(v, first, false), b.getInt64Ty(), is_signed); };
  Value* const extent = e.i64(nest.step().extents.back());
  const auto clamp = [&](Value* x, std::int64_t least) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, extent), e.i64(least));
  };
  Value* bound = wide(comparison.bound);
  Value* distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, bound, wide(comparison.index));
  // The distance is clamped before the 1 for "index <= bound" is added, which could overflow.
  if (comparison.or_equal) distance = b.CreateAdd(clamp(distance, -1), e.i64(1));
  return clamp(distance, 0);
}

Value* wraps(llvm::IRBuilder<>& b, ir::Element element, Value* first, std::int64_t extent) {
  const int value_bits = ir::bits(element) - (ir::is_signed(element) ? 1 : 0);
  const auto greatest = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - value_bits));
  return b.CreateICmpSGT(first, b.getInt64(static_cast<std::uint64_t>(greatest - (extent - 1))));
}

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
    if (const auto lanes = prefix_lanes(nest, mask, nest.dims_of(f.type(mask)), parts))
      out.push_back({std::move(parts), lanes->count, lanes->end});
  }
  return out;
}

}  // namespace tilewright::backend::host

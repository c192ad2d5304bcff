// Emits the addresses of rows.
#include "backend/host/factor_rows.h"

#include <algorithm>

#include "backend/host/nest.h"
#include "backend/host/prefix_masks.h"

namespace tilewright::backend::host {

namespace {

constexpr std::int64_t kAddressBytes = 8;
constexpr std::int64_t kAddresses = 8;  // written at once

/// For a nest along rows (0) or columns (1): the dimensions that the axes of a value run along.
AxisMap dims_along(const FactorIndexed& value, int axis) {
  AxisMap dims = kNoAxes;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (value.axes[i] == axis) dims[i] = 0;
  return dims;
}

/// Code that depends on no index of a nest is placed at the end of the block before.
void begin_block(Emitter& e, const char* name) {
  llvm::BasicBlock* block = e.new_block(name);
  e.b().CreateBr(block);
  e.b().SetInsertPoint(block);
}

}  // namespace

Value* first_indices(Emitter& e, std::int64_t extent, const std::vector<FactorIndexed>& comparisons) {
  Step step;
  step.extents = {extent};
  Nest nest(e, step);
  nest.enter(0);
  begin_block(e, "indices");
  Value* count = e.i64(extent);
  for (const FactorIndexed& each : comparisons) {
    Value* const lanes = lanes_before_bound(nest, e.f().value(each.value).op, dims_along(each, 1));
    count = e.b().CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, lanes);
  }
  return count;
}

Value* hold_at_ends(Emitter& e, std::int64_t extent, int axis, const std::vector<FactorIndexed>& conditions) {
  Step along_axis;
  along_axis.extents = {extent};
  Nest nest(e, along_axis);
  nest.enter(0);
  begin_block(e, "ends");
  Value* all = e.b().getTrue();
  for (const std::int64_t index : {std::int64_t{0}, extent - 1}) {
    nest.begin_lanes();
    nest.set_index(0, e.i64(index));
    for (const FactorIndexed& each : conditions) all = e.b().CreateAnd(all, nest.evaluate(each.value, dims_along(each, axis), false));
  }
  return all;
}

Value* is_whole_in_memory(Emitter& e, const InPlaceFactor& right) {
  const ir::Type t = e.f().type(e.f().result(right.load));
  Value* const has_columns = e.b().CreateICmpEQ(first_indices(e, t.extent(1), right.mask.columns), e.i64(t.extent(1)));
  return e.b().CreateAnd(has_columns, hold_at_ends(e, t.extent(0), 0, right.mask.rows));
}

void write_row_addresses(Emitter& e, const InPlaceFactor& factor, Value* live, Value* zeros, Value* into) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const std::int64_t rows = f.type(f.result(factor.load)).extent(0);
  Step along_rows;
  along_rows.extents = {rows};
  Nest nest(e, along_rows);
  nest.set_lanes(static_cast<unsigned>(std::min(rows, kAddresses)));
  nest.enter(0);
  begin_block(e, "rows");
  const auto lanes = static_cast<std::int64_t>(nest.lanes());
  const AxisMap of_rows = rows > 1 ? AxisMap{0, -1, -1, -1, -1} : kNoAxes;
  // See emit_rows in loop_nest.cpp for a loop that runs once.
  Value* const begin = nest.is_vectorised() && rows <= lanes ? e.unknown_zero() : e.i64(0);
  Value* const end = live && rows > lanes ? live : e.i64(rows);
  e.loop(begin, end, e.i64(lanes), {}, end == live, [&](Value* row, const Values&) {
    nest.begin_lanes();
    nest.set_index(0, row);
    Value* address = nest.evaluate(f.operand(factor.load, 0), of_rows, nest.is_vectorised());
    for (const FactorIndexed& each : factor.mask.rows) {
      Value* holds = nest.evaluate(each.value, each.axes, nest.is_vectorised());
      Value* none = b.CreatePtrToInt(zeros, b.getInt64Ty());
      if (nest.is_vectorised()) none = b.CreateVectorSplat(nest.lanes(), none);
      address = b.CreateSelect(holds, address, none);
    }
    b.CreateAlignedStore(address, b.CreateInBoundsGEP(b.getPtrTy(), into, row), llvm::Align(kAddressBytes));
    return Values{};
  });
}

EvenRows even_rows(Emitter& e, OpId access) {
  const ValueId pointer = e.f().operand(access, 0);
  Step along_rows;
  along_rows.extents = {e.f().type(pointer).extent(0)};
  Nest nest(e, along_rows);
  nest.enter(0);
  begin_block(e, "rows");
  const auto row = [&](std::int64_t number) {
    nest.begin_lanes();
    nest.set_index(0, e.i64(number));
    return nest.evaluate(pointer, {0, -1, -1, -1, -1}, false);
  };
  Value* const first = row(0);
  Value* const distance = along_rows.extents[0] > 1 ? e.b().CreateSub(row(1), first) : e.i64(0);
  return {e.b().CreateIntToPtr(first, e.b().getPtrTy()), distance};
}

}  // namespace tilewright::backend::host

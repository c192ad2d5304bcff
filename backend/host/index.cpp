// gather and histogram.
#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"

namespace tilewright::backend::host {

using ir::Type;

void HostLowering::emit_gather(OpId id) {
  const Type x = f_.type(f_.operand(id, 0)), index = f_.type(f_.operand(id, 1));
  const auto axis = static_cast<int>(f_.attr(id, ir::AttrName::axis));
  const std::int64_t extent = x.extent(axis), picked = index.extent(axis);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  Value *from = buffer(plan_.operand_class(id, 0)), *indices = buffer(plan_.operand_class(id, 1));
  Value* to = buffer(plan_.class_of(f_.result(id)));
  const auto place = [&](Value* outer, std::int64_t along, Value* at, Value* i) {  // row-major, of [outer, along, inner]
    Value* row = b_.CreateAdd(b_.CreateMul(outer, i64(along), "", true, true), at, "", true, true);
    return b_.CreateAdd(b_.CreateMul(row, i64(inner), "", true, true), i, "", true, true);
  };
  emit_loop(i64(0), i64(x.elements() / (extent * inner)), i64(1), {}, false, [&](Value* outer, const Values&) {
    emit_loop(i64(0), i64(picked), i64(1), {}, false, [&](Value* k, const Values&) {
      emit_loop(i64(0), i64(inner), i64(1), {}, false, [&](Value* i, const Values&) {
        Value* result = place(outer, picked, k, i);
        Value* at = b_.CreateIntCast(read_lanes(indices, index, result, 1), b_.getInt64Ty(), ir::is_signed(index.element()));
        // Modulo the extent, so that a wrong index reads a wrong element and no foreign memory.
        move_block(x, 1, to, result, from, place(outer, extent, b_.CreateAnd(at, i64(extent - 1)), i));
        return Values{};
      });
      return Values{};
    });
    return Values{};
  });
}

void HostLowering::emit_histogram(OpId id) {
  const ValueId x = f_.operand(id, 0);
  const bool masked = f_.op(id).operands.size() > 1;
  const Type t = f_.type(x), bins = f_.type(f_.result(id)), mask_type(ir::Element::boolean);
  const auto values = [&](int operand, Type type, Value* i) {
    const ValueId v = f_.operand(id, operand);
    return f_.type(v).is_scalar() ? scalar(v) : read_lanes(buffer(plan_.operand_class(id, operand)), type, i, 1);
  };
  // A table has a slot more than bins, for what does not count: no branch, and no zero to add. Elements that follow each other count in
  // tables of their own where that is worth adding them up: equal ones in one table would wait for each other's stores.
  const std::int64_t size = (bins.elements() / 16 + 1) * 16;  // whole vectors
  const std::int64_t tables = t.elements() >= 4 * bins.elements() ? 4 : 1;
  const std::int64_t bytes = tables * size * bins.element_bytes(), scratch = scratch_.allocate(bytes);
  Value* counts = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_base_, static_cast<std::uint64_t>(scratch));
  b_.CreateMemSet(counts, b_.getInt8(0), static_cast<std::uint64_t>(bytes), llvm::Align(64));
  emit_loop(i64(0), i64(t.elements()), i64(tables), {}, false, [&](Value* first, const Values&) {
    for (std::int64_t table = 0; table < tables; ++table) {
      Value* i = b_.CreateAdd(first, i64(table), "", true, true);
      // As unsigned, negative values are beyond all bins.
      Value* bin = b_.CreateIntCast(values(0, t, i), b_.getInt64Ty(), ir::is_signed(t.element()));
      bin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bin, i64(bins.elements()));
      if (masked) bin = b_.CreateSelect(values(1, mask_type, i), bin, i64(bins.elements()));
      Value* slot = b_.CreateAdd(bin, i64(table * size), "", true, true);
      write_lanes(counts, bins, slot, b_.CreateAdd(read_lanes(counts, bins, slot, 1), b_.getInt32(1)));
    }
    return Values{};
  });
  Value* to = buffer(plan_.class_of(f_.result(id)));
  const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(target_.lanes(), bins.elements()));
  emit_loop(i64(0), i64(bins.elements()), i64(lanes), {}, false, [&](Value* bin, const Values&) {
    Value* sum = read_lanes(counts, bins, bin, lanes);
    for (std::int64_t table = 1; table < tables; ++table)
      sum = b_.CreateAdd(sum, read_lanes(counts, bins, b_.CreateAdd(bin, i64(table * size), "", true, true), lanes));
    write_lanes(to, bins, bin, sum);
    return Values{};
  });
  scratch_.free(scratch);
}

}  // namespace tilewright::backend::host

// Emits gather and histogram.
#include "backend/host/steps.h"

namespace tilewright::backend::host {

void emit_gather(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const Type x = f.type(f.operand(id, 0));
  const Type index = f.type(f.operand(id, 1));
  const auto axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  const std::int64_t extent = x.extent(axis);
  const std::int64_t picked = index.extent(axis);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  Value* from = e.operand_buffer(id, 0);
  Value* indices = e.operand_buffer(id, 1);
  Value* to = e.buffer_of(f.result(id));
  // The row-major offset of [outer, at, i] in a shape [..., along, inner].
  const auto offset = [&](Value* outer, std::int64_t along, Value* at, Value* i) {
    Value* row = b.CreateAdd(b.CreateMul(outer, e.i64(along), "", true, true), at, "", true, true);
    return b.CreateAdd(b.CreateMul(row, e.i64(inner), "", true, true), i, "", true, true);
  };
  e.loop(x.elements() / (extent * inner), 1, [&](Value* outer) {
    e.loop(picked, 1, [&](Value* k) {
      e.loop(inner, 1, [&](Value* i) {
        Value* result = offset(outer, picked, k, i);
        Value* at = b.CreateIntCast(e.read_lanes(indices, index, result, 1), b.getInt64Ty(), ir::is_signed(index.element()));
        // Modulo the extent, so that a wrong index reads a wrong element of the buffer but no other memory.
        e.move_block(x, 1, to, result, from, offset(outer, extent, b.CreateAnd(at, e.i64(extent - 1)), i));
      });
    });
  });
}

void emit_histogram(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const ValueId x = f.operand(id, 0);
  const bool masked = f.op(id).operands.size() > 1;
  const Type t = f.type(x);
  const Type bins = f.type(f.result(id));
  const Type mask_type(ir::Element::boolean);
  const auto values = [&](int operand, Type type, Value* i) {
    const ValueId v = f.operand(id, operand);
    return f.type(v).is_scalar() ? e.scalar(v) : e.read_lanes(e.operand_buffer(id, operand), type, i, 1);
  };
  // A table has one slot more than bins, for elements that are not counted: so no branch and no masked addition is needed. Consecutive
  // elements are counted in different tables if adding up the tables is cheap enough: equal elements in one table would wait for each
  // other's stores.
  const std::int64_t size = (bins.elements() / 16 + 1) * 16;  // whole vectors
  const std::int64_t tables = t.elements() >= 4 * bins.elements() ? 4 : 1;
  const std::int64_t bytes = tables * size * bins.element_bytes();
  const Emitter::ScratchRange scratch = e.allocate_scratch(bytes);
  Value* counts = scratch.address;
  b.CreateMemSet(counts, b.getInt8(0), static_cast<std::uint64_t>(bytes), llvm::Align(64));
  e.loop(t.elements(), tables, [&](Value* first) {
    for (std::int64_t table = 0; table < tables; ++table) {
      Value* i = b.CreateAdd(first, e.i64(table), "", true, true);
      // As unsigned numbers, negative values are beyond all bins.
      Value* bin = b.CreateIntCast(values(0, t, i), b.getInt64Ty(), ir::is_signed(t.element()));
      bin = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bin, e.i64(bins.elements()));
      if (masked) bin = b.CreateSelect(values(1, mask_type, i), bin, e.i64(bins.elements()));
      Value* slot = b.CreateAdd(bin, e.i64(table * size), "", true, true);
      e.write_lanes(counts, bins, slot, b.CreateAdd(e.read_lanes(counts, bins, slot, 1), b.getInt32(1)));
    }
  });
  Value* to = e.buffer_of(f.result(id));
  const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(e.target().lanes(), bins.elements()));
  e.loop(bins.elements(), lanes, [&](Value* bin) {
    Value* sum = e.read_lanes(counts, bins, bin, lanes);
    for (std::int64_t table = 1; table < tables; ++table)
      sum = b.CreateAdd(sum, e.read_lanes(counts, bins, b.CreateAdd(bin, e.i64(table * size), "", true, true), lanes));
    e.write_lanes(to, bins, bin, sum);
  });
  e.free_scratch(scratch);
}

}  // namespace tilewright::backend::host

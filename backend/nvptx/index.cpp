// gather and histogram: through shared memory, at addresses that are known only at run time.
#include "backend/nvptx/index.h"

#include <bit>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/shared_tile.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::backend::nvptx {

namespace {

/// The plan for a tile in row-major order, stored by vectors as wide as the layout allows.
ir::SharedPlan row_major(const LinearLayout& l, int element_bytes) {
  ir::SharedPlan plan;
  plan.shared = LinearLayout(l.log2_extents());
  for (int i = 0; i < l.log2_elements(); ++i) plan.shared.add_basis(HardwareDim::offset, 1u << i);
  constexpr int kLog2VectorBytes = 4;
  plan.log2_store_vector = std::min(l.log2_contiguity(), kLog2VectorBytes - std::countr_zero(static_cast<unsigned>(element_bytes)));
  return plan;
}

}  // namespace

void emit_gather(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0), index = f.operand(id, 1);
  const Type element = f.type(x).scalar();
  const LinearLayout from = e.layout(x).without_free_registers();
  const Registers held = select_registers(e.registers(x), e.layout(x), from);
  const int axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  const LinearLayout& to = e.layout(index);
  // Bits of the flat index below the axis stay in place; bits above it are shifted, since the extents of x and index differ.
  const int inner = to.axis_shift(axis), picked = inner + to.log2_extents()[axis], extent = inner + from.log2_extents()[axis];
  std::vector<Value*> sources;  // flat indices
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    Value* flat = e.flat_index(to, r);
    Value* source = b.CreateAnd(flat, e.i32((std::int64_t{1} << inner) - 1));
    if (picked < to.log2_elements()) source = b.CreateOr(source, b.CreateShl(b.CreateLShr(flat, e.i32(picked)), e.i32(extent)));
    Value* at = b.CreateAnd(b.CreateIntCast(e.registers(index)[r], b.getInt32Ty(), ir::is_signed(f.type(index).element())),
                            e.i32((std::int64_t{1} << (extent - inner)) - 1));
    sources.push_back(b.CreateOr(source, b.CreateShl(at, e.i32(inner))));
  }
  e.set(f.result(id), load_elements_from_shared(e, element, held, from, sources, e.scratch_offset(id)));
}

Registers load_elements_from_shared(Emitter& e, Type type, const Registers& v, const LinearLayout& from, std::span<Value* const> flat,
                                    std::int64_t shared) {
  llvm::IRBuilder<>& b = e.b();
  const int log2_size = std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  const std::uint32_t slices = slice_count(type, from.log2_elements());
  Registers out(flat.size());
  for (std::uint32_t i = 0; i < slices; ++i) {
    const Slice slice = slice_of(type, from.log2_elements(), i);
    if (i > 0) e.barrier();
    store_tile_to_shared(e, type, v, from, row_major(from, type.element_bytes()), shared, e.redundant_thread_predicate(from), slice);
    e.barrier();
    for (std::size_t r = 0; r < flat.size(); ++r) {
      Value* at = b.CreateShl(flat[r], e.i32(log2_size));
      Value* within = slices > 1 ? b.CreateAnd(at, e.i32((std::int64_t{1} << slice.log2_bytes) - 1)) : at;
      Value* loaded = e.load_shared(type, b.CreateAdd(within, e.shared_address(shared)), 0, 1)[0];
      // Elements outside of this slice keep their values.
      if (i > 0) loaded = b.CreateSelect(b.CreateICmpEQ(b.CreateLShr(at, e.i32(slice.log2_bytes)), e.i32(i)), loaded, out[r]);
      out[r] = loaded;
    }
  }
  return out;
}

void emit_histogram(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const ValueId x = operands[0], bins = f.result(id);
  const Type element = f.type(x).scalar(), counter(ir::Element::i32);
  const LinearLayout& to = e.layout(bins);
  const bool is_scalar = f.type(x).is_scalar();
  Value* acts = is_scalar ? e.is_first_thread() : e.redundant_thread_predicate(e.layout(x));
  const std::uint32_t copies = is_scalar ? 0 : e.layout(x).free_bits(HardwareDim::reg);
  const std::uint64_t count = static_cast<std::uint64_t>(f.type(bins).elements());
  // Each element is recorded with its bin and whether it is counted; null if it always is.
  std::vector<std::pair<Value*, Value*>> counted;
  for (std::uint32_t r = 0; r < e.registers(x).size(); ++r) {
    if (r & copies) continue;
    Value* bin = e.registers(x)[r];
    const unsigned width = bin->getType()->getIntegerBitWidth();
    // Read as unsigned numbers, negative ones are too large, unless there are at least as many bins as values of the type.
    Value* counts = nullptr;
    if (width > 31 || count < std::uint64_t{1} << (width - (ir::is_signed(element.element()) ? 1 : 0)))
      counts = b.CreateICmpULT(bin, llvm::ConstantInt::get(bin->getType(), count));
    else if (ir::is_signed(element.element()))
      counts = b.CreateICmpSGE(bin, llvm::ConstantInt::get(bin->getType(), 0));
    for (Value* p : {acts, operands.size() > 1 ? e.registers(operands[1])[r] : nullptr})
      if (p) counts = counts ? b.CreateAnd(counts, p) : p;
    counted.emplace_back(b.CreateZExtOrTrunc(bin, b.getInt32Ty()), counts);
  }

  const int log2_bins = f.type(bins).log2_elements();
  const std::uint32_t slices = slice_count(counter, log2_bins);
  const int log2_slice = slice_of(counter, log2_bins, 0).log2_bytes - 2;
  const auto address = [&](Value* bin) {
    Value* within = slices > 1 ? b.CreateAnd(bin, e.i32((std::int64_t{1} << log2_slice) - 1)) : bin;
    return b.CreateAdd(e.shared_address(e.scratch_offset(id)), b.CreateShl(within, e.i32(2)));
  };
  const auto is_in_slice = [&](Value* bin, std::uint32_t slice) -> Value* {
    return slices > 1 ? b.CreateICmpEQ(b.CreateLShr(bin, e.i32(log2_slice)), e.i32(slice)) : nullptr;
  };
  Registers own, out(to.size(HardwareDim::reg));
  for (std::uint32_t r = 0; r < out.size(); ++r) own.push_back(e.flat_index(to, r));
  Value* zero[] = {e.i32(0)};
  for (std::uint32_t i = 0; i < slices; ++i) {
    if (i > 0) e.barrier();
    for (Value* bin : own)
      e.store_shared(counter, address(bin), 0, zero, is_in_slice(bin, i));  // every thread with this bin writes it: 0 may be written twice
    e.barrier();
    for (const auto& [bin, counts] : counted) {
      Value* inside = is_in_slice(bin, i);
      Value* predicate = !inside ? counts : counts ? b.CreateAnd(inside, counts) : inside;
      if (predicate)
        inline_ptx(b, "@$2 red.shared.add.u32 [$0], $1;", {address(bin), e.i32(1), predicate}, kMemory);
      else
        inline_ptx(b, "red.shared.add.u32 [$0], $1;", {address(bin), e.i32(1)}, kMemory);
    }
    e.barrier();
    for (std::size_t r = 0; r < own.size(); ++r) {
      Value* loaded = e.load_shared(counter, address(own[r]), 0, 1)[0];
      out[r] = i == 0 ? loaded : b.CreateSelect(is_in_slice(own[r], i), loaded, out[r]);
    }
  }
  e.set(bins, std::move(out));
}

}  // namespace tilewright::backend::nvptx

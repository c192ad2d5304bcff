// gather and histogram: through shared memory, by addresses that are known only when the program runs.
#include <bit>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::backend::nvptx {

namespace {

/// The tile in row-major order, stored by as wide vectors as the threads hold.
ir::SharedPlan row_major(const LinearLayout& l, int element_bytes) {
  ir::SharedPlan plan;
  plan.shared = LinearLayout(l.log2_extents());
  for (int i = 0; i < l.log2_elements(); ++i) plan.shared.add_basis(HardwareDim::offset, 1u << i);
  constexpr int kLog2VectorBytes = 4;
  plan.log2_store_vector = std::min(l.log2_contiguity(), kLog2VectorBytes - std::countr_zero(static_cast<unsigned>(element_bytes)));
  return plan;
}

}  // namespace

void NvptxLowering::emit_gather(OpId id) {
  const ValueId x = f_.operand(id, 0), index = f_.operand(id, 1);
  const Type element = f_.type(x).scalar();
  const LinearLayout from = layout(x).without_free_registers();
  Registers held;
  for (std::uint32_t r : match_registers(layout(x), from, [](std::uint32_t flat) { return flat; })) held.push_back(registers(x)[r]);
  const int axis = static_cast<int>(f_.attr(id, ir::AttrName::axis));
  const LinearLayout& to = layout(index);
  // Coordinates inside of the axis keep their bits; those outside move, as the extents differ.
  const int inner = to.axis_shift(axis), picked = inner + to.log2_extents()[axis], extent = inner + from.log2_extents()[axis];
  std::vector<Value*> places;
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    Value* flat = flat_index(to, r);
    Value* place = b_.CreateAnd(flat, i32((std::int64_t{1} << inner) - 1));
    if (picked < to.log2_elements()) place = b_.CreateOr(place, b_.CreateShl(b_.CreateLShr(flat, i32(picked)), i32(extent)));
    Value* at = b_.CreateAnd(b_.CreateIntCast(registers(index)[r], b_.getInt32Ty(), ir::is_signed(f_.type(index).element())),
                             i32((std::int64_t{1} << (extent - inner)) - 1));
    places.push_back(b_.CreateOr(place, b_.CreateShl(at, i32(inner))));
  }
  set(f_.result(id), picked_from(element, held, from, places, shared_offset(id)));
}

Registers NvptxLowering::picked_from(Type type, const Registers& v, const LinearLayout& from, std::span<Value* const> flat,
                                     std::int64_t shared) {
  const int log2_size = std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  const std::uint32_t pieces = pieces_of(type, from.log2_elements());
  Registers out(flat.size());
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const Piece piece = piece_of(type, from.log2_elements(), i);
    if (i > 0) emit_barrier();
    put_shared(type, v, from, row_major(from, type.element_bytes()), shared, is_canonical(from), piece);
    emit_barrier();
    for (std::size_t r = 0; r < flat.size(); ++r) {
      Value* at = b_.CreateShl(flat[r], i32(log2_size));
      Value* within = pieces > 1 ? b_.CreateAnd(at, i32((std::int64_t{1} << piece.log2_bytes) - 1)) : at;
      Value* loaded = load_shared(type, b_.CreateAdd(within, shared_address(shared)), 0, 1)[0];
      // What an earlier piece gave stays, unless it is of this one.
      if (i > 0) loaded = b_.CreateSelect(b_.CreateICmpEQ(b_.CreateLShr(at, i32(piece.log2_bytes)), i32(i)), loaded, out[r]);
      out[r] = loaded;
    }
  }
  return out;
}

void NvptxLowering::emit_histogram(OpId id) {
  const auto& operands = f_.op(id).operands;
  const ValueId x = operands[0], bins = f_.result(id);
  const Type element = f_.type(x).scalar(), counter(ir::Element::i32);
  const LinearLayout& to = layout(bins);
  const bool is_scalar = f_.type(x).is_scalar();
  Value* acts = is_scalar ? is_first_thread() : is_canonical(layout(x));
  const std::uint32_t copies = is_scalar ? 0 : layout(x).free_bits(HardwareDim::reg);
  const std::uint64_t count = static_cast<std::uint64_t>(f_.type(bins).elements());
  // Of each element its bin, and whether it counts (null: always).
  std::vector<std::pair<Value*, Value*>> counted;
  for (std::uint32_t r = 0; r < registers(x).size(); ++r) {
    if (r & copies) continue;
    Value* bin = registers(x)[r];
    const unsigned width = bin->getType()->getIntegerBitWidth();
    // As unsigned numbers, negative ones are too large, unless the bins are as many as the type has values, or more.
    Value* counts = nullptr;
    if (width > 31 || count < std::uint64_t{1} << (width - (ir::is_signed(element.element()) ? 1 : 0)))
      counts = b_.CreateICmpULT(bin, llvm::ConstantInt::get(bin->getType(), count));
    else if (ir::is_signed(element.element()))
      counts = b_.CreateICmpSGE(bin, llvm::ConstantInt::get(bin->getType(), 0));
    for (Value* p : {acts, operands.size() > 1 ? registers(operands[1])[r] : nullptr})
      if (p) counts = counts ? b_.CreateAnd(counts, p) : p;
    counted.emplace_back(b_.CreateZExtOrTrunc(bin, b_.getInt32Ty()), counts);
  }

  const int log2_bins = f_.type(bins).log2_elements();
  const std::uint32_t pieces = pieces_of(counter, log2_bins);
  const int log2_piece = piece_of(counter, log2_bins, 0).log2_bytes - 2;
  const auto address = [&](Value* bin) {
    Value* within = pieces > 1 ? b_.CreateAnd(bin, i32((std::int64_t{1} << log2_piece) - 1)) : bin;
    return b_.CreateAdd(shared_address(shared_offset(id)), b_.CreateShl(within, i32(2)));
  };
  const auto is_here = [&](Value* bin, std::uint32_t piece) -> Value* {
    return pieces > 1 ? b_.CreateICmpEQ(b_.CreateLShr(bin, i32(log2_piece)), i32(piece)) : nullptr;
  };
  Registers own, out(to.size(HardwareDim::reg));
  for (std::uint32_t r = 0; r < out.size(); ++r) own.push_back(flat_index(to, r));
  Value* zero[] = {i32(0)};
  for (std::uint32_t i = 0; i < pieces; ++i) {
    if (i > 0) emit_barrier();
    for (Value* bin : own) store_shared(counter, address(bin), 0, zero, is_here(bin, i));  // by every holder: 0 may be written twice
    emit_barrier();
    for (const auto& [bin, counts] : counted) {
      Value* here = is_here(bin, i);
      Value* acts_here = !here ? counts : counts ? b_.CreateAnd(here, counts) : here;
      if (acts_here)
        inline_ptx(b_, "@$2 red.shared.add.u32 [$0], $1;", {address(bin), i32(1), acts_here}, kMemory);
      else
        inline_ptx(b_, "red.shared.add.u32 [$0], $1;", {address(bin), i32(1)}, kMemory);
    }
    emit_barrier();
    for (std::size_t r = 0; r < own.size(); ++r) {
      Value* loaded = load_shared(counter, address(own[r]), 0, 1)[0];
      out[r] = i == 0 ? loaded : b_.CreateSelect(is_here(own[r], i), loaded, out[r]);
    }
  }
  set(bins, std::move(out));
}

}  // namespace tilewright::backend::nvptx

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
  put_shared(element, held, from, row_major(from, element.element_bytes()), shared_offset(id), is_canonical(from));
  emit_barrier();

  const int axis = static_cast<int>(f_.attr(id, ir::AttrName::axis));
  const LinearLayout& to = layout(index);
  // Coordinates inside of the axis keep their bits; those outside move, as the extents differ.
  const int inner = to.axis_shift(axis), picked = inner + to.log2_extents()[axis], extent = inner + from.log2_extents()[axis];
  Registers out;
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    Value* flat = flat_index(to, r);
    Value* place = b_.CreateAnd(flat, i32((std::int64_t{1} << inner) - 1));
    if (picked < to.log2_elements()) place = b_.CreateOr(place, b_.CreateShl(b_.CreateLShr(flat, i32(picked)), i32(extent)));
    Value* at = b_.CreateAnd(b_.CreateZExtOrTrunc(registers(index)[r], b_.getInt32Ty()), i32((std::int64_t{1} << (extent - inner)) - 1));
    place = b_.CreateOr(place, b_.CreateShl(at, i32(inner)));
    Value* address = b_.CreateAdd(shared_address(shared_offset(id)), b_.CreateMul(place, i32(element.element_bytes())));
    out.push_back(load_shared(element, address, 0, 1)[0]);
  }
  set(f_.result(id), std::move(out));
}

void NvptxLowering::emit_histogram(OpId id) {
  const auto& operands = f_.op(id).operands;
  const ValueId x = operands[0], bins = f_.result(id);
  const Type element = f_.type(x).scalar(), counter(ir::Element::i32);
  const LinearLayout& to = layout(bins);
  const auto bin_address = [&](Value* bin) {
    return b_.CreateAdd(shared_address(shared_offset(id)), b_.CreateShl(bin, i32(2)));
  };
  std::vector<Value*> addresses;
  Value* zero[] = {i32(0)};
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    addresses.push_back(bin_address(flat_index(to, r)));
    store_shared(counter, addresses.back(), 0, zero);  // by every thread that holds the bin: 0 may be written twice
  }
  emit_barrier();

  const bool is_scalar = f_.type(x).is_scalar();
  Value* acts = is_scalar ? is_first_thread() : is_canonical(layout(x));
  const std::uint32_t copies = is_scalar ? 0 : layout(x).free_bits(HardwareDim::reg);
  const std::uint64_t count = static_cast<std::uint64_t>(f_.type(bins).elements());
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
    Value* address = bin_address(b_.CreateZExtOrTrunc(bin, b_.getInt32Ty()));
    if (counts)
      inline_ptx(b_, "@$2 red.shared.add.u32 [$0], $1;", {address, i32(1), counts}, kMemory);
    else
      inline_ptx(b_, "red.shared.add.u32 [$0], $1;", {address, i32(1)}, kMemory);
  }
  emit_barrier();
  Registers out;
  for (Value* address : addresses) out.push_back(load_shared(counter, address, 0, 1)[0]);
  set(bins, std::move(out));
}

}  // namespace tilewright::backend::nvptx

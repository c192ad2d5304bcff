// Gives registers of tiles another shape: each element stays in its thread.
#include "backend/nvptx/shape.h"

#include <map>

namespace tilewright::backend::nvptx {

void emit_reshape(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0), y = f.result(id);
  // A tile of one element may become a scalar, and the reverse; otherwise the registers stay as they are.
  if (!f.type(y).is_scalar() && f.type(x).is_scalar()) return e.set(y, Registers(e.layout(y).size(HardwareDim::reg), e.scalar(x)));
  if (f.type(y).is_scalar()) return e.set(y, {e.registers(x)[0]});
  e.set(y, e.registers(x));
}

void emit_broadcast(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0), y = f.result(id);
  const LinearLayout& to = e.layout(y);
  if (f.type(x).is_scalar()) return e.set(y, Registers(to.size(HardwareDim::reg), e.scalar(x)));
  // Register r of the result, in the operand's coordinates, is register r of the narrowed layout.
  e.set(y, select_registers(e.registers(x), e.layout(x), to.narrowed(ir::log2_extents(f.type(x)))));
}

void emit_permute(Emitter& e, OpId id) { e.set(e.f().result(id), e.registers(e.f().operand(id, 0))); }

void emit_join(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const Registers &first = e.registers(f.operand(id, 0)), &second = e.registers(f.operand(id, 1));
  const ValueId y = f.result(id);
  const LinearLayout& l = e.layout(y);
  Registers out;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    const bool is_second = (l.apply(HardwareDim::reg, r) & 1) != 0;
    // A thread holds both scalars; the thread's part of the index selects the scalar for register 0.
    if (first.size() == 1 && f.type(f.operand(id, 0)).is_scalar()) {
      Value* takes_second = b.CreateICmpNE(b.CreateAnd(e.flat_index(l, r), e.i32(1)), e.i32(0));
      out.push_back(b.CreateSelect(takes_second, second[0], first[0]));
    } else {
      out.push_back((is_second ? second : first)[r >> 1]);
    }
  }
  e.set(y, std::move(out));
}

void emit_split(Emitter& e, OpId id) {
  const Function& f = e.f();
  const Registers& x = e.registers(f.operand(id, 0));
  Registers halves[2];
  for (std::size_t r = 0; r < x.size(); ++r) halves[r & 1].push_back(x[r]);
  for (int i = 0; i < 2; ++i) e.set(f.result(id, i), halves[i]);
}

void emit_cat(Emitter& e, OpId id) {
  const Function& f = e.f();
  Registers out = e.registers(f.operand(id, 0));
  const Registers& b = e.registers(f.operand(id, 1));
  out.insert(out.end(), b.begin(), b.end());
  e.set(f.result(id), std::move(out));
}

void emit_extract_slice(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0), y = f.result(id);
  const LinearLayout &from = e.layout(x), &to = e.layout(y);
  std::uint32_t first = 0;
  const auto& offsets = f.attr_list(id, ir::AttrName::offsets);
  for (std::size_t axis = 0; axis < offsets.size(); ++axis)
    first |= static_cast<std::uint32_t>(offsets[axis]) << from.axis_shift(static_cast<int>(axis));
  std::map<std::uint32_t, std::uint32_t> holder;
  for (std::uint32_t r = 0; r < from.size(HardwareDim::reg); ++r) holder.emplace(from.apply(HardwareDim::reg, r), r);
  Registers out;
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r)
    out.push_back(e.registers(x)[holder.at(first | from.flat(to.coordinates(to.apply(HardwareDim::reg, r))))]);
  e.set(y, std::move(out));
}

}  // namespace tilewright::backend::nvptx

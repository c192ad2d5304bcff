// Groups the registers of an access by the instruction that accesses them.
#include "backend/nvptx/access.h"

#include "passes/plans/access_plan.h"
#include "passes/plans/buffer_plan.h"

namespace tilewright::backend::nvptx {

Access plan_access(Emitter& e, OpId id, const LinearLayout* memory) {
  const Function& f = e.f();
  const LinearLayout& l = e.layout(f.operand(id, 0));
  const passes::AccessInfo info = passes::access_info(f, id, e.axes());
  std::vector<int> vector = passes::vector_bits(info, l);
  if (memory) vector.resize(static_cast<std::size_t>(passes::log2_copy_vector(l, *memory, info.pointer.pointee().element_bytes(), vector)));
  Access a;
  a.element = info.pointer.pointee().scalar();
  const std::int64_t bytes = a.element.element_bytes();
  const auto& registers = l.bases(HardwareDim::reg);
  const std::uint32_t unit = 1u << l.axis_shift(info.axis), run = 1u << info.log2_run;

  // A register bit moves the address within a run if no lane or warp contributes to this distance; then it needs no address of its own.
  const auto moves_within_run = [&](int bit) {
    const std::uint32_t basis = registers[bit];
    if ((basis & ~l.axis_mask(info.axis)) != 0 || basis / unit >= run) return false;
    const ir::F2Matrix all = l.matrix();
    for (int i = 0; i < all.width(); ++i)
      if (i != bit && (all.columns[i] & basis) != 0) return false;
    return true;
  };
  std::uint32_t within = 0, counted = l.free_bits(HardwareDim::reg);  // copies are not accessed
  for (std::size_t i = 0; i < registers.size(); ++i)
    if (moves_within_run(static_cast<int>(i))) within |= 1u << i;
  for (int bit : vector) counted |= 1u << bit;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    if (r & counted) continue;
    const std::uint32_t distance = l.apply(HardwareDim::reg, r & within) / unit;
    Access::Group& g = a.groups.emplace_back(Access::Group{{}, r & ~within, static_cast<std::int64_t>(distance) * bytes});
    for (std::uint32_t k = 0; k < 1u << vector.size(); ++k) {
      std::uint32_t member = r;
      for (std::size_t i = 0; i < vector.size(); ++i) member |= (k >> i & 1) << vector[i];
      g.registers.push_back(member);
    }
  }
  return a;
}

Value* predicate_of(Emitter& e, const Registers& active, std::span<const std::uint32_t> neighbours) {
  Value* all = active[neighbours[0]];
  if (e.options().check)
    for (std::uint32_t r : neighbours.subspan(1)) all = e.b().CreateAnd(all, active[r]);
  return all;
}

}  // namespace tilewright::backend::nvptx

// Finds copies of results by the free bits of the layout.
#include "passes/plans/atomic_plan.h"

namespace tilewright::passes {

using ir::HardwareDim;

AtomicResults atomic_results(const ir::Function& f, ir::OpId id, int num_warps) {
  const ir::ValueId result = f.result(id);
  if (!f.has_uses(result)) return AtomicResults::unused;
  if (f.type(result).is_scalar()) return num_warps == 1 ? AtomicResults::by_shuffles : AtomicResults::by_memory;
  const ir::LinearLayout& l = f.layout(result);
  const std::uint32_t lanes = l.free_bits(HardwareDim::lane);
  if (l.free_bits(HardwareDim::warp) != 0) return AtomicResults::by_memory;
  if (lanes == 0) return AtomicResults::in_place;
  // A free lane bit with a nonzero basis: lanes with this bit hold elements that the lanes without it hold in other registers.
  for (int i = 0; i < l.bits(HardwareDim::lane); ++i)
    if ((lanes >> i & 1) != 0 && l.bases(HardwareDim::lane)[i] != 0) return AtomicResults::by_memory;
  return AtomicResults::by_shuffles;
}

std::int64_t atomic_scratch(const ir::Function& f, ir::OpId id, int num_warps) {
  const ir::Type t = f.type(f.result(id));
  return atomic_results(f, id, num_warps) == AtomicResults::by_memory ? t.elements() * t.element_bytes() : 0;
}

}  // namespace tilewright::passes

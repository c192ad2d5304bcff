// Computes access widths and costs from the bases of a layout.
#include "passes/plans/access_plan.h"

#include <algorithm>
#include <bit>

#include "passes/layout/layout_cost.h"
#include "tileir/layout/f2_span.h"
#include "tileir/memory_ops.h"

namespace tilewright::passes {

using ir::HardwareDim;

namespace {

constexpr int kMaxAccessBytes = 16;
constexpr int kSectorBytes = 32;
constexpr int kCachedSectorCost = kInstructionCost / 2;
// Half of the time that device memory takes for a sector, in instructions that an SM issues meanwhile: some sectors are in its cache.
constexpr int kSectorCost = 5 * kInstructionCost;

int log2_floor(std::int64_t v) { return 63 - std::countl_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(v, 1))); }

std::uint32_t low_bits(int n) { return (1u << n) - 1; }

}  // namespace

AccessInfo access_info(const ir::Function& f, ir::OpId id, const AxisInfoAnalysis& axes) {
  const ir::ValueId pointer = f.operand(id, 0), mask = ir::mask_of(f, id);
  const AxisInfo& info = axes(pointer);
  AccessInfo a;
  a.pointer = f.type(pointer);
  const int bytes = a.pointer.pointee().element_bytes();
  for (int d = 0; d < a.pointer.rank(); ++d)
    if (info.contiguity[d] >= info.contiguity[a.axis]) a.axis = d;
  a.log2_run = std::min(log2_floor(info.contiguity[a.axis]), a.pointer.log2_extent(a.axis));
  if (ir::info(f.kind(id)).family != ir::Family::atomic) {
    a.log2_widest = std::min({a.log2_run, log2_floor(kMaxAccessBytes / bytes), log2_floor(info.divisibility[a.axis] / bytes)});
    if (mask) a.log2_widest = std::min(a.log2_widest, log2_floor(axes(mask).constancy[a.axis]));
  }
  int shift = 0;
  for (int d = a.pointer.rank() - 1; d >= 0; --d) {
    const int same = d == a.axis ? std::min(a.log2_run, log2_floor(kSectorBytes / bytes)) : log2_floor(info.constancy[d]);
    a.within_sector |= low_bits(std::min(same, a.pointer.log2_extent(d))) << shift;
    shift += a.pointer.log2_extent(d);
  }
  return a;
}

std::vector<int> vector_bits(const AccessInfo& a, const ir::LinearLayout& l) {
  const auto& registers = l.bases(HardwareDim::reg);
  const int shift = l.axis_shift(a.axis);
  const auto holder = [&](std::uint32_t unit) {
    int found = -1;
    for (int d = 0; d < ir::kHardwareDims; ++d)
      for (int i = 0; i < l.bits(static_cast<HardwareDim>(d)); ++i) {
        const std::uint32_t basis = l.bases(static_cast<HardwareDim>(d))[static_cast<std::size_t>(i)];
        if ((basis & unit) == 0) continue;
        if (d != 0 || basis != unit || found >= 0) return -1;  // another hardware bit selects elements within the vector
        found = i;
      }
    return found;
  };
  std::vector<int> bits;
  while (static_cast<int>(bits.size()) < a.log2_widest && bits.size() < registers.size()) {
    const int bit = holder(1u << (shift + static_cast<int>(bits.size())));
    if (bit < 0) break;
    bits.push_back(bit);
  }
  return bits;
}

int access_cost(const AccessInfo& a, const ir::LinearLayout& l) {
  const int vector = static_cast<int>(vector_bits(a, l).size());
  const int registers = l.bits(HardwareDim::reg) - std::popcount(l.free_bits(HardwareDim::reg));
  ir::F2Span touched;
  for (std::uint32_t basis : l.bases(HardwareDim::lane)) touched.insert(basis & ~a.within_sector);
  const int sectors = 1 << touched.dimension();
  // If several warps access the same sector, all but one get it from the first-level cache.
  const int own = std::max(sectors >> std::popcount(l.free_bits(HardwareDim::warp)), 1);
  return (kInstructionCost + kCachedSectorCost * (sectors - own) + kSectorCost * own) << std::min(registers - vector, 20);
}

}  // namespace tilewright::passes

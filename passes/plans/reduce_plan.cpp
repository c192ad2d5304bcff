// Plans exchanges between warps, as layouts of partial results.
#include "passes/plans/reduce_plan.h"

#include <bit>

#include "tileir/layout/f2_span.h"

namespace tilewright::passes {

using ir::HardwareDim;
using ir::LinearLayout;
using ir::ReduceStep;

ReducePlan plan_reduce(const LinearLayout& l, int axis, bool commutative) {
  ReducePlan plan;
  plan.steps = ir::reduce_steps(l, axis, commutative);
  const int shift = l.axis_shift(axis), along = l.log2_extents()[static_cast<std::size_t>(axis)];
  std::uint32_t combined_bits = 0;  // register bits
  ir::F2Span combined;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ReduceStep& step = plan.steps[i];
    if (step.lane == 0 && step.warp == 0) {
      const std::uint32_t rest = combined.reduce(step.reg).value;
      combined.insert(step.reg);
      combined_bits |= std::bit_floor(rest);
    }
    if (!step.crosses_warps()) continue;
    ReduceExchange x;
    x.first = i;
    while (i + x.count < plan.steps.size() && plan.steps[i + x.count].crosses_warps()) ++x.count;
    // Sides are in the order of warp bits, whichever step comes first: then addresses follow from the warp's number without a permutation.
    for (std::size_t t = 0; t < x.count; ++t) x.bits.push_back(static_cast<int>(commutative ? x.count - 1 - t : t));
    // The index of a partial result: the result that it belongs to, then its side in each step from here on.
    const auto index_of = [&](std::uint32_t flat) {
      const std::uint32_t index = (flat & l.axis_mask(axis)) >> shift;
      std::uint32_t sides = 0;
      for (std::size_t s = x.first; s < plan.steps.size(); ++s) {
        const std::size_t t = s - x.first, bit = t < x.count ? static_cast<std::size_t>(x.bits[t]) : t;
        sides |= static_cast<std::uint32_t>(std::popcount(index & plan.steps[s].later) & 1) << bit;
      }
      const std::uint32_t result = (flat & ((1u << shift) - 1)) | flat >> (shift + along) << shift;
      return result << (plan.steps.size() - x.first) | sides;
    };
    const std::uint32_t together = (1u << x.count) - 1;
    const std::vector<int> extents{l.log2_elements() - along + static_cast<int>(plan.steps.size() - x.first)};
    x.partials = x.wanted = LinearLayout(extents);
    for (std::size_t t = 0; t < x.count; ++t) x.wanted.add_basis(HardwareDim::reg, 1u << t);
    const auto add = [&](HardwareDim d, std::uint32_t basis) {
      x.partials.add_basis(d, index_of(basis));
      x.wanted.add_basis(d, index_of(basis) & ~together);
    };
    for (int bit = 0; bit < l.bits(HardwareDim::reg); ++bit) {
      if ((combined_bits >> bit & 1) != 0) continue;
      x.register_bits.push_back(bit);
      add(HardwareDim::reg, l.bases(HardwareDim::reg)[static_cast<std::size_t>(bit)]);
    }
    for (const HardwareDim d : {HardwareDim::lane, HardwareDim::warp})
      for (const std::uint32_t basis : l.bases(d)) add(d, basis);
    i += x.count - 1;
    plan.exchanges.push_back(std::move(x));
  }
  return plan;
}

std::int64_t exchange_bytes(const ReduceExchange& x, const ir::Type& element) {
  constexpr std::int64_t kWidestAccess = 16;
  const std::int64_t bytes = (std::int64_t{1} << x.partials.log2_elements()) * element.element_bytes();
  return (bytes + kWidestAccess - 1) / kWidestAccess * kWidestAccess;
}

}  // namespace tilewright::passes

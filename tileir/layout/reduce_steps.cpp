// Finds the steps of a reduce. A hardware coordinate moves along the axis alone if it is in the kernel of the layout's map to the other
// axes.
#include "tileir/layout/reduce_steps.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::ir {

namespace {

struct Way {
  std::uint32_t hardware, axis;
};

/// Hardware coordinates that move along the axis only, one for each of its bits. Those of registers come first, then of lanes, then of
/// warps.
std::vector<Way> ways_along(const LinearLayout& l, int axis) {
  const F2Matrix all = l.matrix();
  const std::uint32_t mask = l.axis_mask(axis);
  F2Matrix across = all;
  for (std::uint32_t& column : across.columns) column &= ~mask;
  std::vector<Way> ways;
  F2Span reached;
  for (const std::uint32_t hardware : across.kernel()) {
    const std::uint32_t along = all(hardware) >> l.axis_shift(axis);
    if (reached.insert(along)) ways.push_back({hardware, along});
  }
  TW_CHECK(static_cast<int>(ways.size()) == l.log2_extents()[static_cast<std::size_t>(axis)], "a reduced tile holds every element");
  return ways;
}

}  // namespace

std::vector<ReduceStep> reduce_steps(const LinearLayout& l, int axis, bool commutative) {
  std::vector<Way> ways = ways_along(l, axis);
  const int registers = l.bits(HardwareDim::reg), lanes = l.bits(HardwareDim::lane);
  const auto dimension = [&](const Way& w) {
    const int top = std::bit_width(w.hardware) - 1;
    return top < registers ? 0 : top < registers + lanes ? 1 : 2;
  };
  const auto count = static_cast<std::uint32_t>(ways.size());
  if (commutative) {
    std::stable_sort(ways.begin(), ways.end(), [&](const Way& a, const Way& b) {
      return dimension(a) != dimension(b) ? dimension(a) < dimension(b) : a.axis > b.axis;
    });
  } else {
    F2Span span;
    for (std::uint32_t i = 0; i < count; ++i) span.insert(ways[i].axis, 1u << i);
    std::vector<Way> neighbours;
    for (std::uint32_t bit = 0; bit < count; ++bit) {
      Way& way = neighbours.emplace_back(Way{0, 1u << bit});
      for (std::uint32_t parts = span.reduce(1u << bit).inputs; parts != 0; parts &= parts - 1)
        way.hardware ^= ways[static_cast<std::size_t>(std::countr_zero(parts))].hardware;
    }
    ways = std::move(neighbours);
  }
  std::vector<ReduceStep> steps;
  for (const Way& w : ways)
    steps.push_back({w.hardware & ((1u << registers) - 1), w.hardware >> registers & ((1u << lanes) - 1), w.hardware >> (registers + lanes),
                     w.axis, 0});
  // The directions are a basis of the axis; `later` of a step is the coefficient of an index for its direction, as a parity mask.
  F2Span basis;
  for (std::uint32_t i = 0; i < count; ++i) basis.insert(steps[i].axis, 1u << i);
  for (std::uint32_t bit = 0; bit < count; ++bit)
    for (std::uint32_t parts = basis.reduce(1u << bit).inputs; parts != 0; parts &= parts - 1)
      steps[static_cast<std::size_t>(std::countr_zero(parts))].later |= 1u << bit;
  return steps;
}

}  // namespace tilewright::ir

// Finds the steps of a reduce. A change of the hardware coordinate moves along the axis only if it is in the kernel of the layout's map to
// the other axes.
#include "tileir/layout/reduce_steps.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::ir {

namespace {

struct Direction {
  std::uint32_t hardware, axis;
};

/// Changes of the hardware coordinate that move along the axis only, one for each bit of the axis: first those of registers, then of lanes,
/// then of warps.
std::vector<Direction> directions_along(const LinearLayout& l, int axis) {
  const F2Matrix all = l.matrix();
  const std::uint32_t mask = l.axis_mask(axis);
  F2Matrix across = all;
  for (std::uint32_t& column : across.columns) column &= ~mask;
  std::vector<Direction> directions;
  F2Span reached;
  for (const std::uint32_t hardware : across.kernel()) {
    const std::uint32_t along = all(hardware) >> l.axis_shift(axis);
    if (reached.insert(along)) directions.push_back({hardware, along});
  }
  TW_CHECK(static_cast<int>(directions.size()) == l.log2_extents()[static_cast<std::size_t>(axis)], "a reduced tile holds every element");
  return directions;
}

}  // namespace

std::vector<ReduceStep> reduce_steps(const LinearLayout& l, int axis, bool commutative) {
  std::vector<Direction> directions = directions_along(l, axis);
  const int registers = l.bits(HardwareDim::reg), lanes = l.bits(HardwareDim::lane);
  const auto dimension = [&](const Direction& w) {
    const int top = std::bit_width(w.hardware) - 1;
    return top < registers ? 0 : top < registers + lanes ? 1 : 2;
  };
  const auto count = static_cast<std::uint32_t>(directions.size());
  if (commutative) {
    std::stable_sort(directions.begin(), directions.end(), [&](const Direction& a, const Direction& b) {
      return dimension(a) != dimension(b) ? dimension(a) < dimension(b) : a.axis > b.axis;
    });
  } else {
    F2Span span;
    for (std::uint32_t i = 0; i < count; ++i) span.insert(directions[i].axis, 1u << i);
    std::vector<Direction> neighbours;
    for (std::uint32_t bit = 0; bit < count; ++bit) {
      Direction& direction = neighbours.emplace_back(Direction{0, 1u << bit});
      for (std::uint32_t parts = span.reduce(1u << bit).inputs; parts != 0; parts &= parts - 1)
        direction.hardware ^= directions[static_cast<std::size_t>(std::countr_zero(parts))].hardware;
    }
    directions = std::move(neighbours);
  }
  std::vector<ReduceStep> steps;
  for (const Direction& w : directions)
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

// Generates random layouts.
#include "tests/unit/tileir/random_layouts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tileir/layout/f2_span.h"

namespace tilewright::ir::test {

std::vector<int> RandomLayouts::extents(int least, int most) {
  std::vector<int> e(static_cast<std::size_t>(number(1, 4)));
  for (int bits = number(least, most); bits > 0; --bits) ++e[static_cast<std::size_t>(number(0, static_cast<int>(e.size()) - 1))];
  return e;
}

std::vector<int> RandomLayouts::order(std::size_t rank) {
  std::vector<int> o(rank);
  std::iota(o.begin(), o.end(), 0);
  std::shuffle(o.begin(), o.end(), random_);
  return o;
}

LinearLayout RandomLayouts::any(const std::vector<int>& log2_extents, int log2_warps) {
  const bool matrix = log2_extents.size() == 2 && log2_extents[0] >= 4 && log2_extents[1] >= 4;
  switch (number(matrix ? 0 : 1, 5)) {
    case 0: return fragment(log2_extents, log2_warps);
    case 1: return slice(log2_extents, log2_warps);
    case 2: return mixed(log2_extents, log2_warps);
    case 3: {  // through other axes and back: bases that belong to several axes
      const LinearLayout flat = blocked({std::accumulate(log2_extents.begin(), log2_extents.end(), 0)}, log2_warps);
      return flat.reshaped(log2_extents);
    }
    default: return blocked(log2_extents, log2_warps);
  }
}

LinearLayout RandomLayouts::blocked(const std::vector<int>& log2_extents, int log2_warps) {
  const std::size_t rank = log2_extents.size();
  if (chance(50)) return blocked_layout(log2_extents, number(0, 4), order(rank), log2_warps);
  BlockedLayout b{std::vector<int>(rank), std::vector<int>(rank), std::vector<int>(rank), order(rank)};
  const auto deal = [&](std::vector<int>& bits, int count) {
    for (; count > 0; --count) ++bits[static_cast<std::size_t>(number(0, static_cast<int>(rank) - 1))];
  };
  deal(b.log2_per_thread, number(0, 4));
  deal(b.log2_lanes, 5);
  deal(b.log2_warps, log2_warps);
  return blocked_layout(log2_extents, b);
}

LinearLayout RandomLayouts::slice(const std::vector<int>& log2_extents, int log2_warps) {
  std::vector<int> more = log2_extents;
  const int axis = number(0, static_cast<int>(more.size()));
  more.insert(more.begin() + axis, number(1, 5));
  const LinearLayout sliced = blocked(more, log2_warps).without_axis(axis);
  return chance(50) ? sliced.without_free_registers() : sliced;
}

LinearLayout RandomLayouts::fragment(const std::vector<int>& log2_extents, int log2_warps) {
  LinearLayout l({4, 3});
  const auto bases = [&](HardwareDim d, std::initializer_list<std::array<std::uint32_t, 2>> all) {
    for (const auto& c : all) l.add_basis(d, l.flat(c));
  };
  if (chance(50)) {  // the accumulator: rows by lanes, pairs of columns by registers
    bases(HardwareDim::reg, {{0, 1}, {8, 0}});
    bases(HardwareDim::lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}});
  } else {  // eight columns by lanes
    bases(HardwareDim::reg, {{1, 0}, {8, 0}});
    bases(HardwareDim::lane, {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}});
  }
  const std::vector<int> left = {log2_extents[0] - 4, log2_extents[1] - 3};
  const LinearLayout repeated = blocked_layout(left, number(0, 1), order(2), log2_warps, 0);
  return l * repeated;
}

LinearLayout RandomLayouts::mixed(const std::vector<int>& log2_extents, int log2_warps) {
  LinearLayout l(log2_extents);
  const int bits = l.log2_elements();
  const auto vector = [&] { return bits == 0 ? 0 : static_cast<std::uint32_t>(number(0, (1 << bits) - 1)); };
  F2Span span;
  const auto add = [&](HardwareDim d, bool wanted) {
    std::uint32_t v = vector();
    if (wanted && span.dimension() < bits)
      while (span.contains(v)) v = vector();
    else if (chance(50))
      v = 0;
    span.insert(v);
    l.add_basis(d, v);
  };
  const int in_threads = std::min(bits, number(0, 5 + log2_warps));
  for (int i = 0; i < bits - in_threads; ++i) add(HardwareDim::reg, true);
  if (chance(20)) add(HardwareDim::reg, false);
  for (int i = 0; i < 5; ++i) add(HardwareDim::lane, chance(70));
  for (int i = 0; i < log2_warps; ++i) add(HardwareDim::warp, true);
  while (span.dimension() < bits) add(HardwareDim::reg, true);
  return l;
}

}  // namespace tilewright::ir::test

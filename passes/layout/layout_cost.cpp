// Costs as counts of instructions, and the constants for barriers and shuffles.
#include "passes/layout/layout_cost.h"

#include <algorithm>
#include <bit>

#include "tileir/layout/movement.h"

namespace tilewright::passes {

namespace {

/// Approximately the latency of a barrier and of shared memory for a warp.
constexpr int kBarrierCost = 30 * kInstructionCost;
constexpr int kShuffleCost = 2 * kInstructionCost;  // half the rate of arithmetic

int held_registers(const LinearLayout& l) { return 1 << (l.bits(HardwareDim::reg) - std::popcount(l.free_bits(HardwareDim::reg))); }

int words(int registers, int bytes) { return std::max(registers * bytes / 4, 1); }

}  // namespace

int conversion_cost(const LinearLayout& from, const LinearLayout& to, int element_bytes) {
  const int stored = held_registers(from), loaded = held_registers(to);
  switch (ir::movement(from, to)) {
    case ir::Movement::none:
    case ir::Movement::registers: return 0;
    case ir::Movement::intra_thread: return words(loaded, 4) * 2 * kInstructionCost;
    case ir::Movement::intra_warp: return loaded * std::max(element_bytes / 4, 1) * (kShuffleCost + kInstructionCost);
    default: {
      // One side uses accesses of 16 bytes, the other side words of 8 bytes on average. The banks serve a warp with 128 bytes a cycle.
      const int store_words = words(stored, element_bytes), load_words = words(loaded, element_bytes);
      const int instructions = std::max(store_words / 4, 1) + std::max(load_words / 2, 1);
      return kBarrierCost + (instructions + store_words + load_words) * kInstructionCost;
    }
  }
}

int reduction_cost(const LinearLayout& l, int axis, int results) {
  const std::uint32_t along = l.axis_mask(axis);
  const auto bits_along = [&](HardwareDim d) {
    const std::uint32_t free = l.free_bits(d);
    int n = 0;
    for (int i = 0; i < l.bits(d); ++i) n += (l.bases(d)[static_cast<std::size_t>(i)] & along) != 0 && (free >> i & 1) == 0;
    return n;
  };
  const int registers = held_registers(l), left = registers >> bits_along(HardwareDim::reg);
  const int lanes = bits_along(HardwareDim::lane), warps = bits_along(HardwareDim::warp);
  int cost = (registers - left) * kInstructionCost + left * lanes * (kShuffleCost + kInstructionCost);
  if (warps > 0) cost += (left * 2 + (left << warps)) * kInstructionCost;
  return cost * results + (warps > 0 ? kBarrierCost : 0);
}

int ConversionCosts::operator()(ir::LayoutId from, ir::LayoutId to, const ir::Type& t) {
  if (from == to) return 0;
  const int bytes = t.element_bytes();
  const auto [at, is_new] = known_.try_emplace({from.index, to.index, bytes}, 0);
  if (is_new) at->second = conversion_cost(f_.layout(from), f_.layout(to), bytes);
  return at->second;
}

}  // namespace tilewright::passes

// Random layouts for tests of laws: each family that the compiler uses, and arbitrary ones.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "tileir/layout/layout_builders.h"

namespace tilewright::ir::test {

/// A source of layouts. One whose seed is fixed always gives the same.
class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint32_t seed) : random_(seed) {}

  /// Both ends included.
  int number(int lo, int hi) { return std::uniform_int_distribution(lo, hi)(random_); }
  bool chance(int percent) { return number(1, 100) <= percent; }
  /// Extents of rank 1 to 4 (log2), at least 2^least elements, at most 2^most.
  std::vector<int> extents(int least, int most);

  /// Surjective, with 2^log2_warps warps of 32 lanes; copies in registers, lanes and warps happen.
  LinearLayout any(const std::vector<int>& log2_extents, int log2_warps);
  LinearLayout blocked(const std::vector<int>& log2_extents, int log2_warps);
  /// The layout that a reduce leaves of a blocked layout with one more axis.
  LinearLayout slice(const std::vector<int>& log2_extents, int log2_warps);
  /// Fragments of tensor cores: the accumulator or an operand of m16n8, repeated. Requires: rank 2, extents at least 16.
  LinearLayout fragment(const std::vector<int>& log2_extents, int log2_warps);
  /// A random matrix: every basis may touch every axis.
  LinearLayout mixed(const std::vector<int>& log2_extents, int log2_warps);

 private:
  std::vector<int> order(std::size_t rank);
  std::mt19937 random_;
};

}  // namespace tilewright::ir::test

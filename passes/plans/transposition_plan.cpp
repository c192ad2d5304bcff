// Tries a few layouts, and takes the one with the fewest wavefronts of shared memory, then the fewest instructions.
#include "passes/plans/transposition_plan.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "passes/plans/buffer_plan.h"

namespace tilewright::passes {

namespace {

using ir::HardwareDim;
using ir::LinearLayout;

constexpr int kLaneBits = 5;
constexpr int kLog2VectorBytes = 4;
constexpr int kWordBits = 2;    // of a byte's number in a word
constexpr int kMatrixBits = 4;  // of a byte's number in a row that ldmatrix reads
constexpr int kRowLanes = 2;    // lane bits that select rows for ldmatrix, if it transposes
constexpr int kNone = 31;       // no bit of a coordinate

/// Gives the bits of both coordinates to registers, lanes and warps.
class LayoutMaker {
 public:
  LayoutMaker(const std::vector<int>& log2_extents, int inner)
      : layout_(log2_extents),
        axes_{inner, 1 - inner},
        bits_{log2_extents[static_cast<std::size_t>(inner)], log2_extents[static_cast<std::size_t>(1 - inner)]},
        is_used_{std::vector<bool>(static_cast<std::size_t>(bits_[0])), std::vector<bool>(static_cast<std::size_t>(bits_[1]))} {}

  bool has(int which, int bit) const { return bit < bits_[which] && !is_used_[which][static_cast<std::size_t>(bit)]; }
  /// The next hardware bit is this bit of a coordinate; which: 0 is the inner axis of the target.
  void add(HardwareDim d, int which, int bit) {
    is_used_[which][static_cast<std::size_t>(bit)] = true;
    layout_.add_basis(d, basis(which, bit));
  }
  /// The next lane bit is a bit of the inner axis, which also moves along the other one; that bit of the other axis stays unused.
  void add_diagonal_lane(int bit, int other) {
    is_used_[0][static_cast<std::size_t>(bit)] = true;
    layout_.add_basis(HardwareDim::lane, basis(0, bit) | (other < bits_[1] ? basis(1, other) : 0));
  }

  /// The bits that are left select registers; of them, the last ones select warps, and lanes that are missing hold copies.
  LinearLayout finish(int log2_warps) && {
    std::vector<std::uint32_t> left;
    for (int which : {0, 1})
      for (int bit = 0; bit < bits_[which]; ++bit)
        if (has(which, bit)) left.push_back(basis(which, bit));
    for (int i = layout_.bits(HardwareDim::lane); i < kLaneBits; ++i) {
      layout_.add_basis(HardwareDim::lane, left.empty() ? 0 : left.back());
      if (!left.empty()) left.pop_back();
    }
    for (int i = 0; i < log2_warps; ++i) {
      layout_.add_basis(HardwareDim::warp, left.empty() ? 0 : left.back());
      if (!left.empty()) left.pop_back();
    }
    for (std::uint32_t b : left) layout_.add_basis(HardwareDim::reg, b);
    return std::move(layout_);
  }

 private:
  std::uint32_t basis(int which, int bit) const { return 1u << (layout_.axis_shift(axes_[which]) + bit); }

  LinearLayout layout_;
  const int axes_[2], bits_[2];
  std::vector<bool> is_used_[2];
};

}  // namespace

LinearLayout transposing_layout(const LinearLayout& source, const LinearLayout& target, int inner, int element_bytes, int num_warps) {
  const std::vector<int>& extents = source.log2_extents();
  const int along = extents[static_cast<std::size_t>(inner)], across = extents[static_cast<std::size_t>(1 - inner)];
  const int log2_warps = std::countr_zero(static_cast<unsigned>(num_warps));
  const int log2_vector = kLog2VectorBytes - std::countr_zero(static_cast<unsigned>(element_bytes));
  std::optional<LinearLayout> best;
  AccessCost least{};
  const auto consider = [&](LinearLayout layout) {
    const AccessCost cost = access_cost(layout, source, target, element_bytes);
    if (!best || cost < least) best = std::move(layout), least = cost;
  };
  if (element_bytes == 1 && along >= kWordBits + kRowLanes && across >= kMatrixBits) {
    // Words along `inner`; along the rows of the source the bytes of a pair, and three lane bits. The other two lane bits may also move by
    // whole rows of ldmatrix.
    constexpr std::pair<int, int> kMoves[] = {{kNone, kNone}, {kMatrixBits, kMatrixBits + 1}, {kMatrixBits + 1, kMatrixBits + 2}};
    for (int vector = std::min(log2_vector, along - kRowLanes); vector >= kWordBits; --vector)
      for (int first = vector; first < along; ++first)
        for (int second = first + 1; second < along; ++second)
          for (const auto& [by_first, by_second] : kMoves) {
            LayoutMaker made(extents, inner);
            for (int bit = 0; bit < kWordBits; ++bit) made.add(HardwareDim::reg, 0, bit);
            made.add(HardwareDim::reg, 1, 0);
            for (int bit = kWordBits; bit < vector; ++bit) made.add(HardwareDim::reg, 0, bit);
            made.add_diagonal_lane(first, by_first);
            made.add_diagonal_lane(second, by_second);
            for (int bit = 1; bit < kMatrixBits; ++bit) made.add(HardwareDim::lane, 1, bit);
            consider(std::move(made).finish(log2_warps));
          }
  } else {
    for (int vector = std::min({log2_vector, along, across}); vector >= 0; --vector) {
      LayoutMaker made(extents, inner);
      for (int which : {0, 1})
        for (int bit = 0; bit < vector; ++bit) made.add(HardwareDim::reg, which, bit);
      for (int i = vector; i < vector + kLaneBits && i < along; ++i) made.add_diagonal_lane(i, i);
      consider(std::move(made).finish(log2_warps));
    }
  }
  return *best;
}

}  // namespace tilewright::passes

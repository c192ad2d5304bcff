// Builders of blocked and of replicated layouts.
#include "tileir/layout/layout_builders.h"

#include <doctest/doctest.h>

#include <array>

namespace tilewright::ir {
namespace {

TEST_CASE("blocked_layout: vectors, then lanes, then warps along the fastest axis first; registers take the rest") {
  const LinearLayout l = blocked_layout({4, 6}, 2, std::array{1, 0}, 2);
  CHECK(text(l) == "{register = [[0, 1], [0, 2], [8, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]]}");
  const LinearLayout transposed = blocked_layout({6, 4}, 2, std::array{0, 1}, 2);
  CHECK(transposed == l.permuted(std::array<std::int64_t, 2>{1, 0}));
}

TEST_CASE("blocked_layout: what a small tile does not need, lanes and warps hold copies of") {
  const LinearLayout l = blocked_layout({3}, 1, std::array{0}, 1);
  CHECK(text(l) == "{register = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [[0]]}");
  CHECK(l.free_bits(HardwareDim::lane) == 0b11100);
  CHECK(l.free_bits(HardwareDim::warp) == 1);
  // A vector is not longer than the row.
  CHECK(text(blocked_layout({1, 1}, 4, std::array{1, 0}, 0)) == "{register = [[0, 1]], lane = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]}");
}

TEST_CASE("blocked_layout: by axis, as Triton's sizePerThread, threadsPerWarp and warpsPerCTA") {
  const BlockedLayout b{{0, 2}, {3, 2}, {1, 1}, {1, 0}};
  CHECK(text(blocked_layout({5, 5}, b)) ==
        "{register = [[0, 1], [0, 2], [16, 0]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[0, 16], [8, 0]]}");
  // Lanes and warps beyond an extent hold copies, registers beyond it are left out.
  CHECK(text(blocked_layout({3, 3}, b)) ==
        "{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]}");
}

TEST_CASE("blocked_layout: a scalar is held by every thread") {
  const LinearLayout l = blocked_layout({}, 2, {}, 1);
  CHECK(text(l) == "{lane = [[], [], [], [], []], warp = [[]]}");
  CHECK(l.is_surjective());
  CHECK(l == replicated_layout({}, 1));
}

TEST_CASE("replicated_layout: every thread holds every element") {
  const LinearLayout l = replicated_layout({1, 2}, 1);
  CHECK(text(l) == "{register = [[0, 1], [0, 2], [1, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0]]}");
  CHECK(l.log2_contiguity() == 3);
  CHECK(l.free_bits(HardwareDim::lane) == 31);
}

}  // namespace
}  // namespace tilewright::ir

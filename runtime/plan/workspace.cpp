// First-fit placement of tensors by liveness.
#include "runtime/plan/workspace.h"

#include <algorithm>
#include <numeric>

namespace tilewright::detail {

namespace {

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment; }

}  // namespace

WorkspaceLayout place_tensors(std::span<const LiveTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tensors[a].bytes > tensors[b].bytes; });

  WorkspaceLayout layout{std::vector<std::uint64_t>(tensors.size()), 0};
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t t : order) {
    const LiveTensor& mine = tensors[t];
    std::uint64_t offset = 0;
    for (const std::size_t p : placed) {
      const LiveTensor& other = tensors[p];
      if (other.last < mine.first || mine.last < other.first) continue;
      if (offset + aligned(mine.bytes) <= layout.offsets[p]) break;
      offset = std::max(offset, layout.offsets[p] + aligned(other.bytes));
    }
    layout.offsets[t] = offset;
    layout.bytes = std::max(layout.bytes, offset + aligned(mine.bytes));
    const auto next =
        std::upper_bound(placed.begin(), placed.end(), offset, [&](std::uint64_t o, std::size_t p) { return o < layout.offsets[p]; });
    placed.insert(next, t);
  }
  return layout;
}

}  // namespace tilewright::detail

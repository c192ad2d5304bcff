// Places the tensors of a run in one allocation by liveness.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::detail {

/// Every tensor of a workspace starts at a multiple of this many bytes.
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

/// A tensor that is first used by kernel `first` and last used by kernel `last`.
struct LiveTensor {
  std::uint64_t bytes;
  int first, last;
};

struct WorkspaceLayout {
  std::vector<std::uint64_t> offsets;  // by tensor, in bytes
  std::uint64_t bytes = 0;
};

/// First-fit placement, the largest tensor first: a tensor takes the lowest offset at which it overlaps no tensor that is live at the same
/// time.
WorkspaceLayout place_tensors(std::span<const LiveTensor>);

}  // namespace tilewright::detail

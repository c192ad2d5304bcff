// Places tensors of one run in one allocation by liveness.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::detail {

/// Every tensor of a workspace starts at a multiple of this many bytes.
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

/// A tensor that kernel `first` is the first to use and kernel `last` the last.
struct LiveTensor {
  std::uint64_t bytes;
  int first, last;
};

struct WorkspaceLayout {
  std::vector<std::uint64_t> offsets;  // by tensor, in bytes
  std::uint64_t bytes = 0;
};

/// First fit, the largest tensor first: a tensor takes the lowest offset at which it overlaps no tensor that is live at the same
/// kernel.
WorkspaceLayout place_tensors(std::span<const LiveTensor>);

}  // namespace tilewright::detail

// Vector clocks: what an agent of a block (a warp, or an asynchronous engine of one) knows to have happened before.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "runtime/emulator/scalar_types.h"

namespace tilewright::rt::emulator {

inline constexpr int kMaxWarps = 32;
// Agents of a block: its warps, then the cp.async engine of each warp.
inline constexpr int kAgents = 2 * kMaxWarps;
inline constexpr int async_agent(int warp) { return kMaxWarps + warp; }

/// For each agent of one block, up to which of its epochs all accesses are known to be done.
struct Clock {
  std::array<u32, kAgents> at{};

  void join(const Clock& other) {
    for (int i = 0; i < kAgents; ++i) at[i] = std::max(at[i], other.at[i]);
  }
};

/// What is known of other blocks, by their tickets. Shared and immutable, since most warps of a launch know nothing or the same.
using Foreign = std::map<u32, Clock>;
using ForeignRef = std::shared_ptr<const Foreign>;

ForeignRef join(const ForeignRef& a, const ForeignRef& b);

}  // namespace tilewright::rt::emulator

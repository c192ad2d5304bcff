// The four warps that execute wgmma and setmaxnreg together.
#pragma once
#include <fmt/format.h>

#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

inline constexpr int kGroupWarps = 4;

/// Whether the block has all warps of this warp's group; otherwise a diagnostic.
inline bool is_whole_group(Warp& warp, const Instruction& i) {
  const std::size_t first = static_cast<std::size_t>(warp.index / kGroupWarps * kGroupWarps);
  if (first + kGroupWarps <= warp.block->warps.size()) return true;
  report(warp, i, DiagnosticKind::divergent, 0,
         [&] { return fmt::format("the block has {} warps: this one has no warpgroup of four", warp.block->warps.size()); });
  return false;
}

}  // namespace tilewright::rt::emulator

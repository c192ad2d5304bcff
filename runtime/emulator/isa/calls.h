// Calls of functions, each lane with a stack of its own: frames, arguments and results.
#pragma once
#include <utility>
#include <vector>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct CallOptions {
  u32 site = 0;  // index in Kernel::calls
};

/// Gives each lane of a call a frame that contains its arguments. Returns which lanes go to which of Kernel::callees; empty if a diagnostic
/// ends the launch.
std::vector<std::pair<u32, Mask>> enter_functions(Warp&, const Instruction& call, Mask);

/// The start of a lane's local memory.
inline std::byte* local_memory(const Warp& warp, int lane) { return warp.local + static_cast<u64>(lane) * warp.kernel->local_bytes; }

/// The bytes that a call passes, in the caller's register or frame.
std::byte* address_of_passed(Warp&, const Instruction& call, const Passed&, int lane);

}  // namespace tilewright::rt::emulator

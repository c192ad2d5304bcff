// The allocations of global memory as a launch sees them.
#pragma once
#include <string>

#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

/// The allocation that contains an address, or null.
const Range* global_range(Worker&, u64 address);
/// The text for an access that is out of bounds.
std::string describe_global(Worker&, u64 address, u64 bytes);

}  // namespace tilewright::rt::emulator

// Runs PTX on the processor, for the emulated device. It shares no code with the compiler whose output it executes.
#pragma once
#include <string_view>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/state/diagnostics.h"
#include "runtime/emulator/state/launch_params.h"

namespace tilewright::rt::emulator {

/// Whether the emulated device ("sm_90a") runs PTX of this .target: of an equal or older one; "a" targets run only on the same device.
bool can_run(std::string_view ptx_target, std::string_view device);

/// Runs a kernel to its end. Returns false if there are diagnostics, also if they are not collected; the kernel may then have been
/// stopped early. A launch that cannot end, because all warps wait for each other or for memory that no warp will write, and a launch
/// that is given up, cause a diagnostic that says where the warps are and what they wait for. Remarks (Diagnostics::remarks) change
/// nothing.
/// Throws Error, with the line of the PTX, if the launch itself is wrong: unknown kernel, too many threads or too much shared memory,
/// clusters that do not divide the grid, too few bytes of parameters, a target that this device cannot run.
bool launch(const LoadedModule&, std::string_view kernel, Memory&, const LaunchParams&);

}  // namespace tilewright::rt::emulator

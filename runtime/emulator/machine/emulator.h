// Runs PTX on the processor: what the emulated device is made of. It shares nothing with the compiler whose output it executes.
#pragma once
#include <string_view>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/state/diagnostics.h"
#include "runtime/emulator/state/launch_params.h"

namespace tilewright::rt::emulator {

/// Whether the emulated device ("sm_90a") runs PTX of this .target: an equal or older one, and "a" targets only on their own.
bool can_run(std::string_view ptx_target, std::string_view device);

/// Runs a kernel to its end. False if there are diagnostics, or would be were they asked for; the kernel may have been cut short then. A
/// launch that cannot end, for all warps wait for each other or for what no warp will write, and one that is given up are diagnostics that
/// say where the warps are and what they wait for. Remarks
/// (Diagnostics::remarks) change nothing.
/// Throws Error, naming the line of the PTX, if the launch itself is wrong: unknown kernel, too many threads or too much shared
/// memory, clusters that do not divide the grid, too few bytes of parameters, a target that this device cannot run.
bool launch(const LoadedModule&, std::string_view kernel, Memory&, const LaunchParams&);

}  // namespace tilewright::rt::emulator

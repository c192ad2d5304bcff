// The clusters of a launch, and the threads of the host that run them.
#pragma once
#include <vector>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/launch_params.h"

namespace tilewright::rt::emulator {

// So many clusters take turns on a thread of the host where they wait for each other.
inline constexpr std::size_t kMostResident = 256;

/// Runs all clusters to their end, or until a diagnostic stops the launch, no warp can go on, or it is given up; the latter two are
/// diagnostics. `counts` gets what each instruction of the kernel did.
void run_grid(Launch&, const LaunchParams&, std::vector<Count>& counts);

}  // namespace tilewright::rt::emulator

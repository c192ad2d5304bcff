// Runs the clusters of a launch on threads of the host.
#pragma once
#include <vector>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/state/launch_params.h"
#include "runtime/emulator/state/launch_state.h"

namespace tilewright::rt::emulator {

// The number of clusters that take turns on a thread of the host if they wait for each other.
inline constexpr std::size_t kMostResident = 256;

/// Runs all clusters to their end, or until a diagnostic stops the launch, no warp can continue, or it is given up (the last two cause
/// diagnostics). `counts` receives the counts of each instruction of the kernel.
void run_grid(LaunchState&, const LaunchParams&, std::vector<Count>& counts);

}  // namespace tilewright::rt::emulator

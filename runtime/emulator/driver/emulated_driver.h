// The CUDA driver API on emulated devices: runtime/cuda uses this table as it uses libcuda, without any software of NVIDIA.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/emulator/driver/emulated_launch.h"

namespace tilewright::rt::emulator {

/// One table for the process; its devices are those of emulated_targets(), by ordinal. All work is done before a call returns, whatever the
/// stream. A kernel with diagnostics makes its launch fail, and cuGetErrorString() then describes them; memory and context remain usable.
/// Modules are PTX text.
const cuda::Driver& emulated_driver();

/// "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120".
const std::vector<std::string_view>& emulated_targets();
/// -1 if there is no such device.
int emulated_ordinal(std::string_view target);

/// What the kernels of a device did since the last call, and the diagnostics of these kernels.
struct EmulatorReport {
  Counters counters;
  std::vector<Diagnostic> diagnostics, remarks;
};
EmulatorReport take_report(int ordinal);
/// Returns a report to the device, which puts it before newer counts.
void give_back_report(int ordinal, EmulatorReport);

/// Requires: no kernel is launched meanwhile.
void set_launch_defaults(const LaunchDefaults&);

/// Sets the receiver of the lines that kernels print; without it they are dropped. Requires: no kernel is launched meanwhile.
void set_print_function(void (*print)(std::string_view line));

/// Sets a function that is called before each launch on any emulated device; empty: none. For tools that run the same work in other ways,
/// and undo its effects in memory. Requires: no kernel is launched meanwhile.
void observe_launches(std::function<void(const EmulatedLaunch&)>);

}  // namespace tilewright::rt::emulator

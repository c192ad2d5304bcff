// The CUDA driver API on emulated devices: a table that runtime/cuda runs on as it runs on libcuda, with nothing of NVIDIA's installed.
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// One table for the process; its devices are those of emulated_targets(), by ordinal. All work is done before a call returns, whatever
/// the stream. A kernel with diagnostics makes its launch fail, and cuGetErrorString() then says what was found; memory and context stay
/// good. Modules are PTX text.
const cuda::Driver& emulated_driver();

/// "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120".
const std::vector<std::string_view>& emulated_targets();
/// -1 if there is no such device.
int emulated_ordinal(std::string_view target);

/// What the kernels of a device did since the last call, and what was found in them.
struct EmulatorReport {
  Counters counters;
  std::vector<Diagnostic> diagnostics, remarks;
};
EmulatorReport take_report(int ordinal);
/// Puts a report back, in front of what there is by now.
void give_back_report(int ordinal, EmulatorReport);

/// What all launches on emulated devices have in common, over what the environment says.
struct LaunchDefaults {
  std::optional<u64> instruction_limit = {};       // see LaunchParams
  const std::atomic<bool>* interrupted = nullptr;  // a signal handler may set it
};
/// Requires: nothing is launched meanwhile.
void set_launch_defaults(const LaunchDefaults&);

/// Where the lines go that kernels print; without it they are dropped. Requires: nothing is launched meanwhile.
void set_print_function(void (*print)(std::string_view line));

/// A launch on an emulated device that is about to run.
struct EmulatedLaunch {
  const LoadedModule& program;
  std::string_view kernel;
  Memory& memory;
  const LaunchParams& params;
};
/// Called before each launch on any emulated device; empty: no observer. For tools that run the same work in other ways, whose traces in
/// memory they take back. Requires: nothing is launched meanwhile.
void observe_launches(std::function<void(const EmulatedLaunch&)>);

}  // namespace tilewright::rt::emulator

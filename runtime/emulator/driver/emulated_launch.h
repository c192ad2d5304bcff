// A launch on an emulated device, and the settings that all launches share.
#pragma once
#include <atomic>
#include <optional>
#include <string_view>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// Settings for all launches on emulated devices, which override the environment.
struct LaunchDefaults {
  std::optional<u64> instruction_limit = {};       // see LaunchParams
  const std::atomic<bool>* interrupted = nullptr;  // a signal handler may set it
};

/// A launch on an emulated device that is about to run.
struct EmulatedLaunch {
  const LoadedModule& loaded;
  std::string_view kernel;
  Memory& memory;
  const LaunchParams& params;
};

}  // namespace tilewright::rt::emulator

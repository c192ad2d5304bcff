// Launches on an emulator with a limit of instructions; Ctrl-C interrupts them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "frontend/cli/execution/interruption.h"

namespace tilewright::cli {

/// While this object lives, launches on emulators have the limit and can be interrupted.
class EmulatorLaunches {
 public:
  /// Throws UsageError if a limit is given for another device.
  EmulatorLaunches(const std::string& device, std::optional<std::uint64_t> limit);
  ~EmulatorLaunches();
  EmulatorLaunches(const EmulatorLaunches&) = delete;
  EmulatorLaunches& operator=(const EmulatorLaunches&) = delete;

 private:
  std::optional<Interruption> interruption_;
};

}  // namespace tilewright::cli

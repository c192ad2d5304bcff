// Sets the options of all launches on emulators.
#include "frontend/cli/execution/emulator_launches.h"

#include "frontend/cli/files/errors.h"
#include "runtime/emulator/driver/emulated_driver.h"

namespace tilewright::cli {

EmulatorLaunches::EmulatorLaunches(const std::string& device, std::optional<std::uint64_t> limit) {
  if (!device.starts_with("emulator:")) {
    if (limit) throw UsageError("--limit is for emulators");
    return;
  }
  interruption_.emplace();
  rt::emulator::set_launch_defaults({.instruction_limit = limit, .interrupted = &Interruption::flag()});
}

EmulatorLaunches::~EmulatorLaunches() {
  if (interruption_) rt::emulator::set_launch_defaults({});
}

}  // namespace tilewright::cli

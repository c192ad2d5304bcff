// What the environment says of launches on emulators: schedules and the limit.
#pragma once
#include <string>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// Takes TILEWRIGHT_EMULATOR_ASYNC, TILEWRIGHT_EMULATOR_ORDER and TILEWRIGHT_EMULATOR_LIMIT, where they are set. What is wrong with one of
/// them, empty if nothing is.
std::string take_environment(LaunchParams&);

}  // namespace tilewright::rt::emulator

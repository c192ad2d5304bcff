// Settings of launches on emulators from the environment: schedules and the instruction limit.
#pragma once
#include <string>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// Applies TILEWRIGHT_EMULATOR_ASYNC, TILEWRIGHT_EMULATOR_ORDER and TILEWRIGHT_EMULATOR_LIMIT, if they are set. Returns the error in one of
/// them; empty if there is none.
std::string take_environment(LaunchParams&);

}  // namespace tilewright::rt::emulator

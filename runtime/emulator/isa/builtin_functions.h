// Functions that kernels call and the device provides: vprintf and __assertfail.
#pragma once
#include <string_view>

#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

/// The handler of calls to this function; null if there is no such function.
Handler builtin_function(std::string_view name);

}  // namespace tilewright::rt::emulator

// Delivers the lines that kernels print to the user's handler or to standard output.
#pragma once
#include <string_view>

#include "tilewright/device_print.h"

namespace tilewright::rt {

/// Prints one whole line; lines of other threads do not interrupt it. Throws exceptions of the user's handler.
void print_line(std::string_view line);

}  // namespace tilewright::rt

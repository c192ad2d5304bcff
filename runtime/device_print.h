// How devices deliver what kernels print.
#pragma once
#include <string_view>

#include "tilewright/device_print.h"

namespace tilewright::rt {

/// One whole line, which no other thread's interrupts. Throws what the user's handler throws.
void print_line(std::string_view line);

}  // namespace tilewright::rt

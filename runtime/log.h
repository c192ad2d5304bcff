// Notices that are no errors: the library logs them here instead of printing.
#pragma once
#include <string_view>

#include "tilewright/log.h"

namespace tilewright::rt {

/// Hands a notice to the sink; without one, to standard error if TILEWRIGHT_LOG asks for this level.
void log(LogLevel, std::string_view message);

}  // namespace tilewright::rt

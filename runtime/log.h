// Logs notices, which are not errors. Other code of the library does not print.
#pragma once
#include <string_view>

#include "tilewright/log.h"

namespace tilewright::rt {

/// Passes a notice to the sink; without a sink, prints it on standard error if TILEWRIGHT_LOG has this level.
void log(LogLevel, std::string_view message);

}  // namespace tilewright::rt

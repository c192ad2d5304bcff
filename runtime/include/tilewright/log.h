// Where the library's notices go. It never prints by itself: a sink receives them, or standard error where TILEWRIGHT_LOG asks for it.
#pragma once
#include <functional>
#include <string_view>

namespace tilewright {

/// How much a notice matters.
enum class LogLevel { debug, info, warning };

/// Called with each notice, from any thread, one at a time. Must not call set_log_sink.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Sends notices of every level to `sink`; an empty one restores the default.
void set_log_sink(LogSink sink);

}  // namespace tilewright

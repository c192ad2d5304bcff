// The sink of the library's notices. Without a sink, they are printed on standard error only if TILEWRIGHT_LOG is set.
#pragma once
#include <functional>
#include <string_view>

namespace tilewright {

/// The severity of a notice.
enum class LogLevel { debug, info, warning };

/// Called with each notice, from any thread, but for one notice at a time. Must not call set_log_sink.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Sends notices of every level to `sink`; an empty one restores the default.
void set_log_sink(LogSink sink);

}  // namespace tilewright

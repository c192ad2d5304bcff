// Sends notices to the sink or to standard error.
#include "runtime/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <utility>

#include "runtime/active_call.h"
#include "runtime/environment.h"

namespace tilewright {

namespace {
// Global, since the sink is set once for the process.
struct Sink {
  std::mutex mutex;
  LogSink call;
};
Sink& sink() {
  static Sink only;
  return only;
}

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
  }
  return "";
}

LogLevel threshold(std::string_view asked) {
  if (asked == "debug") return LogLevel::debug;
  if (asked == "info") return LogLevel::info;
  return LogLevel::warning;
}
}  // namespace

void set_log_sink(LogSink call) {
  const rt::ActiveCall active(std::nothrow);
  if (!active.is_allowed()) return;
  std::lock_guard lock(sink().mutex);
  sink().call = std::move(call);
}

namespace rt {

void log(LogLevel level, std::string_view message) {
  std::lock_guard lock(sink().mutex);
  if (sink().call) return sink().call(level, message);
  const std::string asked = environment_log();
  if (!asked.empty() && level >= threshold(asked)) fmt::print(stderr, "tilewright: {}: {}\n", name(level), message);
}

}  // namespace rt
}  // namespace tilewright

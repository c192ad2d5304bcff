// Prints the lines of device_print. No other file of the library writes to standard output.
#include "runtime/device_print.h"

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/active_call.h"

namespace tilewright {

namespace {
// Global, like the log's sink.
struct Printer {
  std::mutex mutex;
  PrintHandler handler;
};
Printer& printer() {
  static Printer& only = *new Printer;  // never destroyed: streams that outlive main() may still have lines to print
  return only;
}
}  // namespace

void on_device_print(PrintHandler handler) {
  const rt::ActiveCall active(std::nothrow);
  if (!active.is_allowed()) return;
  std::lock_guard lock(printer().mutex);
  printer().handler = std::move(handler);
}

namespace rt {

void print_line(std::string_view line) {
  std::lock_guard lock(printer().mutex);
  if (printer().handler) return printer().handler(line);
  const std::string whole = std::string(line) + '\n';  // a single write, so that output of the user's program cannot come between
  std::fwrite(whole.data(), 1, whole.size(), stdout);
  std::fflush(stdout);  // so that lines are not lost if the program crashes later
}

}  // namespace rt
}  // namespace tilewright

// Assertions of the compiler: one that fails throws tw::CompilerBug. A user's mistake throws tw::Error instead.
#pragma once
#include <string>
#include <string_view>

#include "tilewright/compiler_bug.h"
#include "tilewright/error.h"

namespace tilewright {

/// Throws CompilerBug: the failed check, and what the BugContexts of this thread add.
[[noreturn]] void compiler_bug(const char* file, int line, std::string_view condition, std::string_view message);

/// Prints the text of the CompilerBug and aborts: for callbacks through which no exception can pass.
[[noreturn]] void fatal_compiler_bug(const char* file, int line, std::string_view condition, std::string_view message);

/// The text of a CompilerBug and the path of its reproducer.
struct BugReport {
  std::string text, reproducer;
};

/// Adds the pass, and the IR that reproduces the bug, to the report of a compiler bug while this object lives. A thread's contexts may nest.
class BugContext {
 public:
  using Describe = void (*)(const void* subject, std::string_view name, BugReport&);
  /// `describe(subject, name, report)` runs when a check fails, before anything is unwound; it adds lines and leaves a reproducer.
  BugContext(std::string_view name, const void* subject, Describe describe);
  ~BugContext();
  BugContext(const BugContext&) = delete;
  BugContext& operator=(const BugContext&) = delete;

 private:
  friend BugReport report_of_bug(std::string_view);
  std::string_view name_;
  const void* subject_;
  Describe describe_;
  BugContext* outer_;
};

/// "file:line:column", or "file:line" where the column is not known.
std::string text(const Location&);

}  // namespace tilewright

#define TW_CHECK(condition, message) ((condition) ? void() : ::tilewright::compiler_bug(__FILE__, __LINE__, #condition, message))
#define TW_UNREACHABLE(message) ::tilewright::compiler_bug(__FILE__, __LINE__, "unreachable", message)

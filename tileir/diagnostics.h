// Failures of the compiler itself: checks that print what was wrong and abort. A user's mistake is a tw::Error instead.
#pragma once
#include <string_view>

#include "tilewright/error.h"

namespace tilewright {

/// Prints the failed check, what is being compiled (see BugContext) and aborts.
[[noreturn]] void compiler_bug(const char* file, int line, std::string_view condition, std::string_view message);

/// What to add to the report of a compiler bug while this object lives: the pass, and the IR that reproduces it. Per thread, nested.
class BugContext {
 public:
  using Describe = void (*)(const void* subject, std::string_view name);
  /// `describe(subject, name)` runs when a bug is reported; it prints to stderr and leaves a reproducer.
  BugContext(std::string_view name, const void* subject, Describe describe);
  ~BugContext();
  BugContext(const BugContext&) = delete;
  BugContext& operator=(const BugContext&) = delete;

 private:
  friend void compiler_bug(const char*, int, std::string_view, std::string_view);
  std::string_view name_;
  const void* subject_;
  Describe describe_;
  BugContext* outer_;
};

/// "file:line:column", or "file:line" where the column is not known.
std::string text(const Location&);

}  // namespace tilewright

#define TW_CHECK(condition, message) \
  ((condition) ? void() : ::tilewright::compiler_bug(__FILE__, __LINE__, #condition, message))
#define TW_UNREACHABLE(message) ::tilewright::compiler_bug(__FILE__, __LINE__, "unreachable", message)

// Text of errors, and the loud end of a compiler bug.
#include "tileir/diagnostics.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tilewright {

std::string text(const Location& at) {
  if (at.line == 0) return at.file.empty() ? "<unknown>" : at.file;
  return at.column > 0 ? fmt::format("{}:{}:{}", at.file, at.line, at.column) : fmt::format("{}:{}", at.file, at.line);
}

namespace {
std::string full_text(const Location& where, const std::string& message, const std::vector<Note>& notes) {
  std::string s = fmt::format("{}: error: {}", text(where), message);
  for (const Note& n : notes) s += fmt::format("\n{}: note: {}", text(n.where), n.text);
  return s;
}
thread_local BugContext* innermost = nullptr;
}  // namespace

Error::Error(Location where, const std::string& message, const std::vector<Note>& notes)
    : std::runtime_error(full_text(where, message, notes)), where_(std::move(where)) {}

BugContext::BugContext(std::string_view name, const void* subject, Describe describe)
    : name_(name), subject_(subject), describe_(describe), outer_(innermost) {
  innermost = this;
}
BugContext::~BugContext() { innermost = outer_; }

void compiler_bug(const char* file, int line, std::string_view condition, std::string_view message) {
  fmt::print(stderr, "tilewright: compiler bug at {}:{}: {} ({})\n", file, line, message, condition);
  BugContext* context = innermost;
  innermost = nullptr;  // a second failure while describing the first must not recurse
  for (; context; context = context->outer_) context->describe_(context->subject_, context->name_);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tilewright

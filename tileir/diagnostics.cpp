// Texts of errors, and reports of compiler bugs.
#include "tileir/diagnostics.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace tilewright {

std::string text(const Location& at) {
  if (at.line == 0) return at.file.empty() ? "<unknown>" : at.file;
  return at.column > 0 ? fmt::format("{}:{}:{}", at.file, at.line, at.column) : fmt::format("{}:{}", at.file, at.line);
}

namespace {
std::string line_of(const Note& note) { return fmt::format("\n{}: note: {}", text(note.where), note.text); }
std::string full_text(const Location& where, const std::string& message, const std::vector<Note>& notes) {
  std::string s = fmt::format("{}: error: {}", text(where), message);
  for (const Note& n : notes) s += line_of(n);
  return s;
}
thread_local BugContext* innermost = nullptr;
}  // namespace

Error::Error(Location where, const std::string& message, const std::vector<Note>& notes)
    : std::runtime_error(full_text(where, message, notes)), where_(std::move(where)) {}
Error::Error(const Error& error, const Note& note)
    : std::runtime_error(error.what() + line_of(note)), where_(error.where_), lacks_resources_(error.lacks_resources_) {}

BugContext::BugContext(std::string_view name, const void* subject, Describe describe)
    : name_(name), subject_(subject), describe_(describe), outer_(innermost) {
  innermost = this;
}
BugContext::~BugContext() { innermost = outer_; }

// The contexts add to "compiler bug at FILE:LINE: ...", the innermost first.
BugReport report_of_bug(std::string_view first_line) {
  BugReport report{std::string(first_line), {}};
  BugContext* const context = std::exchange(innermost, nullptr);  // a second failure while describing the first must not recurse
  for (const BugContext* c = context; c; c = c->outer_) try {
      c->describe_(c->subject_, c->name_, report);
    } catch (const std::exception& e) {
      report.text += fmt::format("\n  in {}, which cannot be described: {}", c->name_, e.what());
    }
  innermost = context;
  return report;
}

namespace {
std::string first_line(const char* file, int line, std::string_view condition, std::string_view message) {
  return fmt::format("compiler bug at {}:{}: {} ({})", file, line, message, condition);
}
}  // namespace

void compiler_bug(const char* file, int line, std::string_view condition, std::string_view message) {
  BugReport report = report_of_bug(first_line(file, line, condition, message));
  throw CompilerBug({file, line}, report.text, std::move(report.reproducer));
}

void fatal_compiler_bug(const char* file, int line, std::string_view condition, std::string_view message) {
  fmt::print(stderr, "tilewright: {}\n", report_of_bug(first_line(file, line, condition, message)).text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tilewright

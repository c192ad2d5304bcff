// Reports of compiler bugs: an exception, or printed text where an exception is not possible.
#include "tileir/diagnostics.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace tilewright;

namespace {

/// Adds a line to a report.
struct Subject {
  const char* text;
  static void describe(const void* subject, std::string_view name, BugReport& report) {
    report.text += "\n  in " + std::string(name) + ": " + static_cast<const Subject*>(subject)->text;
    report.reproducer = "a file";
  }
};

/// The text that a child, which must abort, writes to standard error.
template <class F>
std::string stderr_of_abort(F body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  return out;
}

}  // namespace

TEST_CASE("diagnostics: a failed check throws, and the contexts of its thread add to the report, the innermost first") {
  const Subject first{"one"}, second{"two"};
  const BugContext outer("outer", &first, Subject::describe);
  {
    const BugContext inner("inner", &second, Subject::describe);
    const int line = __LINE__ + 2;
    try {
      TW_CHECK(1 > 2, "planted");
      FAIL("the check passed");
    } catch (const CompilerBug& bug) {
      const std::string what = bug.what();
      CHECK(what.find(":" + std::to_string(line) + ": planted (1 > 2)\n  in inner: two\n  in outer: one") != std::string::npos);
      CHECK(bug.where().line == line);
      CHECK(bug.reproducer() == "a file");
    }
  }
  CHECK_THROWS_WITH_AS(TW_UNREACHABLE("again"), doctest::Contains(": again (unreachable)\n  in outer: one"), CompilerBug);
}

TEST_CASE("diagnostics: a bug whose frames cannot be unwound prints the same report and aborts") {
  const Subject only{"one"};
  const BugContext context("outer", &only, Subject::describe);
  const std::string report = stderr_of_abort([] { fatal_compiler_bug("f.cpp", 7, "LLVM", "cannot select"); });
  CHECK(report == "tilewright: compiler bug at f.cpp:7: cannot select (LLVM)\n  in outer: one\n");
}

// The pass manager: dumps, timings, unknown names, and the report of a pass that breaks the IR.
#include "passes/pass_manager.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/parser.h"
#include "tileir/printer.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

constexpr const char* kText = R"(
kernel @double(%x: ptr<const i32>, %y: ptr<i32>) {
  %0 = load %x : i32
  %1 = constant {value = 2} : i32
  %2 = constant {value = 1} : i32
  %3 = mul %0, %1 : i32
  %4 = mul %3, %2 : i32
  store %y, %4
}
)";

Function parsed() { return parse(kText, "double.tile").functions[0]; }

/// Runs `body` in a child that is expected to abort; returns what it wrote to stderr.
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

TEST_CASE("pass_manager: an unknown pass is named, with those there are, before any runs") {
  Function f = parsed();
  const std::string before = print(f);
  const std::string_view names[] = {"canonicalize", "canonicalise"};
  std::string message;
  try {
    passes::run_passes(f, names, {});
  } catch (const Error& e) {
    message = e.what();
  }
  CHECK(message.find("there is no pass 'canonicalise'") != std::string::npos);
  CHECK(message.find("'canonicalize'") != std::string::npos);
  CHECK(print(f) == before);
}

TEST_CASE("pass_manager: the dump is called for the input and after each pass, and each pass is timed") {
  Function f = parsed();
  std::vector<std::string> stages;
  passes::RunOptions options;
  options.dump = [&](const std::string& stage, const Function& at) { stages.push_back(stage + (print(at) == print(parsed()) ? "" : "*")); };
  const std::string_view names[] = {"licm", "canonicalize"};
  const auto timings = passes::run_passes(f, names, {}, options);
  CHECK(stages == std::vector<std::string>{"00_traced", "01_licm", "02_canonicalize*"});
  REQUIRE(timings.size() == 2);
  CHECK(timings[1].name == "canonicalize");
  CHECK(timings[1].ms >= 0);
}

TEST_CASE("pass_manager: every pass of the table can be found, and pipelines name passes that exist") {
  for (const passes::PassInfo& p : passes::all_passes()) CHECK(passes::find_pass(p.name) == &p);
  CHECK(passes::find_pass("no_such_pass") == nullptr);
  for (std::string_view name : passes::pipeline(TargetDesc{})) CHECK_MESSAGE(passes::find_pass(name) != nullptr, name);
}

TEST_CASE("pass_manager: a malformed result names the pass and leaves the IR before it") {
  const std::string report = stderr_of_abort([] {
    Function f = parsed();
    f.set_type(f.result(f.block(f.body()).first), Type(Element::i64));  // an i64 loaded through a pointer to i32
    const std::string_view names[] = {"licm"};
    passes::run_passes(f, names, {}, {.verify_each = true, .dump = {}});
  });
  CHECK(report.find("the pass 'licm' left malformed IR") != std::string::npos);
  CHECK(report.find("in pass 'licm' on kernel 'double'") != std::string::npos);
  const std::string mark = "the IR before it: ";
  const auto at = report.find(mark);
  REQUIRE(at != std::string::npos);
  const std::string path = report.substr(at + mark.size(), report.find('\n', at) - at - mark.size());
  std::ifstream in(path);
  const std::string left{std::istreambuf_iterator<char>(in), {}};
  CHECK(left.starts_with("// passes: licm\n"));
  CHECK(left.find("kernel @double") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("pass_manager: the reproducer is the IR right before the pass, not the input") {
  const std::string report = stderr_of_abort([] {
    Function f = parsed();
    const std::string_view names[] = {"canonicalize", "licm"};
    passes::RunOptions options;
    options.verify_each = false;
    options.dump = [&](const std::string& stage, const Function&) { TW_CHECK(stage != "02_licm", "a check that fails while licm is run"); };
    passes::run_passes(f, names, {}, options);
  });
  const std::string mark = "the IR before it: ";
  const auto at = report.find(mark);
  REQUIRE(at != std::string::npos);
  const std::string path = report.substr(at + mark.size(), report.find('\n', at) - at - mark.size());
  std::ifstream in(path);
  const std::string left{std::istreambuf_iterator<char>(in), {}};
  CHECK(left.find("licm") != std::string::npos);
  CHECK(left.find("mul %0, %1") != std::string::npos);   // x * 2 stays,
  CHECK(left.find("value = 1}") == std::string::npos);   // x * 1 is gone: canonicalize had run
  std::filesystem::remove(path);
}

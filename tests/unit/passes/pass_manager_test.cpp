// The pass manager: dumps, timings, unknown names, and the error for a pass that makes invalid IR.
#include "passes/pass_manager.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "passes/pass_table.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"

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

/// The CompilerBug that `body` must throw.
template <class F>
CompilerBug bug_of(F body) {
  try {
    body();
  } catch (const CompilerBug& bug) {
    return bug;
  }
  FAIL("no check failed");
  return {{}, "", ""};
}

/// The text of a reproducer, which is then removed.
std::string taken(const CompilerBug& bug) {
  std::ifstream in(bug.reproducer());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  in.close();
  CHECK(std::filesystem::remove(bug.reproducer()));
  return text;
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

TEST_CASE("pass_manager: every pass of the table is in a pipeline") {
  std::set<std::string_view> named;
  for (const TargetDesc::Kind kind : {TargetDesc::Kind::host, TargetDesc::Kind::nvptx}) {
    TargetDesc target;
    target.kind = kind;
    for (std::string_view name : passes::pipeline(target)) named.insert(name);
  }
  for (const passes::PassInfo& p : passes::all_passes())
    CHECK_MESSAGE(named.contains(p.name), "'" << p.name << "' is in no pipeline: docs/extending.md, Adding a pass, step 3");
}

TEST_CASE("pass_manager: a malformed result names the pass and leaves the IR before it") {
  const CompilerBug bug = bug_of([] {
    Function f = parsed();
    f.set_type(f.result(f.block(f.body()).first), Type(Element::i64));  // an i64 loaded through a pointer to i32
    const std::string_view names[] = {"licm"};
    passes::run_passes(f, names, {}, {.verify_each = true, .dump = {}});
  });
  const std::string what = bug.what();
  CHECK(what.starts_with("compiler bug at "));
  CHECK(what.find("the pass 'licm' left malformed IR") != std::string::npos);
  CHECK(what.find("in pass 'licm' on kernel 'double'") != std::string::npos);
  CHECK(what.find("reproducer: " + bug.reproducer()) != std::string::npos);
  CHECK(bug.where().file.find("pass_manager.cpp") != std::string::npos);
  CHECK(bug.where().line > 0);
  const std::string left = taken(bug);
  CHECK(left.starts_with("// passes: licm\n"));
  CHECK(left.find("kernel @double") != std::string::npos);
}

TEST_CASE("pass_manager: the reproducer is the IR right before the pass, not the input") {
  const CompilerBug bug = bug_of([] {
    Function f = parsed();
    const std::string_view names[] = {"canonicalize", "licm"};
    passes::RunOptions options;
    options.verify_each = false;
    options.dump = [&](const std::string& stage, const Function&) { TW_CHECK(stage != "02_licm", "a check that fails while licm is run"); };
    passes::run_passes(f, names, {}, options);
  });
  const std::string left = taken(bug);
  CHECK(left.find("licm") != std::string::npos);
  CHECK(left.find("mul %0, %1") != std::string::npos);  // x * 2 stays,
  CHECK(left.find("value = 1}") == std::string::npos);  // x * 1 is gone: canonicalize had run
}

TEST_CASE("pass_manager: passes run after one of them failed, and the next bug has a reproducer of its own") {
  std::string first;
  for (int round = 0; round < 2; ++round) {
    const CompilerBug bug = bug_of([] {
      Function f = parsed();
      const std::string_view names[] = {"licm"};
      passes::run_passes(f, names, {}, {.verify_each = false, .dump = [](const std::string& stage, const Function&) {
                                          TW_CHECK(stage != "01_licm", "planted");
                                        }});
    });
    CHECK(bug.reproducer() != first);
    first = bug.reproducer();
    taken(bug);
    Function f = parsed();
    const std::string_view names[] = {"canonicalize"};
    passes::run_passes(f, names, {});
    CHECK(print(f) != print(parsed()));
  }
  // Outside of every pass there is nothing to add.
  CHECK(bug_of([] { TW_CHECK(1 > 2, "planted"); }).reproducer().empty());
}

TEST_CASE("pass_manager: a bug while a bug is described is told, and the report ends") {
  struct Broken {
    static void describe(const void*, std::string_view, BugReport&) { TW_UNREACHABLE("no description"); }
  };
  const BugContext context("a broken context", nullptr, Broken::describe);
  const std::string what = bug_of([] { TW_UNREACHABLE("planted"); }).what();
  CHECK(what.find(": planted (unreachable)\n  in a broken context, which cannot be described: compiler bug at ") != std::string::npos);
}

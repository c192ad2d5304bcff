// fuzz_programs: random programs through the passes and through machine code, compared with the interpreter.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "backend/compile.h"
#include "tests/fuzz/differential.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/host_executor.h"
#include "tests/fuzz/isolation.h"
#include "tests/fuzz/pass_executor.h"
#include "tests/fuzz/shrink_program.h"
#include "tests/fuzz/signatures.h"
#include "tileir/diagnostics.h"

using namespace tilewright;
using namespace tilewright::fuzz;

namespace {

struct Settings {
  std::uint64_t seed = 1, count = 1000;
  std::string target = "cpu", check = "all", out;
  int max_failures = 5;
  bool isolate = false, quiet = false;
};

/// One way to be wrong, with what it takes to look again while shrinking.
struct Failure {
  std::string stage, difference;
  std::function<bool(const Program&)> again;
};

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& s) : settings_(s), target_(backend::describe_target(s.target)) {}

  int run() {
    int failures = 0;
    for (std::uint64_t i = 0; i < settings_.count && failures < settings_.max_failures; ++i) {
      const std::uint64_t seed = settings_.seed + i;
      if (!settings_.quiet && i % 100 == 0) fmt::print(stderr, "\rseed {} ({} of {})", seed, i, settings_.count);
      const Program p = generate(seed);
      coverage_.count(p.function);
      const BugContext context("fuzzing", &p, [](const void* subject, std::string_view) {
        fmt::print(stderr, "{}", text(*static_cast<const Program*>(subject)));
      });
      ++programs_;
      if (const auto failure = check(p)) {
        ++failures;
        report(p, *failure);
      }
    }
    summary(failures);
    return failures == 0 ? 0 : 1;
  }

 private:
  std::optional<Failure> check(const Program& p) {
    if (const std::string reason = check_meaning(p); !reason.empty())
      return Failure{"the generator", reason, [](const Program& q) { return !check_meaning(q).empty(); }};
    if (settings_.check == "all" || settings_.check == "passes")
      if (auto failure = check_passes(p)) return failure;
    if (settings_.check == "all" || settings_.check == "host")
      if (auto difference = settings_.isolate ? isolated([&] { return host_difference(p); }) : host_difference(p))
        return Failure{"machine code", *difference,
                       [this](const Program& q) { return isolated([&] { return host_difference(q); }).has_value(); }};
    return std::nullopt;
  }

  std::optional<Failure> check_passes(const Program& p) {
    Program expanded = p;
    expand_math(expanded, target_);
    InterpreterExecutor reference(target_.reduction);
    RewritingExecutor candidate = after_passes(target_, pass_count(target_));
    const auto difference = compare(expanded, reference, candidate);
    if (!difference) return std::nullopt;
    const std::size_t prefix = first_wrong_prefix(expanded, target_);
    return Failure{prefix == 0 ? "the passes" : pass_name(target_, prefix), *difference, [this, prefix](const Program& q) {
                     Program e = q;
                     expand_math(e, target_);
                     InterpreterExecutor before(target_.reduction);
                     RewritingExecutor after = after_passes(target_, prefix);
                     return compare(e, before, after).has_value();
                   }};
  }

  std::optional<std::string> host_difference(const Program& p) {
    RewritingExecutor reference = lowered_reference(settings_.target);
    return compare(p, reference, host_);
  }

  void report(const Program& p, const Failure& failure) {
    fmt::print("\nseed {}: {} changes the result\n{}\n", p.seed, failure.stage, failure.difference);
    std::fflush(stdout);
    const Program small = shrink(p, failure.again);
    fmt::print("shrunk:\n{}\n", text(small));
    std::fflush(stdout);
    if (settings_.out.empty()) return;
    std::filesystem::create_directories(settings_.out);
    std::ofstream(fmt::format("{}/{}.tile", settings_.out, p.seed)) << text(small);
  }

  void summary(int failures) {
    if (!settings_.quiet) {
      fmt::print(stderr, "\n");
      int column = 0;
      for (ir::OpKind k : ir::all_ops()) fmt::print("{:<14}{:>8}{}", ir::text(k), coverage_.of(k), ++column % 5 == 0 ? "\n" : "   ");
      fmt::print("\n");
    }
    for (ir::OpKind k : coverage_.missing()) fmt::print("never generated: {}\n", ir::text(k));
    fmt::print("{} programs from seed {} on {}: {} failures\n", programs_, settings_.seed, settings_.target, failures);
  }

  Settings settings_;
  ir::TargetDesc target_;
  HostExecutor host_{settings_.target};
  Coverage coverage_;
  std::uint64_t programs_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Compares random programs: interpreter, passes, machine code");
  app.add_option("--seed", s.seed, "first seed");
  app.add_option("--count", s.count, "how many programs");
  app.add_option("--target", s.target, "as the compiler names it: cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4");
  app.add_option("--check", s.check, "what to compare with the interpreter")->check(CLI::IsMember({"all", "passes", "host"}));
  app.add_option("--out", s.out, "folder for shrunk programs");
  app.add_option("--max-failures", s.max_failures, "stop after so many");
  app.add_flag("--isolate", s.isolate, "machine code in processes of its own: crashes are reported and shrunk");
  app.add_flag("--quiet", s.quiet, "no progress and no table of ops");
  CLI11_PARSE(app, argc, argv);
  try {
    return Fuzzer(s).run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

// fuzz_programs: random programs through the passes and through machine code, compared with the interpreter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/pass_manager.h"
#include "runtime/host/cpu_model.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/differential.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/isolation.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/pass_executor.h"
#include "tests/fuzz/reduce_program.h"
#include "tests/fuzz/reproducer.h"
#include "tests/fuzz/signatures.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"

using namespace tilewright;
using namespace tilewright::fuzz;

namespace {

struct Settings {
  Campaign campaign;
  std::vector<std::string> targets = {"cpu", "cpu:x86-64-v3", "cpu:x86-64", "emulator:sm_80"};
  std::string check = "all", out;
  int matrix_products = 0;
  bool every_target = false, no_shrink = false, isolate = false;
};

/// One way to be wrong, with what it takes to look again while shrinking.
struct Failure {
  std::string stage, difference;
  std::string passes, target;  // as in Blame
  std::function<bool(const Program&)> again;
  bool device_failed = false;  // the GPU did: what this process asks of it from now on fails as well
};

/// Whether a difference is the driver's error, and not a wrong result.
bool is_device_failure(const std::string& difference) { return difference.find("CUDA_ERROR_") != std::string::npos; }

/// The number of warps for a program on a GPU: sometimes fewer than its tiles have parts, sometimes more.
int warps_of(const Program& p) {
  constexpr int kWarps[] = {4, 1, 8, 2};
  return kWarps[p.seed / 16 % std::size(kWarps)];
}

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& s) : settings_(s) {
    for (const std::string& name : s.targets) {
      const std::string reason = name.starts_with("cpu:") ? rt::reason_against_level(name.substr(4)) : "";
      if (reason.empty())
        machines_.push_back(std::make_unique<Machine>(name));
      else
        fmt::print("not compared: {}: {}\n", name, reason);
    }
  }

  int run() {
    const CampaignResult result = fuzz::run(settings_.campaign, [&](std::uint64_t seed) {
      GeneratorOptions options;
      options.matrix_products = settings_.matrix_products;
      const Program p = generate(seed, options);
      coverage_.count(p.function);
      const BugContext context("fuzzing", &p, [](const void* subject, std::string_view, BugReport& report) {
        report.text += "\n" + text(*static_cast<const Program*>(subject));
      });
      const auto failure = check(p);
      if (failure) report(p, *failure);
      return Finding{failure ? 1 : 0, failure && failure->device_failed};
    });
    summary(result);
    return result.failures == 0 ? 0 : 1;
  }

 private:
  std::optional<Failure> check(const Program& p) {
    if (const std::string reason = check_meaning(p); !reason.empty())
      return Failure{"the generator", reason, {}, {}, [](const Program& q) { return !check_meaning(q).empty(); }};
    if (settings_.check != "host")
      for (const auto& m : machines_)
        if (auto failure = check_passes(p, *m)) return failure;
    if (settings_.check != "passes")
      for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (!settings_.every_target && p.seed % machines_.size() != i) continue;
        Machine& machine = *machines_[i];
        if (auto difference = machine_difference(p, machine, settings_.isolate))
          return Failure{"machine code for " + machine.name,
                         *difference,
                         {},
                         machine.name,
                         [this, &machine](const Program& q) {
                           const auto other = machine_difference(q, machine, true);
                           return other && !is_device_failure(*other);
                         },
                         is_device_failure(*difference)};
      }
    return std::nullopt;
  }

  /// After the whole pipeline; of every eighth program after each pass.
  std::optional<Failure> check_passes(const Program& p, const Machine& m) {
    constexpr std::uint64_t kEach = 8;
    const ir::TargetDesc& target = m.description;
    Program fixed = p;
    fix_rounding(fixed, target);
    std::size_t prefix = exact_passes(p, target);
    if (p.seed % kEach != 0) {
      InterpreterExecutor reference(target.reduction);
      RewritingExecutor candidate = after_passes(target, prefix);
      if (!compare(fixed, reference, candidate)) return std::nullopt;
    }
    prefix = first_wrong_prefix(fixed, target);
    if (prefix == 0) return std::nullopt;
    const auto difference = [prefix, target](const Program& q) {
      Program e = q;
      fix_rounding(e, target);
      InterpreterExecutor before(target.reduction);
      RewritingExecutor after = after_passes(target, prefix);
      return compare(e, before, after);
    };
    const auto names = passes::pipeline(target);
    const std::string list = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(prefix), ","));
    return Failure{pass_name(target, prefix), difference(p).value_or("nothing"), list, m.target,
                   [difference](const Program& q) { return difference(q).has_value(); }};
  }

  /// If `isolate`, runs in a child process; not for a GPU, because a child cannot use its parent's CUDA context.
  std::optional<std::string> machine_difference(const Program& p, Machine& machine, bool isolate) {
    if (!isolate || machine.name.starts_with("cuda:")) return host_difference(p, machine);
    return isolated([&] { return host_difference(p, machine); });
  }

  std::optional<std::string> host_difference(const Program& p, Machine& m) {
    if (!m.description.is_gpu()) {
      RewritingExecutor reference = m.reference();
      return compare(p, reference, *m.executor);
    }
    const Machine sized(m.name, warps_of(p));
    RewritingExecutor reference = sized.reference();
    // Approximate functions of GPUs are covered by other tests. Lanes that access one element have no order, and f32 sums in memory flush
    // subnormal numbers.
    Program fixed = p;
    fix_rounding(fixed, m.description);
    Tolerance tolerance;
    fixed.function.walk([&](ir::OpId id) {
      const ir::Function& f = fixed.function;
      tolerance.flushes |= f.kind(id) == ir::OpKind::atomic_add_ && f.type(f.result(id)).element() == ir::Element::f32;
    });
    if (!check_meaning(fixed, true).empty()) return std::nullopt;
    auto difference = compare(fixed, reference, *sized.executor, tolerance);
    const bool is_too_long = difference && difference->find(DeviceExecutor::kTooLong) != std::string::npos;
    return is_too_long ? std::nullopt : difference;
  }

  void report(const Program& p, const Failure& failure) {
    fmt::print("\nseed {}: {} changes the result\n{}\n", p.seed, failure.stage, failure.difference);
    std::fflush(stdout);
    const bool as_it_is = settings_.no_shrink || failure.device_failed;
    Program small = as_it_is ? p : reduce_program(p, failure.again);
    fmt::print("{}:\n{}\n", as_it_is ? "the program" : "shrunk", text(small));
    if (!settings_.out.empty() && !failure.target.empty()) {
      Program fixed = small;
      fix_rounding(fixed, machines_.front()->description);
      const bool exact = ir::print(fixed.function) == ir::print(small.function);
      // The passes were compared with fixed rounding, so the program for the command line must have it too.
      if (!failure.passes.empty()) small = fixed;
      const Blame blame{failure.difference, failure.passes, failure.target, exact || !failure.passes.empty(), warps_of(small)};
      fmt::print("in {}: {}\n", settings_.out, write_reproducer(small, blame, settings_.out));
    }
    std::fflush(stdout);
  }

  void summary(const CampaignResult& result) {
    if (!settings_.campaign.quiet) {
      int column = 0;
      for (ir::OpKind k : ir::all_ops()) fmt::print("{:<15}{:>8}{}", ir::text(k), coverage_.of(k), ++column % 5 == 0 ? "\n" : "   ");
      fmt::print("\n");
    }
    for (ir::OpKind k : coverage_.missing()) fmt::print("never generated: {}\n", ir::text(k));
    std::vector<std::string> names;
    for (const auto& m : machines_) names.push_back(m->name);
    fmt::print("{}, {:.0f} programs/s\n", result.text(settings_.campaign, "programs", fmt::format("{}", fmt::join(names, ", "))),
               static_cast<double>(result.tried) / result.seconds);
  }

  Settings settings_;
  std::vector<std::unique_ptr<Machine>> machines_;
  Coverage coverage_;
};

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Compares random programs: interpreter, passes, machine code");
  s.campaign.add_options(app, "programs");
  app.add_option("--target", s.targets, "cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4, emulator:sm_80, cuda:0, ...");
  app.add_flag("--every-target", s.every_target, "machine code for all targets of each program, and not for one in turn");
  app.add_option("--check", s.check, "what to compare with the interpreter")->check(CLI::IsMember({"all", "passes", "host"}));
  app.add_option("--matrix-products", s.matrix_products, "percentage of programs that only multiply matrices");
  app.add_option("--out", s.out, "folder for shrunk programs, which say how to run them");
  app.add_flag("--no-shrink", s.no_shrink, "show failing programs as they are");
  app.add_flag("--isolate", s.isolate, "machine code in processes of its own: crashes are reported and shrunk");
  CLI11_PARSE(app, argc, argv);
  try {
    return Fuzzer(s).run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

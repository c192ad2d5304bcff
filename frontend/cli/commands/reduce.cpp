// tilewright reduce: the test-case reducer. It finds a small kernel that fails in the same way as the given one.
#include <fmt/format.h>

#include "frontend/cli/arguments/pass_list.h"
#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/commands/run_options.h"
#include "frontend/cli/execution/interestingness_test.h"
#include "passes/debug/test_case_reducer.h"
#include "passes/pass_manager.h"
#include "tileir/text/printer.h"

namespace tilewright::cli {

namespace {

// The limit of ops of one program in the interpreter. Slower kernels could not be tried thousands of times.
constexpr std::uint64_t kMaxOps = 20'000'000;

struct Options {
  RunOptions run;
  std::string passes, target = "cpu", output = "-";
  bool against_device = false;
  double tolerance = 1e-3;
  int attempts = 4000;
  unsigned seconds = 20;
};

std::size_t op_count(const ir::Function& f) {
  std::size_t n = 0;
  f.walk([&](ir::OpId) { ++n; });
  return n;
}

InterestingnessOptions interestingness_options(const Options& o) {
  if (o.passes.empty() == !o.against_device)
    throw UsageError(
        "give either --passes (do the passes change what the kernel does?) or --run (does the device do what the interpreter does?)");
  InterestingnessOptions j;
  j.test_passes = !o.passes.empty();
  j.target = find_target(o.target);
  if (j.test_passes) j.passes = parse_pass_list(o.passes, [&] { return passes::pipeline(j.target); });
  // The default grid has several programs, so that program ids differ.
  j.execution = !o.run.grid.empty() ? execution_options(o.run)
                                    : ExecutionOptions{.device = o.run.device, .grid = {3}, .contract = !o.run.no_contract};
  j.execution.max_ops = kMaxOps;
  j.execution.skip_bad_accesses = o.run.arguments.empty();
  j.tolerance = o.tolerance;
  j.seconds = o.seconds;
  if (!j.test_passes && o.run.arguments.empty())
    throw UsageError("--run needs the arguments of the launch: --grid and --arg as 'tilewright run' takes them");
  if (!j.test_passes && o.run.device == "interpreter")
    throw UsageError("--run compares with the interpreter; --device must be another one");
  return j;
}

std::string header(const Options& o, const Verdict& verdict) {
  std::string out = fmt::format("// {}\n// tilewright reduce FILE {}", verdict.text.substr(0, verdict.text.find('\n')),
                                o.against_device ? "--run" : "--passes=" + o.passes + (o.target == "cpu" ? "" : " --target " + o.target));
  if (o.run.device != "cpu") out += " --device " + o.run.device;
  if (o.tolerance != Options().tolerance) out += fmt::format(" --tolerance {}", o.tolerance);
  if (o.run.no_contract) out += " --no-contract";
  if (!o.run.grid.empty()) out += " --grid " + o.run.grid;
  for (const std::string& a : o.run.arguments) out += " --arg " + a;
  return out + "\n";
}

void execute(const Options& options, Session& session) {
  const InterestingnessOptions test_options = interestingness_options(options);
  const ir::Module module = session.files.read_tile(options.run.file);
  const ir::Function& f = choose_kernel(module, options.run.kernel);
  std::vector<Argument> arguments =
      options.run.arguments.empty() ? make_arguments(f) : parse_arguments(f, options.run.arguments, session.files);
  passes::ReduceOptions reduction;
  reduction.max_attempts = options.attempts;
  for (const Argument& a : arguments)
    if (!a.is_buffer()) reduction.scalars[a.name] = a.word;
  const InterestingnessTest test(test_options, std::move(arguments));
  Verdict first = test.run(f);
  if (first.kind.empty())
    throw Failure(
        fmt::format("kernel '{}' does not fail: {}", f.name,
                    test_options.test_passes ? "the passes do not change its results" : "the device gives the results of the interpreter"));
  fmt::print(stderr, "'{}' fails: {}\n", f.name, first.text);
  int tried = 0;
  const ir::Function small = passes::reduce_test_case(
      f,
      [&](const ir::Function& candidate) {
        ++tried;
        Verdict v = test.run(candidate);
        if (v.kind != first.kind) return false;
        first.text = std::move(v.text);
        return true;
      },
      reduction);
  fmt::print(stderr, "reduced from {} ops to {} in {} attempts\n", op_count(f), op_count(small), tried);
  session.files.write(options.output, header(options, first) + ir::print(small));
}

}  // namespace

void add_reduce(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "reduce", "Reduce a kernel that is compiled wrongly to a small one that fails in the same way",
                            "Examples: passes that crash or change what a kernel does; a device that differs from the interpreter\n"
                            "  tilewright reduce bad.tile --passes=default -o small.tile\n"
                            "  tilewright reduce bad.tile --run --grid 4 --arg x=x.npy --arg n=i32:1000 -o small.tile\n"
                            "Without --arg, --passes uses random arguments. Every attempt runs in a separate process.",
                            o, execute);
  add_run_options(*c, o->run);
  c->add_option("--passes", o->passes, "The passes to test, as for 'tilewright opt'")->type_name("PASS,...");
  c->add_flag("--run", o->against_device, "Compare the device with the interpreter, on the given launch");
  c->add_option("--target", o->target, "What the passes may assume")->type_name("cpu|cpu:x86-64|cpu:x86-64-v3|cpu:x86-64-v4");
  c->add_option("--tolerance", o->tolerance, "How far floats may differ, relative to their magnitude; 0.001 if not given")
      ->type_name("NUMBER");
  c->add_option("--attempts", o->attempts, "How many smaller kernels to try; 4000 if not given")->type_name("N");
  c->add_option("--seconds", o->seconds, "The time after which a kernel is taken for endless; 20 if not given")->type_name("N");
  c->add_option("-o,--output", o->output, "The output file; default: standard output")->type_name("OUT");
}

}  // namespace tilewright::cli

// tilewright opt: runs passes on the kernels of a .tile file.
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "frontend/cli/arguments/pass_list.h"
#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/commands/command.h"
#include "passes/pass_manager.h"
#include "tileir/text/printer.h"

namespace tilewright::cli {

namespace {

struct Options {
  std::string file, passes, target = "cpu", kernel, output = "-";
  int warps = 4;
  bool no_contract = false, no_verify_each = false, timing = false, locations = false;
};

void execute(const Options& options, Session& session) {
  const ir::TargetDesc target = find_target(options.target);
  parse_pass_list(options.passes, [] { return std::vector<std::string_view>(); });  // reports mistakes in the list before those in the file
  ir::Module module = session.files.read_tile(options.file);
  if (!options.kernel.empty()) module.functions = {ir::Function(choose_kernel(module, options.kernel))};
  std::string timing;
  for (ir::Function& f : module.functions) {
    const backend::CompileOptions compile = compile_options("opt", f.name, {.num_warps = options.warps, .contract = !options.no_contract});
    const std::vector<std::string_view> names = parse_pass_list(options.passes, [&] { return passes::pipeline_for(f, target); });
    const passes::PassContext context{target, compile.contract, false, compile.num_warps};
    passes::RunOptions run;
    run.verify_each = !options.no_verify_each;
    double total = 0;
    timing += fmt::format("passes on kernel '{}'\n", f.name);
    for (const passes::PassTiming& t : passes::run_passes(f, names, context, run)) {
      timing += fmt::format("{:>10.3f} ms  {}\n", t.ms, t.name);
      total += t.ms;
    }
    timing += fmt::format("{:>10.3f} ms  in all\n", total);
  }
  if (options.timing) fmt::print(stderr, "{}", timing);
  session.files.write(options.output, ir::print(module, {.locations = options.locations}));
}

}  // namespace

void add_opt(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "opt", "Run passes on a .tile file and print the result",
                            "Examples: what merging does after folding; the whole pipeline of this machine, timed; layouts on a GPU\n"
                            "  tilewright opt softmax.tile --passes=canonicalize,cse\n"
                            "  tilewright opt softmax.tile --passes=default --timing -o optimised.tile\n"
                            "  tilewright opt softmax.tile --passes=default --target sm_80 --warps 8",
                            o, execute);
  c->add_option("FILE", o->file, "Textual tile IR; - is standard input")->required()->type_name("");
  c->add_option("--passes", o->passes, "Names with commas between, in order; default: the target's pipeline")
      ->required()
      ->type_name("PASS,...");
  c->add_option("--target", o->target, "What the passes may assume")->type_name(kTargetNames);
  c->add_option("--warps", o->warps, "Warps of a program, where the target has them")->type_name("N");
  c->add_option("--kernel", o->kernel, "Which kernel of the file; default: all")->type_name("NAME");
  c->add_option("-o,--output", o->output, "The output file; default: standard output")->type_name("OUT");
  c->add_flag("--timing", o->timing, "How long each pass took, on standard error");
  c->add_flag("--locations", o->locations, "Print the source location of each op");
  c->add_flag("--no-contract", o->no_contract, "Never make a * b + c a fused multiply-add");
  c->add_flag("!--verify-each,--no-verify-each", o->no_verify_each, "Verify the IR after each pass, as is the default, or do not");
}

}  // namespace tilewright::cli

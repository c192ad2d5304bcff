// tilewright compile: a .tile file through the whole compiler, up to the form that was asked for.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "frontend/cli/command.h"
#include "frontend/cli/targets.h"
#include "frontend/compile_request.h"
#include "tileir/suggestion.h"

namespace tilewright::cli {

namespace {

constexpr std::array<std::string_view, 4> kForms = {"tileir", "llvm", "assembly", "stats"};
constexpr std::array<std::string_view, 2> kFormsOfPtx = {"ptx", "cubin"};

struct Options {
  std::string file, target = "cpu", emit = "tileir", kernel, output = "-";
  bool check = false, no_contract = false;
};

std::size_t op_count(const ir::Function& f) {
  std::size_t n = 0;
  f.walk([&](ir::OpId) { ++n; });
  return n;
}

std::string statistics(const ir::Function& f, const backend::CompiledKernel& k) {
  std::string out = fmt::format("kernel '{}' for {}\n", k.name, k.target);
  const auto line = [&](std::string_view what, const std::string& value) { out += fmt::format("  {:<16} {:>10}\n", what, value); };
  line("ops in the file", fmt::format("{}", op_count(f)));
  line("parameters", fmt::format("{}", k.params.size()));
  line("object bytes", fmt::format("{}", k.image.size()));
  line("scratch bytes", fmt::format("{}", k.scratch_bytes));
  double total = 0;
  for (const backend::PhaseTiming& t : k.timings) {
    line(t.phase + " ms", fmt::format("{:.2f}", t.ms));
    total += t.ms;
  }
  line("total ms", fmt::format("{:.2f}", total));
  return out;
}

std::string emit(const ir::Function& f, const Options& options) {
  const Here here;
  const detail::Request request{"compile", f.name, here};
  backend::CompileOptions compile = detail::checked_options(request, {.check = options.check, .contract = !options.no_contract});
  compile.target = options.target;
  const backend::CompiledKernel k = detail::compile_function(request, f, compile, options.emit != "stats", 0);
  if (options.emit == "llvm") return k.llvm_ir;
  if (options.emit == "assembly") return k.assembly;
  return options.emit == "stats" ? statistics(f, k) : k.tile_ir;
}

void check_form(const Options& options) {
  for (const std::string_view form : kFormsOfPtx)
    if (options.emit == form)
      throw Failure(fmt::format("--emit {}: this build has no PTX back end yet; it emits tileir, llvm, assembly and stats", form));
  for (const std::string_view form : kForms)
    if (options.emit == form) return;
  throw UsageError(
      fmt::format("--emit '{}' is none of tileir, llvm, assembly, stats{}", options.emit, ir::suggestion(options.emit, kForms)));
}

void execute(const Options& options, Session& session) {
  check_form(options);
  find_target(options.target);
  const ir::Module module = session.files.read_tile(options.file);
  const bool joins = options.emit == "tileir" || options.emit == "stats";  // the texts of several kernels are one text
  std::string out;
  if (joins && options.kernel.empty()) {
    for (const ir::Function& f : module.functions) out += emit(f, options);
  } else {
    out = emit(choose_kernel(module, options.kernel), options);
  }
  session.files.write(options.output, out);
}

}  // namespace

void add_compile(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "compile", "Compile the kernels of a .tile file and show a form of them",
                            "Example: the vector instructions of a kernel on processors with AVX2\n"
                            "  tilewright compile softmax.tile --target cpu:x86-64-v3 --emit assembly -o softmax.s",
                            o, execute);
  c->add_option("FILE", o->file, "Textual tile IR; - is standard input")->required()->type_name("");
  c->add_option("--target", o->target, "What to compile for; cpu is this machine")->type_name("cpu|cpu:x86-64|cpu:x86-64-v3|cpu:x86-64-v4");
  c->add_option("--emit", o->emit, "tileir: after all passes; stats: sizes and times")->type_name("tileir|llvm|assembly|stats");
  c->add_option("--kernel", o->kernel, "Which kernel of the file; default: all, or the only one")->type_name("NAME");
  c->add_option("-o,--output", o->output, "Where to; default: standard output")->type_name("OUT");
  c->add_flag("--check", o->check, "Compile for checked mode");
  c->add_flag("--no-contract", o->no_contract, "Never make a * b + c a fused multiply-add");
}

}  // namespace tilewright::cli

// tilewright compile: compiles a .tile file to the form that --emit names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/output/diagnostics_text.h"
#include "runtime/compile_request.h"
#include "runtime/ptx_lint.h"
#include "runtime/ptxas.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

constexpr std::array<std::string_view, 6> kForms = {"tileir", "llvm", "ptx", "assembly", "cubin", "stats"};

struct Options {
  std::string file, target = "cpu", emit = "tileir", kernel, output = "-";
  int warps = 4;
  std::optional<int> stages;
  bool check = false, no_contract = false, remarks = false;
};

std::size_t op_count(const ir::Function& f) {
  std::size_t n = 0;
  f.walk([&](ir::OpId) { ++n; });
  return n;
}

class Statistics {
 public:
  explicit Statistics(const std::string& title) : text_(title + '\n') {}
  void line(std::string_view what, const std::string& value) { text_ += fmt::format("  {:<16} {:>10}\n", what, value); }
  void line(std::string_view what, std::int64_t number) { line(what, fmt::format("{}", number)); }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_ptx(Statistics& s, const backend::CompiledKernel& k) {
  const std::string_view ptx(reinterpret_cast<const char*>(k.image.data()), k.image.size());
  const rt::PtxFacts facts = rt::read_ptx(ptx);
  s.line("PTX bytes", static_cast<std::int64_t>(ptx.size()));
  s.line("instructions", facts.instructions);
  s.line("global loads", rt::text(facts.global_loads));
  s.line("global stores", rt::text(facts.global_stores));
  s.line("shared loads", rt::text(facts.shared_loads));
  s.line("shared stores", rt::text(facts.shared_stores));
  s.line("atomics", facts.atomics);
  s.line("shuffles", facts.shuffles);
  s.line("barriers", facts.barriers);
  const backend::Resources r = rt::measured_resources(std::string(ptx), k.target, k.resources);
  s.line("warps", r.num_warps);
  s.line("shared bytes", r.shared_bytes);
  s.line("registers", r.registers);
  s.line("spill bytes", r.spill_bytes);
  for (const std::string& problem : facts.problems) s.line("problem", problem);
}

std::string statistics(const ir::Function& f, const backend::CompiledKernel& k) {
  Statistics s(fmt::format("kernel '{}' for {}", k.name, k.target));
  s.line("ops in the file", static_cast<std::int64_t>(op_count(f)));
  s.line("parameters", static_cast<std::int64_t>(k.params.size()));
  if (k.format == backend::CompiledKernel::Format::ptx) {
    add_ptx(s, k);
  } else {
    s.line("object bytes", static_cast<std::int64_t>(k.image.size()));
    s.line("scratch bytes", static_cast<std::int64_t>(k.scratch_bytes));
  }
  double total = 0;
  for (const backend::PhaseTiming& t : k.timings) {
    s.line(t.phase + " ms", fmt::format("{:.2f}", t.ms));
    total += t.ms;
  }
  s.line("total ms", fmt::format("{:.2f}", total));
  return std::move(s).text();
}

std::string cubin(const backend::CompiledKernel& k) {
  const std::optional<std::string> ptxas = rt::find_ptxas();
  if (!ptxas) throw Failure(fmt::format("--emit cubin: {}", rt::why_no_ptxas()));
  try {
    return rt::assemble(*ptxas, std::string(reinterpret_cast<const char*>(k.image.data()), k.image.size()), k.target).cubin;
  } catch (const Error& e) {
    throw Failure(fmt::format("--emit cubin: {}", message_of(e)));
  }
}

/// Prints the remarks of the compilation and, if it is installed, of ptxas.
void print_remarks(const backend::CompiledKernel& k) {
  const auto print = [&](const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) fmt::print(stderr, "remark: kernel '{}': {}\n", k.name, remark);
  };
  print(k.remarks);
  if (k.format != backend::CompiledKernel::Format::ptx) return;
  const std::string ptx(reinterpret_cast<const char*>(k.image.data()), k.image.size());
  if (const auto assembled = rt::assembled_kernel(ptx, k.target)) print(rt::remarks_of(*assembled, "ptxas"));
}

std::string emit(const ir::Function& f, const Options& options) {
  const Here here;
  backend::CompileOptions compile =
      compile_options("compile", f.name,
                      {.num_warps = options.warps, .num_stages = options.stages, .check = options.check, .contract = !options.no_contract});
  compile.target = options.target;
  const bool keep_text = options.emit != "stats" && options.emit != "cubin";
  const backend::CompiledKernel k =
      detail::compile_function({"compile", f.name, here}, f, compile, keep_text ? detail::Output::text : detail::Output::fresh_code, 0);
  if (options.remarks) print_remarks(k);
  if (options.emit == "llvm") return k.llvm_ir;
  if (options.emit == "assembly" || options.emit == "ptx") return k.assembly;
  if (options.emit == "cubin") return cubin(k);
  return options.emit == "stats" ? statistics(f, k) : k.tile_ir;
}

void check_form(const Options& options, const ir::TargetDesc& target) {
  if (std::find(kForms.begin(), kForms.end(), options.emit) == kForms.end())
    throw UsageError(
        fmt::format("--emit '{}' is none of {}{}", options.emit, fmt::join(kForms, ", "), ir::suggestion(options.emit, kForms)));
  if ((options.emit == "ptx" || options.emit == "cubin") && !target.is_gpu())
    throw UsageError(fmt::format("--emit {}: target '{}' is not a GPU; there are {}", options.emit, options.target, kGpuTargets));
}

void execute(const Options& options, Session& session) {
  check_form(options, find_target(options.target));
  const ir::Module module = session.files.read_tile(options.file);
  const bool joins = options.emit == "tileir" || options.emit == "stats";  // texts of several kernels may be concatenated
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
                            "Examples: the vector instructions of a kernel on processors with AVX2; PTX of a program of 8 warps\n"
                            "  tilewright compile softmax.tile --target cpu:x86-64-v3 --emit assembly -o softmax.s\n"
                            "  tilewright compile softmax.tile --target sm_90a --warps 8 --emit ptx -o softmax.ptx\n"
                            "cubin needs NVIDIA's assembler: TILEWRIGHT_PTXAS, or ptxas on PATH. Without it stats give registers and\n"
                            "spills as -1.",
                            o, execute);
  c->add_option("FILE", o->file, "Textual tile IR; - is standard input")->required()->type_name("");
  c->add_option("--target", o->target, "What to compile for; cpu is this machine")->type_name(kTargetNames);
  c->add_option("--emit", o->emit, "tileir: after all passes; stats: sizes and times")->type_name("tileir|llvm|ptx|assembly|cubin|stats");
  c->add_option("--kernel", o->kernel, "Which kernel of the file; default: all, or the only one")->type_name("NAME");
  c->add_option("-o,--output", o->output, "The output file; default: standard output")->type_name("OUT");
  c->add_option("--warps", o->warps, "Warps of a program, where the target has them")->type_name("N");
  c->add_option("--stages", o->stages, "Stages of pipelined loops that do not say how many, where the target has them")->type_name("N");
  c->add_flag("--remarks", o->remarks, "Print on standard error where the code does less than was asked for, or will be slow");
  c->add_flag("--check", o->check, "Compile for checked mode");
  c->add_flag("--no-contract", o->no_contract, "Never make a * b + c a fused multiply-add");
}

}  // namespace tilewright::cli

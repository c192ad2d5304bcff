// tilewright run: launches a kernel of a .tile file. Buffers are read from and written to NumPy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "frontend/cli/arguments/launch_options.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/commands/run_options.h"
#include "frontend/cli/commands/run_ptx.h"
#include "frontend/cli/execution/emulator_launches.h"
#include "frontend/cli/execution/execution.h"
#include "frontend/cli/files/npy.h"
#include "frontend/cli/output/launch_timing.h"
#include "tilewright/device_print.h"

namespace tilewright::cli {

namespace {

struct Options {
  RunOptions run;
  std::vector<std::string> outputs;
  bool report = false;
  std::uint64_t shared = 0;
  std::optional<std::uint64_t> limit;
};

struct Output {
  int parameter;
  std::string path;
};

std::vector<Output> parse_outputs(const ir::Function& f, const Options& options) {
  std::vector<Output> outputs;
  for (const std::string& text : options.outputs) {
    const auto [name, path] = split_assignment(text, "--out");
    const int i = find_parameter(f, name);
    const ir::Type t = f.type(f.arg(f.body(), i));
    if (!t.is_pointer())
      throw UsageError(fmt::format("--out '{}': parameter '{}' is {}; only buffers can be written", text, f.params[i].name, ir::text(t)));
    for (const Output& o : outputs)
      if (o.path == path) throw UsageError(fmt::format("--out: {} is written twice", path == "-" ? "standard output" : "'" + path + "'"));
    outputs.push_back({i, path});
  }
  return outputs;
}

std::string report(const ir::Function& f, const std::vector<Argument>& arguments, const RunOptions& options, Execution& execution,
                   double first_ms) {
  std::string out = fmt::format("kernel '{}' on {}\n", f.name, execution.device_text());
  out += fmt::format("  {:<9} {}\n", "grid", options.grid);
  for (const Argument& a : arguments) {
    const std::string what =
        a.is_buffer() ? fmt::format("{} elements, {} bytes", a.elements, a.elements * ir::bytes(a.type.element())) : "a scalar";
    out += fmt::format("  {:<9} {}: {}, {}\n", "argument", a.name, ir::text(a.type), what);
  }
  for (const backend::PhaseTiming& t : execution.timings()) out += fmt::format("  {:<9} {:.3f} ms\n", t.phase, t.ms);
  // Only the first launch's counters: the timed launches have the same.
  const std::string counted = execution.counters_text();
  on_device_print([](std::string_view) {});  // only the first launch prints
  // Buffers are restored before each launch, because a kernel may read the values that it writes.
  const std::string times = timing_text([&] { execution.restore(); }, [&] { execution.launch(); }, first_ms);
  return out + fmt::format("  {:<9} {}\n", "launch", times) + counted;
}

void execute(const Options& options, Session& session) {
  if (options.run.file.ends_with(".ptx"))
    return run_ptx({options.run, options.shared, options.outputs, options.report, options.limit}, session);
  if (options.shared != 0) throw UsageError("--shared is for PTX: tile kernels know how much shared memory they need");
  const EmulatorLaunches launches(options.run.device, options.limit);
  const ExecutionOptions launch = execution_options(options.run);
  const ir::Module module = session.files.read_tile(options.run.file);
  const ir::Function& f = choose_kernel(module, options.run.kernel);
  const std::vector<Output> outputs = parse_outputs(f, options);
  const std::vector<Argument> arguments = parse_arguments(f, options.run.arguments, session.files);
  const bool stdout_is_taken = std::any_of(outputs.begin(), outputs.end(), [](const Output& o) { return o.path == "-"; });
  if (stdout_is_taken) on_device_print([](std::string_view line) { fmt::print(stderr, "{}\n", line); });
  Execution execution(f, arguments, launch);
  const double first_ms = timed([&] { execution.launch(); });
  for (const Output& o : outputs) {
    const Argument& a = arguments[o.parameter];
    session.files.write(o.path, write_npy(a.type.element(), a.shape, execution.contents(o.parameter)));
  }
  if (options.report) fmt::print(stderr, "{}", report(f, arguments, options.run, execution, first_ms));
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& o) {
  command.add_option("FILE", o.file, "Textual tile IR, or for run PTX if it ends in .ptx; - is standard input")->required()->type_name("");
  command.add_option("--kernel", o.kernel, "Which kernel of the file; may be left out if there is one")->type_name("NAME");
  add_device_option(command, o.device, "The device, or the interpreter", Interpreter::is_device);
  command.add_option("--grid", o.grid, "How many programs along each axis")->type_name("X[,Y[,Z]]");
  add_argument_option(command, o.arguments, "A parameter's value: FILE.npy, zeros:f32:N (a buffer), i32:5, f32:0.5, ... (a scalar)");
  command.add_option("--warps", o.warps, "Warps of a program, where the target has them")->type_name("N");
  command.add_flag("--check", o.check,
                   "Checked mode: accesses outside of every buffer and assertions that fail are reported, on the cpu also wrong hints");
  command.add_flag("--no-contract", o.no_contract, "Never make a * b + c a fused multiply-add");
}

ExecutionOptions execution_options(const RunOptions& o) {
  if (o.grid.empty()) throw UsageError("--grid is required: how many programs to run, as --grid 64 or --grid 8,8");
  return {.device = o.device, .grid = parse_grid(o.grid), .warps = o.warps, .check = o.check, .contract = !o.no_contract};
}

void add_run(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(
      root, session, "run", "Launch a kernel of a .tile or .ptx file once, on NumPy files",
      "Example: z = x + y of 1000 elements, 256 of them a program\n"
      "  tilewright run add.tile --grid 4 --arg x=x.npy --arg y=y.npy --arg z=zeros:f32:1000 --arg n=i32:1000 \\\n"
      "    --out z=z.npy --check\n"
      "Each buffer holds a copy of its file. --out writes a buffer after the launch, in the shape of the file that it came from.\n"
      "device_print writes to standard output, or to standard error if an --out is -.\n"
      "A .ptx file runs on emulators. Its parameters go by position, 0 first, and tensor maps are made of files, the box last:\n"
      "  tilewright run copy.ptx --device emulator:sm_90a --grid 4 --warps 4 --shared 16384 \\\n"
      "    --arg 0=tensormap:x.npy:64x64:swizzle128 --arg 1=zeros:f16:4096 --arg 2=i32:64 --out 1=y.npy\n"
      "A struct is --arg 3=struct:i32:5,f32:0.5,x.npy, its fields in order and aligned as in C++ (pad:N skips N bytes); --out 3.2=x.npy\n"
      "writes the buffer of its third field. Where the emulator finds mistakes, --out is written too, and the exit status is 1.\n"
      "If no warp can make progress, and on Ctrl-C, an emulator reports where the warps are and what they wait for.\n"
      "bf16 and fp8 are stored as void of 2 or 1 bytes, as ml_dtypes does: array.view(ml_dtypes.bfloat16).",
      o, execute);
  add_run_options(*c, o->run);
  add_output_option(*c, o->outputs, "Write a parameter's buffer after the launch; - is standard output");
  c->add_option("--shared", o->shared, "Dynamic shared memory of a block, for PTX")->type_name("BYTES");
  add_limit_option(*c, o->limit);
  c->add_flag("--report", o->report,
              "Print the device, sizes and times on standard error, and what emulators counted; launches again to time it");
}

}  // namespace tilewright::cli

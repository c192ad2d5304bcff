// tilewright bench: measures kernels of the library, or a kernel of a file, beside peers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "frontend/cli/arguments/launch_options.h"
#include "frontend/cli/bench/peers/peers.h"
#include "frontend/cli/bench/runs/file_kernel.h"
#include "frontend/cli/bench/runs/library_run.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/execution/interruption.h"

namespace tilewright::cli {

namespace {

using namespace bench;

struct Options {
  std::vector<std::string> kernels;
  BenchOptions bench;
  FileKernelOptions file;
  bool list = false;
};

constexpr int kNameWidth = 22;

/// The text that --list prints.
std::string list_text() {
  std::string text = "kernels:\n";
  for (const KernelRow& row : kernel_rows()) {
    std::vector<std::string> types;
    for (const ir::Element e : row.problems.types) types.emplace_back(ir::text(e));
    text += fmt::format("  {:<{}} {}\n", row.name, kNameWidth, row.formula);
    text += fmt::format("  {:<{}}   shape {}; types {}\n", "", kNameWidth, fmt::join(row.axes, "x"), fmt::join(types, ", "));
    if (!row.data.empty()) text += fmt::format("  {:<{}}   {}\n", "", kNameWidth, row.data);
  }
  text += fmt::format("  inputs are {} where no other is named\n", kUsualData);
  text += "peers:\n";
  for (const PeerKind& kind : peer_kinds())
    text += fmt::format("  {:<{}} {}; on {}\n", kind.name, kNameWidth, kind.about,
                        kind.on_cpu && kind.on_gpu ? "cpu and GPUs"
                        : kind.on_cpu              ? "cpu"
                                                   : "GPUs");
  return text;
}

void execute(const Options& options, Session& session) {
  if (options.list) return session.files.write("-", list_text());
  if (options.kernels.empty()) throw UsageError("which kernel? one of 'tilewright bench --list', or a FILE.tile");
  const bool is_file = options.kernels[0].ends_with(".tile") || options.kernels[0] == "-";
  if (is_file && options.kernels.size() > 1) throw UsageError("a FILE.tile is measured alone");
  if (is_file) return bench_file(options.kernels[0], options.bench, options.file, session.files);
  if (options.file.is_given()) throw UsageError("--kernel, --grid, --arg and --warps are for a FILE.tile");
  bench_library(options.kernels, options.bench, session.files);
}

}  // namespace

void add_bench(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(
      root, session, "bench", "Measure kernels of the library, or one of a file, beside other libraries",
      "Examples: what there is; products of three sizes beside OpenBLAS and NumPy; what a softmax does on an H100 that is not here;\n"
      "a kernel of a file; what tuning gains\n"
      "  tilewright bench --list\n"
      "  tilewright bench matmul --shapes 256x256x256,1000x1000x1000 --types f32,f64 --vs openblas,numpy --json matmul.json --plot "
      "matmul.svg\n"
      "  tilewright bench softmax --device emulator:sm_90a\n"
      "  tilewright bench add.tile --grid 4 --arg x=x.npy --arg y=y.npy --arg z=zeros:f32:1000 --arg n=i32:1000\n"
      "  tilewright bench softmax layer_norm --shapes 1024x1000 --tune\n"
      "Results are checked against double precision before anything is measured. Contenders run in turns, round by round; times are "
      "medians.\n"
      "'roofline' is the time of a copy of as many bytes in the same rounds, or of the operations at the device's peak, whichever is "
      "longer,\n"
      "as a share of ours; '1.25x' beside a peer's time says that ours takes 1/1.25 of it. A missing peer is skipped, and "
      "the report says why.\n"
      "Ctrl-C ends with the rows that are done, in all files.",
      o, execute);
  BenchOptions& b = o->bench;
  c->add_option("KERNEL", o->kernels, "Kernels of the library (see --list), all, or one FILE.tile")->type_name("");
  c->add_flag("--list", o->list, "List the kernels, their shapes and types, and the peers");
  add_device_option(*c, b.device, "The device; the best one if not given", Interpreter::is_no_device);
  c->add_option("--shapes", b.shapes, "Shapes, their axes in the order of --list: 1024x1024x1024,4096x4096x4096")
      ->type_name("SHAPE[,SHAPE...]");
  c->add_option("--types", b.types, "Element types, or all: f16,f32; if not given, f32 on the cpu and f16 on GPUs")
      ->type_name("TYPE[,TYPE...]");
  c->add_option("--vs", b.peers,
                "Peers: cublas, torch, triton, cudnn, flash, numpy, openblas, onednn, memcpy, or all that the device can have")
      ->type_name("PEER[,PEER...]");
  c->add_option("--rounds", b.measuring.rounds, "Rounds of a case at most")->type_name("N")->check(CLI::Range(1, 100000));
  c->add_option("--seconds", b.measuring.seconds, "Start no round of a case after so long; three are run in any case")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber);
  c->add_flag("--cold", b.measuring.cold, "Overwrite the caches before each launch");
  c->add_flag("--tune", b.tune,
              "Measure configurations of each kernel first, at most 30, and write the fastest into the wisdom file that launches read");
  c->add_flag("--ieee", b.ieee, "Products of f32 by multiply-adds in f32, of peers too; not by tf32, where the device has it");
  c->add_option("--json", b.json, "Write the results as JSON; - is standard output")->type_name("FILE.json");
  c->add_option("--plot", b.plot, "Draw shares of the roofline and of the peers")->type_name("FILE.svg");
  c->add_option("--python", b.python, "The interpreter for peers in Python; python3 if not given")->type_name("FILE");
  c->add_option("--kernel", o->file.kernel, "Of a FILE.tile: which kernel")->type_name("NAME");
  c->add_option("--grid", o->file.grid, "Of a FILE.tile: how many programs along each axis")->type_name("X[,Y[,Z]]");
  add_argument_option(*c, o->file.arguments, "Of a FILE.tile: a parameter's value, as 'tilewright run' takes it");
  c->add_option("--warps", o->file.warps, "Of a FILE.tile: warps of a program, where the target has them")->type_name("N");
}

}  // namespace tilewright::cli

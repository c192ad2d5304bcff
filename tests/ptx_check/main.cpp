// check_ptx: compiles each kernel of the .tile files under some folders to PTX for each GPU, which the lint and, if installed, ptxas must
// accept. In a folder that TILEWRIGHT_DUMP wrote, only the traced kernels are compiled. Kernels of .graph files are derived for each GPU,
// and compiled for it with the warps that they are launched with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "backend/compile.h"
#include "frontend/cli/execution/child_process.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "runtime/ptx_lint.h"
#include "runtime/ptxas.h"
#include "tests/ptx_check/checker.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/op_kind.h"
#include "tileir/target/gpu_chips.h"
#include "tileir/target/mma_layouts.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

namespace {

namespace fs = std::filesystem;
using namespace tilewright;

struct Kernel {
  std::string name;
  ir::Function function;
  std::vector<std::string> targets;
  backend::CompileOptions options;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files_in(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path& path = entry.path();
      const bool is_dump = fs::exists(path.parent_path() / "00_traced.tile");
      const bool is_tile = path.extension() == ".tile" && (!is_dump || path.filename() == "00_traced.tile");
      if (is_tile || path.extension() == ".graph") files.push_back(path);
    }
  std::sort(files.begin(), files.end());
  return files;
}

/// Large tiles get many warps, as in real kernels, because the code grows with the elements that one thread holds.
int warps_for(const ir::Function& f, std::size_t number) {
  std::int64_t most = 1;
  f.walk([&](ir::OpId id) {
    for (const ir::ValueId v : f.op(id).results) most = std::max(most, f.type(v).elements());
  });
  constexpr int kSmall[] = {4, 1, 4, 8, 4, 2};
  return most > 65536 ? 32 : most > 8192 ? 16 : most > 2048 ? 8 : kSmall[number % std::size(kSmall)];
}

/// Whether no pass for GPUs has run on the function, so that the whole pipeline can.
bool is_traced(const ir::Function& f) {
  bool traced = true;
  f.walk([&](ir::OpId id) {
    traced = traced && !ir::is_made_by_passes(f.kind(id));
    for (const ir::ValueId v : f.op(id).results) traced = traced && !f.layout_id(v);
  });
  return traced;
}

/// Whether LLVM takes a minute for the kernel and ptxas would take minutes and gigabytes: the code of a sort grows faster than its tile.
bool has_long_sort(const ir::Function& f) {
  bool found = false;
  f.walk([&](ir::OpId id) {
    for (const ir::ValueId v : f.op(id).results) found = found || (f.kind(id) == ir::OpKind::sort_ && f.type(v).elements() > 1 << 18);
  });
  return found;
}

class KernelReader {
 public:
  /// `warps`: of every program of tile IR; 0: by the size of its tiles.
  KernelReader(std::vector<std::string> targets, int warps) : targets_(std::move(targets)), warps_(warps) {}

  void read(const fs::path& file) {
    const bool is_graph = file.extension() == ".graph";
    graph::Graph g;
    ir::Module module;
    try {
      if (is_graph)
        g = graph::parse(contents(file), file.string());
      else
        module = ir::parse(contents(file), file.string());
    } catch (const Error&) {
      return;  // for tests of the parsers
    }
    is_graph ? derive(file, g) : add_traced(file, module);
  }
  std::vector<Kernel>& kernels() { return kernels_; }

 private:
  void add_traced(const fs::path& file, ir::Module& module) {
    for (ir::Function& f : module.functions) {
      if (!ir::verify(f).empty() || !is_traced(f)) continue;
      backend::CompileOptions options;
      options.num_warps = warps_ != 0 ? warps_ : warps_for(f, kernels_.size());
      options.check = kernels_.size() % 8 == 7;
      add(file, std::move(f), targets_, options);
    }
  }

  void derive(const fs::path& file, const graph::Graph& g) {
    for (const std::string& target : targets_) {
      passes::fusion::KernelSequence program = passes::fusion::build_sequence(g, {}, backend::describe_target(target));
      for (auto* all : {&program.kernels, &program.parameter_kernels})
        for (passes::fusion::SequenceKernel& k : *all) {
          if (k.like >= 0) continue;
          backend::CompileOptions options;
          options.num_warps = k.num_warps;
          options.num_stages = k.num_stages;
          options.contract = k.contract;
          add(file, std::move(k.function), {target}, options);
        }
    }
  }

  void add(const fs::path& file, ir::Function f, std::vector<std::string> targets, const backend::CompileOptions& options) {
    if (!seen_.insert(fmt::format("{} {}", fmt::join(targets, " "), ir::print(f))).second) return;
    kernels_.push_back({fmt::format("{} of {}", f.name, file.string()), std::move(f), std::move(targets), options});
  }

  std::vector<std::string> targets_;
  int warps_;
  std::set<std::string> seen_;
  std::vector<Kernel> kernels_;
};

class Run {
 public:
  Run(std::vector<std::string> targets, std::optional<std::string> ptxas, bool no_spills)
      : targets_(std::move(targets)), ptxas_(std::move(ptxas)), no_spills_(no_spills) {}

  /// Runs in a child process, because a compiler bug or a fatal error of LLVM ends the process; then the kernels are tried in halves.
  void check(std::span<const Kernel> kernels) {
    const auto result = children_.run([&] { return outcome(kernels); }, 600);
    if (result.signal == 0) return take(result.text);
    if (kernels.size() > 1) {
      check(kernels.first(kernels.size() / 2));
      return check(kernels.subspan(kernels.size() / 2));
    }
    ++counts_.kernels;
    const std::string said = result.errors.substr(0, result.errors.find('\n'));
    problems_.push_back(fmt::format("{}, {} warps: {}: {}", kernels[0].name, kernels[0].options.num_warps, strsignal(result.signal), said));
  }

  const std::vector<std::string>& hashes() const { return hashes_; }

  int report() const {
    for (const std::string& problem : problems_) fmt::print("{}\n", problem);
    fmt::print("{} kernels, {} PTX texts for {}; refused {}; ", counts_.kernels, counts_.texts, fmt::join(targets_, " "), counts_.refused);
    if (ptxas_)
      fmt::print("assembled {}, {} of them with spills; {} kernels too long for that, and for more than one target; ", counts_.assembled,
                 counts_.with_spills, counts_.too_long);
    else
      fmt::print("not assembled: {}; ", rt::why_no_ptxas());
    fmt::print("{} problems\n", problems_.size());
    return problems_.empty() && counts_.kernels > 0 ? 0 : 1;
  }

 private:
  /// The counts in a line, then hashes and problems, each before a '\0': problems may have many lines.
  std::string outcome(std::span<const Kernel> kernels) const {
    test::PtxChecker checker(ptxas_, no_spills_);
    for (const Kernel& k : kernels) checker.add(k.name, k.function, k.targets, k.options);
    checker.finish();
    const test::PtxCounts& c = checker.counts();
    std::string text = fmt::format("{} {} {} {} {} {}\n", c.kernels, c.texts, c.assembled, c.with_spills, c.refused, c.too_long);
    for (const std::string& hash : checker.hashes()) text += hash + '\0';
    for (const std::string& problem : checker.problems()) text += problem + '\0';
    return text;
  }
  void take(const std::string& text) {
    std::istringstream in(text);
    test::PtxCounts c;
    in >> c.kernels >> c.texts >> c.assembled >> c.with_spills >> c.refused >> c.too_long;
    in.get();
    counts_.kernels += c.kernels;
    counts_.texts += c.texts;
    counts_.assembled += c.assembled;
    counts_.with_spills += c.with_spills;
    counts_.refused += c.refused;
    counts_.too_long += c.too_long;
    std::string line;
    for (int i = 0; i < c.texts && std::getline(in, line, '\0'); ++i) hashes_.push_back(line);
    while (std::getline(in, line, '\0')) problems_.push_back(line);
  }

  std::vector<std::string> targets_;
  std::optional<std::string> ptxas_;
  bool no_spills_;
  cli::ChildProcesses children_;
  std::vector<std::string> problems_, hashes_;
  test::PtxCounts counts_;
};

/// One target for each group of chips with the same code and the same limits: the first.
std::vector<std::string> all_targets() {
  const auto is_alike = [](const ir::GpuChip& a, const ir::GpuChip& b) {
    const auto instructions_of = [](const ir::GpuChip& chip) {
      const ir::TargetDesc target = backend::describe_target(std::string(chip.target));
      std::vector<bool> has;
      for (const ir::MatrixInstruction& i : ir::mma_instructions()) has.push_back(ir::has_instruction(target, i));
      return has;
    };
    return a.code == b.code && a.shared_kib == b.shared_kib && a.warps_per_sm == b.warps_per_sm && instructions_of(a) == instructions_of(b);
  };
  std::vector<std::string> targets;
  const std::span<const ir::GpuChip> chips = ir::gpu_chips();
  for (std::size_t i = 0; i < chips.size(); ++i)
    if (std::none_of(chips.begin(), chips.begin() + static_cast<std::ptrdiff_t>(i), [&](const auto& c) { return is_alike(c, chips[i]); }))
      targets.emplace_back(chips[i].target);
  return targets;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("PTX for every GPU of the kernels in .tile and .graph files, checked by the lint and by ptxas");
  std::vector<std::string> folders, targets;
  std::size_t share = 0, shares = 1;
  int warps = 0;
  bool no_spills = false;
  std::string hashes;
  app.add_option("FOLDER", folders, "Where the files are, at any depth")->required();
  app.add_option("--target", targets, "Only for these; default: all");
  app.add_option("--share", share,
                 "Which of the shares to check, from 0; the first one has the kernels that are compiled for one target only");
  app.add_option("--of", shares, "Number of shares that the targets are divided into");
  app.add_option("--warps", warps, "Of every program of tile IR; default: by the size of its tiles");
  app.add_flag("--no-spills", no_spills, "Local memory, more than four spilled registers and too much shared memory are a problem");
  app.add_option("--hashes", hashes,
                 "Write the hashes of each kernel's PTX and tile IR to this file, to compare compilers by, and leave ptxas out");
  CLI11_PARSE(app, argc, argv);
  if (targets.empty()) targets = all_targets();
  // Shares by kernel would be uneven, because a few kernels take most of the time.
  std::vector<std::string> my_targets;
  for (std::size_t i = share; i < targets.size(); i += shares) my_targets.push_back(std::move(targets[i]));
  KernelReader reader(my_targets, warps);
  for (const fs::path& file : files_in(folders)) reader.read(file);
  std::vector<Kernel>& kernels = reader.kernels();
  if (share != 0) std::erase_if(kernels, [](const Kernel& k) { return has_long_sort(k.function); });
  Run run(my_targets, hashes.empty() ? rt::find_ptxas() : std::nullopt, no_spills);
  constexpr std::size_t kAtOnce = 32;
  for (std::size_t i = 0; i < kernels.size(); i += kAtOnce) run.check(std::span(kernels).subspan(i, std::min(kAtOnce, kernels.size() - i)));
  if (!hashes.empty()) std::ofstream(hashes) << fmt::format("{}\n", fmt::join(run.hashes(), "\n"));
  return run.report();
}

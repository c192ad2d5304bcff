// Times a kernel of a file on its arguments, beside a copy of the same number of bytes.
#include "frontend/cli/bench/runs/file_kernel.h"

#include <fmt/format.h>

#include <optional>

#include "frontend/cli/bench/peers/peers.h"
#include "frontend/cli/bench/report/output.h"
#include "frontend/cli/bench/report/progress.h"
#include "frontend/cli/execution/emulator_launches.h"
#include "frontend/cli/execution/execution.h"
#include "frontend/cli/files/errors.h"
#include "tilewright/device_print.h"

namespace tilewright::cli::bench {

namespace {

/// The kernel with its arguments. Buffers are restored before each launch, because a kernel may read what it writes.
class FileKernel final : public Contender {
 public:
  FileKernel(const Device& device, Execution& execution) : device_(device), execution_(execution) {}

  double time(int launches) override {
    double sum = 0;
    for (int i = 0; i < launches; ++i) {
      execution_.restore();
      sum += time_calls(device_, 1, [&] { execution_.launch(); });
    }
    return sum / launches;
  }
  Contents results() override { return {}; }

 private:
  const Device device_;
  Execution& execution_;
};

void expect_options_of_files(const BenchOptions& options) {
  if (!options.shapes.empty() || !options.types.empty()) throw UsageError("--shapes and --types are for kernels of the library");
  if (options.tune) throw UsageError("--tune is for kernels of the library");
  if (!options.peers.empty() && options.peers != "memcpy")
    throw UsageError(fmt::format("--vs '{}': the only peer of a kernel of a file is memcpy, a copy of as many bytes as its buffers have",
                                 options.peers));
}

double bytes_of(const std::vector<Argument>& arguments) {
  double bytes = 0;
  for (const Argument& a : arguments)
    if (a.is_buffer()) bytes += static_cast<double>(a.elements) * ir::bytes(a.type.element());
  return bytes;
}

/// Times the kernel and the copy in turns.
void measure_file(const Setting& setting, const BenchOptions& options, Execution& execution, const std::string& title, CaseResult& r) {
  std::vector<Entrant> entrants(2);
  entrants[0].name = "tilewright";
  entrants[0].contender = std::make_unique<FileKernel>(setting.device, execution);
  entrants[1].name = "memcpy";
  entrants[1].contender = copy_of(setting, r.bytes);
  std::optional<CacheFlush> flush;
  if (options.measuring.cold) flush.emplace(setting.device);
  Progress progress(1);
  measure(entrants, options.measuring, flush ? &*flush : nullptr, Interruption::flag(), [&](int round) {
    progress.show(0, static_cast<double>(round) / options.measuring.rounds, fmt::format("{}: round {}", title, round + 1));
  });
  for (const Entrant& e : entrants) r.contestants.push_back({e.name, e.times, e.checked, e.error, e.failure});
  r.copy_ms = entrants[1].times.median;
}

}  // namespace

void bench_file(const std::string& file, const BenchOptions& options, const FileKernelOptions& of, Files& files) {
  expect_options_of_files(options);
  if (of.grid.empty()) throw UsageError("--grid is required: how many programs to run, as --grid 64 or --grid 8,8");
  Setting setting{open_measured_device(options.device), {}, ""};
  const Device& device = setting.device;
  const EmulatorLaunches launches(device.name(), {});
  std::optional<Interruption> interruption;
  if (!is_emulator(device)) interruption.emplace();

  const ir::Module module = files.read_tile(file);
  const ir::Function& f = choose_kernel(module, of.kernel);
  const std::vector<Argument> arguments = parse_arguments(f, of.arguments, files);
  Output output(options.json, options.plot);
  on_device_print([](std::string_view) {});  // drops the output, which each launch would repeat
  Execution execution(f, arguments, {.device = device.name(), .grid = parse_grid(of.grid), .warps = of.warps == 0 ? 4 : of.warps});

  Results results = started_results(device, options.measuring);
  results.data = "the arguments, as before each launch; results are not checked";
  CaseResult r;
  r.kernel = f.name, r.shape = "grid " + of.grid, r.bytes = bytes_of(arguments);
  const Table table(options.peers.empty() ? std::vector<std::string>() : std::vector<std::string>{"memcpy"}, is_emulator(device),
                    {{r.kernel, r.shape}});
  output.print(heading_text(results) + "\n" + table.header());
  if (is_emulator(device)) {
    take_counted(device.name());
    execution.launch();
    r.counted = take_counted(device.name());
    r.contestants.push_back({"tilewright", {}, false, 0, ""});
  } else {
    execution.launch();  // an error here is the user's and must not become a row of the table
    measure_file(setting, options, execution, fmt::format("{} {}", r.kernel, r.shape), r);
  }
  results.interrupted = Interruption::flag();
  if (!results.interrupted) {
    output.print(table.row(r));
    results.cases.push_back(std::move(r));
  } else {
    output.note("interrupted: 0 of 1 cases are done");
  }
  output.write(results, files);
}

}  // namespace tilewright::cli::bench

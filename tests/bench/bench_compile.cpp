// How long a kernel takes from a C++ function to machine code, and a graph from formulas, by phase; how that grows with the tile and with
// the code; and what a launch costs after it. Goes through the layers one by one and not through Kernel::compile, which also writes the
// texts that it returns.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>

#include "backend/compile.h"
#include "frontend/graph/tensor_call.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/device.h"
#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/bench/families.h"
#include "tests/bench/graphs.h"
#include "tests/bench/kernels.h"
#include "tests/bench/large.h"
#include "tests/bench/report.h"
#include "tests/bench/traced.h"
#include "tests/unit/passes/fusion/families.h"

namespace {

using namespace bench;
using Timings = std::vector<tw::backend::PhaseTiming>;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

struct Compilation {
  Timings timings;  // each phase and its time
  std::size_t image_bytes;
};

/// Traces f, compiles it, loads it.
template <class... P>
Compilation compile(const tw::Device& device, void (*f)(P...), int block) {
  auto start = Clock::now();
  tw::ir::Function function = traced(f, {block});
  const double trace_ms = ms_since(start);

  tw::rt::Device& target = *device.handle();
  tw::backend::CompileOptions options;
  options.target = target.target();
  tw::backend::CompiledKernel compiled = tw::backend::compile(std::move(function), options);
  start = Clock::now();
  const auto loaded = target.load(compiled, tw::Here::current());
  const double load_ms = ms_since(start);

  Timings timings = {{"trace", trace_ms}};
  timings.insert(timings.end(), compiled.timings.begin(), compiled.timings.end());
  timings.push_back({"load", load_ms});
  return {std::move(timings), compiled.image.size()};
}

/// Medians of the phases and of their sums, by phase in the order in which they happen.
std::vector<std::pair<std::string, double>> medians(const std::vector<Timings>& runs) {
  std::vector<std::string> phases = {"total"};
  std::map<std::string, std::vector<double>> samples;
  for (const Timings& run : runs) {
    double total = 0;
    for (const auto& [phase, ms] : run) {
      if (!samples.contains(phase)) phases.push_back(phase);
      samples[phase].push_back(ms);
      total += ms;
    }
    samples["total"].push_back(total);
  }
  std::vector<std::pair<std::string, double>> result;
  for (const std::string& phase : phases) result.emplace_back(phase + " ms", summarise(samples[phase]).median);
  return result;
}

class CompileBench {
 public:
  explicit CompileBench(const Options& options)
      : options_(options), device_(open_device(options.device)), report_(options, "compile", device_.name()) {}

  void run() {
    first_launch();
    for (int block : {256, 1024, 4096, 16384, 65536}) {
      measure("vector_add", vector_add, block);
      measure("softmax", softmax, block);
      measure("layer_norm", layer_norm, block);
    }
    families::each([&](const char* name, auto kernel) {
      for (int block : {64, 1024, 16384, 65536}) measure(name, kernel, block);
    });
    for (int block : {16, 32, 64, 128}) {
      measure("matmul", matmul<float>, block);
      measure("attention", attention, block);
    }
    for (int n : {8, 16, 24}) measure("cholesky", large::cholesky, n, "n");
    for (int n : {1000, 5000}) measure("polynomial", large::polynomial, n, "degree");
    for (int n : {250, 1000}) measure("stores", large::stores, n, "count");
    measure_graph("graph_attention", graphs::attention);
    measure_graph("graph_block", [](tw::Graph& g) { graphs::transformer(g, 1); });
    measure_graph("graph_48_layers", [](tw::Graph& g) { graphs::transformer(g, 48); });
    for (const auto& family : tw::passes::fusion::test::families())
      for (std::size_t nodes : {100, 1000, 10000}) measure_family(family, nodes);
    warm_launch();
    warm_launch_on_host();
    warm_run_on_host();
    report_.finish();
  }

 private:
  template <class... P>
  void measure(const std::string& kernel, void (*f)(P...), int block, const char* constant = "block") {
    const std::string name = kernel + " " + constant + " " + std::to_string(block);
    if (!options_.wants(name)) return;
    std::vector<Timings> runs;
    std::size_t image_bytes = 0;
    for (int i = 0; i < options_.repeats; ++i) {
      Compilation c = compile(device_, f, block);
      runs.push_back(std::move(c.timings));
      image_bytes = c.image_bytes;
    }
    auto values = medians(runs);
    values.emplace_back("object bytes", static_cast<double>(image_bytes));
    report_.row(name, values);
  }

  /// From formulas to a plan: kernels are derived in phases of build_sequence, then those that differ are compiled.
  template <class Record>
  void measure_graph(const std::string& name, Record&& record) {
    if (!options_.wants(name)) return;
    std::vector<Timings> runs;
    std::size_t kernels = 0;
    const std::string target = device_.handle()->target();
    for (int i = 0; i < options_.repeats; ++i) {
      auto start = Clock::now();
      tw::Graph graph;
      record(graph);
      Timings timings = {{"record", ms_since(start)}};
      start = Clock::now();
      const auto program =
          tw::passes::fusion::build_sequence(*tw::detail::tensor::nodes_of(graph, "compile", {}), {}, tw::backend::describe_target(target));
      const double build_ms = ms_since(start);
      const auto& times = program.times;
      timings.insert(timings.end(), {{"derive", times.derive_ms}, {"cover", times.cover_ms}, {"check", times.check_ms}});
      timings.push_back({"emit", build_ms - times.derive_ms - times.cover_ms - times.check_ms});
      start = Clock::now();
      const tw::Plan plan = graph.compile(device_);
      timings.push_back({"passes and LLVM", ms_since(start) - build_ms});
      kernels = program.kernels.size();
      runs.push_back(std::move(timings));
    }
    auto values = medians(runs);
    values.emplace_back("kernels", static_cast<double>(kernels));
    report_.row(name, values);
  }

  /// How the time grows with the number of nodes: of deriving the kernels, and of compiling those that differ; once, in time of processors.
  void measure_family(const tw::passes::fusion::test::Family& family, std::size_t nodes) {
    const std::string name = "graph " + family.name + " nodes " + std::to_string(nodes);
    if (!options_.wants(name)) return;
    const std::string target = device_.handle()->target();
    tw::graph::Graph graph;
    build_family(family, graph, nodes);
    const auto ms_of = [](auto&& work) {
      const std::clock_t start = std::clock();
      work();
      return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    tw::passes::fusion::KernelSequence program;
    const double derive_ms = ms_of([&] { program = tw::passes::fusion::build_sequence(graph, {}, tw::backend::describe_target(target)); });
    double compiled = 0;
    const double compile_ms = ms_of([&] {
      for (auto& k : program.kernels) {
        if (k.like >= 0) continue;
        tw::backend::CompileOptions options;
        options.target = target;
        options.num_warps = k.num_warps;
        tw::backend::compile(std::move(k.function), options);
        ++compiled;
      }
    });
    report_.row(name, {{"derive CPU ms", derive_ms},
                       {"passes and LLVM CPU ms", compile_ms},
                       {"kernels", static_cast<double>(program.kernels.size())},
                       {"kernels compiled", compiled}});
  }

  /// All that a user waits for at the first launch of a process, and at the first launch of a later kernel.
  void first_launch() {
    if (!options_.wants("first launch")) return;
    auto x = device_.upload(std::vector<float>(4096, 1.0f)), y = device_.allocate<float>(4096);
    const auto launch = [&](int block) {
      const auto start = Clock::now();
      kernels_.softmax({.grid = 1}, x, y, 4000, block);
      device_.synchronize();
      return ms_since(start);
    };
    report_.row("first launch, softmax", {{"first in process ms", launch(4096)}, {"next kernel ms", launch(8192)}});
  }

  void warm_launch() {
    if (!options_.wants("warm launch")) return;
    constexpr int kLaunches = 10000;
    auto cell = device_.allocate<std::int32_t>(64);
    for (int programs : {1, 64}) {
      const Samples ms = time_ms(options_.repeats, [&] {
        for (int i = 0; i < kLaunches; ++i) kernels_.touch({.grid = programs}, cell);
        device_.synchronize();
      });
      report_.row("warm launch, grid " + std::to_string(programs),
                  {{"us", 1e3 * ms.median / kLaunches}, {"least us", 1e3 * ms.least / kLaunches}});
    }
  }

  /// A GPU whose driver takes every launch and runs none.
  static tw::Device open_idle(tw::rt::cuda::Driver& idle) {
    using namespace tw::rt::cuda;
    idle = tw::rt::emulator::emulated_driver();
    idle.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_SUCCESS; };
    idle.cuGraphLaunch = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
    idle.cuGraphExecKernelNodeSetParams = [](CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) { return CUDA_SUCCESS; };
    const DeviceFacts facts = device_facts(idle, tw::rt::emulator::emulated_ordinal("sm_80"));
    return tw::Device(make_cuda_device(idle, {"idle", facts, "sm_80", true}, tw::Here::current()));
  }

  /// What the host does for a launch.
  void warm_launch_on_host() {
    if (!options_.wants("warm launch, host")) return;
    constexpr int kLaunches = 100000;
    tw::rt::cuda::Driver idle;
    const tw::Device device = open_idle(idle);
    Kernels kernels;
    auto x = device.allocate<float>(4096), y = device.allocate<float>(4096), z = device.allocate<float>(4096);
    auto cell = device.allocate<std::int32_t>(64);
    const tw::Stream stream = device.stream();
    const auto measure = [&](const char* name, auto&& launch) {
      const Samples ms = time_ms(options_.repeats, [&] {
        for (int i = 0; i < kLaunches; ++i) launch();
      });
      report_.row(std::string("warm launch, host, ") + name,
                  {{"ns", 1e6 * ms.median / kLaunches}, {"least ns", 1e6 * ms.least / kLaunches}});
    };
    measure("1 argument", [&] { kernels.touch({.grid = 1}, cell); });
    measure("4 arguments, 1 constant, stream", [&] { kernels.vector_add({.grid = 4, .stream = stream}, x, y, z, 4000, 1024); });
  }

  /// What the host does for a run of a plan: with the buffers of the run before, and with others of another length.
  void warm_run_on_host() {
    if (!options_.wants("warm run, host")) return;
    constexpr int kRuns = 10000, kModel = 1024;
    tw::rt::cuda::Driver idle;
    const tw::Device device = open_idle(idle);
    for (int layers : {1, 4}) {
      tw::Graph graph;
      graphs::transformer(graph, layers);
      const tw::Plan plan = graph.compile(device);
      std::vector<tw::Buffer<float>> buffers;
      std::vector<tw::RunArgument> arguments;
      buffers.reserve(2 + 9 * static_cast<std::size_t>(layers));
      const auto add = [&](std::vector<tw::RunArgument>& to, const std::string& name, std::size_t count) {
        to.emplace_back(name, buffers.emplace_back(device.allocate<float>(count)));
      };
      for (int layer = 0; layer < layers; ++layer)
        for (const auto& [name, count] : graphs::transformer_weights()) add(arguments, name + std::to_string(layer) + "_", count);
      std::vector<tw::Buffer<float>> lengths;
      lengths.reserve(4);
      std::vector<tw::RunArgument> runs[2];
      for (int i = 0; i < 2; ++i)
        for (const char* name : {"x", "y"})
          runs[i].emplace_back(name, lengths.emplace_back(device.allocate<float>(static_cast<std::size_t>(64 + i) * kModel)));
      arguments.insert(arguments.end(), runs[0].begin(), runs[0].end());
      plan.run(arguments);
      const auto measure = [&](const char* what, auto&& run) {
        const Samples ms = time_ms(options_.repeats, [&] {
          for (int i = 0; i < kRuns; ++i) run(i);
        });
        report_.row(fmt::format("warm run, host, {} kernels, {}", plan.kernels().size(), what),
                    {{"ns", 1e6 * ms.median / kRuns}, {"least ns", 1e6 * ms.least / kRuns}});
      };
      measure("same buffers", [&](int) { plan.run(runs[0]); });
      measure("another length each", [&](int i) { plan.run(runs[i % 2]); });
    }
  }

  Options options_;
  tw::Device device_;
  Report report_;
  Kernels kernels_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse(argc, argv, "Compile latency by phase, tile size and number of operations, and the cost of a launch");
  try {
    CompileBench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

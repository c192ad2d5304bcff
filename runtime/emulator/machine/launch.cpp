// Launches: checks the configuration, and sets up the state that all blocks share.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/machine/chips.h"
#include "runtime/emulator/machine/clusters.h"
#include "runtime/emulator/machine/emulator.h"
#include "runtime/emulator/machine/grid.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

// The memory that cooperative groups need for a grid: a size and a barrier.
constexpr std::size_t kWorkspaceBytes = 256;

struct Target {
  int number = 0;
  std::string_view suffix;
};

Target parse_target(std::string_view name) {
  Target target;
  if (!name.starts_with("sm_")) return target;
  name.remove_prefix(3);
  while (!name.empty() && name[0] >= '0' && name[0] <= '9') target.number = target.number * 10 + (name[0] - '0'), name.remove_prefix(1);
  target.suffix = name;
  return target;
}

std::string text_of(const std::array<u32, 3>& extents) { return fmt::format("({},{},{})", extents[0], extents[1], extents[2]); }

std::array<u32, 3> cluster_of(const Kernel& kernel, const LaunchParams& params) {
  if (params.cluster[0] != 0) return params.cluster;
  return kernel.required_cluster[0] != 0 ? kernel.required_cluster : std::array<u32, 3>{1, 1, 1};
}

void check_clusters(const Kernel& kernel, const LaunchParams& params, const std::function<void(const std::string&)>& fail) {
  const auto cluster = cluster_of(kernel, params);
  if (kernel.required_cluster[0] != 0 && kernel.required_cluster != cluster)
    fail(fmt::format("clusters of {} blocks: the kernel requires {}", text_of(cluster), text_of(kernel.required_cluster)));
  if (product(cluster) > 1 && parse_target(params.target).number < 90) fail(fmt::format("{} has no clusters", params.target));
  if (product(cluster) == 0 || product(cluster) > 16) fail(fmt::format("clusters of {} blocks: expected 1 to 16", text_of(cluster)));
  for (std::size_t d = 0; d < 3; ++d)
    if (params.grid[d] % cluster[d] != 0)
      fail(fmt::format("a grid of {} blocks is not a multiple of clusters of {}", text_of(params.grid), text_of(cluster)));
}

void check_configuration(const LoadedModule& loaded, const Kernel& kernel, const LaunchParams& params) {
  const auto fail = [&](const std::string& message) {
    throw Error({loaded.module().name, kernel.lines.front(), 0}, fmt::format("launch of '{}': {}", kernel.name, message));
  };
  if (!can_run(loaded.module().target, params.target))
    fail(fmt::format("code for {} does not run on {}", loaded.module().target, params.target));
  const u64 threads = product(params.block);
  if (threads == 0 || threads > 1024 || params.block[2] > 64)
    fail(fmt::format("a block of {} threads: expected 1 to 1024", text_of(params.block)));
  if (product(params.grid) == 0 || params.grid[0] > 0x7fffffffu || params.grid[1] > 65535 || params.grid[2] > 65535)
    fail(fmt::format("a grid of {} blocks", text_of(params.grid)));
  check_clusters(kernel, params, fail);
  if (params.cooperative && product(params.grid) > kMostResident)
    fail(fmt::format("a grid of {} blocks that wait for each other: at most {}", text_of(params.grid), kMostResident));
  if (kernel.required_threads[0] != 0 && kernel.required_threads != params.block)
    fail(fmt::format("a block of {} threads: the kernel requires {}", text_of(params.block), text_of(kernel.required_threads)));
  if (kernel.maximum_threads[0] != 0 && threads > product(kernel.maximum_threads))
    fail(fmt::format("a block of {} threads: the kernel allows {}", text_of(params.block), text_of(kernel.maximum_threads)));
  if (kernel.static_shared_bytes > (48 << 10))
    fail(fmt::format("{} bytes of static shared memory: at most 48 KiB", kernel.static_shared_bytes));
  const u64 shared = kernel.static_shared_bytes + params.dynamic_shared_bytes;
  if (const u64 most = chip_of(params.target).shared_of_block; shared > most)
    fail(fmt::format("{} bytes of shared memory: {} has {}", shared, params.target, most));
  if (params.params.size() < kernel.parameter_bytes)
    fail(fmt::format("{} bytes of parameters: the kernel takes {}", params.params.size(), kernel.parameter_bytes));
}

/// Zeroed memory for a cooperative launch; its address is 0 for other launches.
class Workspace {
 public:
  Workspace(Memory& memory, bool is_needed) : memory_(memory), address_(is_needed ? memory.allocate(kWorkspaceBytes) : 0) {
    if (!is_needed) return;
    const std::array<std::byte, kWorkspaceBytes> zeros{};
    memory.write(address_, zeros.data(), zeros.size());
  }
  ~Workspace() {
    if (address_ != 0) memory_.free(address_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  u64 address() const { return address_; }

 private:
  Memory& memory_;
  u64 address_;
};

}  // namespace

bool can_run(std::string_view ptx_target, std::string_view device) {
  const Target code = parse_target(ptx_target), chip = parse_target(device);
  if (code.number == 0 || chip.number == 0) return false;
  if (!code.suffix.empty()) return code.number == chip.number && code.suffix == chip.suffix;
  return code.number <= chip.number;
}

bool launch(const LoadedModule& loaded, std::string_view name, Memory& memory, const LaunchParams& params) {
  const Kernel* kernel = loaded.kernel(name);
  if (kernel == nullptr) throw Error({loaded.module().name, 1, 0}, fmt::format("no kernel is named '{}'", name));
  check_configuration(loaded, *kernel, params);
  const std::lock_guard lock(memory.launching());
  Diagnostics own;
  LaunchState launch;
  launch.loaded = &loaded;
  launch.kernel = kernel;
  launch.params = params.params;
  launch.grid = params.grid;
  launch.block = params.block;
  launch.cluster = cluster_of(*kernel, params);
  launch.has_clusters = kernel->required_cluster[0] != 0 || params.cluster[0] != 0;
  for (std::size_t d = 0; d < 3; ++d) launch.clusters[d] = params.grid[d] / launch.cluster[d];
  launch.dynamic_shared_bytes = params.dynamic_shared_bytes;
  launch.check = params.check;
  launch.fast_paths = params.fast_paths;
  launch.stop_at_diagnostic = params.stop_at_diagnostic;
  launch.instruction_limit = params.instruction_limit;
  launch.interrupted = params.interrupted;
  launch.order = params.order;
  launch.async_order = params.async_order;
  launch.diagnostics = params.diagnostics != nullptr ? params.diagnostics : &own;
  launch.first_ticket = memory.take_tickets(product(params.grid));
  launch.number = launch.first_ticket;
  launch.printed = params.printed;
  const Workspace workspace(memory, params.cooperative);
  launch.workspace = workspace.address();
  launch.ranges = memory.snapshot(kernel->global_granule, params.check);
  for (const auto& [variable, placed] : loaded.variables()) {
    if (memory.contains(placed.address, placed.bytes)) continue;
    Range range;
    range.begin = placed.address;
    range.bytes = placed.bytes;
    launch.ranges.push_back(range);
  }
  std::sort(launch.ranges.begin(), launch.ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });

  if (params.check && params.fast_paths && kernel->has_engines)
    for (Range& range : launch.ranges)
      if (range.cells != nullptr) range.deferred = &launch.deferred_reads.emplace_back();

  std::vector<Count> counts(kernel->code.size());
  run_grid(launch, params, counts);
  if (params.counters != nullptr)
    params.counters->add(kernel->name, {.instructions = std::move(counts),
                                        .infos = kernel->infos,
                                        .launches = 1,
                                        .blocks = product(params.grid),
                                        .threads = product(params.block),
                                        .shared_bytes = kernel->static_shared_bytes + params.dynamic_shared_bytes,
                                        .registers = static_cast<int>(std::min<u32>(kernel->register_bytes / 128, 255))});
  return !launch.has_diagnostics;
}

}  // namespace tilewright::rt::emulator

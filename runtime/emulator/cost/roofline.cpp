// Computes the parts of the estimate; each is the time that one resource alone would take.
#include "runtime/emulator/cost/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::rt::emulator {
namespace {

constexpr double kLaunchMicroseconds = 2.5, kDramShare = 0.9;
constexpr u64 kRegisters = 65536, kMostThreads = 2048, kMostBlocks = 32, kSharedOfSystem = 1024;

int resident_blocks(const KernelCounters& counters, const Gpu& gpu, int registers) {
  const u64 warps = (counters.threads + kLanes - 1) / kLanes;
  // Registers are allocated to a warp in units of 256.
  const u64 of_warp = (static_cast<u64>(std::max(registers, 1)) * kLanes + 255) / 256 * 256;
  return static_cast<int>(std::min({kRegisters / (of_warp * warps), gpu.shared_bytes / (counters.shared_bytes + kSharedOfSystem),
                                    kMostThreads / (warps * kLanes), kMostBlocks}));
}

}  // namespace

const std::vector<Gpu>& known_gpus() {
  static const std::vector<Gpu> all = {
      {"A100 SXM", 108, 1.41, 2039, 5120, 1024, 164 << 10},
      {"H100 SXM", 132, 1.83, 3352, 5120, 2048, 228 << 10},
      {"H200 SXM", 132, 1.83, 4800, 5120, 2048, 228 << 10},
  };
  return all;
}

Estimate estimate(const KernelCounters& counters, const Gpu& gpu, int registers) {
  const double launches = static_cast<double>(std::max<u64>(counters.launches, 1));
  const double blocks = std::max(1.0, static_cast<double>(counters.blocks) / launches);
  const auto sum = [&](auto of, std::initializer_list<Category> categories) {
    double total = 0;
    for (const Category category : categories) total += static_cast<double>(of(counters.of(category)));
    return total / launches;
  };
  const auto executed = [](const Count& count) { return count.executed; };
  const auto requests = [](const Count& count) { return count.requests; };
  const auto units = [](const Count& count) { return count.units; };
  using enum Category;
  const double sectors = sum(units, {load_global, store_global, load_local, store_local, atomic});

  Estimate result;
  result.resident_blocks = resident_blocks(counters, gpu, registers > 0 ? registers : counters.registers);
  // The multiprocessor with the most blocks finishes last.
  const double multiprocessors = gpu.multiprocessors, most = std::ceil(blocks / multiprocessors);
  result.idle = 1 - blocks / (most * multiprocessors);
  const double microseconds_a_clock = most / blocks / (gpu.clock_ghz * 1000);
  const auto part = [&](std::string_view name, double clocks) { result.parts.emplace_back(name, clocks * microseconds_a_clock); };
  part("issue", static_cast<double>(counters.total().executed) / launches / 4);
  part("float", sum(executed, {float32}) / 4 + sum(executed, {float64, half}) / 2);
  part("integer", sum(executed, {integer, logic, compare, conversion}) / 2);
  part("special functions", sum(executed, {special}) * 2);
  part("requests",
       sum(requests, {load_global, store_global, load_local, store_local, load_shared, store_shared, atomic}) + sum(executed, {warp}));
  part("shared memory", sum(units, {load_shared, store_shared, matrix}));
  part("tensor cores", static_cast<double>(counters.matrix_products()) / launches / gpu.tensor_products_a_clock);
  result.parts.emplace_back("L2", sectors * 32 / gpu.l2_bytes_a_clock / (gpu.clock_ghz * 1000));
  result.parts.emplace_back("DRAM", sectors * 32 / (gpu.dram_gb_a_second * kDramShare * 1000));
  const auto longest =
      std::max_element(result.parts.begin(), result.parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  result.bound = longest->first;
  result.microseconds = kLaunchMicroseconds + longest->second;
  return result;
}

std::string estimates_text(const KernelCounters& counters, int registers) {
  std::string text;
  for (const Gpu& gpu : known_gpus()) {
    const Estimate e = estimate(counters, gpu, registers);
    text += fmt::format("  {:<9} {}: {:.1f} us, an estimate, {:.1f} of them for {}", "estimate", gpu.name, e.microseconds,
                        e.microseconds - kLaunchMicroseconds, e.bound);
    if (e.resident_blocks == 0)
      text += "; a block does not fit";
    else
      text += fmt::format("; {} blocks a multiprocessor, {:.0f} % idle", e.resident_blocks, 100 * e.idle);
    text += "\n";
  }
  return text;
}

}  // namespace tilewright::rt::emulator

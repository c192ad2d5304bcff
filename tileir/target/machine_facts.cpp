// The table of machines.
#include "tileir/target/machine_facts.h"

#include <algorithm>

#include "tileir/target/gpu_chips.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

namespace {

// Measured on a core of an AMD EPYC (Zen 5, AVX-512), 2026-11-25: sums of rows in the last-level cache, products, exponentials, launches.
constexpr MachineFacts kHost{.memory_bytes = 50e9,
                             .cache_bytes = 40e9,
                             .line_bytes = 64,
                             .flops = 1e11,
                             .matrix_flops_64 = 1e11,
                             .matrix_flops_32 = 2e11,
                             .matrix_flops_16 = 2e11,
                             .matrix_flops_8 = 2e11,
                             .exponentials = 8e9,
                             .launch_seconds = 0.5e-6,
                             .share_seconds = 1.5e-6,
                             .accumulator_bytes = 1 << 20};

/// The rates of one multiprocessor of a chip, and its device's memory bandwidth.
struct GpuRates {
  int capability;
  double memory_bytes;  // bytes per second that a copy moves on the device that represents the chip
  double busy_hertz;    // the clock while matrix instructions run
  // Operations per clock.
  double flops, matrix_64, matrix_32, matrix_16, matrix_8;
};

// Data sheet values of a T4, A100, A40, L40, H100, B200 and RTX 5090, with sums in f32. A T4 multiplies f32 by fused multiply-adds. For an
// H100, the memory, the clock, and the rates from f32 to 8 bits are measured (2026-11-26 and 2026-11-27, tests/bench/results): mma.sync
// does not reach the rate of the data sheet, which is that of wgmma. For a B200 the rate of mma.sync is not published; the rate of an H100
// is assumed.
constexpr GpuRates kGpus[] = {
    {75, 0.32e12, 1.59e9, 128, 4, 128, 1024, 2048},    {80, 1.9e12, 1.41e9, 128, 128, 1024, 2048, 4096},
    {86, 0.7e12, 1.74e9, 256, 4, 512, 1024, 2048},     {89, 0.86e12, 2.49e9, 256, 4, 256, 512, 1024},
    {90, 3.0e12, 1.755e9, 256, 256, 1200, 2400, 4800}, {100, 7.2e12, 1.75e9, 256, 128, 1200, 2400, 4800},
    {120, 1.65e12, 2.407e9, 256, 4, 256, 512, 1024},
};

constexpr double kGpuCacheBytes = 24;  // per clock
constexpr double kGpuSectorBytes = 32;
constexpr double kGpuExponentials = 16;  // per clock
constexpr double kTuringLaunch = 4e-6, kGpuLaunch = 3e-6;
constexpr double kGpuAccumulatorBytes = 192 << 10;  // of the 256 KiB of registers

constexpr double kApart = 0.25;  // the part of the shorter of two kinds of work that does not overlap with the longer one

/// A device's own value divided by its chip's; 1 if either is unknown.
double ratio(int of_device, int of_chip) { return of_device > 0 && of_chip > 0 ? static_cast<double>(of_device) / of_chip : 1; }

}  // namespace

MachineFacts machine_facts(const TargetDesc& target) {
  if (!target.is_gpu()) return kHost;
  const int capability = chip_capability(target);
  const GpuRates* rates = kGpus;
  for (const GpuRates& row : kGpus)
    if (row.capability <= capability) rates = &row;
  const GpuChip& chip = chip_for(capability);
  const double hertz = rates->busy_hertz * ratio(target.clock_mhz, chip.clock_mhz);
  return {.memory_bytes = rates->memory_bytes * ratio(target.memory_gbs, chip.memory_gbs),
          .cache_bytes = kGpuCacheBytes * hertz,
          .line_bytes = kGpuSectorBytes,
          .flops = rates->flops * hertz,
          .matrix_flops_64 = rates->matrix_64 * hertz,
          .matrix_flops_32 = rates->matrix_32 * hertz,
          .matrix_flops_16 = rates->matrix_16 * hertz,
          .matrix_flops_8 = rates->matrix_8 * hertz,
          .exponentials = kGpuExponentials * hertz,
          .launch_seconds = capability < 80 ? kTuringLaunch : kGpuLaunch,
          .share_seconds = 0,
          .accumulator_bytes = kGpuAccumulatorBytes,
          .hertz = hertz};
}

double overlapped_seconds(double a, double b) { return std::max(a, b) + kApart * std::min(a, b); }

}  // namespace tilewright::ir

// Estimates how long a kernel would take on a GPU that is not available, from counts of the emulator. docs/estimate.md explains it.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/emulator/cost/counters.h"

namespace tilewright::rt::emulator {

/// The peak rates of a GPU, from its data sheet and NVIDIA's programming guide. "A clock" is one clock of a multiprocessor.
struct Gpu {
  std::string_view name;
  int multiprocessors = 0;
  double clock_ghz = 0;
  double dram_gb_a_second = 0;
  double l2_bytes_a_clock = 0;         // of the whole GPU
  double tensor_products_a_clock = 0;  // multiply-adds of 16-bit elements
  u64 shared_bytes = 0;                // of a multiprocessor, including the KiB that the system takes for each block
};
/// "A100 SXM", "H100 SXM", "H200 SXM".
const std::vector<Gpu>& known_gpus();

struct Estimate {
  double microseconds = 0;                                 // of one launch
  std::string_view bound;                                  // the part that takes longest
  std::vector<std::pair<std::string_view, double>> parts;  // each with its microseconds
  int resident_blocks = 0;                                 // blocks that a multiprocessor holds at a time; 0: a block does not fit
  double idle = 0;                                         // the share of multiprocessor time that the last round of blocks leaves unused
};
/// Requires: counters of at least one launch. `registers`: of a thread, as ptxas reports; 0: the number that is live in the PTX.
Estimate estimate(const KernelCounters&, const Gpu&, int registers = 0);

/// One line for each known GPU, which begins with two blanks and says that it is an estimate.
std::string estimates_text(const KernelCounters&, int registers = 0);

}  // namespace tilewright::rt::emulator

// An estimate of how long a kernel would take on a GPU that is not there, from what the emulator counted. docs/estimate.md says how.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/emulator/cost/counters.h"

namespace tilewright::rt::emulator {

/// What a GPU does at most, by its data sheet and NVIDIA's programming guide; a clock is one of a multiprocessor.
struct Gpu {
  std::string_view name;
  int multiprocessors = 0;
  double clock_ghz = 0;
  double dram_gb_a_second = 0;
  double l2_bytes_a_clock = 0;         // of the whole GPU
  double tensor_products_a_clock = 0;  // multiply-adds of 16-bit elements
  u64 shared_bytes = 0;                // of a multiprocessor, the KiB that each block takes besides included
};
/// "A100 SXM", "H100 SXM", "H200 SXM".
const std::vector<Gpu>& known_gpus();

struct Estimate {
  double microseconds = 0;                                 // of one launch
  std::string_view bound;                                  // the part that takes longest
  std::vector<std::pair<std::string_view, double>> parts;  // microseconds of each
  int resident_blocks = 0;                                 // that a multiprocessor holds at a time; 0: a block does not fit
  double idle = 0;                                         // the share of multiprocessors' time that the last round of blocks leaves unused
};
/// Requires: counters of at least one launch. `registers` of a thread, as ptxas says; 0: what is live in the PTX.
Estimate estimate(const KernelCounters&, const Gpu&, int registers = 0);

/// A line for each known GPU, each of which begins with two blanks and says that it is an estimate.
std::string estimates_text(const KernelCounters&, int registers = 0);

}  // namespace tilewright::rt::emulator

// The facts about the machine that a table of times must state: device, driver, clocks, load, and the greatest rate of operations.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tileir/type.h"
#include "tilewright/device.h"

namespace tilewright::cli::bench {

/// "driver" -> "CUDA 12.4", "clocks" -> "1980 MHz", in the order of a report.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The facts about a device and its machine that are known now.
Facts machine_facts(const Device&);

/// Operations a second, in 10^9, that a device reaches at most in products of these elements; 0 if it is not known.
struct Peak {
  double gflops = 0;
  std::string how;  // "measured", "stated"
};
/// The peak of the cpu is measured by multiply-adds in registers on all cores; that of a GPU follows from the programming guide and its
/// clock.
Peak peak_of(const Device&, ir::Element, bool ieee);

}  // namespace tilewright::cli::bench

// tilewright run for a .ptx file: launches a kernel from any compiler on an emulated device.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/commands/command.h"
#include "frontend/cli/commands/run_options.h"

namespace tilewright::cli {

struct PtxRun {
  RunOptions run;
  std::uint64_t shared_bytes = 0;  // dynamic shared memory
  std::vector<std::string> outputs;
  bool report = false;
  std::optional<std::uint64_t> limit;  // limit of instructions
};

/// Launches a kernel once and writes the outputs. Arguments and outputs are named by the parameter's position. Throws UsageError for
/// arguments that do not fit the kernel, Failure if the emulator reports an error.
void run_ptx(const PtxRun&, Session&);

}  // namespace tilewright::cli

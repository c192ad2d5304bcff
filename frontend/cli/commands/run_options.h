// The options of a launch that 'run' and 'reduce' share.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "frontend/cli/execution/execution.h"

namespace tilewright::cli {

struct RunOptions {
  std::string file, kernel, device = "cpu", grid;
  std::vector<std::string> arguments;
  int warps = 4;
  bool check = false, no_contract = false;
};

void add_run_options(CLI::App& command, RunOptions&);

/// Throws UsageError if the grid is missing or malformed.
ExecutionOptions execution_options(const RunOptions&);

}  // namespace tilewright::cli

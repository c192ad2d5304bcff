// Measures a kernel of a .tile file.
#pragma once
#include <string>
#include <vector>

#include "frontend/cli/bench/runs/library_run.h"

namespace tilewright::cli::bench {

struct FileKernelOptions {
  std::string kernel, grid;
  std::vector<std::string> arguments;
  int warps = 0;  // 0: not given

  bool is_given() const { return !kernel.empty() || !grid.empty() || !arguments.empty() || warps != 0; }
};

/// Throws UsageError for options that do not apply to a kernel of a file.
void bench_file(const std::string& file, const BenchOptions&, const FileKernelOptions&, Files&);

}  // namespace tilewright::cli::bench

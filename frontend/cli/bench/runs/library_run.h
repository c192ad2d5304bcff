// Runs the benchmark of kernels of the library: selects cases, measures them, and writes the results.
#pragma once
#include <string>
#include <vector>

#include "frontend/cli/bench/report/results.h"
#include "frontend/cli/files/files.h"

namespace tilewright::cli::bench {

struct BenchOptions {
  std::string device, shapes, types, peers, json, plot, python;
  bool ieee = false, tune = false;
  MeasuringOptions measuring;
};

/// Throws UsageError for unknown names on the command line, Failure if a result of this library was wrong.
void bench_library(const std::vector<std::string>& kernels, const BenchOptions&, Files&);

}  // namespace tilewright::cli::bench

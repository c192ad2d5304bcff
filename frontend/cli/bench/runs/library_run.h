// Runs the benchmark of kernels of the library: cases, their measurement, and the files of results.
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

/// Throws UsageError for words of the command line that name nothing, Failure if a result of ours was wrong.
void bench_library(const std::vector<std::string>& kernels, const BenchOptions&, Files&);

}  // namespace tilewright::cli::bench

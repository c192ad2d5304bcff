// Where results go: the table to standard output row by row, and the files at the end.
#pragma once
#include <string>
#include <string_view>

#include "frontend/cli/bench/report/results.h"
#include "frontend/cli/files/files.h"

namespace tilewright::cli::bench {

class Output {
 public:
  /// Paths of the files, empty for none. Throws UsageError now if one cannot be written, and not after the measurement.
  Output(std::string json, std::string plot);

  /// A part of the table. Goes to standard error where the JSON goes to standard output.
  void print(std::string_view) const;
  /// A line on standard error.
  void note(std::string_view) const;
  void write(const Results&, Files&) const;

 private:
  const std::string json_, plot_;
};

/// The commit of the sources, with a mark if they were changed; empty if they were in no repository. Defined in what the build generates.
extern const std::string_view kCommit;

/// Results without cases, from what is known before the first.
Results started_results(const Device&, const MeasuringOptions&);

}  // namespace tilewright::cli::bench

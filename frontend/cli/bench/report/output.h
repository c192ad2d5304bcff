// Writes results: the table to standard output row by row, the files at the end.
#pragma once
#include <string>
#include <string_view>

#include "frontend/cli/bench/report/results.h"
#include "frontend/cli/files/files.h"

namespace tilewright::cli::bench {

class Output {
 public:
  /// Paths of the files; empty for no file. Throws UsageError before the measurement if one cannot be written.
  Output(std::string json, std::string plot);

  /// Prints a part of the table; to standard error if the JSON goes to standard output.
  void print(std::string_view) const;
  /// Prints a line to standard error.
  void note(std::string_view) const;
  void write(const Results&, Files&) const;

 private:
  const std::string json_, plot_;
};

/// The commit of the sources, marked if they were modified; empty if they were not in a repository. The build generates the definition.
extern const std::string_view kCommit;

/// Results without cases: the facts that are known before the first case.
Results started_results(const Device&, const MeasuringOptions&);

}  // namespace tilewright::cli::bench

// Shared by the benchmarks: flags, timing, and rows of results as text and as JSON.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Options {
  std::string device;  // as Device::open takes it; empty: the best one
  std::string filter;  // only rows whose name holds this
  int repeats = 15;
  bool json = false;
  std::string json_file;  // empty with json: results/<date>-<machine>-<program>.json beside the sources of the benchmarks

  bool wants(const std::string& name) const { return name.find(filter) != std::string::npos; }
};

/// A flag of one program: takes values of a list, or one value.
struct Flag {
  const char *name, *help;
  std::vector<std::string>* list = nullptr;
  std::string* one = nullptr;
};

/// Reads the flags; on a wrong one or --help, prints and exits.
Options parse(int argc, char** argv, const std::string& description, const std::vector<Flag>& more = {});

struct Samples {
  double median, least, most;
};
Samples summarise(std::vector<double>);
/// f() `repeats` times after once for warmth, each time in ms.
Samples time_ms(int repeats, const std::function<void()>& f);

/// Rows as they are measured: printed at once, and written as JSON by finish().
class Report {
 public:
  Report(Options, std::string program, std::string device);

  /// One measurement: `values` are named by their unit or phase.
  void row(const std::string& name, const std::vector<std::pair<std::string, double>>& values);
  void finish() const;

 private:
  struct Row {
    std::string name;
    std::vector<std::pair<std::string, double>> values;
  };
  Options options_;
  std::string program_, device_;
  std::vector<Row> rows_;
};

}  // namespace bench

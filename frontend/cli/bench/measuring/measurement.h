// Measures contenders in turns: checks results, runs rounds, and summarizes times.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

struct Times {
  double median = 0, lower = 0, upper = 0;  // in milliseconds: the median and the quartiles
  int rounds = 0, launches = 0;             // launches in one round
  /// Half the distance between the quartiles, relative to the median.
  double spread() const { return median > 0 ? (upper - lower) / 2 / median : 0; }
};

/// Requires at least one sample.
Times summarise(std::vector<double> samples);

/// The error of a result compared with double precision: |result - reference| / |reference|; NaN if the kernel did not write all elements.
/// Throws std::runtime_error if the number of elements is wrong.
double relative_error(const Case&, const Reference&, const Contents& results);
/// The greatest accepted error, which depends on the result's element type and on the device.
double tolerance(const Case&, const Reference&, const Setting&);
/// The largest error of all results, each relative to itself. Throws std::runtime_error if one is beyond its tolerance.
double checked_error(const Case&, const Contents& results, const Setting&);

struct Entrant {
  std::string name;
  std::unique_ptr<Contender> contender;  // null: it is excluded
  std::string failure;                   // why it is excluded
  double error = 0;                      // checked_error
  bool checked = false;
  Times times;  // zero rounds: it was not measured
  std::vector<double> samples;
};

struct MeasuringOptions {
  int rounds = 15;
  double seconds = 3;  // for each case; at least three rounds are run
  bool cold = false;
};

/// Overwrites more device memory than the caches hold.
class CacheFlush {
 public:
  explicit CacheFlush(const Device&);
  void run();

 private:
  Device device_;
  Buffer<float> memory_;
};

/// Checks the results of each entrant. An entrant that is wrong or fails gets a failure text.
void check_results(const Case&, const Setting&, std::vector<Entrant>&);

/// Runs each entrant once per round; each round starts with another one. Caches stay warm if `flush` is null. Stops early if `interrupted`
/// is set.
void measure(std::vector<Entrant>&, const MeasuringOptions&, CacheFlush* flush, const std::atomic<bool>& interrupted,
             const std::function<void(int round)>& progress);

}  // namespace tilewright::cli::bench

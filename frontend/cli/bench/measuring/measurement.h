// Measures contenders in turns: checks results, runs rounds, and summarises times.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

struct Times {
  double median = 0, lower = 0, upper = 0;  // milliseconds; quartiles
  int rounds = 0, launches = 0;             // of a round
  /// Half the distance of the quartiles, as a share of the median.
  double spread() const { return median > 0 ? (upper - lower) / 2 / median : 0; }
};

/// Requires: at least one sample.
Times summarise(std::vector<double> samples);

/// How wrong a result is beside double precision: |result - reference| / |reference|; not a number where the kernel left out elements.
/// Throws std::runtime_error if it has not as many elements as it should.
double relative_error(const Case&, const Reference&, const Contents& results);
/// What it may be, by the result's element type and the device.
double tolerance(const Case&, const Reference&, const Setting&);
/// The largest error of all results, each relative to itself. Throws std::runtime_error if one is beyond its tolerance.
double checked_error(const Case&, const Contents& results, const Setting&);

struct Entrant {
  std::string name;
  std::unique_ptr<Contender> contender;  // null: it takes no part
  std::string failure;                   // why it takes no part, or no longer
  double error = 0;                      // checked_error
  bool checked = false;
  Times times;  // no rounds: it was not measured
  std::vector<double> samples;
};

struct MeasuringOptions {
  int rounds = 15;
  double seconds = 3;  // for a case; three rounds are run in any case
  bool cold = false;
};

/// Writes over more memory of a device than its caches hold.
class CacheFlush {
 public:
  explicit CacheFlush(const Device&);
  void run();

 private:
  Device device_;
  Buffer<float> memory_;
};

/// Checks the result of each entrant; one that is wrong, or fails, gets a failure.
void check_results(const Case&, const Setting&, std::vector<Entrant>&);

/// Runs each entrant once a round, the first of a round changing. `flush`: null for warm caches. Stops early where `interrupted`.
void measure(std::vector<Entrant>&, const MeasuringOptions&, CacheFlush* flush, const std::atomic<bool>& interrupted,
             const std::function<void(int round)>& progress);

}  // namespace tilewright::cli::bench

// Searches for the fastest of several configurations with few measurements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tilewright::tuning {

struct SearchOptions {
  double budget_ms = 0;            // limit of the whole search, including compilations; 0: no limit
  std::int64_t max_measured = 30;  // at least 1
  bool is_exact = false;           // a sample always gives the same number, so one is enough
};

/// A candidate after its first samples, or without samples if it needs more resources than the device has.
struct SearchStep {
  std::size_t index = 0;
  std::optional<double> microseconds;
};

/// A candidate with the median of its samples.
struct SampledCandidate {
  std::size_t index = 0;
  double microseconds = 0;
};

struct SearchResult {
  std::size_t index = 0;
  double microseconds = 0;            // median of its samples
  double spread = 0;                  // distance between the quartiles, divided by the median
  std::int64_t measured = 0;          // number of candidates measured
  std::vector<SampledCandidate> all;  // each of them, also those that were out early

  /// None if the candidate was not measured.
  std::optional<double> microseconds_of(std::size_t candidate) const;
};

/// Measures candidates in their order:
///   1. Each is launched once, which compiles it, and sampled, more than once if it is short; one that takes over twice the time of the
///      best so far is out. A candidate whose launch fails with Error::lacks_resources() is left out and does not count.
///   2. The others are sampled in turns, so that what slows the machine for a while slows all of them; one whose least time is 10 % over
///      the best one's is out.
/// The best is the one with the least median. When the budget is used up, what was measured decides; the first one always is.
/// `sample`: launches a candidate and returns microseconds. None if no candidate could be launched.
std::optional<SearchResult> search(std::size_t candidates, const std::function<double(std::size_t)>& sample, const SearchOptions&,
                                   const std::function<void(const SearchStep&)>& report);

}  // namespace tilewright::tuning

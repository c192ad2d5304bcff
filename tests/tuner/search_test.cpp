// The search for the fastest of some configurations, with times that are made up.
#include "frontend/tuning/search.h"

#include <cmath>
#include <random>

#include "tests/tuner/tuning.h"

namespace {

using namespace tw::tuning;

/// Times of candidates, of which some samples take longer: by an exponential distribution whose mean is `noise` times the time, and one of
/// 20 takes three times as long.
struct Times {
  std::vector<double> microseconds;
  double noise;
  std::mt19937 engine;
  std::vector<int> samples = std::vector<int>(microseconds.size());
  double operator()(std::size_t i) {
    ++samples[i];
    const double more = std::exponential_distribution<double>(1)(engine) * noise;
    return microseconds[i] * (1 + more + (engine() % 20 == 0 ? 2 : 0));
  }
};

std::size_t best_of(Times& times, const SearchOptions& options = {}) {
  const auto result = search(times.microseconds.size(), [&](std::size_t i) { return times(i); }, options, [](const SearchStep&) {});
  return result.value().index;
}

TEST_CASE("search: short launches are sampled until the noise does not decide") {
  int right = 0;
  constexpr int kSearches = 50;
  for (int i = 0; i < kSearches; ++i) {
    Times times{{8.6, 9, 8.4, 8, 30, 8.7}, 0.5, std::mt19937(static_cast<unsigned>(i))};
    right += best_of(times) == 3;
    CHECK(times.samples[4] <= 20);  // hopeless
  }
  CHECK(right >= 45);
}

TEST_CASE("search: long launches are sampled a few times") {
  Times times{{5000, 5200, 9000, 30000}, 0.01, std::mt19937(1)};
  CHECK(best_of(times) == 0);
  CHECK(times.samples[0] <= 12);
  CHECK(times.samples[2] <= 7);
  CHECK(times.samples[3] <= 2);
}

TEST_CASE("search: every candidate that was measured has its median, also one that is out early") {
  const std::vector<double> microseconds = {5000, 400, 410, 100};
  int left_out = 0;
  const auto sample = [&](std::size_t i) {
    if (i == 2) throw tw::lacking_resources(tw::Error(tw::Location{}, "too large"));
    return microseconds[i];
  };
  const auto result = search(4, sample, {}, [&](const SearchStep& s) { left_out += s.microseconds ? 0 : 1; });
  CHECK(result.value().index == 3);
  CHECK(result->microseconds_of(0) == 5000);
  CHECK(result->microseconds_of(1) == 400);
  CHECK_FALSE(result->microseconds_of(2));
  CHECK(result->microseconds_of(3) == result->microseconds);
  CHECK(left_out == 1);
}

TEST_CASE("search: exact times are asked for once") {
  Times times{{3, 2, 4}, 0, std::mt19937(1)};
  const auto exact = [&](std::size_t i) {
    ++times.samples[i];
    return times.microseconds[i];
  };
  const auto result = search(3, exact, {.is_exact = true}, [](const SearchStep&) {});
  CHECK(result.value().index == 1);
  CHECK(times.samples == std::vector<int>{1, 1, 1});
}

}  // namespace

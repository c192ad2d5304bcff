// What the comparison of two estimates leaves out.
#include <doctest/doctest.h>

#include "passes/search/choose/search_options.h"

namespace tilewright::passes::search {
namespace {

SearchEstimate of_kernels(std::vector<double> us) {
  SearchEstimate e;
  for (double k : us) e.kernels.push_back(k * 1e-6), e.seconds += k * 1e-6;
  return e;
}

TEST_CASE("search: kernels and launches that two graphs have in common count in neither") {
  const double launch = 3e-6;
  CHECK(times_as_fast(of_kernels({50, 4}), of_kernels({50, 2}), 0) == doctest::Approx(2));
  // relu((h_i + h_j) W) over the pairs of 128 rows on sm_90a: two launches each.
  CHECK(times_as_fast(of_kernels({4.61, 4.55}), of_kernels({4.23, 3.81}), launch) == doctest::Approx(3.16 / 2.04));
  // One graph has a launch more, which counts.
  CHECK(times_as_fast(of_kernels({10}), of_kernels({4, 4}), launch) == doctest::Approx(7.0 / 5.0));
  // Twice as fast but for the launches, and 1 % in all.
  CHECK(times_as_fast(of_kernels({3.06}), of_kernels({3.03}), launch) == doctest::Approx(3.06 / 3.03));
  // A slower graph is not faster for its launches.
  CHECK(times_as_fast(of_kernels({13.5}), of_kernels({12.9, 4.2}), launch) < 1);
}

}  // namespace
}  // namespace tilewright::passes::search

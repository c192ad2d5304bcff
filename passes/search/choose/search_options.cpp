// Compares the kernels of two graphs.
#include "passes/search/choose/search_options.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tilewright::passes::search {

double times_as_fast(const SearchEstimate& written, const SearchEstimate& chosen) {
  std::vector<double> before = written.kernels, after = chosen.kernels, same;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(same));
  const double common = std::accumulate(same.begin(), same.end(), 0.0);
  // The kernels of one graph may all be in the other one.
  const double least = 1e-3 * written.seconds;
  return std::max(written.seconds - common, least) / std::max(chosen.seconds - common, least);
}

}  // namespace tilewright::passes::search

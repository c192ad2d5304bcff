// Compares the kernels of two graphs.
#include "passes/search/choose/search_options.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "passes/search/thresholds.h"

namespace tilewright::passes::search {

double times_as_fast(const SearchEstimate& written, const SearchEstimate& chosen, double launch_seconds) {
  std::vector<double> before = written.kernels, after = chosen.kernels, same;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(same));
  double common = std::accumulate(same.begin(), same.end(), 0.0);
  if (chosen.seconds <= (1 - kLeastShareSaved) * written.seconds)
    common += launch_seconds * static_cast<double>(std::min(before.size(), after.size()) - same.size());
  // The kernels of one graph may all be in the other one.
  const double least = 1e-3 * written.seconds;
  return std::max(written.seconds - common, least) / std::max(chosen.seconds - common, least);
}

}  // namespace tilewright::passes::search

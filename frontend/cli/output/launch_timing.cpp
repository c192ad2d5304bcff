// Times launches.
#include "frontend/cli/output/launch_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace tilewright::cli {

namespace {

// A report has the median of this many launches, or of fewer if the time runs out.
constexpr int kTimedLaunches = 21;
constexpr double kTimedMs = 1000;

}  // namespace

double timed(const std::function<void()>& launch) {
  const auto start = std::chrono::steady_clock::now();
  launch();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string timing_text(const std::function<void()>& restore, const std::function<void()>& launch, double first_ms) {
  std::vector<double> ms;
  double total = first_ms;
  while (static_cast<int>(ms.size()) < kTimedLaunches && total < kTimedMs) {
    restore();
    ms.push_back(timed(launch));
    total += ms.back();
  }
  if (ms.empty()) ms.push_back(first_ms);
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  return fmt::format("{:.4f} ms, the median of {} launch{}; the first took {:.4f} ms", ms[ms.size() / 2], ms.size(),
                     ms.size() == 1 ? "" : "es", first_ms);
}

}  // namespace tilewright::cli

// The search for the fastest of some configurations.
#include "frontend/tuning/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tilewright/error.h"

namespace tilewright::tuning {

namespace {

constexpr double kHopeless = 2.0;  // times the best, after one sample
constexpr double kSlower = 1.1;    // times the best, after kFewSamples
constexpr std::size_t kFewSamples = 3, kMostSamples = 25;
// Short launches are sampled at least this often and long, since a timer and interrupts weigh more on them.
constexpr double kEnoughMicroseconds = 20'000;
constexpr std::size_t kEnoughSamples = 7;

struct Candidate {
  std::size_t index;
  std::vector<double> samples;
  double least() const { return *std::min_element(samples.begin(), samples.end()); }
  double total() const {
    double sum = 0;
    for (const double s : samples) sum += s;
    return sum;
  }
  double quantile(double share) const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
  }
  double median() const { return quantile(0.5); }
};

class Search {
 public:
  Search(const std::function<double(std::size_t)>& sample, const SearchOptions& options,
         const std::function<void(const SearchStep&)>& report)
      : sample_(sample), options_(options), report_(report) {}

  std::optional<SearchResult> run(std::size_t candidates) {
    for (std::size_t i = 0; i < candidates && measured_ < options_.max_measured; ++i) {
      if (measured_ > 0 && is_over()) break;
      screen(i);
    }
    if (live_.empty()) return std::nullopt;
    if (!options_.is_exact) sample_in_turns();
    const Candidate& best = fastest();
    const double median = best.median();
    return SearchResult{best.index, median, median > 0 ? (best.quantile(0.75) - best.quantile(0.25)) / median : 0, measured_};
  }

 private:
  bool is_over() const {
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    return options_.budget_ms > 0 && ms > options_.budget_ms;
  }

  const Candidate& fastest() const {
    return *std::min_element(live_.begin(), live_.end(), [](const Candidate& a, const Candidate& b) { return a.median() < b.median(); });
  }

  void screen(std::size_t index) {
    Candidate c{index, {}};
    try {
      const double first = sample_(index);
      c.samples.push_back(options_.is_exact ? first : sample_(index));
    } catch (const Error& e) {
      if (!e.lacks_resources()) throw;
      return report_({index, std::nullopt});
    }
    if (std::isinf(c.samples[0])) return report_({index, std::nullopt});
    ++measured_;
    report_({index, c.samples[0]});
    least_ = live_.empty() ? c.samples[0] : std::min(least_, c.samples[0]);
    live_.push_back(std::move(c));
    drop(kHopeless);
  }

  void drop(double factor) {
    std::erase_if(live_, [&](const Candidate& c) { return c.least() > least_ * factor; });
  }

  void sample_in_turns() {
    const auto is_enough = [](const Candidate& c) {
      return c.samples.size() >= kMostSamples || (c.samples.size() >= kEnoughSamples && c.total() >= kEnoughMicroseconds);
    };
    for (std::size_t turn = 0; !std::all_of(live_.begin(), live_.end(), is_enough); ++turn) {
      for (std::size_t i = 0; i < live_.size(); ++i) {
        if (is_over()) return;
        Candidate& c = live_[(turn + i) % live_.size()];
        c.samples.push_back(sample_(c.index));
        least_ = std::min(least_, c.samples.back());
      }
      if (live_[0].samples.size() >= kFewSamples) drop(kSlower);
    }
  }

  const std::function<double(std::size_t)>& sample_;
  const SearchOptions& options_;
  const std::function<void(const SearchStep&)>& report_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Candidate> live_;
  std::int64_t measured_ = 0;
  double least_ = 0;
};

}  // namespace

std::optional<SearchResult> search(std::size_t candidates, const std::function<double(std::size_t)>& sample, const SearchOptions& options,
                                   const std::function<void(const SearchStep&)>& report) {
  return Search(sample, options, report).run(candidates);
}

}  // namespace tilewright::tuning

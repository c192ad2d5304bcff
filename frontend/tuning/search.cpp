// The search for the fastest of several configurations.
#include "frontend/tuning/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tilewright/error.h"

namespace tilewright::tuning {

namespace {

constexpr double kHopeless = 2.0;  // times the best, after the first samples: not sampled again
constexpr double kSlower = 1.1;    // times the best, after a few samples: not sampled again
// Short launches are sampled more often, because timer resolution, interrupts and sleeping threads affect them more.
struct Enough {
  std::size_t samples;  // the least number of samples
  double microseconds;  // the total time of these samples, unless there are `most_samples`
  std::size_t most_samples;
};
constexpr Enough kFirst{1, 200, 10}, kFew{3, 1'000, 50}, kAll{7, 20'000, 1'000};

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
  bool has(const Enough& enough) const {
    return samples.size() >= enough.samples && (total() >= enough.microseconds || samples.size() >= enough.most_samples);
  }
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
    for (const Candidate& c : live_) sampled_.push_back({c.index, c.median()});
    return SearchResult{best.index, median, median > 0 ? (best.quantile(0.75) - best.quantile(0.25)) / median : 0, measured_, sampled_};
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
      if (options_.is_exact)
        c.samples.push_back(first);
      else
        while (!c.has(kFirst)) c.samples.push_back(sample_(index));
    } catch (const Error& e) {
      if (!e.lacks_resources()) throw;
      return report_({index, std::nullopt});
    }
    if (std::isinf(c.samples[0])) return report_({index, std::nullopt});
    ++measured_;
    report_({index, c.least()});
    least_ = live_.empty() ? c.least() : std::min(least_, c.least());
    live_.push_back(std::move(c));
    drop(kHopeless);
  }

  void drop(double factor) {
    std::erase_if(live_, [&](const Candidate& c) {
      const bool is_out = c.least() > least_ * factor;
      if (is_out) sampled_.push_back({c.index, c.median()});
      return is_out;
    });
  }

  void sample_in_turns() {
    const auto all_have = [&](const Enough& enough) {
      return std::all_of(live_.begin(), live_.end(), [&](const Candidate& c) { return c.has(enough); });
    };
    for (std::size_t turn = 0; !all_have(kAll); ++turn) {
      for (std::size_t i = 0; i < live_.size(); ++i) {
        if (is_over()) return;
        Candidate& c = live_[(turn + i) % live_.size()];
        c.samples.push_back(sample_(c.index));
        least_ = std::min(least_, c.samples.back());
      }
      if (all_have(kFew)) drop(kSlower);
    }
  }

  const std::function<double(std::size_t)>& sample_;
  const SearchOptions& options_;
  const std::function<void(const SearchStep&)>& report_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Candidate> live_;
  std::vector<SampledCandidate> sampled_;  // the candidates that are out
  std::int64_t measured_ = 0;
  double least_ = 0;
};

}  // namespace

std::optional<double> SearchResult::microseconds_of(std::size_t candidate) const {
  for (const SampledCandidate& c : all)
    if (c.index == candidate) return c.microseconds;
  return std::nullopt;
}

std::optional<SearchResult> search(std::size_t candidates, const std::function<double(std::size_t)>& sample, const SearchOptions& options,
                                   const std::function<void(const SearchStep&)>& report) {
  return Search(sample, options, report).run(candidates);
}

}  // namespace tilewright::tuning

// Samples launches, and reports them.
#include "frontend/tuning/measure.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "runtime/devices.h"
#include "runtime/log.h"
#include "runtime/wisdom/wisdom.h"

namespace tilewright::tuning {

namespace {

struct Searches {
  std::mutex running, sink_mutex;
  std::atomic<std::thread::id> owner;  // the thread whose search runs
  std::function<void(const TuningProgress&)> sink;
};
Searches& searches() {
  static auto* only = new Searches;
  return *only;
}

void report(const TuningProgress& progress) {
  std::function<void(const TuningProgress&)> sink;
  {
    const std::lock_guard lock(searches().sink_mutex);
    sink = searches().sink;
  }
  if (sink) sink(progress);
}

}  // namespace

Turn::Turn() : lock_(searches().running) { searches().owner = std::this_thread::get_id(); }
Turn::~Turn() { searches().owner = std::thread::id(); }
bool Turn::is_own() { return searches().owner == std::this_thread::get_id(); }

void set_progress_sink(std::function<void(const TuningProgress&)> sink) {
  const std::lock_guard lock(searches().sink_mutex);
  searches().sink = std::move(sink);
}

Measurement::Measurement(Candidates candidates, rt::Device& device, rt::Stream& stream)
    : candidates_(std::move(candidates)),
      device_(device),
      stream_(stream),
      is_emulated_(rt::estimated_microseconds(device.name(), [] {}).has_value()) {
  progress_.kernel = candidates_.kernel;
  progress_.problem = candidates_.problem;
  progress_.candidates = candidates_.configurations.size();
}

std::optional<SearchResult> Measurement::run(double budget_ms, std::int64_t max_measured) {
  return search(
      candidates_.configurations.size(), [this](std::size_t i) { return sample(i); }, {budget_ms, max_measured, is_emulated_},
      [this](const SearchStep& step) { report_step(step); });
}

double Measurement::sample(std::size_t i) {
  candidates_.prepare(i);
  if (is_emulated_) return *rt::estimated_microseconds(device_.name(), [&] { candidates_.launch(i); });
  const auto begin = stream_.record();
  candidates_.launch(i);
  const auto end = stream_.record();
  return begin->elapsed_ms(*end) * 1000;
}

void Measurement::report_step(const SearchStep& step) {
  progress_.position = step.index + 1;
  progress_.configuration = candidates_.configurations[step.index];
  progress_.microseconds = step.microseconds;
  progress_.predicted_microseconds = candidates_.predicted.empty() ? std::nullopt : std::optional(candidates_.predicted[step.index]);
  if (!step.microseconds)
    rt::log(LogLevel::info, fmt::format("configuration {} of '{}' is left out: it needs more resources than device '{}' has",
                                        progress_.configuration, progress_.kernel, device_.name()));
  else if (progress_.best.empty() || *step.microseconds < progress_.best_microseconds)
    progress_.best_microseconds = *step.microseconds, progress_.best = progress_.configuration;
  report(progress_);
}

void Measurement::keep(const SearchResult& result, std::size_t chosen, const std::string& configuration) {
  const double microseconds = *result.microseconds_of(chosen);
  progress_.is_done = true;
  progress_.configuration = candidates_.configurations[chosen];
  progress_.microseconds = microseconds;
  progress_.predicted_microseconds = candidates_.predicted.empty() ? std::nullopt : std::optional(candidates_.predicted[chosen]);
  report(progress_);
  rt::log(LogLevel::info, fmt::format("'{}' for {}: {} is the fastest of {}, {:.1f} us", progress_.kernel, progress_.problem,
                                      progress_.configuration, result.measured, microseconds));
  rt::Wisdom::instance().add({rt::wisdom_key(progress_.kernel, progress_.problem, device_), configuration, microseconds, result.spread,
                              result.measured, rt::wisdom_date()});
}

}  // namespace tilewright::tuning

// Finds the best known configuration of a tuner's call, or measures it.
#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "frontend/tuning/saved_memory.h"
#include "frontend/tuning/search.h"
#include "runtime/active_call.h"
#include "runtime/compile_request.h"
#include "runtime/device_failure.h"
#include "runtime/devices.h"
#include "runtime/log.h"
#include "runtime/wisdom/wisdom.h"
#include "runtime/write_observer.h"
#include "tilewright/tuner.h"

namespace tilewright {

namespace {

/// Searches of this process run one at a time, because each would disturb the measurements of another.
struct Searches {
  std::mutex running, sink_mutex;
  std::atomic<std::thread::id> owner;  // the thread whose search runs
  std::function<void(const TuningProgress&)> sink;
};
Searches& searches() {
  static auto* only = new Searches;
  return *only;
}

/// Makes this thread the owner of the running search.
struct Owner {
  Owner() { searches().owner = std::this_thread::get_id(); }
  ~Owner() { searches().owner = std::thread::id(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
};

void report(const TuningProgress& progress) {
  std::function<void(const TuningProgress&)> sink;
  {
    const std::lock_guard lock(searches().sink_mutex);
    sink = searches().sink;
  }
  if (sink) sink(progress);
}

}  // namespace

void set_tuning_progress(std::function<void(const TuningProgress&)> sink) {
  const rt::ActiveCall call(Here{});
  const std::lock_guard lock(searches().sink_mutex);
  searches().sink = std::move(sink);
}

namespace detail {

namespace {

using Range = tuning::SavedMemory::Range;

std::optional<std::size_t> known_configuration(const TuningRequest& request) {
  rt::Wisdom& wisdom = rt::Wisdom::instance();
  if (wisdom.is_empty()) return std::nullopt;
  const std::optional<rt::WisdomEntry> entry = wisdom.find(request.kernel, request.problem, *request.device);
  if (!entry) return std::nullopt;
  const auto& all = request.configurations;
  const auto found = std::find(all.begin(), all.end(), entry->configuration);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  rt::log(LogLevel::info, fmt::format("wisdom of '{}' for {} is ignored: its configuration {} is none of the tuner's", request.kernel,
                                      request.problem, entry->configuration));
  return std::nullopt;
}

/// The memory to restore after each measured launch. For a raw pointer, it is the buffers that it points into; if it points into none, the
/// launch refuses it.
std::vector<Range> written_ranges(const TuningRequest& request) {
  std::vector<Range> ranges;
  for (const Arguments::Reach& w : request.written) {
    if (w.buffer) {
      ranges.push_back({w.begin, w.end});
      continue;
    }
    for (const rt::Region& r : request.device->memory().snapshot())
      if (r.begin <= w.begin && w.begin < r.end()) ranges.push_back({r.begin, r.end()});
  }
  return ranges;
}

/// Measures and stores the result. None if nothing could be measured; the log then says why.
std::optional<std::size_t> measure(const TuningRequest& request, rt::Stream& stream, const Here& at) {
  const auto skip = [&](std::string_view why) {
    rt::log(LogLevel::warning, fmt::format("'{}' is not tuned for {}: {}", request.kernel, request.problem, why));
    return std::nullopt;
  };
  if (stream.is_capturing()) return skip("its stream is being captured");
  constexpr std::string_view kNoMemory = "there is no memory for a copy of what it writes; TunerOptions::restore = false needs none";
  tuning::SavedMemory saved(*request.device, stream, request.follow_writes, at);
  std::optional<rt::ObservedWrites> observed;
  if (request.restore) {
    try {
      for (const Range& r : written_ranges(request)) saved.save(*request.device, r, stream);
    } catch (const tuning::NoMemoryForCopy&) {
      return skip(kNoMemory);
    }
    observed.emplace(saved);
  }
  const bool is_emulated = rt::estimated_microseconds(request.device->name(), [] {}).has_value();
  const auto sample = [&](std::size_t i) {
    saved.restore();
    if (is_emulated) return *rt::estimated_microseconds(request.device->name(), [&] { request.launch(i); });
    const auto begin = stream.record();
    request.launch(i);
    const auto end = stream.record();
    return begin->elapsed_ms(*end) * 1000;
  };
  TuningProgress progress;
  progress.kernel = request.kernel;
  progress.problem = request.problem;
  progress.candidates = request.configurations.size();
  const auto predicted = [&](std::size_t i) { return request.predicted.empty() ? std::nullopt : std::optional(request.predicted[i]); };
  const auto tried = [&](const tuning::SearchStep& step) {
    progress.position = step.index + 1;
    progress.configuration = request.configurations[step.index];
    progress.microseconds = step.microseconds;
    progress.predicted_microseconds = predicted(step.index);
    if (!step.microseconds)
      rt::log(LogLevel::info, fmt::format("configuration {} of '{}' is left out: it needs more resources than device '{}' has",
                                          progress.configuration, request.kernel, request.device->name()));
    else if (progress.best.empty() || *step.microseconds < progress.best_microseconds)
      progress.best_microseconds = *step.microseconds, progress.best = progress.configuration;
    report(progress);
  };
  const auto put_back = [&] {
    saved.restore();
    stream.synchronize();
  };
  std::optional<tuning::SearchResult> result;
  try {
    result = tuning::search(request.configurations.size(), sample, {request.budget_ms, request.max_measured, is_emulated}, tried);
  } catch (const DeviceError&) {
    throw;  // the device may be lost
  } catch (const tuning::NoMemoryForCopy&) {
    put_back();
    return skip(kNoMemory);
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
  if (!result)
    throw Error(location_of(at), fmt::format("tune of '{}': each of {} configurations needs more resources than device '{}' has",
                                             request.kernel, request.configurations.size(), request.device->name()));
  progress.is_done = true;
  progress.configuration = request.configurations[result->index];
  progress.microseconds = result->microseconds;
  progress.predicted_microseconds = predicted(result->index);
  report(progress);
  rt::log(LogLevel::info, fmt::format("'{}' for {}: {} is the fastest of {}, {:.1f} us", request.kernel, request.problem,
                                      progress.configuration, result->measured, result->microseconds));
  rt::Wisdom::instance().add({rt::wisdom_key(request.kernel, request.problem, *request.device), progress.configuration,
                              result->microseconds, result->spread, result->measured, rt::wisdom_date()});
  return result->index;
}

}  // namespace

std::size_t tuned_configuration(const TuningRequest& request, const Here& at) {
  const rt::ActiveCall call(at);
  if (!request.device) return 0;  // the launch reports what is missing
  if (const auto known = known_configuration(request)) return *known;
  if (!request.tune || request.configurations.size() == 1) return 0;
  if (rt::is_sealed())
    throw Error(location_of(at), fmt::format("tune of '{}': nothing is known of {} on device '{}', and tw::seal() was called, after which "
                                             "nothing is measured",
                                             request.kernel, request.problem, request.device->name()));
  if (searches().owner == std::this_thread::get_id()) return 0;  // a launch inside a measured launch
  const std::lock_guard lock(searches().running);
  const Owner owner;
  rt::Wisdom::instance().refresh();  // another thread or process may have measured it meanwhile
  if (const auto known = known_configuration(request)) return *known;
  rt::Stream& stream = request.stream.given() ? *request.stream.stream().handle() : request.device->default_stream();
  return rt::at_line(at, [&] { return measure(request, stream, at).value_or(0); });
}

rt::Device* device_of_launch(const Arguments& arguments, const Launch& launch) {
  const bool has_stream = launch.stream.given();
  if (has_stream && !launch.stream.stream().handle()) return nullptr;
  rt::Device* const of_stream = has_stream ? launch.stream.stream().device().get() : nullptr;
  if (arguments.device()) return of_stream && of_stream != arguments.device() ? nullptr : arguments.device();
  return of_stream ? of_stream : launch.device.handle().get();
}

void check_tuner(std::string_view kernel, std::size_t given, std::size_t left, double budget_ms, std::int64_t max_measured,
                 const Here& at) {
  const auto refuse = [&](const std::string& message) { throw Error(location_of(at), fmt::format("tuner of '{}': {}", kernel, message)); };
  if (given == 0) refuse("there is no configuration");
  if (left == 0) refuse(fmt::format("prune leaves none of {} configurations", given));
  if (!(budget_ms >= 0)) refuse(fmt::format("budget_ms is {}; it must be at least 0, which is no limit", budget_ms));
  if (max_measured < 1) refuse(fmt::format("max_measured is {}; it must be at least 1", max_measured));
}

std::string constant_text(double value) { return fmt::format("{}", value); }
// A text as a word of the list: without separators of the list and without ends of lines.
std::string constant_text(std::string_view value) {
  std::string text;
  for (const char c : value)
    if (c == ',' || c == '\\' || static_cast<unsigned char>(c) < ' ')
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      text += c;
  return text;
}

}  // namespace detail
}  // namespace tilewright

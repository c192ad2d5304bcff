// Finds the best known configuration of a tuner's call, or measures it.
#include <fmt/format.h>

#include "frontend/tuning/measure.h"
#include "frontend/tuning/saved_memory.h"
#include "runtime/active_call.h"
#include "runtime/compile_request.h"
#include "runtime/device_failure.h"
#include "runtime/log.h"
#include "runtime/wisdom/wisdom.h"
#include "runtime/write_observer.h"
#include "tilewright/tuner.h"

namespace tilewright {

void set_tuning_progress(std::function<void(const TuningProgress&)> sink) {
  const rt::ActiveCall call(Here{});
  tuning::set_progress_sink(std::move(sink));
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
  tuning::Measurement measurement({.kernel = std::string(request.kernel),
                                   .problem = std::string(request.problem),
                                   .configurations = request.configurations,
                                   .prepare = [&](std::size_t) { saved.restore(); },
                                   .launch = request.launch,
                                   .predicted = request.predicted},
                                  *request.device, stream);
  const auto put_back = [&] {
    saved.restore();
    stream.synchronize();
  };
  std::optional<tuning::SearchResult> result;
  try {
    result = measurement.run(request.budget_ms, request.max_measured);
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
  measurement.keep(*result, result->index, request.configurations[result->index]);
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
  if (tuning::Turn::is_own()) return 0;  // a launch inside a measured launch
  const tuning::Turn turn;
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

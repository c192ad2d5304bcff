// The rounds of a measurement, and the comparison of results with double precision.
#include "frontend/cli/bench/measuring/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

// The number of double-precision operations that a check may take: a few tenths of a second.
constexpr double kCheckOperations = 2e7;
// A sample must be at least this long; otherwise the clock's resolution and the launch overhead would distort it.
constexpr double kSampleMs = 0.5;
constexpr int kMostLaunches = 1000;
constexpr int kLeastRounds = 3;

/// The rows that are checked: all rows, or evenly spaced rows that include the first and the last.
std::vector<std::int64_t> checked_rows(std::int64_t rows, double operations_a_row) {
  const auto count = std::clamp(static_cast<std::int64_t>(kCheckOperations / std::max(operations_a_row, 1.0)), std::int64_t{2}, rows);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(count > 1 ? i * (rows - 1) / (count - 1) : 0);
  return chosen;
}

const Tensor& find_tensor(const Problem& p, const std::string& name) {
  return *std::find_if(p.tensors.begin(), p.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

/// The number of launches that make a sample long enough.
int launches_a_sample(Contender& contender) {
  const double ms = std::min(contender.time(1), contender.time(1));
  return static_cast<int>(std::clamp(std::ceil(kSampleMs / std::max(ms, 1e-6)), 1.0, static_cast<double>(kMostLaunches)));
}

/// Calls f; an exception excludes the entrant.
void attempt(Entrant& e, const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& failed) {
    e.failure = failed.what();
    e.contender.reset();
  }
}

}  // namespace

Times summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  Times t;
  t.lower = at(0.25), t.median = at(0.5), t.upper = at(0.75);
  t.rounds = static_cast<int>(samples.size());
  return t;
}

double relative_error(const Case& c, const Reference& reference, const Contents& results) {
  const Problem& p = c.problem;
  Values values;
  for (const Tensor& t : p.tensors) {
    const auto written = results.find(t.name);
    values.emplace(t.name, Reader(written == results.end() ? t.bytes.data() : written->second.data(), t.element));
    values.emplace(t.name + " before", Reader(t.bytes.data(), t.element));
  }
  const Reader& actual = values.at(reference.tensor);
  const std::int64_t columns = reference.columns;
  std::vector<double> want(static_cast<std::size_t>(columns));
  double difference = 0, size = 0;
  for (const std::int64_t row : checked_rows(reference.rows, reference.operations_a_row)) {
    reference.row(values, row, want);
    for (std::int64_t i = 0; i < columns; ++i) {
      const double w = want[static_cast<std::size_t>(i)], d = actual[row * columns + i] - w;
      difference += d * d;
      size += w * w;
    }
  }
  return difference == 0 ? 0 : std::sqrt(difference) / std::max(std::sqrt(size), reference.least_size);
}

double tolerance(const Case& c, const Reference& reference, const Setting& setting) {
  if (reference.exact) return 0;
  const bool may_use_tf32 =
      c.problem.multiplies && !setting.device.name().starts_with("cpu") && setting.options.precision != Precision::ieee;
  const double roundings = std::numeric_limits<float>::epsilon() * std::sqrt(reference.terms);
  switch (find_tensor(c.problem, reference.tensor).element) {
    case ir::Element::f64: return 1e-10;
    case ir::Element::f32: return (may_use_tf32 ? 3e-3 : 1e-5) + roundings;
    case ir::Element::f16: return 4e-3 + roundings;
    case ir::Element::bf16: return 3e-2 + roundings;
    default: return 0;
  }
}

double checked_error(const Case& c, const Contents& results, const Setting& setting) {
  double largest = 0;
  for (const Reference& r : c.problem.references) {
    const Tensor& t = find_tensor(c.problem, r.tensor);
    const std::size_t size = results.at(r.tensor).size(), element = static_cast<std::size_t>(ir::bytes(t.element));
    if (size != t.bytes.size() && size != static_cast<std::size_t>(r.rows * r.columns) * element)
      throw std::runtime_error(fmt::format("its result '{}' has {} elements and not {}", r.tensor, size / element, r.rows * r.columns));
    const double error = relative_error(c, r, results), most = tolerance(c, r, setting);
    if (!(error <= most))
      throw std::runtime_error(fmt::format("its result {}is wrong: relative error {:.2g}, above {:.2g}",
                                           c.problem.references.size() > 1 ? "'" + r.tensor + "' " : "", error, most));
    largest = std::max(largest, error);
  }
  return largest;
}

CacheFlush::CacheFlush(const Device& device) : device_(device) {
  constexpr std::int64_t kGpuBytes = std::int64_t{256} << 20;  // larger than the cache of any GPU
  const std::int64_t cache = std::max(rt::cache_sizes().last_level, 32 * 1024) * std::int64_t{1024};
  memory_ = device.allocate<float>((is_gpu(device) ? kGpuBytes : 2 * cache) / 4);
}

void CacheFlush::run() {
  memory_.fill(1);
  device_.synchronize();
}

void check_results(const Case& c, const Setting& setting, std::vector<Entrant>& entrants) {
  for (Entrant& e : entrants) {
    if (!e.contender) continue;
    attempt(e, [&] {
      const Contents results = e.contender->results();
      if (results.empty()) return;
      e.error = checked_error(c, results, setting);
      e.checked = true;
    });
    if (e.contender) e.contender->settle();
  }
}

void measure(std::vector<Entrant>& entrants, const MeasuringOptions& options, CacheFlush* flush, const std::atomic<bool>& interrupted,
             const std::function<void(int round)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::vector<int> launches(entrants.size(), 1);
  for (std::size_t i = 0; i < entrants.size() && !interrupted; ++i)
    if (entrants[i].contender)
      attempt(entrants[i], [&] {
        // With cold caches a sample has one launch, because a second one would find its data in the caches.
        if (flush) entrants[i].contender->time(1);
        if (!flush) launches[i] = launches_a_sample(*entrants[i].contender);
        entrants[i].contender->settle();
      });
  for (int round = 0; round < options.rounds && !interrupted; ++round) {
    if (round >= kLeastRounds && seconds() > options.seconds) break;
    progress(round);
    for (std::size_t turn = 0; turn < entrants.size() && !interrupted; ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % entrants.size();
      Entrant& e = entrants[i];
      if (!e.contender) continue;
      attempt(e, [&] {
        if (flush)
          flush->run();
        else
          e.contender->time(1);  // not timed: it loads the caches that the other contenders have overwritten
        e.samples.push_back(e.contender->time(launches[i]));
        e.contender->settle();
      });
    }
  }
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    Entrant& e = entrants[i];
    if (e.samples.empty() || !e.failure.empty()) continue;
    e.times = summarise(e.samples);
    e.times.launches = launches[i];
  }
}

}  // namespace tilewright::cli::bench

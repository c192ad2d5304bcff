// Chooses the configuration of a launch: the caller's, a measured one, or the model's first choice.
#include "tilewright/kernels/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <mutex>
#include <optional>

#include "frontend/kernels/configuration_space.h"
#include "runtime/device.h"
#include "runtime/wisdom/wisdom.h"
#include "tilewright/detail/tuning.h"

namespace tilewright::kernels::host {

namespace {

constexpr double kBudgetMs = 60'000;  // limit of a search, including compilations
constexpr std::size_t kMostMeasured = 30;
constexpr double kHopeless = 4;  // not measured if predicted to take this many times the best prediction

/// The facts on which the choice for a launch depends.
struct LaunchKey {
  std::string function, device;
  std::size_t types, functions;
  Precision precision;
  bool batch_invariant;
  Problem problem;
  auto operator<=>(const LaunchKey&) const = default;
};

/// The choices of earlier launches, because ranking all candidates takes longer than a launch.
class ChosenConfigurations {
 public:
  struct Choice {
    Configuration configuration;
    std::uint64_t wisdom = 0;  // generation of the wisdom
    bool is_measured = false;
  };
  static ChosenConfigurations& instance() {
    static auto* only = new ChosenConfigurations;
    return *only;
  }
  std::optional<Choice> find(const LaunchKey& key, std::uint64_t wisdom) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found == known_.end() || found->second.wisdom != wisdom) return std::nullopt;
    return found->second;
  }
  void add(const LaunchKey& key, const Choice& choice) {
    constexpr std::size_t kMost = 10'000;
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    known_.insert_or_assign(key, choice);
  }
  std::vector<Problem> problems(std::string_view function) {
    const std::lock_guard lock(mutex_);
    std::vector<Problem> all;
    for (const auto& [key, choice] : known_)
      if (key.function == function) all.push_back(key.problem);
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<LaunchKey, Choice> known_;
};

/// The candidates that a search measures.
std::vector<Configuration> measured_candidates(const Machine& m, const Problem& p) {
  std::vector<Configuration> all = ranked_candidates(m, p);
  const double best = estimated_seconds(m, p, all.front());
  std::erase_if(all, [&](const Configuration& c) { return estimated_seconds(m, p, c) > kHopeless * best; });
  all.resize(std::min(all.size(), kMostMeasured), all.front());
  return all;
}

/// The name of a candidate in the wisdom file.
std::string text_of(const Configuration& c) {
  return fmt::format("{},{},{},{},{},{},{}", c.bm, c.bn, c.bk, c.num_warps, c.num_stages, c.group, c.splits);
}

}  // namespace

int host_threads(const Device& device) { return device.handle()->host_threads(); }

Configuration chosen_configuration(const Device& device, const Problem& given, const Options& options) {
  if (options.configuration) return *options.configuration;
  const Problem problem = options.batch_invariant ? without_batch(given) : given;
  return ranked_candidates(machine_of(device), problem).front();
}

std::vector<Problem> launched_problems(std::string_view function) { return ChosenConfigurations::instance().problems(function); }

void launch_tuned(const ArgumentCheck& check, const Problem& problem, const Options& options,
                  const std::function<void(const Options&)>& launch, const std::type_info& functions, const detail::Arguments* extras) {
  Options chosen = options;
  chosen.tune = false;
  if (options.configuration) return launch(chosen);
  rt::Wisdom& wisdom = rt::Wisdom::instance();
  const Device device = check.device();
  const bool can_tune = !options.batch_invariant;
  const LaunchKey key{check.function(),        device.name(), check.types_hash(), functions.hash_code(), options.precision,
                      options.batch_invariant, problem};
  const auto known = ChosenConfigurations::instance().find(key, wisdom.generation());
  if (known && (known->is_measured || !options.tune || !can_tune)) {
    chosen.configuration = known->configuration;
    return launch(chosen);
  }
  if (!can_tune || (!options.tune && wisdom.is_empty())) {
    chosen.configuration = chosen_configuration(device, problem, options);
    ChosenConfigurations::instance().add(key, {*chosen.configuration, wisdom.generation()});
    return launch(chosen);
  }
  const Machine machine = machine_of(device);
  const std::vector<Configuration> all = measured_candidates(machine, problem);
  std::vector<std::string> names;
  std::vector<double> predicted;
  for (const Configuration& c : all) names.push_back(text_of(c)), predicted.push_back(estimated_seconds(machine, problem, c) * 1e6);
  const std::string kernel = fmt::format("kernels::{}", check.function());
  const std::string text = fmt::format("{};{};precision {};functions {}", key_of(problem), check.types(),
                                       static_cast<int>(options.precision), detail::types_text(functions));
  std::vector<detail::Arguments::Reach> written = check.reread(extras ? extras->reaches() : std::span<const detail::Arguments::Reach>());
  if (extras)
    for (const detail::Arguments::Reach& r : extras->written()) written.push_back(r);
  const auto run = [&](std::size_t i) {
    chosen.configuration = all[i];
    launch(chosen);
  };
  const std::size_t best = detail::tuned_configuration({.kernel = kernel,
                                                        .problem = text,
                                                        .configurations = names,
                                                        .budget_ms = kBudgetMs,
                                                        .max_measured = static_cast<std::int64_t>(kMostMeasured),
                                                        .tune = options.tune,
                                                        .restore = true,
                                                        .stream = stream_of(options),
                                                        .written = std::move(written),
                                                        .follow_writes = false,
                                                        .device = device.handle().get(),
                                                        .launch = run,
                                                        .predicted = predicted},
                                                       check.at());
  const bool is_measured = wisdom.find(kernel, text, *device.handle()).has_value() || all.size() == 1;
  ChosenConfigurations::instance().add(key, {all[best], wisdom.generation(), is_measured});
  run(best);
}

}  // namespace tilewright::kernels::host

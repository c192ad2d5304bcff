// Launches a kernel of the library with Options::tune, and records what the search reports.
#include "frontend/cli/bench/measuring/tuning.h"

#include <fmt/format.h>

#include <array>
#include <sstream>

#include "frontend/cli/output/json_value.h"
#include "runtime/wisdom/wisdom.h"
#include "tilewright/tuner.h"

namespace tilewright::cli::bench {

namespace {

// The members of kernels::Configuration in order.
constexpr std::array<const char*, 7> kMembers = {"bm", "bn", "bk", "num_warps", "num_stages", "group", "splits"};

std::vector<std::string> words_of(const std::string& configuration) {
  std::vector<std::string> words;
  std::istringstream in(configuration);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

/// While this object lives, searches report to `sink`, and also measure configurations that were measured before.
class Searching {
 public:
  explicit Searching(std::function<void(const TuningProgress&)> sink) {
    set_tuning_progress(std::move(sink));
    rt::Wisdom::instance().set_ignored(true);
  }
  ~Searching() {
    rt::Wisdom::instance().set_ignored(false);
    set_tuning_progress({});
  }
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;
};

}  // namespace

std::string configuration_text(const std::string& configuration) {
  const std::vector<std::string> words = words_of(configuration);
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kMembers.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", kMembers[i], words[i]);
  return text;
}

std::string configuration_json(const std::string& configuration) {
  const std::vector<std::string> words = words_of(configuration);
  JsonMembers members;
  for (std::size_t i = 0; i < words.size() && i < kMembers.size(); ++i) members.emplace_back(kMembers[i], words[i]);
  return json_object(members);
}

std::vector<Tuned> tune(const Setting& setting, const Case& c, const std::function<void(double, const std::string&)>& progress) {
  std::vector<Tuned> all;
  Tuned search;
  const auto report = [&](const TuningProgress& p) {
    if (p.is_done) {
      search.kernel = p.kernel, search.chosen = p.configuration, search.microseconds = p.microseconds.value_or(0);
      all.push_back(search);
      search = {};
      return;
    }
    if (p.position == 1) search.model = p.configuration;
    search.measured += p.microseconds.has_value();
    search.candidates = p.candidates;
    progress(static_cast<double>(p.position) / static_cast<double>(p.candidates),
             fmt::format("configuration {} of {}", p.position, p.candidates));
  };
  DeviceTensors tensors(setting.device, c.problem.tensors);
  kernels::Options options = setting.options;
  options.tune = true;
  const Searching searching(report);
  c.problem.launch(tensors, options);
  setting.device.synchronize();
  return all;
}

}  // namespace tilewright::cli::bench

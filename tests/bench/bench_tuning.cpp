// How good the choice of configurations is: for each pair of a kernel and a shape, all candidates are measured, and the model's first
// choice and that of Options::tune are compared with the best of them. Or how little the tiles of products matter on hosts. On emulators, time is the estimate from counters.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <unistd.h>

#include "frontend/kernels/configuration_space.h"
#include "runtime/devices.h"
#include "tests/bench/report.h"
#include "tests/bench/tuning_pairs.h"

namespace {

using namespace bench;
using kernels::Configuration;
using kernels::host::Machine;
using kernels::host::Problem;

constexpr double kSampleMs = 0.5;  // shorter ones are launched several times
constexpr double kSlow = 1.15;     // times the best of all tiles
constexpr double kHopeless = 1.5;  // times the best, after two samples

std::string text_of(const Configuration& c) { return tw::detail::text_of_constant(c); }

/// One candidate and its samples in microseconds.
struct Candidate {
  Configuration configuration;
  double estimated = 0;
  int launches = 1;
  std::vector<double> samples = {};
  double median() const { return bench::summarise(samples).median; }
  double least() const { return *std::min_element(samples.begin(), samples.end()); }
};

class TuningBench {
 public:
  TuningBench(const Options& options, std::string dump, bool cpu_time)
      : options_(options),
        cpu_time_(cpu_time),
        device_(tw::Device::open(options.device.empty() ? "cpu" : options.device)),
        machine_(kernels::host::machine_of(device_)),
        report_(options, "tuning", device_.name()) {
    if (!dump.empty()) dump_.open(dump);
  }

  /// The worst of plain products in any tile beside the best.
  void run_tiles() {
    for (const TuningPair& pair : product_pairs())
      if (options_.wants(pair.name)) measure_tiles(pair);
    report_.finish();
  }

  void run() {
    for (const TuningPair& pair : tuning_pairs(machine_.is_emulated))
      if (options_.wants(pair.name)) measure(pair);
    report_.row("within", {{"pairs", pairs_}, {"model within 10 %", model_good_}, {"tune within 3 %", tune_good_}});
    report_.finish();
  }

 private:
  double now_us() const {
    ::timespec t{};
    ::clock_gettime(cpu_time_ ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
  }

  double sample(const Launcher& launch, const Configuration& c, int launches) {
    kernels::Options o;
    o.configuration = c;
    if (const auto estimate = tw::rt::estimated_microseconds(device_.name(), [&] { launch(o); })) return *estimate;
    device_.synchronize();
    const double begin = now_us();
    for (int i = 0; i < launches; ++i) launch(o);
    device_.synchronize();
    return (now_us() - begin) / launches;
  }

  /// What the launcher chooses a configuration from.
  static Problem problem_of(const TuningPair& pair, const Launcher& launch) {
    const std::string function = pair.name.substr(0, pair.name.find(' '));
    const std::vector<Problem> before = kernels::host::launched_problems(function);
    launch({});
    for (const Problem& p : kernels::host::launched_problems(function))
      if (std::find(before.begin(), before.end(), p) == before.end()) return p;
    throw std::runtime_error(pair.name + ": its launch chose no configuration");
  }

  /// The candidates by time, the fastest first; medians of samples in turns. Those that are hopeless are left out, but for the first choice
  /// of the model and `chosen`.
  std::vector<Candidate> exhaustive(const TuningPair& pair, const Problem& problem, const Launcher& launch, const std::string& chosen) {
    std::vector<Candidate> all;
    double best = 1e300;
    for (const Configuration& c : kernels::host::ranked_candidates(machine_, problem)) {
      Candidate one{c, kernels::host::estimated_seconds(machine_, problem, c) * 1e6};
      try {
        if (!machine_.is_emulated) sample(launch, c, 1);  // compiles
        double once = sample(launch, c, 1);
        if (!machine_.is_emulated) once = std::min(once, sample(launch, c, 1));
        one.launches = static_cast<int>(std::clamp(kSampleMs * 1000 / once, 1.0, 1000.0));
        one.samples.push_back(once);
        best = std::min(best, once);
      } catch (const tw::Error& e) {
        if (!e.lacks_resources()) throw;
        continue;
      }
      all.push_back(one);
    }
    if (!machine_.is_emulated) {
      std::vector<Candidate> live = {all.front()};
      for (std::size_t i = 1; i < all.size(); ++i)
        if (dump_.is_open() || all[i].least() < kHopeless * best || text_of(all[i].configuration) == chosen) live.push_back(all[i]);
      all = std::move(live);
      for (int round = 0; round < options_.repeats; ++round)
        for (Candidate& c : all) {
          if (round == 0) c.samples.clear();
          c.samples.push_back(sample(launch, c.configuration, c.launches));
        }
    }
    if (dump_.is_open())
      for (const Candidate& c : all)
        dump_ << pair.name << ";" << text_of(c.configuration) << ";" << c.estimated << ";" << c.least() << "\n";
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.median() < b.median(); });
    return all;
  }

  /// What Options::tune chooses with an empty wisdom file, and how many configurations it measured.
  std::pair<std::string, double> tuned(const Launcher& launch) {
    const std::string path = (std::filesystem::temp_directory_path() / ("bench_tuning_" + std::to_string(::getpid()))).string();
    std::filesystem::remove(path);
    ::setenv("TILEWRIGHT_WISDOM", path.c_str(), 1);
    std::string best;
    double measured = 0;
    tw::set_tuning_progress([&](const tw::TuningProgress& p) {
      if (p.is_done)
        best = p.configuration;
      else
        measured += p.microseconds.has_value();
    });
    launch({.tune = true});
    tw::set_tuning_progress({});
    std::filesystem::remove(path);
    ::setenv("TILEWRIGHT_WISDOM", "off", 1);
    return {best, measured};
  }

  void measure_tiles(const TuningPair& pair) {
    const Launcher launch = pair.prepare(device_);
    std::vector<Candidate> all;
    for (const int bm : {32, 64, 128, 256})
      for (const int bn : {32, 64, 128, 256})
        for (const int bk : {32, 64, 256}) {
          Candidate one{{.bm = bm, .bn = bn, .bk = bk}};
          sample(launch, one.configuration, 1);  // compiles
          one.launches = static_cast<int>(std::clamp(kSampleMs * 1000 / sample(launch, one.configuration, 1), 1.0, 1000.0));
          all.push_back(one);
        }
    for (int round = 0; round < options_.repeats; ++round)
      for (Candidate& c : all) c.samples.push_back(sample(launch, c.configuration, c.launches));
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.median() < b.median(); });
    const double best = all.front().median();
    const auto slow = std::count_if(all.begin(), all.end(), [&](const Candidate& c) { return c.median() > kSlow * best; });
    report_.row(pair.name, {{"tiles", static_cast<double>(all.size())},
                            {"best us", best},
                            {"worst / best", all.back().median() / best},
                            {"over 1.15", static_cast<double>(slow)}});
    std::printf("    best %s, worst %s\n", text_of(all.front().configuration).c_str(), text_of(all.back().configuration).c_str());
    std::fflush(stdout);
  }

  void measure(const TuningPair& pair) {
    const Launcher launch = pair.prepare(device_);
    const Problem problem = problem_of(pair, launch);
    const std::string first = text_of(kernels::host::ranked_candidates(machine_, problem).front());
    const auto [chosen, measured] = tuned(launch);
    const std::vector<Candidate> all = exhaustive(pair, problem, launch, chosen);
    const auto over_best = [&](const std::string& configuration) {
      for (const Candidate& c : all)
        if (text_of(c.configuration) == configuration) return c.median() / all.front().median();
      throw std::runtime_error(pair.name + ": " + configuration + " is not a candidate");
    };
    const double model = over_best(first), tune = chosen.empty() ? model : over_best(chosen);
    pairs_ += 1, model_good_ += model <= 1.1, tune_good_ += tune <= 1.03;
    report_.row(pair.name, {{"candidates", static_cast<double>(kernels::host::candidates_of(machine_, problem).size())},
                            {"measured", measured},
                            {"best us", all.front().median()},
                            {"model / best", model},
                            {"tune / best", tune}});
    std::printf("    model %s, tune %s, best %s\n", first.c_str(), chosen.c_str(), text_of(all.front().configuration).c_str());
    std::fflush(stdout);
  }

  Options options_;
  bool cpu_time_;
  tw::Device device_;
  Machine machine_;
  Report report_;
  std::ofstream dump_;
  double pairs_ = 0, model_good_ = 0, tune_good_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string dump, clock, tiles;
  const auto options = bench::parse(
      argc, argv, "The model's and the tuner's choice beside the best of all configurations",
      {{"--dump", "a file for the estimate and the time of each candidate", nullptr, &dump},
       {"--clock", "wall, or cpu: the time of processors, for one thread on a loaded machine", nullptr, &clock},
       {"--tiles", "any: instead, products in 48 tiles from 32x32x32 to 256x256x256, the worst beside the best", nullptr, &tiles}});
  try {
    ::setenv("TILEWRIGHT_WISDOM", "off", 1);
    TuningBench bench(options, dump, clock == "cpu");
    if (tiles.empty())
      bench.run();
    else
      bench.run_tiles();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

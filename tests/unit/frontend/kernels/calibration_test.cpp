// The model of GPUs against configurations that a GPU measured: tests/bench/results/, by tests/bench/peers/calibrate.py.
#include <doctest/doctest.h>
#include <tilewright/tilewright.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "frontend/kernels/configuration_space.h"

namespace tw = tilewright;

namespace {

using namespace tw::kernels::host;
using tw::kernels::Configuration;

struct Measured {
  Configuration configuration;
  double microseconds;
};
using Calibration = std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<Measured>>;

/// The rows of the file: ["f16", [4096, 4096, 4096], [32, 128, 32, 2, 3, 1], 503.97].
Calibration read(const std::filesystem::path& path) {
  Calibration all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("[\"")) continue;
    const std::size_t name_end = line.find('"', 2);
    const std::string name = line.substr(2, name_end - 2);
    std::string numbers = line.substr(name_end);
    std::vector<std::int64_t> lists[2];
    std::size_t at = 0;
    for (auto& list : lists) {
      const std::size_t begin = numbers.find('[', at) + 1;
      at = numbers.find(']', begin);
      std::string text = numbers.substr(begin, at - begin);
      std::ranges::replace(text, ',', ' ');
      std::istringstream items(text);
      for (std::int64_t x = 0; items >> x;) list.push_back(x);
    }
    REQUIRE(lists[1].size() == 6);
    const auto c = [&](std::size_t i) { return static_cast<int>(lists[1][i]); };
    all[{name, lists[0]}].push_back(
        {{.bm = c(0), .bn = c(1), .bk = c(2), .num_warps = c(3), .num_stages = c(4), .splits = c(5)}, std::stod(numbers.substr(at + 2))});
  }
  return all;
}

int alignment(std::int64_t bytes) { return static_cast<int>((128 | bytes) & -(128 | bytes)); }

Problem problem_of(const std::string& name, const std::vector<std::int64_t>& shape) {
  if (name == "attention") {
    const int depth = static_cast<int>(shape[2]);
    return AttentionShape{.heads = shape[0],
                          .queries = shape[1],
                          .keys = shape[1],
                          .depth = depth,
                          .value_depth = depth,
                          .element_bytes = 2,
                          .causal = shape[3] != 0};
  }
  const int bytes = name == "tf32" ? 4 : name == "f16" ? 2 : 1;
  return ProductShape{.batch = 1,
                      .m = shape[0],
                      .n = shape[1],
                      .k = shape[2],
                      .element_bytes = bytes,
                      .can_split = true,
                      .a_alignment = alignment(shape[2] * bytes),
                      .b_alignment = alignment(shape[1] * bytes)};
}

const Calibration& calibration() {
  static const Calibration all = read(TW_CALIBRATION);
  return all;
}

double fastest(const std::vector<Measured>& rows) { return std::ranges::min(rows, {}, &Measured::microseconds).microseconds; }

std::string text(const Configuration& c) { return tw::detail::text_of_constant(c); }

/// An H200 as the model sees it, not the emulator of one.
Machine h200() {
  Machine m = machine_of(tw::Device::open("emulator:sm_90a"));
  m.target.memory_gbs = 4800;
  m.facts = tilewright::ir::machine_facts(m.target);
  m.is_emulated = false;
  return m;
}

TEST_CASE("calibration: the first choice among what an H200 measured is at most 15 % slower than the best, and 5 % on average") {
  REQUIRE(calibration().size() >= 17);
  const Machine m = h200();
  double logarithms = 0;
  for (const auto& [key, rows] : calibration()) {
    const Problem p = problem_of(key.first, key.second);
    const auto& chosen = *std::ranges::min_element(rows, {}, [&](const Measured& r) { return estimated_seconds(m, p, r.configuration); });
    const double slower = chosen.microseconds / fastest(rows);
    INFO(key_of(p), ": ", text(chosen.configuration), " is ", slower, " times as slow as the best");
    CHECK(slower < 1.15);
    logarithms += std::log(slower);
  }
  CHECK(std::exp(logarithms / static_cast<double>(calibration().size())) < 1.05);
}

TEST_CASE("calibration: the first of all candidates was measured, and is not a slow one") {
  const Machine m = h200();
  for (const auto& [key, rows] : calibration()) {
    const Problem p = problem_of(key.first, key.second);
    const Configuration first = ranked_candidates(m, p).front();
    const auto measured = std::ranges::find_if(rows, [&](const Measured& r) {
      Configuration c = r.configuration;
      if (key.first == "attention") c.bk = first.bk;  // without a meaning there
      return text(c) == text(first);
    });
    INFO(key_of(p), ": ", text(first));
    REQUIRE(measured != rows.end());
    CHECK(measured->microseconds < 1.15 * fastest(rows));
  }
}

TEST_CASE("calibration: the model's times are those that were measured, within a factor of 2 in the middle") {
  const Machine m = h200();
  for (const auto& [key, rows] : calibration()) {
    const Problem p = problem_of(key.first, key.second);
    std::vector<double> ratios;
    for (const Measured& r : rows) ratios.push_back(estimated_seconds(m, p, r.configuration) * 1e6 / r.microseconds);
    std::ranges::sort(ratios);
    INFO(key_of(p));
    CHECK(ratios[ratios.size() / 2] > 0.5);
    CHECK(ratios[ratios.size() / 2] < 2);
  }
}

}  // namespace

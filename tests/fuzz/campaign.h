// The options and the loop that the fuzzers share: seeds in a row until a count, a time or a number of failures is reached.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace tilewright::fuzz {

/// Which seeds are tried, and when that ends.
struct Campaign {
  std::uint64_t seed = 1, count = 1000;
  double seconds = 0;  // 0: no limit
  int max_failures = 5;
  bool fresh = false, quiet = false;

  /// Adds the options above. `what` is tried for each seed: "programs".
  void add_options(CLI::App& app, const std::string& what);
};

/// What a campaign has tried.
struct CampaignResult {
  std::uint64_t tried = 0;
  int failures = 0;
  double seconds = 0;

  /// "300 programs from seed 1 (next: 301) on cpu: 0 failures, 12 s".
  std::string text(const Campaign&, const std::string& what, const std::string& where) const;
};

/// What one seed found.
struct Finding {
  int failures = 0;
  bool end = false;  // nothing more can be tried
};

/// Calls `check` for one seed after the other. With `fresh` the first seed is random, is written to `campaign`, and is printed.
CampaignResult run(Campaign& campaign, const std::function<Finding(std::uint64_t seed)>& check);

}  // namespace tilewright::fuzz

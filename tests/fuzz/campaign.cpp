// Tries seeds in a row, shows how far it is, and ends at the first limit.
#include "tests/fuzz/campaign.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <random>

namespace tilewright::fuzz {

void Campaign::add_options(CLI::App& app, const std::string& what) {
  app.add_option("--seed", seed, "first seed; a long run goes on where the one before stopped");
  app.add_flag("--fresh", fresh, "a first seed that nobody has seen; it is printed");
  app.add_option("--count", count, "how many " + what + " at most");
  app.add_option("--seconds", seconds, "stop after so long; 0: do not");
  app.add_option("--max-failures", max_failures, "stop after so many");
  app.add_flag("--quiet", quiet, "no progress");
}

std::string CampaignResult::text(const Campaign& c, const std::string& what, const std::string& where) const {
  return fmt::format("{} {} from seed {} (next: {}) on {}: {} failures, {:.0f} s", tried, what, c.seed, c.seed + tried, where, failures,
                     seconds);
}

CampaignResult run(Campaign& c, const std::function<Finding(std::uint64_t)>& check) {
  using Clock = std::chrono::steady_clock;
  if (c.fresh) {
    c.seed = std::uint64_t{std::random_device{}()} * 1'000'000;
    fmt::print("first seed: {}\n", c.seed);
    std::fflush(stdout);
  }
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  CampaignResult r;
  bool end = false;
  while (!end && r.tried < c.count && r.failures < c.max_failures && (c.seconds <= 0 || elapsed() < c.seconds)) {
    const std::uint64_t seed = c.seed + r.tried;
    if (!c.quiet) fmt::print(stderr, "\rseed {} ({} of {})", seed, r.tried, c.count);
    const Finding found = check(seed);
    ++r.tried;
    r.failures += found.failures;
    end = found.end;
  }
  if (!c.quiet) fmt::print(stderr, "\n");
  r.seconds = elapsed();
  return r;
}

}  // namespace tilewright::fuzz

// Writes tables, notes and files.
#include "frontend/cli/bench/report/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "frontend/cli/bench/measuring/contender.h"
#include "frontend/cli/files/errors.h"

namespace tilewright::cli::bench {

namespace {

/// Leaves no empty file, because the program may end before there are results.
void expect_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (!file) throw UsageError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  std::fclose(file);
  if (!was_there) std::filesystem::remove(path, ignored);
}

}  // namespace

Output::Output(std::string json, std::string plot) : json_(std::move(json)), plot_(std::move(plot)) {
  if (json_ == "-" && plot_ == "-") throw UsageError("--json and --plot cannot both go to standard output");
  expect_writable(json_);
  expect_writable(plot_);
}

void Output::print(std::string_view text) const {
  std::FILE* to = json_ == "-" || plot_ == "-" ? stderr : stdout;
  fmt::print(to, "{}", text);
  std::fflush(to);
}

void Output::note(std::string_view text) const { fmt::print(stderr, "{}\n", text); }

void Output::write(const Results& results, Files& files) const {
  if (!json_.empty()) files.write(json_, json_text(results));
  if (!plot_.empty()) files.write(plot_, chart_svg(results));
}

Results started_results(const Device& device, const MeasuringOptions& measuring) {
  Results r;
  r.version = TILEWRIGHT_VERSION;
  r.commit = kCommit;
  std::array<char, 32> date{};
  const std::time_t now = std::time(nullptr);
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  r.date = date.data();
  r.facts = machine_facts(device);
  r.cold = measuring.cold;
  r.rounds = is_emulator(device) ? 0 : measuring.rounds;
  return r;
}

}  // namespace tilewright::cli::bench

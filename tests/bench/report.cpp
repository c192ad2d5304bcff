// Flags, timing and output of the benchmarks.
#include "tests/bench/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  return "unknown";
}

std::string today() {
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// "AMD EPYC 7B13" -> "amd-epyc-7b13".
std::string slug(const std::string& name) {
  std::string result;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!result.empty() && result.back() != '-')
      result += '-';
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

Options parse(int argc, char** argv, const std::string& description, const std::vector<Flag>& more) {
  setenv("TILEWRIGHT_CACHE", "off", 0);  // compilations are measured
  Options options;
  CLI::App app(description);
  app.add_option("--device", options.device, "as Device::open takes it; the best one if not given");
  app.add_option("--filter", options.filter, "only rows whose name holds this text");
  app.add_option("--repeats", options.repeats, "samples of each measurement")->check(CLI::Range(1, 100000))->capture_default_str();
  auto* json = app.add_option("--json", options.json_file, "write JSON there, or to tests/bench/results/<date>-<machine>-<program>.json")
                   ->expected(0, 1);
  for (const Flag& flag : more)
    if (flag.list)
      app.add_option(flag.name, *flag.list, flag.help);
    else
      app.add_option(flag.name, *flag.one, flag.help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  options.json = json->count() > 0;
  return options;
}

Samples summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

Samples time_ms(int repeats, const std::function<void()>& f) {
  using Clock = std::chrono::steady_clock;
  f();
  std::vector<double> samples(static_cast<std::size_t>(repeats));
  for (double& ms : samples) {
    const auto start = Clock::now();
    f();
    ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  return summarise(std::move(samples));
}

Report::Report(Options options, std::string program, std::string device)
    : options_(std::move(options)), program_(std::move(program)), device_(std::move(device)) {
  fmt::print("{}: {} ({} threads), device {}, {}\n", program_, processor(), std::thread::hardware_concurrency(), device_, today());
}

void Report::row(const std::string& name, const std::vector<std::pair<std::string, double>>& values) {
  fmt::print("{:<36}", name);
  for (const auto& [unit, value] : values) fmt::print("  {} {:.4g}", unit, value);
  fmt::print("\n");
  std::fflush(stdout);
  rows_.push_back({name, values});
}

void Report::finish() const {
  if (!options_.json) return;
  std::filesystem::path file = options_.json_file;
  if (file.empty()) {
    const std::filesystem::path folder = TW_BENCH_RESULTS;
    std::filesystem::create_directories(folder);
    file = folder / fmt::format("{}-{}-{}.json", today(), slug(processor()), program_);
  }
  std::ofstream out(file);
  out << fmt::format(
      "{{\n  \"program\": {},\n  \"date\": {},\n  \"processor\": {},\n  \"threads\": {},\n  \"device\": {},\n  \"rows\": [\n",
      quoted(program_), quoted(today()), quoted(processor()), std::thread::hardware_concurrency(), quoted(device_));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out << "    {\"name\": " << quoted(rows_[i].name);
    for (const auto& [unit, value] : rows_[i].values) out << fmt::format(", {}: {:.6g}", quoted(unit), value);
    out << (i + 1 < rows_.size() ? "},\n" : "}\n");
  }
  out << "  ]\n}\n";
  if (!out) throw std::runtime_error("could not write " + file.string());
  fmt::print("wrote {}\n", file.string());
}

}  // namespace bench

// The environment variables that the library reads.
#include "runtime/environment.h"

#include <charconv>
#include <cstdlib>

namespace tilewright::rt {

namespace {
std::string read(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
/// Accepts small and capital letters.
bool means_off(std::string value) {
  for (char& c : value)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return value.empty() || value == "0" || value == "false" || value == "off" || value == "no";
}
}  // namespace

bool environment_check() {
  static const bool on = !means_off(read("TILEWRIGHT_CHECK"));
  return on;
}

int environment_threads() {
  const std::string value = read("TILEWRIGHT_THREADS");
  int threads = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
  return error == std::errc() && end == value.data() + value.size() && threads > 0 ? threads : 0;
}

std::string environment_threads_mistake() {
  const std::string value = read("TILEWRIGHT_THREADS");
  return value.empty() || environment_threads() > 0 ? "" : "TILEWRIGHT_THREADS is '" + value + "'; it must be a positive number";
}

std::string environment_dump() { return read("TILEWRIGHT_DUMP"); }

std::string environment_dump_stage() { return read("TILEWRIGHT_DUMP_STAGE"); }

std::string environment_log() {
  std::string value = read("TILEWRIGHT_LOG");
  return means_off(value) ? "" : value;
}

std::string environment_log_mistake() {
  const std::string value = environment_log();
  const bool is_known = value.empty() || value == "debug" || value == "info" || value == "warning";
  return is_known ? "" : "TILEWRIGHT_LOG is '" + value + "'; it must be debug, info, warning or off";
}

bool environment_no_color() { return !read("NO_COLOR").empty(); }

std::string environment_ptxas() { return read("TILEWRIGHT_PTXAS"); }

std::string environment_emulator_async() { return read("TILEWRIGHT_EMULATOR_ASYNC"); }

std::string environment_emulator_order() { return read("TILEWRIGHT_EMULATOR_ORDER"); }

std::string environment_emulator_limit() { return read("TILEWRIGHT_EMULATOR_LIMIT"); }

std::string environment_wisdom() {
  const std::string named = read("TILEWRIGHT_WISDOM");
  if (!named.empty()) return means_off(named) ? "" : named;
  const std::string folder = environment_cache_folder();
  return folder.empty() ? "" : folder + "/wisdom";
}

std::string environment_cache_folder() {
  // The XDG Base Directory Specification: a relative path must be ignored.
  if (const std::string folder = read("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/tilewright";
  const std::string home = read("HOME");
  return home.empty() ? "" : home + "/.cache/tilewright";
}

std::string environment_cache() {
  const std::string named = read("TILEWRIGHT_CACHE");
  if (!named.empty()) return means_off(named) ? "" : named;
  return environment_cache_folder();
}

std::string environment_cache_limit() { return read("TILEWRIGHT_CACHE_LIMIT"); }

std::string environment_path() { return read("PATH"); }

}  // namespace tilewright::rt

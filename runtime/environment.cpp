// The environment variables that the library reads.
#include "runtime/environment.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace tilewright::rt {

namespace {
std::string read(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
std::string in_small_letters(std::string value) {
  for (char& c : value)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return value;
}
bool means_off(const std::string& value) {
  const std::string v = in_small_letters(value);
  return v.empty() || v == "0" || v == "false" || v == "off" || v == "no";
}
bool means_on(const std::string& value) {
  const std::string v = in_small_letters(value);
  return v == "1" || v == "true" || v == "on" || v == "yes";
}

std::string mistake(const char* variable, const std::string& value, const char* expected) {
  return std::string(variable) + " is '" + value + "'; it must be " + expected;
}
}  // namespace

bool environment_check() {
  static const bool on = !means_off(read("TILEWRIGHT_CHECK"));
  return on;
}

std::string environment_check_mistake() {
  const std::string value = read("TILEWRIGHT_CHECK");
  return means_off(value) || means_on(value) ? "" : mistake("TILEWRIGHT_CHECK", value, "1, true, on or yes, or 0, false, off or no");
}

int environment_threads() {
  const std::string value = read("TILEWRIGHT_THREADS");
  int threads = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
  return error == std::errc() && end == value.data() + value.size() && threads > 0 ? threads : 0;
}

std::string environment_threads_mistake() {
  const std::string value = read("TILEWRIGHT_THREADS");
  return value.empty() || environment_threads() > 0 ? "" : mistake("TILEWRIGHT_THREADS", value, "a positive number");
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
  return is_known ? "" : mistake("TILEWRIGHT_LOG", value, "debug, info, warning or off");
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

std::string environment_cache_mistake() {
  const std::string named = read("TILEWRIGHT_CACHE");
  std::error_code error;
  const bool is_other = !means_off(named) && std::filesystem::exists(named, error) && !std::filesystem::is_directory(named, error);
  return is_other ? mistake("TILEWRIGHT_CACHE", named, "a folder, or off") : "";
}

std::string environment_cache_limit() { return read("TILEWRIGHT_CACHE_LIMIT"); }

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  int shift = 0;
  for (const auto& [unit, log2] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}})
    if (text.ends_with(unit)) shift = log2;
  if (shift) text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > (UINT64_MAX >> 1 >> shift)) return std::nullopt;
  return number << shift;
}

std::string environment_cache_limit_mistake() {
  const std::string value = environment_cache_limit();
  return value.empty() || parse_bytes(value) ? "" : mistake("TILEWRIGHT_CACHE_LIMIT", value, "a number of bytes, such as 200M");
}

std::string environment_mistake() {
  for (const auto& mistake_of :
       {environment_log_mistake, environment_check_mistake, environment_cache_mistake, environment_cache_limit_mistake})
    if (std::string found = mistake_of(); !found.empty()) return found;
  return "";
}

std::string environment_path() { return read("PATH"); }

}  // namespace tilewright::rt

// The format: a first line with its version, then lines "sum<TAB>name=value<TAB>name=value...", in which tabs, ends of lines and
// backslashes in values are escaped. `sum` is the FNV-1a hash of the rest of the line.
#include "runtime/wisdom/wisdom_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <tuple>

namespace tilewright::rt {

namespace {

constexpr std::string_view kTitle = "tilewright-wisdom ";
constexpr int kFormat = 1;

std::uint64_t sum_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) switch (c) {
      case '\t': text += "\\t"; break;
      case '\n': text += "\\n"; break;
      case '\r': text += "\\r"; break;
      case '\\': text += "\\\\"; break;
      default: text += c;
    }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      value += text[i];
      continue;
    }
    const char c = text[++i];
    value += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return value;
}

/// Returns the part of `text` before `end`, and removes it and `end` from the text.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

template <class T>
bool read_number(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_hash(std::string_view text, std::uint64_t& hash) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<WisdomEntry> parse_entry(std::string_view line) {
  std::uint64_t sum = 0;
  if (!read_hash(take_until(line, '\t'), sum) || sum != sum_of(line)) return std::nullopt;
  std::map<std::string, std::string, std::less<>> values;
  while (!line.empty()) {
    std::string_view value = take_until(line, '\t');
    const std::string_view name = take_until(value, '=');
    values.emplace(name, unescaped(value));
  }
  WisdomEntry e;
  for (const auto& [name, to] : std::initializer_list<std::pair<const char*, std::string*>>{{"kernel", &e.key.kernel},
                                                                                            {"problem", &e.key.problem},
                                                                                            {"device", &e.key.device},
                                                                                            {"driver", &e.key.driver},
                                                                                            {"version", &e.key.version},
                                                                                            {"configuration", &e.configuration},
                                                                                            {"date", &e.date}}) {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    *to = found->second;
  }
  if (!read_number(values["us"], e.microseconds) || !read_number(values["spread"], e.spread) ||
      !read_number(values["measured"], e.measured))
    return std::nullopt;
  return e;
}

}  // namespace

std::string wisdom_date() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(now));
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(now - std::chrono::floor<std::chrono::seconds>(now)).count();
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec, rest);
}

WisdomText parse_wisdom(std::string_view text) {
  WisdomText result;
  if (text.empty()) return result;
  std::string_view title = take_until(text, '\n');
  int format = 0;
  if (!title.starts_with(kTitle) || !read_number(std::string(title.substr(kTitle.size())), format)) {
    result.format = WisdomText::Format::unknown;
    return result;
  }
  if (format != kFormat) {
    result.format = format > kFormat ? WisdomText::Format::newer : WisdomText::Format::unknown;
    return result;
  }
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.empty()) continue;
    if (std::optional<WisdomEntry> entry = parse_entry(line))
      result.entries.push_back(std::move(*entry));
    else
      ++result.damaged;
  }
  return result;
}

std::string print_wisdom(const std::vector<WisdomEntry>& entries) {
  std::string text = fmt::format("{}{}\n", kTitle, kFormat);
  for (const WisdomEntry& e : entries) {
    const std::string line = fmt::format(
        "kernel={}\tproblem={}\tdevice={}\tdriver={}\tversion={}\tconfiguration={}\tus={:.6g}\tspread={:.4g}\tmeasured={}\tdate={}",
        escaped(e.key.kernel), escaped(e.key.problem), escaped(e.key.device), escaped(e.key.driver), escaped(e.key.version),
        escaped(e.configuration), e.microseconds, e.spread, e.measured, escaped(e.date));
    text += fmt::format("{:016x}\t{}\n", sum_of(line), line);
  }
  return text;
}

void merge_wisdom(std::vector<WisdomEntry>& into, const std::vector<WisdomEntry>& added) {
  const auto text_of = [](const WisdomKey& k) { return std::tie(k.kernel, k.problem, k.device, k.driver, k.version); };
  using Text = decltype(text_of(WisdomKey{}));
  std::vector<WisdomEntry> all;
  all.reserve(into.size() + added.size());  // the map refers to these keys
  std::map<Text, std::size_t> known;
  const auto add = [&](const WisdomEntry& e) {
    all.push_back(e);
    const auto [found, is_new] = known.emplace(text_of(all.back().key), all.size() - 1);
    if (is_new) return;
    if (e.date >= all[found->second].date) all[found->second] = e;
    all.pop_back();
  };
  for (const WisdomEntry& e : into) add(e);
  for (const WisdomEntry& e : added) add(e);
  into = std::move(all);
}

}  // namespace tilewright::rt

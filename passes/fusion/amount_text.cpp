// Prints amounts with about three digits.
#include "passes/fusion/amount_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <utility>

namespace tilewright::passes::fusion {

std::string bytes_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

namespace {

/// Scales a number to below 1000; returns it with the prefix for the divisor.
std::pair<double, const char*> with_prefix(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  return {value, kPrefixes[prefix]};
}

}  // namespace

std::string count_text(double count) {
  const auto [value, prefix] = with_prefix(count);
  return fmt::format("{:.3g}{}", value, prefix);
}

std::string flops_text(double flops) {
  const auto [value, prefix] = with_prefix(flops);
  return fmt::format("{:.3g} {}flop", value, prefix);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

}  // namespace tilewright::passes::fusion

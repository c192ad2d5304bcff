// Counts in messages.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::ir {

/// "1 maximum", "2 maxima".
inline std::string counted(std::uint64_t n, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}
/// "1 value", "2 values".
inline std::string plural(std::uint64_t n, std::string_view what) { return counted(n, what, fmt::format("{}s", what)); }

}  // namespace tilewright::ir

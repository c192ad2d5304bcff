// Writes pieces of JSON.
#include "frontend/cli/output/json_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace tilewright::cli {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string json_number(double x) { return std::isfinite(x) ? fmt::format("{:.9g}", x) : "null"; }

std::string json_array(const std::vector<std::string>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string json_object(const JsonMembers& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) out += fmt::format("{}{}: {}", out.size() > 1 ? ", " : "", json_string(name), value);
  return out + '}';
}

}  // namespace tilewright::cli

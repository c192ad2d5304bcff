// Pieces of JSON as text.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::cli {

/// Names of members, and values that are already JSON.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;

std::string json_string(std::string_view);
/// Returns null for infinities and NaN.
std::string json_number(double);
std::string json_array(const std::vector<std::string>& values);
std::string json_object(const JsonMembers&);

}  // namespace tilewright::cli

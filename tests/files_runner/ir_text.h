// Reads printed tile IR line by line: which op a line holds and which values it defines.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::test {

std::string trimmed(std::string_view);
std::vector<std::string> split(std::string_view, char separator);

/// The op of a line: op_of("  %1, %2 = sort %0 : f32[4], i32[4]") -> "sort"; empty for a line without one, such as "}".
std::string op_of(std::string_view line);
/// The values that lines of a kernel define, parameters first, then results and arguments of regions in the order of the text.
std::vector<std::string> values_of(std::string_view kernel);
/// How many lines hold each op.
std::map<std::string, int> count_ops(std::string_view text);

}  // namespace tilewright::test

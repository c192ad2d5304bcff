// Finds ops and definitions in text by regular expressions; the text need not be valid tile IR.
#include "ir_text.h"

#include <algorithm>
#include <regex>

namespace tilewright::test {

std::string trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(s.substr(first, s.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= s.size();) {
    const std::size_t end = std::min(s.find(separator, begin), s.size());
    parts.emplace_back(s.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string op_of(std::string_view line) {
  const std::string text = trimmed(line.substr(0, line.find("//")));
  static const std::regex form(R"(^(?:%[^=]* = )?([a-z_][a-z_0-9]*)\b)");
  std::smatch m;
  if (text.starts_with("kernel ") || text.starts_with("layout ") || !std::regex_search(text, m, form)) return {};
  return m[1];
}

std::vector<std::string> values_of(std::string_view kernel) {
  std::vector<std::string> values;
  for (const std::string& line : split(kernel, '\n')) {
    const std::string text = line.substr(0, line.find("//"));
    static const std::regex results(R"(^\s*(%\w+(?:, %\w+)*) = )"), argument(R"((%\w+): )"), name(R"(%\w+)");
    std::smatch m;
    if (std::regex_search(text, m, results)) {
      const std::string list = m[1];
      for (std::sregex_iterator at(list.begin(), list.end(), name), end; at != end; ++at) values.push_back(at->str());
    }
    for (std::sregex_iterator at(text.begin(), text.end(), argument), end; at != end; ++at) values.push_back((*at)[1]);
  }
  return values;
}

std::map<std::string, int> count_ops(std::string_view text) {
  std::map<std::string, int> counts;
  for (const std::string& line : split(text, '\n'))
    if (const std::string op = op_of(line); !op.empty()) ++counts[op];
  return counts;
}

}  // namespace tilewright::test

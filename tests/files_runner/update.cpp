// Names captures by the op that defines a value; finds differences by the longest common subsequence of lines.
#include "update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>

#include "ir_text.h"

namespace tilewright::test {

namespace {

/// Turns the numbered values of an output's lines into captures, each named where it first occurs: %0 -> %[[LOAD:\w+]], then %[[LOAD]].
class Captures {
 public:
  std::string with_captures(const std::string& line) {
    static const std::regex number(R"(%[0-9]+\b)");
    const std::size_t assignment = line.find(" = ");
    std::string text, rest = line;
    for (std::smatch m; std::regex_search(rest, m, number); rest = m.suffix()) {
      const std::size_t at = line.size() - rest.size() + static_cast<std::size_t>(m.position());
      const bool is_result = assignment != std::string::npos && at < assignment;
      const bool is_argument = m.suffix().str().starts_with(": ");
      text += m.prefix();
      text += capture(m.str(), is_result ? op_of(line) : is_argument ? "arg" : "value");
    }
    return text + rest;
  }
  /// The next kernel numbers its values anew.
  void forget() { names_.clear(), uses_.clear(); }

 private:
  std::string capture(const std::string& value, std::string_view base) {
    if (const auto known = names_.find(value); known != names_.end()) return fmt::format("%[[{}]]", known->second);
    std::string name;
    for (const char c : base) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (const int use = ++uses_[name]; use > 1) name += fmt::format("_{}", use);
    names_[value] = name;
    return fmt::format("%[[{}:\\w+]]", name);
  }
  std::map<std::string, std::string> names_;
  std::map<std::string, int> uses_;
};

std::string_view name_of(CheckKind kind) {
  switch (kind) {
    case CheckKind::next: return "CHECK-NEXT";
    case CheckKind::not_: return "CHECK-NOT";
    case CheckKind::dag: return "CHECK-DAG";
    case CheckKind::label: return "CHECK-LABEL";
    default: return "CHECK";
  }
}

}  // namespace

std::vector<std::string> fresh_checks(std::string_view output, const std::vector<Check>& old) {
  std::set<std::string> subjects;
  bool has_labels = false;
  for (const Check& c : old) {
    has_labels |= c.kind == CheckKind::label;
    if (c.kind == CheckKind::plain || c.kind == CheckKind::next || c.kind == CheckKind::dag) subjects.insert(op_of(c.pattern));
  }
  std::vector<std::string> lines;
  std::size_t last = old.size();  // lines after the last positive check go to the end
  while (last > 0 && old[last - 1].kind == CheckKind::not_) --last;
  std::size_t done = 0, positive = 0;  // checks of `old` whose CHECK-NOT is out, and how many of those are positive
  const auto place_forbidden = [&](std::size_t before, std::size_t end) {
    for (; done < end && (old[done].kind == CheckKind::not_ || positive < before); ++done) {
      if (old[done].kind == CheckKind::not_)
        lines.push_back(fmt::format("// CHECK-NOT: {}", old[done].pattern));
      else
        ++positive;
    }
  };
  Captures captures;
  std::size_t placed = 0;
  for (const std::string& line : split(output, '\n')) {
    const std::string text = trimmed(line), op = op_of(text);
    const bool is_label = text.starts_with("kernel @") || text.starts_with("analysis ");
    if (is_label) captures.forget();
    if (text.empty() || (is_label && !has_labels)) continue;
    const bool is_analysis = op.empty() && !is_label && !text.starts_with("}") && !text.starts_with("layout ");
    if (!is_label && !is_analysis && !subjects.empty() && !subjects.contains(op)) continue;
    if (subjects.empty() && (text == "}" || text == "yield")) continue;
    place_forbidden(placed, last);
    lines.push_back(fmt::format("// {}: {}", name_of(is_label ? CheckKind::label : CheckKind::plain),
                                is_label ? text.substr(0, text.find('(')) : captures.with_captures(text)));
    ++placed;
  }
  place_forbidden(old.size(), old.size());
  return lines;
}

std::string unified_diff(std::string_view file, std::string_view before, std::string_view after) {
  constexpr std::size_t kContext = 3;
  const std::vector<std::string> a = split(before, '\n'), b = split(after, '\n');
  // common[i][j]: the length of the longest common subsequence of a from i on and b from j on.
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  struct Line {
    char mark;
    std::string text;
    std::size_t old_line, new_line;
  };
  std::vector<Line> lines;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back({' ', a[i], i, j});
      ++i, ++j;
    } else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back({'-', a[i], i, j});
      ++i;
    } else {
      lines.push_back({'+', b[j], i, j});
      ++j;
    }
  }
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    if (lines[at].mark == ' ') {
      ++at;
      continue;
    }
    // A hunk ends where more than twice the context is equal.
    std::size_t last = at;
    for (std::size_t i = at; i < lines.size() && i <= last + 2 * kContext + 1; ++i)
      if (lines[i].mark != ' ') last = i;
    const std::size_t first = at - std::min(at, kContext), end = std::min(last + kContext + 1, lines.size());
    std::size_t removed = 0, added = 0;
    for (std::size_t i = first; i < end; ++i) removed += lines[i].mark != '+', added += lines[i].mark != '-';
    if (out.empty()) out = fmt::format("--- {0}\n+++ {0}\n", file);
    out += fmt::format("@@ -{},{} +{},{} @@\n", lines[first].old_line + 1, removed, lines[first].new_line + 1, added);
    for (std::size_t i = first; i < end; ++i) out += fmt::format("{}{}\n", lines[i].mark, lines[i].text);
    at = end;
  }
  return out;
}

}  // namespace tilewright::test

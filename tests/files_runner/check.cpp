// Matches patterns line by line; positions are offsets into the whole text.
#include "check.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>

#include <fmt/format.h>

namespace tilewright::test {

namespace {

using Captures = std::map<std::string, std::string, std::less<>>;

std::string escaped(std::string_view literal) {
  std::string out;
  for (char c : literal) {
    if (std::string_view(R"(\^$.|?*+()[]{}/)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string single_blanks(std::string_view s) {
  std::string out;
  for (char c : s) {
    if (c == '\t') c = ' ';
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

int count_groups(std::string_view regex) {
  int n = 0;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\')
      ++i;
    else if (regex[i] == '(' && !regex.substr(i).starts_with("(?"))
      ++n;
  }
  return n;
}

/// A use of a name matches all of a word: %[[X]] that stands for %1 is not the start of %12.
constexpr const char* kEndOfWord = "(?![A-Za-z0-9_])";
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A pattern as a regular expression, and which of its groups have names.
struct Compiled {
  std::string source;
  std::map<std::string, int, std::less<>> groups;
  int group_count = 0;

  void add_regex(std::string_view regex) {
    source += fmt::format("(?:{})", regex);
    group_count += count_groups(regex);
  }
  void add_name(std::string_view content, const Captures& known) {
    const std::size_t colon = content.find(':');
    const std::string name(content.substr(0, colon));
    if (colon != std::string_view::npos) {
      groups[name] = ++group_count;
      source += fmt::format("({})", content.substr(colon + 1));
      group_count += count_groups(content.substr(colon + 1));
    } else if (const auto here = groups.find(name); here != groups.end()) {
      source += fmt::format("(?:\\{}){}", here->second, kEndOfWord);
    } else if (const auto before = known.find(name); before != known.end()) {
      source += escaped(before->second);
      if (!before->second.empty() && is_word(before->second.back())) source += kEndOfWord;
    } else {
      throw std::invalid_argument(fmt::format("[[{}]] has no value yet", name));
    }
  }
};

/// Where the pair that closes a "[[" or "{{" before `rest` starts; brackets within are balanced, as in [[X:[a-z]+]] and {{a{2}}}.
std::size_t find_close(std::string_view rest, char open, char close) {
  int depth = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      ++i;
    } else if (rest[i] == open) {
      ++depth;
    } else if (rest[i] == close) {
      if (depth > 0)
        --depth;
      else if (i + 1 < rest.size() && rest[i + 1] == close)
        return i;
    }
  }
  throw std::invalid_argument(fmt::format("'{0}{0}' is not closed", open));
}

/// Where the next regex or name opens. In f32[[[N]]] the first bracket is the text's own; in [[1], [2]], a list of a layout, all are.
std::size_t find_open(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    const char bracket = pattern[at];
    if ((bracket != '{' && bracket != '[') || pattern[at + 1] != bracket) continue;
    while (at + 2 < pattern.size() && pattern[at + 2] == bracket) ++at;
    if (bracket == '{' || (at + 2 < pattern.size() && std::isalpha(static_cast<unsigned char>(pattern[at + 2])))) return at;
  }
  return std::string_view::npos;
}

Compiled compile(std::string_view pattern, const Captures& known) {
  Compiled c;
  while (!pattern.empty()) {
    const std::size_t open = find_open(pattern);
    if (open == std::string_view::npos) {
      c.source += escaped(pattern);
      break;
    }
    const char bracket = pattern[open];
    c.source += escaped(pattern.substr(0, open));
    pattern.remove_prefix(open + 2);
    const std::size_t close = find_close(pattern, bracket, bracket == '{' ? '}' : ']');
    if (bracket == '{')
      c.add_regex(pattern.substr(0, close));
    else
      c.add_name(pattern.substr(0, close), known);
    pattern.remove_prefix(close + 2);
  }
  return c;
}

struct Range {
  std::size_t begin, end;
};
using Match = Range;

class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(single_blanks(text)) {}

  std::vector<Failure> run(const std::vector<Check>& checks) {
    const std::vector<Match> labels = find_labels(checks);
    if (!failures_.empty()) return failures_;
    Range part{0, labels.empty() ? text_.size() : labels[0].begin};
    std::size_t label = 0;
    auto at = checks.begin();
    for (;;) {
      const auto end = std::find_if(at, checks.end(), [](const Check& c) { return c.kind == CheckKind::label; });
      run_part({at, end}, part);
      if (end == checks.end()) return failures_;
      part = {labels[label].end, label + 1 < labels.size() ? labels[label + 1].begin : text_.size()};
      ++label;
      at = end + 1;
    }
  }

  /// The line of the last check that was looked at.
  int line() const { return line_; }

 private:
  void fail(const Check& c, std::string_view why, std::size_t from) {
    const std::size_t end = std::min(text_.find('\n', from), text_.size());
    const std::string_view rest = std::string_view(text_).substr(from, end - from);
    failures_.push_back(
        {c.line, fmt::format("{}: {}\n  the text goes on with: {}", why, c.pattern, from < text_.size() ? rest : "(its end)")});
  }

  std::optional<Match> find(const Check& c, Range in, bool keep = true) {
    line_ = c.line;
    const Compiled compiled = compile(single_blanks(c.pattern), captures_);
    const std::regex regex(compiled.source);
    for (std::size_t begin = in.begin; begin < in.end;) {
      const std::size_t end = std::min(text_.find('\n', begin), in.end);
      std::match_results<std::string::const_iterator> m;
      if (std::regex_search(text_.cbegin() + begin, text_.cbegin() + end, m, regex)) {
        if (keep)
          for (const auto& [name, group] : compiled.groups) captures_[name] = m[group].str();
        const std::size_t at = static_cast<std::size_t>(m[0].first - text_.cbegin());
        return Match{at, at + static_cast<std::size_t>(m[0].length())};
      }
      begin = end + 1;
    }
    return std::nullopt;
  }

  std::vector<Match> find_labels(const std::vector<Check>& checks) {
    std::vector<Match> labels;
    std::size_t from = 0;
    for (const Check& c : checks) {
      if (c.kind != CheckKind::label) continue;
      const auto m = find(c, {from, text_.size()});
      if (!m) {
        fail(c, "CHECK-LABEL not found", from);
        break;
      }
      labels.push_back(*m);
      from = m->end;
    }
    return labels;
  }

  /// The line after the one that holds `at`, within the part.
  Range next_line(std::size_t at, Range part) const {
    const std::size_t begin = std::min(text_.find('\n', at), part.end);
    if (begin >= part.end) return {part.end, part.end};
    return {begin + 1, std::min(text_.find('\n', begin + 1), part.end)};
  }

  void run_part(const std::vector<Check>& checks, Range part) {
    std::size_t at = part.begin;
    std::vector<const Check*> forbidden;
    const auto check_forbidden = [&](Range range) {
      for (const Check* c : forbidden)
        if (const auto m = find(*c, range, false)) fail(*c, "CHECK-NOT matches", m->begin);
      forbidden.clear();
    };
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Check& c = checks[i];
      if (c.kind == CheckKind::not_) {
        forbidden.push_back(&c);
        continue;
      }
      if (c.kind == CheckKind::dag) {
        std::size_t last = i;
        while (last + 1 < checks.size() && checks[last + 1].kind == CheckKind::dag) ++last;
        const auto group = find_group({checks.begin() + i, checks.begin() + last + 1}, {at, part.end});
        if (!group) return;
        check_forbidden({at, group->begin});
        at = group->end;
        i = last;
        continue;
      }
      const Range range = c.kind == CheckKind::next ? next_line(at, part) : Range{at, part.end};
      const auto m = find(c, range);
      if (!m) return fail(c, c.kind == CheckKind::next ? "CHECK-NEXT is not on the next line" : "CHECK not found", range.begin);
      check_forbidden({at, m->begin});
      at = m->end;
    }
    check_forbidden({at, part.end});
  }

  /// Each check of a group matches somewhere, no two in one place; the span of all of them.
  std::optional<Match> find_group(const std::vector<Check>& group, Range range) {
    std::vector<Match> taken;
    for (const Check& c : group) {
      std::size_t from = range.begin;
      std::optional<Match> m;
      while ((m = find(c, {from, range.end}))) {
        const bool overlaps = std::any_of(taken.begin(), taken.end(), [&](Match t) { return m->begin < t.end && t.begin < m->end; });
        if (!overlaps) break;
        from = std::max(m->end, from + 1);
      }
      if (!m) {
        fail(c, "CHECK-DAG not found", range.begin);
        return std::nullopt;
      }
      taken.push_back(*m);
    }
    Match span = taken[0];
    for (Match t : taken) span = {std::min(span.begin, t.begin), std::max(span.end, t.end)};
    return span;
  }

  std::string text_;
  int line_ = 0;
  Captures captures_;
  std::vector<Failure> failures_;
};

}  // namespace

std::vector<Failure> run_checks(const std::vector<Check>& checks, std::string_view text) {
  Matcher matcher(text);
  try {
    return matcher.run(checks);
  } catch (const std::regex_error& e) {
    return {{matcher.line(), fmt::format("the pattern is not a regular expression: {}", e.what())}};
  } catch (const std::invalid_argument& e) {
    return {{matcher.line(), e.what()}};
  }
}

}  // namespace tilewright::test

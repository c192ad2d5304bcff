// Suggests a name for a misspelt one (" (did you mean 'load'?)"), for messages.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

/// The number of letters to insert, delete, change or swap with their neighbour to get from a to b. Quadratic.
inline int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// " (did you mean 'load'?)" if a candidate is near the word, else nothing. `spell` gives a candidate's name.
template <class Range, class Spell = std::identity>
std::string suggestion(std::string_view word, const Range& candidates, Spell&& spell = {}) {
  constexpr std::size_t kLongest = 32;  // no name is longer; the limit bounds the quadratic cost
  if (word.size() > kLongest) return {};
  // A word of four letters that differs in two is another word: 'tune' is not 'run'.
  int best = word.size() < 5 ? 1 : static_cast<int>(word.size()) / 3 + 1;
  std::string_view found;
  for (const auto& c : candidates) {
    const std::string_view s = spell(c);
    if (const int d = edit_distance(word, s); d <= best && (found.empty() || d < best)) best = d, found = s;
  }
  return found.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", found);
}

}  // namespace tilewright::ir

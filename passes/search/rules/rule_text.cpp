// Words for tables of axes.
#include "passes/search/rules/rule_text.h"

#include <fmt/format.h>

namespace tilewright::passes::search {
namespace {

using Sets = std::vector<unsigned>;  // sets of variables

/// Words for sets of variables, and the sets that they mean.
struct Words {
  std::string text;
  Sets sets;
  bool is_plural = false;
};

/// The phrases that describe sets of variables, the plainest first.
std::vector<Words> vocabulary(const Sets& possible, const std::string& names) {
  std::vector<Words> all;
  const auto say = [&](std::string text, const auto& means, bool is_plural = false) {
    Words w{std::move(text), {}, is_plural};
    std::copy_if(possible.begin(), possible.end(), std::back_inserter(w.sets), means);
    all.push_back(std::move(w));
  };
  const auto has = [](unsigned set, std::size_t v) { return (set >> v & 1) != 0; };
  for (std::size_t v = 0; v < names.size(); ++v) say(std::string(1, names[v]), [&](unsigned s) { return has(s, v); });
  for (std::size_t v = 0; v < names.size(); ++v)
    for (std::size_t w = v + 1; w < names.size(); ++w)
      say(fmt::format("just one of {}, {}", names[v], names[w]), [&](unsigned s) { return has(s, v) != has(s, w); });
  for (unsigned set : possible) {
    std::string members;
    for (std::size_t v = 0; v < names.size(); ++v)
      if (has(set, v)) members += fmt::format("{}{}", members.empty() ? "" : " and ", names[v]);
    say("only " + members, [&](unsigned s) { return s == set; }, (set & (set - 1)) != 0);
  }
  return all;
}

/// "b has", "only b or only c has"; "" for all possible sets. Each step takes the phrase that describes the most of the remaining sets.
std::string describe(const Sets& wrong, const Sets& possible, const std::string& names) {
  if (wrong == possible) return "";
  const auto is_in = [](const Sets& sets, unsigned s) { return std::find(sets.begin(), sets.end(), s) != sets.end(); };
  const std::vector<Words> all = vocabulary(possible, names);
  std::string text;
  bool is_plural = false;
  for (Sets left = wrong; !left.empty();) {
    const Words* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Words& w : all) {
      if (!std::all_of(w.sets.begin(), w.sets.end(), [&](unsigned s) { return is_in(wrong, s); })) continue;
      const auto said = std::count_if(left.begin(), left.end(), [&](unsigned s) { return is_in(w.sets, s); });
      if (said > most) best = &w, most = said;
    }
    text += fmt::format("{}{}", text.empty() ? "" : " or ", best->text);
    is_plural |= best->is_plural;
    std::erase_if(left, [&](unsigned s) { return is_in(best->sets, s); });
  }
  return text + (is_plural ? " have" : " has");
}

constexpr std::string_view kFateNames[] = {"is kept", "a product sums", "sum sums"};
constexpr std::string_view kRoleNames[] = {"", "the view moves", "is cut"};

void append(std::string& text, std::string_view part, std::string_view separator) {
  if (!part.empty()) text += fmt::format("{}{}", text.empty() ? "" : separator, part);
}

/// Whether a side can be found with such an axis. A side without a product and without a sum sums nothing; a variable alone is not searched.
bool can_be(const Equation& e, int side, const AxisUse& use, const std::vector<AxisUse>& axes) {
  const Pattern& p = e.side(side);
  if (use.fate == Fate::summed_by_product && !has_op(p, Op::product)) return false;
  if (use.fate == Fate::summed_by_sum && !has_op(p, Op::sum) && !has_op(p, Op::product)) return false;
  return p.size() > 1 && makes_sense(e, side, axes);
}

/// An instance of a formula of numbers: a view and a sum are the number itself, and the pieces of a cat are evaluated both.
struct Scalars {
  const Pattern& pattern;
  unsigned negative;  // the variables that are -1, the others are 1
  bool cancels = false, multiplies = false;

  int value(int node) {
    const PatternNode& n = pattern[static_cast<std::size_t>(node)];
    if (n.op == Op::variable) return (negative >> n.variable & 1) != 0 ? -1 : 1;
    const int a = value(n.in[0]), b = n.in[1] >= 0 ? value(n.in[1]) : 0;
    const int result = n.op == Op::product ? a * b : n.op == Op::add ? a + b : a;
    cancels |= n.op == Op::add && a != 0 && result == 0;
    multiplies |= n.op == Op::product && result != 0;
    return result;
  }
};

}  // namespace

std::string unless_text(const Rule& rule) {
  const Equation& e = rule.equation;
  std::string text;
  for (int r = 0; r < kRoles; ++r) {
    std::array<Sets, kFates> wrong, possible;
    std::array<std::string, kFates> words;
    for (const AxisUse& use : possible_axes(e)) {
      if (use.role != static_cast<Role>(r)) continue;
      const auto fate = static_cast<std::size_t>(use.fate);
      const bool is_allowed = rule.conditions().allows(use.role, use.fate, use.variables);
      const auto axes = with_axis(rule.conditions().base, use);
      if (!is_allowed && !can_be(e, 0, use, axes) && !can_be(e, 1, use, axes)) continue;
      possible[fate].push_back(use.variables);
      if (!is_allowed) wrong[fate].push_back(use.variables);
    }
    for (std::size_t f = 0; f < kFates; ++f) words[f] = describe(wrong[f], possible[f], e.variables);
    const auto is_wrong = [&](std::size_t f) { return !wrong[f].empty(); };
    // Fates for which the same sets are excluded, or that are impossible, are written together.
    const auto alike = [&](std::size_t f, std::size_t g) {
      return possible[f].empty() || possible[g].empty() || (is_wrong(f) == is_wrong(g) && words[f] == words[g]);
    };
    const bool summed_alike = alike(1, 2), all_alike = alike(0, 1) && alike(0, 2) && summed_alike;
    for (std::size_t f = 0; f < kFates; ++f) {
      if (!is_wrong(f) || (all_alike && f > 0 && is_wrong(0)) || (summed_alike && f == 2 && is_wrong(1))) continue;
      std::string phrase = words[f];
      append(phrase, kRoleNames[r], ", ");
      if (!all_alike || phrase.empty()) append(phrase, f > 0 && summed_alike ? "is summed" : kFateNames[f], ", ");
      append(text, phrase, "; ");
    }
  }
  return text.empty() ? "-" : text;
}

bool spreads_differences(const Equation& e) {
  for (unsigned negative = 0; negative < 1u << e.variables.size(); ++negative) {
    Scalars left{e.left, negative}, right{e.right, negative};
    left.value(0), right.value(0);
    if (left.cancels && !left.multiplies && right.multiplies) return true;
  }
  return false;
}

}  // namespace tilewright::passes::search

// Which rules exchange finite numbers, infinities, NaN and the signs of zeros: both sides in floats, at values that are not finite.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tests/unit/passes/search/equations.h"

namespace tilewright::passes::search {
namespace {

constexpr float kInfinity = HUGE_VALF, kBig = 3e38f;
constexpr Sizes kSizes{2, 1, 2, 0};

/// What a view makes of an axis: the position that is read, or none for a zero.
enum class Map : std::uint8_t { shifts, flips };

/// Values of terms in f32: an element at a time, sums in the order of positions.
class Floats {
 public:
  using Positions = std::array<int, kMaxLabels>;
  Floats(const TermTable& terms, Map map) : terms_(terms), map_(map) {}
  std::map<int, std::vector<float>> variables;  // by number, row-major by slots

  float at(const Ref& r, const Positions& positions) const {
    const Node& n = terms_.node(r.term);
    const Labels slots = terms_.slots(r.term);
    Positions inner{};
    for (int s = 0; s < slots.size(); ++s) inner[slots[s]] = positions[r.labels[s]];
    const auto in = [&](std::size_t i, int shift = 0) {
      Positions p = inner;
      if (n.axis != kNoLabel) p[n.axis] += shift;
      return at(n.in[i], p);
    };
    switch (n.op) {
      case Op::variable: {
        std::size_t offset = 0;
        for (int s = 0; s < slots.size(); ++s)
          offset = offset * static_cast<std::size_t>(kSizes.of(terms_.extent(r.term, s))) + static_cast<std::size_t>(inner[slots[s]]);
        return variables.at(n.attribute)[offset];
      }
      case Op::product: return summed(n, inner, [&](const Positions& p) { return at(n.in[0], p) * at(n.in[1], p); });
      case Op::sum: return summed(n, inner, [&](const Positions& p) { return at(n.in[0], p); });
      case Op::add: return in(0) + in(1);
      case Op::function: return 1 / in(0);
      case Op::view: {
        const int to = inner[n.axis];
        if (map_ == Map::shifts) return to == 0 ? 0.0f : in(0, -1);
        return in(0, kSizes.plain - 1 - 2 * to);
      }
      case Op::cat: return inner[n.axis] < kSizes.first ? in(0) : in(1, -kSizes.first);
      case Op::part0: return in(0);
      case Op::part1: return in(0, kSizes.first);
      case Op::reduce: break;
    }
    FAIL("rules have no such op");
    return 0;
  }

 private:
  template <class Element>
  float summed(const Node& n, Positions p, Element&& element) const {
    std::vector<std::pair<Label, int>> loops;
    for (int i = 0; i < operands_of(n); ++i)
      for (Label l : n.in[static_cast<std::size_t>(i)].labels)
        if (!contains(n.kept, l) && std::none_of(loops.begin(), loops.end(), [&](const auto& loop) { return loop.first == l; }))
          loops.emplace_back(l, kSizes.of(terms_.extent(n.in[static_cast<std::size_t>(i)], l)));
    const auto sum = [&](auto& self, std::size_t loop) -> float {
      if (loop == loops.size()) return element(p);
      float total = 0;
      for (int k = 0; k < loops[loop].second; ++k) {
        p[loops[loop].first] = k;
        const float addend = self(self, loop + 1);
        total = k == 0 ? addend : total + addend;
      }
      return total;
    };
    return sum(sum, 0);
  }

  const TermTable& terms_;
  Map map_;
};

std::string kind(float v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return "infinite";
  return "finite";
}

/// What one side is where the other side is something else: "finite and NaN"; "signs of zeros"; "numbers" for finite numbers that differ.
std::string exchange(float left, float right) {
  if (kind(left) != kind(right)) return std::min(kind(left), kind(right)) + " and " + std::max(kind(left), kind(right));
  if (std::isnan(left)) return "";
  if (left != right) return std::isinf(left) ? "signs of infinities" : "numbers";
  return std::signbit(left) == std::signbit(right) ? "" : "signs of zeros";
}

/// Calls `act` with the values of both sides at each position.
template <class Act>
void for_positions(const Instance& i, const Floats& floats, Act&& act) {
  Floats::Positions p{};
  const Labels& labels = i.sides[0].labels;
  const auto loop = [&](auto& self, int s) -> void {
    if (s == labels.size()) return act(floats.at(i.sides[0], p), floats.at(i.sides[1], p));
    for (int k = 0; k < kSizes.of(i.terms.extent(i.sides[0].term, s)); ++k) p[labels[s]] = k, self(self, s + 1);
  };
  loop(loop, 0);
}

/// The exchanges of an equation, for all axes for which it holds and numbers among these.
std::set<std::string> exchanges(const Rule& rule, std::span<const float> values, Map map, int draws = 500) {
  std::set<std::string> found;
  std::mt19937 random(3);
  for (const AxisUse& use : possible_axes(rule.equation)) {
    if (!rule.conditions().allows(use.role, use.fate, use.variables)) continue;
    const std::optional<Instance> i = instance_of(rule.equation, with_axis(rule.conditions().base, use));
    REQUIRE(i);
    Floats floats(i->terms, map);
    for (int draw = 0; draw < draws; ++draw) {
      for (std::size_t v = 0; v < rule.equation.variables.size(); ++v) {
        const Ref& r = i->binding.variables[v];
        std::size_t count = 1;
        for (int s = 0; s < r.labels.size(); ++s) count *= static_cast<std::size_t>(kSizes.of(i->terms.extent(r.term, s)));
        std::vector<float>& elements = floats.variables[static_cast<int>(v)];
        elements.clear();
        for (std::size_t e = 0; e < count; ++e) elements.push_back(random() % 2 == 0 ? 1.0f : values[random() % values.size()]);
      }
      for_positions(*i, floats, [&](float left, float right) { found.insert(exchange(left, right)); });
    }
  }
  found.erase("");
  return found;
}

std::string text(const std::set<std::string>& all) {
  std::string out;
  for (const std::string& e : all) out += (out.empty() ? "" : ", ") + e;
  return out;
}

constexpr float kFinite[] = {0.0f, -0.0f, 1.0f, -1.0f};
constexpr float kNoOverflow[] = {0.0f, -0.0f, 1.0f, -1.0f, kInfinity, -kInfinity, NAN};
constexpr float kAll[] = {0.0f, -0.0f, 1.0f, -1.0f, kBig, -kBig, kInfinity, -kInfinity, NAN};

TEST_CASE("exchanges: a kind of number for each pair of values") {
  CHECK(exchange(1, 1) == "");
  CHECK(exchange(NAN, -NAN) == "");
  CHECK(exchange(kInfinity, kInfinity) == "");
  CHECK(exchange(0, NAN) == "NaN and finite");
  CHECK(exchange(kInfinity, NAN) == "NaN and infinite");
  CHECK(exchange(kInfinity, -1) == "finite and infinite");
  CHECK(exchange(kInfinity, -kInfinity) == "signs of infinities");
  CHECK(exchange(0.0f, -0.0f) == "signs of zeros");
  CHECK(exchange(1, 2) == "numbers");
}

/// A line for each rule that exchanges anything.
std::string exchanges_of_rules(std::span<const float> values, Map map) {
  std::string out;
  for (const ProvedRule& r : derived_rules().rules)
    if (const auto all = exchanges(r.rule, values, map); !all.empty()) out += r.rule.name + ": " + text(all) + "\n";
  return out;
}

TEST_CASE("exchanges: rules for finite numbers exchange signs of zeros at most, where a factor is multiplied by a sum and by its terms") {
  CHECK(exchanges_of_rules(kFinite, Map::flips) ==
        "sum_of_product: signs of zeros\n"
        "order: signs of zeros\n"
        "distribute: signs of zeros\n");
}

// The lists of docs/search.md and of docs/fusion.md, Exceptions.
TEST_CASE("exchanges: three rules exchange NaN and infinities, and one NaN and finite numbers, where no product or sum overflows") {
  CHECK(exchanges_of_rules(kNoOverflow, Map::flips) ==
        "sum_of_product: NaN and infinite, signs of zeros\n"
        "order: NaN and infinite, signs of zeros\n"
        "distribute: NaN and infinite, signs of zeros\n");
  CHECK(exchanges_of_rules(kNoOverflow, Map::shifts) ==
        "sum_of_product: NaN and infinite, signs of zeros\n"
        "order: NaN and infinite, signs of zeros\n"
        "view_of_product: NaN and finite, signs of zeros\n"
        "distribute: NaN and infinite, signs of zeros\n");
}

TEST_CASE("exchanges: near the end of the range all that adds or multiplies in another order may overflow on one side alone") {
  CHECK(exchanges_of_rules(kAll, Map::flips) ==
        "sum_of_product: NaN and finite, NaN and infinite, signs of zeros\n"
        "add_order: NaN and infinite, finite and infinite, numbers\n"
        "order: NaN and finite, NaN and infinite, signs of zeros\n"
        "distribute: NaN and finite, NaN and infinite, finite and infinite, numbers, signs of zeros\n"
        "sum_of_add: NaN and infinite, finite and infinite, numbers\n"
        "sum_of_cat: NaN and infinite, numbers\n");
}

TEST_CASE("exchanges: a false equation exchanges more") {
  const auto of = [](std::string_view left, std::string_view right) {
    return text(exchanges(Rule("mutant", parse_equation(left, right)), kNoOverflow, Map::flips));
  };
  CHECK(of("a * (b + c)", "a * b + a * c") == "NaN and infinite, signs of zeros");
  CHECK(of("a + (b + c)", "(a + b) + c") == "");
}

/// Calls `act` with each choice of `count` values.
template <class Act>
void for_choices(std::span<const float> values, std::size_t count, Act&& act) {
  std::vector<float> chosen;
  const auto choose = [&](auto& self) -> void {
    if (chosen.size() == count) return act(chosen);
    for (float v : values) {
      chosen.push_back(v);
      self(self);
      chosen.pop_back();
    }
  };
  choose(choose);
}

int sign(float v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

/// Whether an infinite factor times a sum is infinite, and the sum of its products with both terms is NaN.
bool is_lost(float factor, float first, float second) {
  return std::isinf(factor) && !std::isnan(first + second) && first + second != 0 && sign(first) * sign(second) <= 0;
}

// What RuleGuards::loses_infinities asks of multiples b and c of one value, and of a: see multiples.h.
TEST_CASE("exchanges: a * (b + c) and a * b + a * c differ where a is infinite, and one of b and c is 0 or they have opposite signs") {
  constexpr float kValues[] = {0.0f, 1.0f, -1.0f, 2.0f, -2.0f, kInfinity, -kInfinity, NAN};
  std::size_t lost = 0, wrong = 0;
  for_choices(kValues, 3, [&](const std::vector<float>& v) {
    const std::string what = exchange(v[0] * (v[1] + v[2]), v[0] * v[1] + v[0] * v[2]);
    const bool expected = is_lost(v[0], v[1], v[2]);
    lost += expected;
    wrong += expected ? what != "NaN and infinite" : !(what.empty() || what == "signs of zeros");
  });
  CHECK(lost > 40);
  CHECK(wrong == 0);
}

TEST_CASE("exchanges: (a * b) * c and a * (b * c) differ where c is infinite, and terms of the sum a * b are 0 or of both signs") {
  constexpr float kValues[] = {0.0f, 1.0f, -2.0f, kInfinity, -kInfinity, NAN};
  std::size_t lost = 0, wrong = 0;
  for_choices(kValues, 5, [&](const std::vector<float>& v) {  // a[2], b[2] and c
    const float first = v[0] * v[2], second = v[1] * v[3], c = v[4];
    const std::string what = exchange((first + second) * c, v[0] * (v[2] * c) + v[1] * (v[3] * c));
    const bool expected = is_lost(c, first, second);
    lost += expected;
    wrong += expected ? what != "NaN and infinite" : !(what.empty() || what == "signs of zeros");
  });
  CHECK(lost > 100);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace tilewright::passes::search

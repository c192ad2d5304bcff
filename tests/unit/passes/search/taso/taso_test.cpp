// The generator of rules with another table of ops: those of TASO, whose rules and false rules are published.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <set>

#include "passes/search/generate/generator.h"
#include "tests/unit/passes/search/taso/rules.h"

namespace tilewright::passes::search::taso {
namespace {

constexpr TasoLimits kLimitsOfEquations{.nodes = 4000, .rounds = 6};

/// Both sides of an equation in a table of their own.
struct Equation {
  explicit Equation(std::string_view source, const Sizes& sizes = {}) : text(source) {
    const std::size_t at = source.find(" = ");
    REQUIRE(at != source.npos);
    left = terms.parse(source.substr(0, at), sizes);
    right = terms.parse(source.substr(at + 3), sizes);
  }
  TasoRule rule() const { return {terms, left, right}; }
  /// Where it differs at the shapes with which it is written.
  std::optional<Counterexample> refuted() const {
    const TasoRule r = rule();
    std::vector<Shape> shapes;
    for (int v : r.variables()) shapes.push_back(shape_of(*leaves()[static_cast<std::size_t>(v)].kind, {}));
    return r.compare(shapes);
  }

  std::string text;
  Terms terms;
  Ref left, right;
};

std::vector<std::string> tensat_equations() {
  std::vector<std::string> all;
  std::ifstream in(TW_TENSAT_EQUATIONS);
  for (std::string line; std::getline(in, line);)
    if (!line.starts_with('#')) all.push_back(line);
  return all;
}

/// The equation with two leaves of its right side exchanged, or one op of two operands in the place of another.
std::vector<std::string> mutants(const std::string& equation) {
  std::vector<std::string> all;
  const std::size_t right = equation.find(" = ") + 3;
  std::vector<std::pair<std::size_t, std::size_t>> words;  // begin and length
  for (std::size_t at = right; at < equation.size(); ++at) {
    const std::size_t length = std::min(equation.find_first_of("(), ", at), equation.size()) - at;
    if (length > 0) words.emplace_back(at, length);
    at += length;
  }
  const auto word = [&](std::size_t i) { return equation.substr(words[i].first, words[i].second); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = i + 1; j < words.size(); ++j) {
      const bool are_alike = taso_op(word(i)).has_value() == taso_op(word(j)).has_value();
      if (!are_alike || word(i) == word(j)) continue;
      std::string mutant = equation;
      mutant.replace(words[j].first, words[j].second, word(i));
      mutant.replace(words[i].first, words[i].second, word(j));
      all.push_back(mutant);
    }
    for (const auto& [from, to] : {std::pair("ewadd", "ewmul"), std::pair("conv", "conv_relu"), std::pair("poolavg", "poolmax")})
      if (word(i) == from) all.push_back(std::string(equation).replace(words[i].first, words[i].second, to));
  }
  return all;
}

struct Derived {
  explicit Derived(int max_ops) : ops(max_ops), generator(ops, max_ops), rules(ops.all()) {
    generator.enumerate();
    generator.refute();
    found = generator.candidates().size();
    generator.reduce(rules);
  }
  TasoOps ops;
  Generator generator;
  TasoRules rules;
  std::size_t found = 0;
};

struct Entailed {
  std::size_t all = 0, refuted = 0;  // refuted: at these shapes
  std::vector<std::string> missing;
};
Entailed entailed_of_tensat(const TasoRules& rules) {
  Entailed e;
  for (const std::string& line : tensat_equations()) {
    const Equation equation(line);
    const bool is_refuted = equation.refuted().has_value(),
               follows = rules.entail(equation.terms, equation.left, equation.right, kLimitsOfEquations);
    e.all += follows, e.refuted += is_refuted;
    CHECK_MESSAGE(!(is_refuted && follows), line);
    if (!is_refuted && !follows) e.missing.push_back(line);
  }
  return e;
}

/// Mutants of the equations: what is false is refuted with numbers and not entailed.
void check_mutants(const TasoRules& rules, std::size_t step, std::size_t at_least) {
  std::set<std::string> seen;
  std::size_t refuted = 0, number = 0;
  for (const std::string& line : tensat_equations())
    for (const std::string& mutant : mutants(line)) {
      if (!seen.insert(mutant).second || number++ % step != 0) continue;
      std::optional<Equation> e;
      try {
        e.emplace(mutant);
      } catch (const std::runtime_error&) {
        continue;  // no term: the shapes do not fit
      }
      const std::optional<Counterexample> c = e->refuted();
      if (!c) continue;
      ++refuted;
      CHECK(c->left != c->right);
      CHECK_MESSAGE(!rules.entail(e->terms, e->left, e->right, {}), mutant);
    }
  MESSAGE("mutants refuted: " << refuted);
  CHECK(refuted >= at_least);
}

TEST_CASE("taso: the ops are what they say, in numbers") {
  const auto value = [](std::string_view term, const Sizes& sizes = {}) {
    Terms terms;
    const Ref r = terms.parse(term, sizes);
    return terms.value(r.term, leaf_values(sizes, 9)).values;
  };
  CHECK(value("matmul(x1, Imatmul)") == value("x1"));
  CHECK(value("ewmul(i1, Iewmul)") == value("i1"));
  CHECK(value("conv(i1, Iconv)") == value("i1"));
  CHECK(value("conv(i1, Cpool)") == value("poolavg(i1)"));
  CHECK(value("transpose(transpose(x1))") == value("x1"));
  CHECK(value("split1_1(concat1(x1, x2))") == value("x2"));
  CHECK(value("conv(i1, enlarge(h1))") == value("conv(i1, h1)"));
  CHECK(value("conv(i1, enlarge(h1))") != value("conv(i1, k1)"));
  CHECK(value("poolmax(i1)", {.height = 1, .width = 1}) == value("i1", {.height = 1, .width = 1}));
  CHECK(value("poolmax(i1)") != value("i1"));
  Terms terms;
  CHECK_FALSE(terms.make(TasoOp::matmul, terms.parse("x1"), terms.parse("x2")));
  CHECK_FALSE(terms.make(TasoOp::split0_0, terms.parse("split0_0(x1)")));
  CHECK_THROWS(terms.parse("matmul(x1, w1"));
  CHECK_THROWS(terms.parse("matmul(x1, y)"));
}

TEST_CASE("taso: rules that were published or are tempting, and are false, are refuted by shapes and two numbers") {
  struct Claim {
    std::string_view equation;
    bool holds_as_written;  // at the shapes of the tensors from which terms are made
    std::string_view shapes;
  };
  constexpr Claim kClaims[] = {
      // The merge of convolutions of different images, for filters of different numbers of outputs.
      {"concat1(conv(i1, k1), conv(i2, k2)) = conv(concat1(i1, i2), concat0(k1, k2))", true,
       "i1: [2, 4, 5, 5], k1: [8, 4, 3, 3], i2: [2, 4, 5, 5], k2: [4, 4, 3, 3]"},
      {"concat1(conv_relu(i1, k1), conv_relu(i2, k2)) = conv_relu(concat1(i1, i2), concat0(k1, k2))", true,
       "i1: [2, 4, 5, 5], k1: [8, 4, 3, 3], i2: [2, 4, 5, 5], k2: [4, 4, 3, 3]"},
      // The merge of convolutions of one image, for filters of groups: the outputs of each group stand together.
      {"concat1(conv(i1, k1), conv(i1, k2)) = conv(i1, concat0(k1, k2))", true, "i1: [2, 8, 5, 5], k1: [4, 4, 3, 3], k2: [4, 4, 3, 3]"},
      // An average pool as a sum: its filter has ones, so that it changes nothing as a factor.
      {"ewmul(g, Cpool) = g", false, "g: [4, 1, 3, 3]"},
      {"ewadd(conv(i1, g), poolavg(i1)) = conv(i1, ewadd(g, ewmul(Cpool, Cpool)))", false, "i1: [2, 4, 5, 5], g: [4, 1, 3, 3]"},
  };
  for (const Claim& claim : kClaims) {
    const Equation e(claim.equation);
    CHECK(e.refuted().has_value() != claim.holds_as_written);
    const std::optional<Counterexample> c = e.rule().refute();
    REQUIRE_MESSAGE(c, claim.equation);
    CHECK(c->shapes == claim.shapes);
    CHECK(c->left != c->right);
    CHECK(c->left.starts_with("["));
  }
  // What holds for matrices, and for images, of one element: products commute, a pool is its image.
  const auto both = [](std::string_view equation, const Shape& one, const Shape& more, std::size_t variables) {
    const TasoRule rule = Equation(equation).rule();
    CHECK(rule.holds(std::vector<Shape>(variables, one)));
    CHECK_FALSE(rule.holds(std::vector<Shape>(variables, more)));
    const std::optional<Counterexample> c = rule.compare(std::vector<Shape>(variables, more));
    REQUIRE(c);
    CHECK(c->left != c->right);
  };
  both("matmul(w1, w2) = matmul(w2, w1)", {2, {1, 1, 1, 1}}, {2, {2, 2, 1, 1}}, 2);
  both("poolmax(i1) = i1", {4, {2, 4, 1, 1}}, {4, {2, 4, 5, 1}}, 1);
  // What is true is not refuted by any shapes.
  CHECK_FALSE(Equation("concat0(conv(i1, k1), conv(i2, k1)) = conv(concat0(i1, i2), k1)").rule().refute());
  CHECK_FALSE(Equation("ewadd(matmul(x1, w1), matmul(x2, w2)) = matmul(concat1(x1, x2), concat0(w1, w2))").rule().refute());
}

TEST_CASE("taso: a rule is used only at shapes for which it holds") {
  const Equation merge("concat1(conv(i1, k1), conv(i2, k2)) = conv(concat1(i1, i2), concat0(k1, k2))");
  TasoRules rules(merge.terms);
  CHECK_FALSE(rules.entail({merge.left, merge.right}, -1));
  rules.add({merge.left, merge.right});
  CHECK(rules.entail({merge.left, merge.right}, -1));
  CHECK_FALSE(rules.entail({merge.left, merge.right}, 0));
  Terms other;
  const auto filter = [&](int number, int outputs) { return other.leaf(number, {4, {outputs, 4, 3, 3}}); };
  const Ref i1 = other.parse("i1"), i2 = other.parse("i2"), k1 = filter(9, 8), k2 = filter(10, 4);
  const auto conv = [&](const Ref& image, const Ref& of) { return other.make(TasoOp::conv, image, of); };
  const Ref left = other.make(TasoOp::concat1, conv(i1, k1), conv(i2, k2));
  const Ref right = conv(other.make(TasoOp::concat1, i1, i2), other.make(TasoOp::concat0, k1, k2));
  REQUIRE(left);
  REQUIRE(right);
  CHECK_FALSE(rules.entail(other, left, right, {}));
}

TEST_CASE("taso: rules of up to two ops are found, and entail no mutant of an equation that is false") {
  Derived derived(2);
  CHECK(derived.found > 900);
  CHECK(derived.rules.size() > 100);
  CHECK(derived.rules.size() < 250);
  const Entailed e = entailed_of_tensat(derived.rules);
  MESSAGE("rules: " << derived.rules.size() << ", equations entailed: " << e.all);
  CHECK(e.all >= 690);
  CHECK(e.refuted == 2);
  check_mutants(derived.rules, 9, 100);
}

TEST_CASE("taso rules of three ops entail every equation of Tensat that is true for the shapes given" * doctest::skip()) {
  Derived derived(3);
  MESSAGE("terms: " << derived.ops.terms().size() << ", candidates: " << derived.found << ", rules: " << derived.rules.size());
  CHECK(derived.ops.terms().size() > 800'000);
  CHECK(derived.found > 30'000);
  CHECK(derived.rules.size() < 800);
  const Entailed e = entailed_of_tensat(derived.rules);
  for (const std::string& line : e.missing) MESSAGE("not entailed: " << line);
  CHECK(e.missing.empty());
  CHECK(e.all == 929);
  CHECK(e.refuted == 2);  // a concatenation of two rows and four, cut into halves
  check_mutants(derived.rules, 3, 450);
}

}  // namespace
}  // namespace tilewright::passes::search::taso

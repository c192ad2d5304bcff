// The rules of the search: the committed file, proofs, mutants.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "passes/search/generate/generator.h"
#include "passes/search/generate/labelled_ops.h"
#include "passes/search/rules/rule_text.h"
#include "tests/unit/passes/search/equations.h"

namespace tilewright::passes::search {
namespace {

/// The first line in which a committed file is not what is derived; empty if there is none.
std::string first_difference(const std::string& committed, const std::string& derived) {
  std::istringstream a(committed), b(derived);
  for (int number = 1;; ++number) {
    std::string own, wanted;
    const bool has_own(std::getline(a, own)), has_wanted(std::getline(b, wanted));
    if (own != wanted || has_own != has_wanted) return fmt::format("line {} of rules.txt is '{}', derived is '{}'", number, own, wanted);
    if (!has_own) return {};
  }
}

TEST_CASE("rules: rules.txt is what is derived, and every rule has a name") {
  std::ifstream in(TW_RULES, std::ios::binary);
  const std::string committed(std::istreambuf_iterator<char>(in), {}), derived = rule_file(derived_rules());
  CHECK(first_difference(committed, derived) == "");
  CHECK((committed == derived));
  for (const ProvedRule& r : derived_rules().rules) CHECK_MESSAGE(r.rule.name != "unnamed", text(r.rule.equation));
}

/// What is said of the last one of these rows, which are written from line 5 on.
std::string error_of(std::initializer_list<WrittenEquation> rows) {
  std::vector<WrittenEquation> written(rows);
  for (std::size_t i = 0; i < written.size(); ++i) written[i].file = "laws.def", written[i].line = 5 + static_cast<int>(i);
  try {
    read_equations(written);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST_CASE("rules: a line of rules.txt that is not derived is named") {
  CHECK(first_difference("a\nb\nc\n", "a\nb\nc\n") == "");
  CHECK(first_difference("a\nx\nc\n", "a\nb\nc\n") == "line 2 of rules.txt is 'x', derived is 'b'");
  CHECK(first_difference("a\nb\n", "a\n") == "line 2 of rules.txt is 'b', derived is ''");
}

TEST_CASE("rules: what is wrong with a row is an error at its line") {
  const WrittenEquation first{"first", "sum(a + b)", "sum(a) + sum(b)", "", 0};
  CHECK(error_of({first, {"of_product", "sum(a * b)", "a * b", "", 0}}) == "none");
  CHECK(error_of({first, {"open", "sum(a * b", "a", "", 0}}) == "laws.def:6: error: 'open': rule 'sum(a * b': expected ')' at position 10");
  CHECK(error_of({{"wrong", "f(a + b)", "f(a) + f(b)", "", 0}})
            .starts_with("laws.def:5: error: 'wrong': 'f(a + b) = f(a) + f(b)' is false for a: [], b: []: the left is [] "));
  CHECK(error_of({{"never", "part0(part1(a))", "a", "", 0}}) ==
        "laws.def:5: error: 'never': 'part0(part1(a)) = a' makes sense for no axes");
  CHECK(error_of({{"same", "a + b * c", "c * b + a", "", 0}}) == "laws.def:5: error: 'same': both sides are one formula");
  CHECK(error_of({first, {"first", "sum(a * b)", "a * b", "", 0}}) == "laws.def:6: error: 'first': line 5 has this name");
  CHECK(error_of({first, {"again", "sum(y) + sum(x)", "sum(x + y)", "", 0}}) ==
        "laws.def:6: error: 'again': it is the equation of line 5, 'first'");
}

/// What is said where the rules are derived from all laws but one.
std::string error_without(std::string_view law) {
  std::vector<Rule> others = laws();
  std::erase_if(others, [&](const Rule& r) { return r.name == law; });
  CHECK(others.size() + 1 == laws().size());
  try {
    derive_rules(2, std::move(others));
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST_CASE("rules: a rule that the laws do not prove is an error at the line of its name, and says what was tried") {
  CHECK(error_without("add_order") ==
        "passes/search/rule_names.def:3: error: 'add_order', (a + b) + c = a + (b + c): passes/search/specification.def does not prove it: "
        "28 laws lead to nothing new after 0 rounds, with 7 nodes");
  CHECK(error_without("view_of_sum") ==
        "passes/search/rule_names.def:8: error: 'view_of_product', view(a * b) = view(a) * b: passes/search/specification.def does not "
        "prove it: "
        "28 laws lead to nothing new after 2 rounds, with 15 nodes");
  TermTable terms;
  const Ref a = terms.variable(0, {}), b = terms.variable(1, {}), c = terms.variable(2, {}), d = terms.variable(3, {});
  const Ref left = terms.add(terms.add(a, b), terms.add(c, d)), right = terms.add(terms.add(a, c), terms.add(d, b));
  CHECK(text(prove(terms, left, right, laws(), {.nodes = 7, .rounds = 6}), 29) ==
        "29 laws do not make the sides equal up to the limit, after 0 rounds, with 10 nodes");
  CHECK(prove(terms, left, right, laws()).proof);
}

TEST_CASE("rules: a sum over two axes is two sums, of which one may be moved into an addend alone") {
  TermTable terms;
  constexpr Extent kTwo[] = {Extent::plain, Extent::plain}, kOne[] = {Extent::plain};
  const Ref a = terms.variable(0, kTwo), b = terms.variable(1, kTwo), c = terms.variable(2, kOne);  // labels 0 and 1, 0 and 1, 0
  const LabelSet both = set_of(0) | set_of(1);
  const Ref left = terms.sum(terms.add(terms.product(a, b, both), c), 0);
  const Ref right = terms.sum(terms.add(terms.product(a, b, set_of(1)), terms.sum(c, 0)), 0);
  const Ref wrong = terms.sum(terms.add(terms.product(a, b, set_of(0)), c), 0);  // c is not added for each position of axis 1
  ProofSearch search = prove(terms, left, right, laws());
  REQUIRE(search.proof);
  CHECK_FALSE(wrong_step(*search.proof, copy(terms, right, search.proof->terms), laws()));
  CHECK_FALSE(is_entailed(terms, left, wrong, laws()));
}

TEST_CASE("rules: every rule is proved for each axis for which it holds") {
  for (const ProvedRule& r : derived_rules().rules) {
    std::size_t axes = 0;
    for (const AxisUse& use : possible_axes(r.rule.equation)) axes += r.rule.conditions().allows(use.role, use.fate, use.variables);
    CHECK(r.by_axis.size() == axes);
    CHECK(axes > 0);
    CHECK(r.found.steps.size() > 0);
  }
}

TEST_CASE("rules: a proof with a wrong step, another law or another end is refused") {
  const std::span<const Rule> laws = derived_rules().laws;
  std::size_t refused = 0;
  for (const ProvedRule& r : derived_rules().rules) {
    const Ref end = r.found.steps.back().term;
    CHECK_FALSE(wrong_step(r.found, end, laws));
    CHECK(wrong_step(r.found, r.found.start, laws));
    if (r.found.steps.size() < 2) continue;
    for (std::size_t i = 0; i + 1 < r.found.steps.size(); ++i) {
      Proof without = r.found;
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(wrong_step(without, end, laws) == i);
      Proof other = r.found;
      other.steps[i].rule = 0;
      if (r.found.steps[i].rule != 0) CHECK(wrong_step(other, end, laws) == i);
      ++refused;
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("rules: the laws entail what the generator finds, and nothing that it refutes") {
  const std::vector<Rule>& laws = derived_rules().laws;
  std::vector<Rule> rules;
  for (const ProvedRule& r : derived_rules().rules) rules.push_back(r.rule);
  LabelledOps ops;
  Generator g(ops, 3);
  g.enumerate();
  g.refute();
  CHECK(g.candidates().size() > 5000);
  CHECK(g.refuted().size() > 50);
  const auto of_every = [&](const std::vector<Candidate>& all, std::size_t step, const auto& check) {
    for (std::size_t i = 0; i < all.size(); i += step) check(all[i]);
  };
  of_every(g.candidates(), 9, [&](const Candidate& c) {
    const Equation e = without_labels(g.terms(), c.left.term, c.right.term);
    CHECK_MESSAGE(is_entailed(g.terms(), c.left, c.right, laws), text(e));
    CHECK_MESSAGE(is_entailed(g.terms(), c.left, c.right, rules), text(e));
  });
  of_every(g.refuted(), g.refuted().size() / 40 + 1, [&](const Candidate& c) {
    const Equation e = without_labels(g.terms(), c.left.term, c.right.term);
    CHECK_MESSAGE(!is_entailed(g.terms(), c.left, c.right, laws), text(e));
    CHECK_MESSAGE(!is_entailed(g.terms(), c.left, c.right, rules), text(e));
  });
}

TEST_CASE("rules of four ops: the rules of three entail all that is found, but for at most 50 equations, and nothing that is refuted" *
          doctest::skip()) {
  std::vector<Rule> rules;
  for (const ProvedRule& r : derived_rules().rules) rules.push_back(r.rule);
  LabelledOps ops;
  Generator g(ops, 4);
  g.enumerate();
  g.refute();
  CHECK(g.candidates().size() > 200'000);
  CHECK(g.refuted().size() > 50'000);
  std::size_t left = 0;
  std::set<std::string> equations;
  for (const Candidate& c : g.candidates()) {
    if (is_entailed(g.terms(), c.left, c.right, rules)) continue;
    ++left;
    equations.insert(identity(without_labels(g.terms(), c.left.term, c.right.term)));
  }
  for (const std::string& e : equations) MESSAGE("not entailed: " << e);
  MESSAGE("candidates: " << g.candidates().size() << ", refuted: " << g.refuted().size() << ", not entailed: " << left);
  CHECK(left <= 50);
  for (std::size_t i = 0; i < g.refuted().size(); i += 200) {
    const Candidate& c = g.refuted()[i];
    CHECK_MESSAGE(!is_entailed(g.terms(), c.left, c.right, rules), text(without_labels(g.terms(), c.left.term, c.right.term)));
  }
}

// ---- mutants ----

/// The pattern without the unused nodes that a mutation left.
Pattern compacted(const Pattern& p, int root) {
  Pattern result;
  const auto put = [&](auto& self, int node) -> int {
    const PatternNode n = p[static_cast<std::size_t>(node)];
    const std::size_t at = result.size();
    result.push_back(n);
    for (std::size_t i = 0; i < 2; ++i)
      if (n.in[i] >= 0) {
        const int operand = self(self, n.in[i]);
        result[at].in[i] = operand;
      }
    return static_cast<int>(at);
  };
  put(put, root);
  return result;
}

bool is_map(Op op) { return op != Op::variable && !is_binary(op); }

/// Mutants of one side: two operands exchanged or one in the place of the other, an addition for a product and the other way round, a sum or another map of one operand left
/// out or moved to another node, part0 for part1, a function of a node in its place.
std::vector<Pattern> mutants(const Pattern& p) {
  std::vector<Pattern> all;
  const int count = static_cast<int>(p.size());
  const auto at = [](Pattern& q, int i) -> PatternNode& { return q[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      if (p[static_cast<std::size_t>(i)].op != Op::variable || p[static_cast<std::size_t>(j)].op != Op::variable) continue;
      Pattern q = p;
      std::swap(at(q, i).variable, at(q, j).variable);
      all.push_back(q);
      at(q, i).variable = at(q, j).variable;
      all.push_back(q);
    }
    const Op op = p[static_cast<std::size_t>(i)].op;
    if (op == Op::cat || op == Op::part0) {
      Pattern q = p;
      if (op == Op::cat)
        std::swap(at(q, i).in[0], at(q, i).in[1]);
      else
        at(q, i).op = Op::part1;
      all.push_back(q);
    }
    if (op == Op::product || op == Op::add) {
      Pattern q = p;
      at(q, i).op = op == Op::product ? Op::add : Op::product;
      all.push_back(q);
    }
    Pattern mapped = p;
    mapped.push_back(at(mapped, i));
    at(mapped, i) = {Op::function, -1, {count, -1}};
    all.push_back(compacted(mapped, 0));
    if (!is_map(op)) continue;
    Pattern without = p;
    at(without, i) = at(without, at(without, i).in[0]);
    const Pattern rest = compacted(without, 0);
    all.push_back(rest);
    for (int j = 0; j < static_cast<int>(rest.size()); ++j) {
      Pattern moved = rest;
      const PatternNode inner = at(moved, j);
      moved.push_back(inner);
      at(moved, j) = {op, -1, {static_cast<int>(moved.size()) - 1, -1}};
      all.push_back(compacted(moved, 0));
    }
  }
  return all;
}

TEST_CASE("rules: mutants of rules and laws are refuted with shapes and numbers, unless the laws prove them") {
  const std::vector<Rule>& laws = derived_rules().laws;
  std::set<std::string> seen;
  std::size_t refuted = 0, with_numbers = 0, true_equations = 0;
  for (const Rule& r : all_equations()) seen.insert(identity(r.equation));
  const auto judge = [&](const Rule& original, const Equation& mutant) {
    if (!seen.insert(identity(mutant)).second) return;
    std::vector<std::vector<AxisUse>> axes;
    for (const AxisUse& use : possible_axes(original.equation))
      if (original.conditions().allows(use.role, use.fate, use.variables)) axes.push_back(with_axis(original.conditions().base, use));
    std::optional<Counterexample> found;
    for (const auto& a : axes) {
      const std::optional<Counterexample> c = compare_sides(mutant, a);
      if (c && (!found || found->left == "no value" || found->right == "no value")) found = c;
    }
    if (found) {
      ++refuted;
      with_numbers += found->left != "no value" && found->right != "no value";
      CHECK(found->left != found->right);
      return;
    }
    // What is not refuted has equal values wherever it has any: it must be a true equation.
    for (const auto& a : axes)
      if (const auto i = instance_of(mutant, a)) CHECK_MESSAGE(is_entailed(i->terms, i->sides[0], i->sides[1], laws), text(mutant));
    ++true_equations;
  };
  for (const Rule& r : all_equations())
    for (int side = 0; side < 2; ++side)
      for (const Pattern& p : mutants(r.equation.side(side))) {
        Equation mutant = r.equation;
        (side == 0 ? mutant.left : mutant.right) = p;
        judge(r, mutant);
      }
  MESSAGE("mutants refuted: " << refuted << ", with numbers on both sides: " << with_numbers << ", true: " << true_equations);
  CHECK(refuted >= 500);
  CHECK(with_numbers >= 400);
}

TEST_CASE("rules: a condition that is dropped is refuted") {
  std::size_t dropped = 0, with_numbers = 0;
  for (const Rule& r : all_equations())
    for (const AxisUse& use : possible_axes(r.equation)) {
      if (r.conditions().allows(use.role, use.fate, use.variables)) continue;
      const auto axes = with_axis(r.conditions().base, use);
      const std::optional<Counterexample> c = compare_sides(r.equation, axes);
      if (!c) {
        CHECK_MESSAGE(!instance_of(r.equation, axes), text(r.equation));
        continue;
      }
      ++dropped;
      with_numbers += c->left != "no value" && c->right != "no value";
      CHECK(c->left != c->right);
    }
  MESSAGE("conditions dropped: " << dropped << ", with numbers on both sides: " << with_numbers);
  CHECK(dropped > 100);
  CHECK(with_numbers >= 10);  // the others: one side makes no sense
}

}  // namespace
}  // namespace tilewright::passes::search

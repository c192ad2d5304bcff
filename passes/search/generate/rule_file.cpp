// Names, proves and prints the rules that the generator keeps.
#include "passes/search/generate/rule_file.h"

#include <fmt/format.h>

#include <set>

#include "passes/search/generate/generator.h"
#include "passes/search/generate/labelled_ops.h"
#include "passes/search/rules/rule_text.h"
#include "passes/search/rules/search_rules.h"
#include "tilewright/error.h"

namespace tilewright::passes::search {
namespace {

constexpr WrittenEquation kLaws[] = {
#define TW_LAW(name, left, right) {#name, left, right, "passes/search/specification.def", __LINE__},
#include "passes/search/specification.def"
#undef TW_LAW
};

constexpr WrittenEquation kNames[] = {
#define TW_RULE(name, left, right) {#name, left, right, "passes/search/rule_names.def", __LINE__},
#include "passes/search/rule_names.def"
#undef TW_RULE
};

constexpr std::string_view kUnnamed = "unnamed";

constexpr const char* kHead =
    R"(# The rules of the graph search, as `tilewright rules --ops {ops}` finds them: equations of up to {ops} ops a side, kept because the other
# rules do not entail them, and proved from the laws of passes/search/specification.def. Do not edit: a test derives this file again.
#
#   a b c d     tensors of any axes           a * b        their product, summed over axes that the result lacks
#   sum(a)      over some axes                view(a)      windows, strides, shifts, flips, zero padding along one axis: a linear map of it
#   [a | b]     concatenated along an axis    part0(a)     the first piece of an axis that is cut, part1(a) the second
#   f(a)        element by element, unknown
#
# A rule holds for axes of any number and extent, but for those that the column `unless` names. `terms`: same, if both sides add the same
# products of elements, so that the bound of the rounding error keeps its form; spread, if that is so and a difference, which may be exact, is
# multiplied out from left to right. `used`: right, if the right side is of one op or none and would be found everywhere.
#
)";

constexpr const char* kMerges =
    R"(#
# Merges: two products that exist are parts of one. They follow from a rule, and hold for the same axes; `a * c, b * c : [a | b] * c` says that
# part0([a | b] * c) = a * c and part1([a | b] * c) = b * c.
#
)";

constexpr const char* kOpen =
    R"(#
# Left open: equations of which the values agree, and which the rules do not entail. No law proves them, so they are not rules.
#
)";

[[noreturn]] void fail(const WrittenEquation& row, const std::string& message) {
  throw Error({std::string(row.file), row.line, 0}, fmt::format("'{}': {}", row.name, message));
}

/// The equation with its conditions. What is wrong with it is an error at its line.
Rule read(const WrittenEquation& row) {
  try {
    const Equation e = parse_equation(row.left, row.right);
    if (identity({e.left, e.left, e.variables}) == identity(e)) fail(row, "both sides are one formula");
    Rule rule = make_rule(std::string(row.name), e);
    rule.conditions();
    return rule;
  } catch (const Error& error) {
    if (error.where().line > 0) throw;
    const std::string_view text = error.what();
    const std::size_t message = text.find("error: ");
    fail(row, std::string(text.substr(message == text.npos ? 0 : message + 7)));
  }
}

/// The equation as rule_names.def writes it, with its name.
Rule named_rule(const Equation& e, std::span<const Rule> names) {
  const std::string wanted = identity(e);
  for (const Rule& named : names)
    if (identity(named.equation) == wanted) return named;
  return make_rule(std::string(kUnnamed), e);
}

/// Throws Error at the line of the rule's name, which the equations of a merge have, too; without a name at the first law.
[[noreturn]] void fail(const Rule& rule, const std::string& message) {
  const WrittenEquation* row = std::ranges::find(kNames, rule.name, &WrittenEquation::name);
  if (row == std::end(kNames)) row = std::begin(kLaws);
  throw Error({std::string(row->file), row->line, 0}, fmt::format("'{}', {}: {}", rule.name, text(rule.equation), message));
}

Proof prove_instance(const Rule& rule, const TermTable& terms, const Ref& left, const Ref& right, std::span<const Rule> laws) {
  ProofSearch search = prove(terms, left, right, laws);
  if (!search.proof) fail(rule, fmt::format("{} does not prove it: {}", kLaws[0].file, text(search, laws.size())));
  if (const auto wrong = wrong_step(*search.proof, copy(terms, right, search.proof->terms), laws))
    fail(rule, fmt::format("step {} of its proof is wrong", *wrong + 1));
  return std::move(*search.proof);
}

ProvedRule prove_rule(const Rule& rule, const TermTable& terms, const Ref& left, const Ref& right, std::span<const Rule> laws) {
  ProvedRule proved{rule, prove_instance(rule, terms, left, right, laws), {}};
  for (const AxisUse& use : possible_axes(rule.equation)) {
    if (!rule.conditions().allows(use.role, use.fate, use.variables)) continue;
    const std::optional<Instance> i = instance_of(rule.equation, with_axis(rule.conditions().base, use));
    proved.by_axis.push_back(prove_instance(rule, i->terms, i->sides[0], i->sides[1], laws));
  }
  return proved;
}

/// Rules of labelled terms with the names of rule_names.def. A candidate without a name becomes a rule only if the laws prove it.
class NamedRules : public KeptRules {
 public:
  NamedRules(const TermTable& terms, std::span<const Rule> laws) : terms_(terms), laws_(laws), names_(read_equations(kNames)) {}
  const std::vector<Rule>& rules() const { return rules_; }

  bool entail(const Candidate& c, int without) const override {
    if (without < 0) return is_entailed(terms_, c.left, c.right, rules_);
    std::vector<Rule> others = rules_;
    others.erase(others.begin() + without);
    return is_entailed(terms_, c.left, c.right, others);
  }
  bool add(const Candidate& c) override {
    Rule rule = named_rule(without_labels(terms_, c.left.term, c.right.term), names_);
    if (rule.name == kUnnamed && !prove(terms_, c.left, c.right, laws_).proof) return false;
    rules_.push_back(std::move(rule));
    return true;
  }
  void drop(int rule) override { rules_.erase(rules_.begin() + rule); }
  int size() const override { return static_cast<int>(rules_.size()); }

 private:
  const TermTable& terms_;
  std::span<const Rule> laws_;
  std::vector<Rule> names_, rules_;
};

ProvedMerge prove_merge(const Merge& merge, std::span<const Rule> laws) {
  const auto proved = [&](const Rule& part) {
    const std::optional<Instance> i = instance_of(part.equation, part.conditions().base);
    return prove_rule(part, i->terms, i->sides[0], i->sides[1], laws);
  };
  return {merge, {proved(merge.parts[0]), proved(merge.parts[1])}};
}

std::string line(std::string_view name, std::string_view equation, std::string_view terms, std::string_view used, std::string_view unless) {
  return fmt::format("{:<17}{:<43}{:<8}{:<7}{}\n", name, equation, terms, used, unless);
}

std::string line(const Rule& r) {
  return line(r.name, text(r.equation), spreads_differences(r.equation) ? "spread" : "same",
              is_used_both_ways(r.equation) ? "both" : "right", unless_text(r));
}
std::string line(const Merge& m) { return line(m.name, text(m), "same", "merge", unless_text(m.parts[0])); }

}  // namespace

std::vector<Rule> read_equations(std::span<const WrittenEquation> rows) {
  std::vector<Rule> rules;
  for (const WrittenEquation& row : rows) {
    rules.push_back(read(row));
    for (std::size_t i = 0; i + 1 < rules.size(); ++i) {
      if (rules[i].name == row.name) fail(row, fmt::format("line {} has this name", rows[i].line));
      if (identity(rules[i].equation) == identity(rules.back().equation))
        fail(row, fmt::format("it is the equation of line {}, '{}'", rows[i].line, rules[i].name));
    }
  }
  return rules;
}

std::vector<Rule> laws() { return read_equations(kLaws); }

DerivedRules derive_rules(int max_ops, std::vector<Rule> from) {
  DerivedRules derived{max_ops, std::move(from), {}, {}, {}};
  LabelledOps ops;
  Generator g(ops, max_ops);
  g.enumerate();
  g.refute();
  NamedRules kept(ops.terms(), derived.laws);
  g.reduce(kept);
  g.strike(kept);
  for (std::size_t i = 0; i < kept.rules().size(); ++i) {
    const Candidate& found = g.candidates()[i];
    derived.rules.push_back(prove_rule(kept.rules()[i], g.terms(), found.left, found.right, derived.laws));
  }
  for (const Merge& m : merges_of(kept.rules())) derived.merges.push_back(prove_merge(m, derived.laws));
  std::set<std::string> seen;
  for (const Candidate& c : g.open())
    if (Equation e = without_labels(g.terms(), c.left.term, c.right.term); seen.insert(identity(e)).second)
      derived.open.push_back(std::move(e));
  return derived;
}

std::string rule_file(const DerivedRules& derived) {
  std::string out = fmt::format(fmt::runtime(kHead), fmt::arg("ops", derived.ops));
  out += line("# name", "equation", "terms", "used", "unless an axis that");
  for (const ProvedRule& r : derived.rules) out += line(r.rule);
  if (!derived.merges.empty()) {
    out += kMerges;
    out += line("# name", "products : one product", "terms", "used", "unless an axis that");
  }
  for (const ProvedMerge& m : derived.merges) out += line(m.merge);
  if (!derived.open.empty()) out += kOpen;
  for (const Equation& e : derived.open) out += fmt::format("#   {}\n", text(e));
  return out;
}

std::string rule_proof(const DerivedRules& derived, const ProvedRule& r) { return line(r.rule) + text(r.found, derived.laws) + "\n"; }

std::string merge_proof(const DerivedRules& derived, const ProvedMerge& m) {
  std::string out = line(m.merge);
  for (const ProvedRule& part : m.parts) out += text(part.rule.equation) + "\n" + text(part.found, derived.laws);
  return out + "\n";
}

}  // namespace tilewright::passes::search

// Derives the rules of the graph search and writes them as the text of rules.txt.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/search/generate/prover.h"
#include "passes/search/rules/merges.h"

namespace tilewright::passes::search {

/// A row of specification.def or rule_names.def.
struct WrittenEquation {
  std::string_view name, left, right, file;
  int line;
};
/// The rules of rows, in their order. Throws Error at the line of a row that is no formula, holds for no axes, says nothing, or says what an
/// earlier one says.
std::vector<Rule> read_equations(std::span<const WrittenEquation>);

/// The laws of specification.def, each tested for all axes.
std::vector<Rule> laws();

/// A rule that was kept, with its proofs from the laws.
struct ProvedRule {
  Rule rule;
  Proof found;                 // the proof of the equation between terms as it was found
  std::vector<Proof> by_axis;  // the proof of an instance for each axis for which the rule holds
};

struct ProvedMerge {
  Merge merge;
  std::array<ProvedRule, 2> parts;
};

struct DerivedRules {
  int ops = 0;
  std::vector<Rule> laws;
  std::vector<ProvedRule> rules;
  std::vector<ProvedMerge> merges;  // the merges that follow from the rules
  std::vector<Equation> open;  // equations that hold by test, and that neither the rules entail nor the laws prove; one of each identity
};

///   1. Generator::enumerate, Generator::refute, Generator::reduce, Generator::strike: the equations that do not follow from others. One that
///      the laws do not prove, and that has no name, is left open.
///   2. make_rule: for which axes each holds.
///   3. prove_rule: the laws prove it for each of these, and the proof is replayed.
///   4. merges_of: what follows for two products that exist. Both equations of a merge are proved as a rule is.
/// Throws Error at the line of a name in rule_names.def if a rule or a merge has no proof; it says what was tried.
DerivedRules derive_rules(int max_ops, std::vector<Rule> from = laws());

/// The text of rules.txt.
std::string rule_file(const DerivedRules&);
/// The line of a rule, and the proof of the equation as it was found: one line a step, with the law.
std::string rule_proof(const DerivedRules&, const ProvedRule&);
/// The line of a merge, and the proofs of both of its equations.
std::string merge_proof(const DerivedRules&, const ProvedMerge&);

}  // namespace tilewright::passes::search

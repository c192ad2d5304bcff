// Finds equations: enumerates small terms, and compares their values.
//
//   1. enumerate: all terms of up to N ops over a few variables, by size. Operands are representatives: of terms with equal values only the
//      smallest is extended. By congruence nothing is lost: what a larger term with another spelling equals, the equation of the smaller ones
//      already says.
//   2. consider: a term with the value of a representative is a candidate; of candidates that differ by the names of variables, one. An
//      equation between constants alone is none.
//   3. refute: candidates that are false at other extents are set aside: sum(a + u) = u + u + sum(a) is an equation of extent 2.
//   4. reduce: in the order of size, and with more variables first, a candidate that the rules kept so far entail is dropped. Another one
//      becomes a rule, or is set aside if it cannot be one.
//   5. strike: a rule that the others entail is dropped: a special case that is smaller than the general rule was kept before it.
#pragma once
#include <unordered_map>
#include <vector>

#include "passes/search/generate/op_table.h"

namespace tilewright::passes::search {

class Generator {
 public:
  /// Keeps the reference.
  Generator(OpTable& ops, int max_ops) : ops_(ops), max_ops_(max_ops) {}

  void enumerate();
  /// Needs `enumerate`.
  void refute();
  /// Adds a rule for each candidate that the rules do not entail. Afterwards the candidates are those of the rules, in their order. Needs
  /// `refute`.
  void reduce(KeptRules&);
  /// Drops rules and their candidates. What followed from the rules follows from the others, but with a longer proof. Needs `reduce`.
  void strike(KeptRules&);

  const TermTable& terms() const { return ops_.terms(); }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<Candidate>& refuted() const { return refuted_; }
  /// Candidates that the rules do not entail, and that could not become one.
  const std::vector<Candidate>& open() const { return open_; }

 private:
  void consider(const Ref& made, int ops);
  std::vector<int> variables_of(const Ref& left, const Ref& right) const;
  bool has_first_names(const std::vector<int>& variables) const;

  OpTable& ops_;
  int max_ops_;
  std::unordered_map<std::uint64_t, Ref> representatives_;
  std::vector<std::vector<Ref>> by_ops_;
  int known_terms_ = 0;
  std::vector<int> variables_;  // all variables and constants
  std::vector<Candidate> candidates_, refuted_, open_;
};

}  // namespace tilewright::passes::search

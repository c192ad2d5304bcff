// Finds equations: enumerates small terms, and compares their values.
//
//   1. enumerate: all terms of up to N ops over a few variables, by size. Operands are representatives: of terms with equal values only the
//      smallest is extended. By congruence nothing is lost: what a larger term with another spelling equals, the equation of the smaller ones
//      already says.
//   2. consider: a term with the value of a representative is a candidate; of candidates that differ by the names of variables, one.
//   3. refute: candidates that are false at other extents are set aside: sum(a + u) = u + u + sum(a) is an equation of extent 2.
//   4. reduce: in the order of size, and with more variables first, a candidate that the rules kept so far entail is dropped. Another one
//      becomes a rule if it is proved, and is set aside if not.
#pragma once
#include <functional>
#include <unordered_map>

#include "passes/search/generate/prover.h"

namespace tilewright::passes::search {

struct Candidate {
  Ref left, right;
  int size = 0, variables = 0;
};

class Generator {
 public:
  explicit Generator(int max_ops) : max_ops_(max_ops) {}

  void enumerate();
  /// Needs `enumerate`.
  void refute();
  /// Calls `keep` for each candidate that the rules do not entail; it returns the rule that is then kept, or none. Afterwards the candidates are
  /// those of the rules, in their order. Needs `refute`.
  void reduce(const std::function<std::optional<Rule>(const Candidate&)>& keep);

  const TermTable& terms() const { return terms_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<Candidate>& refuted() const { return refuted_; }
  /// Candidates that the rules do not entail and of which `reduce` kept no rule.
  const std::vector<Candidate>& open() const { return open_; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  void add_variables();
  void extend(const Ref& a, int ops);
  void combine(const Ref& a, const Ref& b, int ops);
  void consider(const Ref& made, int ops);
  bool has_first_names(const Ref& left, const Ref& right) const;

  int max_ops_;
  TermTable terms_;
  Residues values_{terms_, {}};
  std::unordered_map<std::uint64_t, Ref> representatives_;
  std::vector<std::vector<Ref>> by_ops_;
  int known_terms_ = 0;
  std::vector<int> kinds_;  // the kinds of the variables
  std::vector<Candidate> candidates_, refuted_, open_;
  std::vector<Rule> rules_;
};

}  // namespace tilewright::passes::search

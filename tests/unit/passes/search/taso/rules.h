// Rules between terms of TASO's ops. A rule holds for some shapes of its variables, and for which is found by test, at each match.
#pragma once
#include <memory>
#include <unordered_map>

#include "tests/unit/passes/search/taso/terms.h"

namespace tilewright::passes::search::taso {

/// A side of a rule: its nodes, each before its operands.
struct PatternNode {
  std::optional<TasoOp> op;  // none: a leaf
  int leaf = -1;
  std::array<int, 2> in = {-1, -1};
};
using Pattern = std::vector<PatternNode>;
Pattern pattern_of(const Terms&, int term);

/// The shapes of some leaves, and two numbers that differ there.
struct Counterexample {
  std::string shapes;       // "i1: [2, 4, 5, 5], k1: [4, 4, 3, 3]"
  std::string left, right;  // "[2, 4, 5, 5] 17"
};

class TasoRule {
 public:
  TasoRule(const Terms&, const Ref& left, const Ref& right);
  std::string text() const;
  const Pattern& side(int s) const { return sides_[static_cast<std::size_t>(s)]; }
  /// Whether all variables of the other side are in this one.
  bool binds_all(int side) const { return binds_all_[static_cast<std::size_t>(side)]; }
  /// Whether both sides make sense, and are equal, for these shapes of all variables. Remembers the answers.
  bool holds(const std::vector<Shape>& by_variable) const;
  const std::vector<int>& variables() const { return variables_; }
  /// The first shapes, of the variables' kinds in various sizes, for which both sides make sense and differ.
  std::optional<Counterexample> refute() const;
  std::optional<Counterexample> compare(const std::vector<Shape>& by_variable) const;

 private:
  std::array<Pattern, 2> sides_;
  std::array<bool, 2> binds_all_;
  std::vector<int> variables_;                             // numbers of leaves
  mutable std::unordered_map<std::uint64_t, bool> known_;  // by a hash of the shapes
};

struct TasoLimits {
  std::size_t nodes = 400;
  int rounds = 5;
};

class TasoRules : public KeptRules {
 public:
  /// Keeps the reference.
  explicit TasoRules(const Terms&, const TasoLimits& = {});
  ~TasoRules() override;

  bool entail(const Candidate&, int without) const override;
  bool add(const Candidate&) override;
  void drop(int rule) override;
  int size() const override { return static_cast<int>(rules_.size()); }
  const TasoRule& rule(int number) const { return *rules_[static_cast<std::size_t>(number)]; }

  /// Whether the rules entail that two terms of any table are equal.
  bool entail(const Terms&, const Ref& left, const Ref& right, const TasoLimits&, int without = -1) const;

 private:
  const Terms& terms_;
  TasoLimits limits_;
  std::vector<std::unique_ptr<TasoRule>> rules_;
  struct Matchers;
  std::unique_ptr<Matchers> matchers_;  // of both sides of all rules
};

}  // namespace tilewright::passes::search::taso

// Finds values that are multiples of one value by constants, and values that are always finite.
//
// a b + a c is a (b + c) for finite numbers only: 2 v - v is inf - inf, which is NaN, where v is infinite, and v (2 - 1) is infinite there. A
// function such as 1 / x makes a finite number of an infinity. So where b and c have opposite signs for sure, because both are multiples of
// one value, the factor a must be finite; so it must where b or c is 0, since infinity times 0 is NaN.
#pragma once
#include <optional>
#include <vector>

#include "passes/search/graph/graph_terms.h"
#include "passes/search/saturate/term_fact.h"

namespace tilewright::passes::search {

/// Holds for numbers that are finite whatever the data are: integers, conditions, positions, finite constants, and sums and products of these.
class FiniteTerms : public TermFact {
 public:
  /// Keeps the reference.
  explicit FiniteTerms(const GraphTerms& all) : TermFact(all.terms), all_(all) {}

 private:
  bool follows(const Node&) override;

  const GraphTerms& all_;
};

class Multiples {
 public:
  /// Keeps the references.
  Multiples(const GraphTerms& all, const NodeSource& source) : all_(all), source_(source) {}

  /// Whether a value is a product with a constant of which all elements are negative.
  bool is_negated(const Ref&) const;
  /// Whether a b + a c is NaN for each infinite a: one of b and c has a factor that is 0, or they are opposite multiples of one value.
  bool are_opposite(const Ref& b, const Ref& c) const;

 private:
  /// A value as a constant times `of`; a constant itself is a multiple of no term.
  struct Multiple {
    Signs signs{};
    Ref of;
  };
  std::optional<Signs> signs_of(const Ref&) const;
  void find(Signs, const Ref&, int depth, std::vector<Multiple>&) const;

  const GraphTerms& all_;
  const NodeSource& source_;
};

}  // namespace tilewright::passes::search

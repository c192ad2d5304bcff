// Chooses the applications of rules that the search makes, to an e-graph's classes or to single terms.
//
// Rules multiply and add in another order. They apply to integers, which wrap, and to floats whose range is that of f32 or more: where
// (q k') v is finite in f16, k' v may overflow.
//
// Neutral moves are not made (is_neutral): fusion moves scales through products and adds in any order by itself. So a product is only
// multiplied in another order if the product that is formed sums something, a sum is only multiplied out by a product that sums, and addends
// only become neighbours if they have a factor in common, or are both sums, views or cats.
//
// 2 v - v does not become v, which is infinite where 2 v - v is NaN (multiples.h).
#pragma once
#include <optional>

#include "passes/search/egraph.h"
#include "passes/search/graph/graph_terms.h"
#include "passes/search/rules/saturation.h"
#include "passes/search/saturate/multiples.h"

namespace tilewright::passes::search {

struct SearchLimits {
  std::size_t nodes = 20000;
  int rounds = 20;
  bool expand_differences = false;  // (a - b) c may become a c - b c, which loses digits where a and b are close
  bool neutral_moves = false;       // neutral moves are made: more formulas, of which fusion makes the same kernels; for tests
  bool move_rounding = true;        // values of bf16, whose sums are rounded to it, may be added and multiplied in another order
  bool all_types = false;           // values of f16 may, too; for reports of what that would gain
};

/// What the guards have refused that an option, or another type, would allow.
struct RefusedRules {
  bool expands_differences = false;
  std::optional<ir::Element> type;  // rules were not searched for at values of this type
};

class RuleGuards {
 public:
  /// Keeps the references.
  RuleGuards(const GraphTerms&, const NodeSource&, const SearchLimits&);

  /// Whether a rule is searched for at values of this type.
  bool may_apply(const Direction&, ir::Element) const;
  /// Whether a match is used.
  bool may_use(const Direction&, const Match&) const;
  const RefusedRules& refused() const { return refused_; }

 private:
  bool is_allowed(const Rule&, int side, const Match&) const;
  bool loses_infinities(const Rule&, const Match&) const;
  bool is_neutral(const Rule&, int side, const Match&) const;
  bool can_be_combined(const Ref&, const Ref&) const;

  const GraphTerms& all_;
  const NodeSource& source_;
  SearchLimits limits_;
  Multiples multiples_;
  mutable FiniteTerms finite_;              // remembers what it was asked for
  std::vector<bool> arithmetic_, spreads_;  // by rule
  mutable RefusedRules refused_;
};

}  // namespace tilewright::passes::search

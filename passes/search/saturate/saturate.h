// Finds the graphs that equal a graph: applies the rules to its terms until nothing changes.
//
// Five guards keep the e-graph small:
//
//   1. What is known before a run is not searched: products of parameters are made by rules at what reads them.
//   2. A side of one op is only added, since it would be found everywhere (search_directions).
//   3. Functions do not go through parts: no rule has a part but around a cat, and kernels are the same either way.
//   4. Neutral moves are not made (is_neutral): fusion moves scales through products and adds in any order by itself. So a product is only
//      multiplied in another order if the product that is formed sums something, a sum is only multiplied out by a product that sums, and
//      addends only become neighbours if they have a factor in common, or are both sums, views or cats.
//   5. Limits are counts: a graph has the same e-graph on a busy machine.
//
// Rules multiply and add in another order. They apply to integers, which wrap, and to floats whose range is that of f32 or more: where
// (q k') v is finite in f16, k' v may overflow.
#pragma once
#include "passes/search/egraph.h"
#include "passes/search/graph/graph_terms.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

struct SearchLimits {
  std::size_t nodes = 20000;
  int rounds = 20;
  bool expand_differences = false;  // (a - b) c may become a c - b c, which loses digits where a and b are close
  bool neutral_moves = false;       // guard 4 is off: more formulas, of which fusion makes the same kernels; for tests
  bool move_rounding = true;        // values of bf16, whose sums are rounded to it, may be added and multiplied in another order
};

class SaturatedGraph {
 public:
  /// Adds terms to those of the graph.
  SaturatedGraph(const graph::Graph& written, GraphTerms&, const SearchLimits& = {});

  const EGraph& classes() const { return saturation_.graph(); }
  bool is_complete() const { return is_complete_; }
  int rounds() const { return saturation_.rounds(); }

 private:
  bool is_allowed(const Rule&, int side, const Match&) const;
  bool is_neutral(const Rule&, int side, const Match&) const;
  bool can_be_combined(const Ref&, const Ref&) const;
  bool is_negated(const Ref&) const;
  bool is_negative_number(const Ref&) const;

  GraphTerms& all_;
  Saturation saturation_;
  bool is_complete_ = false;
};

}  // namespace tilewright::passes::search

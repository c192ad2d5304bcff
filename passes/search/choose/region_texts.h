// What reports say of the graphs of a region: their rewritings and formulas in the user's names.
#pragma once
#include <string>

#include "passes/search/choose/difference.h"
#include "passes/search/choose/rewriting.h"
#include "passes/search/choose/saturated_region.h"
#include "passes/search/regions/region.h"

namespace tilewright::passes::search {

class RegionTexts {
 public:
  /// Keeps the references.
  RegionTexts(const graph::Graph& whole, const Region& region, const Judge& judge, SaturatedRegion& made)
      : whole_(whole), region_(region), judge_(judge), made_(made) {}

  Rewriting rewriting(const Difference&, const Piece&, double saved) const;
  /// All pieces of a graph: "order  (q k) v  ->  q (k v)".
  std::string of(const Difference&) const;
  /// The names of the region's results: "scores, y".
  std::string results() const;

 private:
  std::string name_of(graph::NodeId of_region) const;
  bool has_no_name(int term) const;
  int named_term(int root) const;
  bool is_of_numbers(int term, int depth) const;
  Ref in_order_of_value(int term) const;
  GraphTerms& terms() const { return made_.terms(); }
  const EGraph& classes() const { return made_.classes(); }

  const graph::Graph& whole_;
  const Region& region_;
  const Judge& judge_;
  SaturatedRegion& made_;
};

}  // namespace tilewright::passes::search

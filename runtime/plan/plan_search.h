// The reports of a plan about the search of its graph.
#pragma once
#include <string>
#include <vector>

#include "tilewright/plan.h"

namespace tilewright::detail {

struct PlanSearch {
  bool is_on = false;
  std::vector<Rewrite> rewrites;
  std::vector<std::string> not_done;   // "order  (q k) v  ->  q (k v): 1.04 times as fast, less than 1.2"
  std::vector<std::string> unchanged;  // "y: no equal graph costs less by the costs of its operations"
  SearchReport report;
};

/// The first section of explain(): what was rewritten, what was not and why, and what was searched. Empty if the search is off.
std::string search_text(const PlanSearch&);
/// Lines of explain() about parts for which the rules give other graphs, of which none is worth a comparison.
std::string unchanged_text(const PlanSearch&);

}  // namespace tilewright::detail

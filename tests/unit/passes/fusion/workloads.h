// Formulas of models as users write them, each in many equivalent spellings.
#pragma once
#include <string>
#include <vector>

#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

struct Workload {
  std::string name;
  /// Appends inputs and outputs to the graph.
  void (*build)(graph::Graph&, Variants&);
  int passes = 1;  // passes of its kernel
  bool is_refused = false;
};

const std::vector<Workload>& workloads();

}  // namespace tilewright::passes::fusion::test

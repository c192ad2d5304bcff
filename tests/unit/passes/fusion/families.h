// Graphs that grow: programs of solvers and models by their number of steps, for tests and figures of compile time.
#pragma once
#include <string>
#include <vector>

#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

struct Family {
  std::string name;
  /// Appends inputs, `steps` steps and outputs to an empty graph.
  void (*build)(graph::Graph&, int steps);
};

const std::vector<Family>& families();

/// The family with at least so many nodes, in as few steps as that takes.
void build_family(const Family&, graph::Graph&, std::size_t nodes);

}  // namespace tilewright::passes::fusion::test

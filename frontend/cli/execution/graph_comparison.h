// Decides whether the results of a run are those of the graph, for `tilewright graph --compare` and for random graphs.
//
// There are two witnesses. The graph in double precision has the values that the formulas mean. But what overflows as it is written, such as
// 70000 as f16, is finite there, and formulas that cancel lose digits in their own types. So where a result differs from the first witness, the
// graph in its own types, each op rounded as it is written, is the second one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/execution/graph_execution.h"

namespace tilewright::cli {

struct ComparedResult {
  std::string name;
  double error = 0;  // relative, from the graph in double precision
  /// Of the second witness; none if the first one was enough.
  struct Typed {
    double error = 0;  // of the result, from the graph in its own types
    double lost = 0;   // of the graph in its own types, from the graph in double precision
  };
  std::optional<Typed> typed;
  /// Whether one of the errors is within the tolerance, or the result is nearly as good as the graph in its own types. What is not finite in
  /// both of these has no error then.
  bool is_right = false;

  /// "y: relative error 3e-07 from the graph in double precision".
  std::string text() const;
};

/// Compares each output; a tolerance is a relative error. least_size: of an element, on average: errors of smaller values count as if they had
/// this size.
std::vector<ComparedResult> compare_with_graph(const graph::Graph&, const GraphArguments&, const std::vector<GraphResult>&,
                                               double tolerance, double least_size = 0);

}  // namespace tilewright::cli

// Decides whether the results of a run are those of the graph, for `tilewright graph --compare` and for random graphs.
//
// Each element is judged on its own. The graph in double precision has the values that the formulas mean. Where an element differs from that,
// there are further witnesses. The graph in its own types, each op rounded as it is written, says what overflows: 70000 is infinite as f16.
// Runs in which operands are moved at random, as rounding may move them (perturbation.h), say how far rounding may move the element: a sum
// that cancels may differ from 0 by an error of its terms, while an error of the same size is a mistake elsewhere.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/execution/graph_execution.h"

namespace tilewright::cli {

struct ComparedResult {
  std::string name;
  std::size_t elements = 0;
  double error = 0;  // relative, of all elements together, from the graph in double precision
  /// How many elements are beyond the tolerance, but no further than other witnesses are.
  std::size_t moved = 0;
  /// How many elements are further than that, and the one that is furthest.
  std::size_t wrong = 0;
  struct Element {
    std::vector<std::int64_t> index;
    std::string seen, expected;
    double may_move = 0;  // by rounding
  };
  std::optional<Element> worst;

  bool is_right() const { return wrong == 0; }
  /// "y: relative error 3e-07 from the graph in double precision".
  std::string text() const;
};

/// Compares each output. An element of floats may differ by tolerance times its value, integers and conditions are exact; both may differ
/// as far as rounding moves them, unless the tolerance is 0. multiplies_in_tf32: whether the device multiplies f32 in tf32.
std::vector<ComparedResult> compare_with_graph(const graph::Graph&, const GraphArguments&, const std::vector<GraphResult>&,
                                               double tolerance, bool multiplies_in_tf32);

}  // namespace tilewright::cli

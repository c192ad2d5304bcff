// The options of the search of a graph, and what it asks of its caller, who knows kernels.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

/// Limits are counts: a graph has the same outcome on a busy machine.
struct SearchOptions {
  std::size_t nodes = 20000;        // nodes of all e-graphs of a graph together
  std::size_t candidates = 8;       // graphs that are estimated for each region, and of which the best are measured
  double gain = 1.2;                // the chosen graph must be so many times as fast as the graph as written
  bool expand_differences = false;  // (a - b) c may become a c - b c, which loses digits where a and b are close
  bool neutral_moves = false;       // as in SearchLimits; for tests
  bool move_rounding = true;        // values of bf16 may be rounded elsewhere in a formula
  bool all_types = false;           // as in SearchLimits; for reports
  // The launch of a kernel, and what it takes in addition to have all processors take part. The chosen graph may be slower by two of these where
  // symbols are small or large.
  double launch_seconds = 3e-6, share_seconds = 0;
};

struct SearchEstimate {
  double seconds = 0, seconds_if_small = 0, seconds_if_large = 0;
  std::vector<double> kernels = {};  // the seconds of each kernel
};

/// How many times as fast the second graph is. What takes equally long in both graphs does not count, because an error of its estimate is the same
/// in both: kernels that both graphs have, and as many launches of others as both have. If nearly all of the time is launches, these count: then
/// the rest is not worth a rewriting.
double times_as_fast(const SearchEstimate& written, const SearchEstimate& chosen, double launch_seconds);

/// Two nodes of one graph whose values should be equal.
struct EqualValues {
  graph::NodeId written, rewritten;
};

/// The fastest of several graphs, of which the first is as written.
struct Measurement {
  std::size_t fastest = 0;
  double seconds_written = 0, seconds = 0;
};

/// The search itself knows neither kernels nor what they cost.
struct Judge {
  /// The time of a graph; none if it cannot be told.
  std::function<std::optional<SearchEstimate>(const graph::Graph&)> estimate;
  /// Compares values at small instances: how they differ, or none if they are equal.
  std::function<std::optional<std::string>(const graph::Graph&, std::span<const EqualValues>)> difference;
  /// Runs graphs of the same inputs and outputs; none if that is not possible. An empty function: estimates decide.
  std::function<std::optional<Measurement>(std::span<const graph::Graph>)> measure = {};
  /// A text of what the kernels of a graph compute, which is equal for graphs with the same kernels; none if there is no such text. If the
  /// function is empty, all graphs count as different.
  std::function<std::optional<std::string>(const graph::Graph&)> formulas = {};
  /// Derives the kernels of a whole graph that is rewritten, so that they are known if it gains: the seconds of all, which equal those of
  /// the estimate. None, or an empty function: the graph is estimated.
  std::function<std::optional<double>(const graph::Graph&)> derive = {};
  /// The name of a value of the graph as written, which no other value has. If the function is empty, values are named after functions.
  std::function<std::string(graph::NodeId)> name_of = {};
};

}  // namespace tilewright::passes::search

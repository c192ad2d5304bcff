// What the search of a graph may do, and what it asks of those who know kernels.
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
  std::size_t nodes = 20000;        // of all e-graphs of a graph
  std::size_t candidates = 8;       // graphs that are estimated for each region, and of which the best are measured
  double gain = 1.2;                // a graph must be so many times as fast as the one as written
  bool expand_differences = false;  // (a - b) c may become a c - b c, which loses digits where a and b are close
  bool neutral_moves = false;       // as in SearchLimits; for tests
  bool move_rounding = true;        // values of bf16 may be rounded elsewhere in a formula
  double launch_seconds = 3e-6;     // of a kernel that all processors share; a graph may lose two of these where symbols are small or large
};

struct SearchEstimate {
  double seconds = 0, seconds_if_small = 0, seconds_if_large = 0;
  std::vector<double> kernels = {};  // the seconds of each kernel
};

/// How many times as fast the second graph is, without the kernels that both have: these take equally long, and whatever is wrong about their
/// estimates is wrong in both graphs.
double times_as_fast(const SearchEstimate& written, const SearchEstimate& chosen);

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
  /// What the kernels of a graph compute, as a text that graphs with the same kernels have; none if it cannot be told. An empty function: all
  /// graphs have kernels of their own.
  std::function<std::optional<std::string>(const graph::Graph&)> formulas = {};
};

}  // namespace tilewright::passes::search

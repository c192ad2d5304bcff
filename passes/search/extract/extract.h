// Chooses a node for each class of an e-graph, so that what the outputs need costs the least: the cheapest graphs that equal one as written.
#pragma once
#include "passes/search/egraph.h"
#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::search {

struct ExtractionLimits {
  std::size_t graphs = 8;           // the cheapest ones that are kept, which differ in a kernel
  bool neutral = false;             // graphs whose kernels cost what those as written do are kept as well; for tests
  std::uint64_t steps = 4'000'000;  // steps of local search, and of branch and bound
};

struct ExtractedGraph {
  std::vector<std::size_t> members;  // indexed by class; those as written where the graph does not need a class
  double seconds = 0;
};

struct Extraction {
  std::vector<ExtractedGraph> best;  // cheaper than as written, the cheapest first
  double seconds_written = 0;
  bool is_optimal = false;  // no graph is cheaper than the first one by more than a share of ExactLimits::gap
};

/// The member of each class that is its node as written; the first member for classes that have none.
std::vector<std::size_t> members_as_written(const graph::Graph& written, const GraphTerms&, const EGraph&);

Extraction extract(const graph::Graph& written, const GraphTerms&, const EGraph&, const ir::TargetDesc&, const ExtractionLimits& = {});

/// The classes from which a node is computed; those of a leaf are the values that it reads.
std::vector<int> operand_classes(const graph::Graph& written, const GraphTerms&, const NodeSource&, const Node&);
/// The classes that the outputs need if this choice is made, operands first; none if a class is computed from itself.
std::vector<int> needed_classes(const graph::Graph& written, const GraphTerms&, const Choice&);

}  // namespace tilewright::passes::search

// A part of a graph as a graph of its own, so that it can be searched, estimated and compared by itself.
//
// What the part reads and does not compute is an input of it: inputs of the whole graph, values of other parts, constants with several
// elements. Other constants, positions and random numbers are leaves, which each part has itself. What others read of the part, and outputs
// of the whole graph, are its outputs.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

struct Region {
  graph::Graph graph;                  // inputs "x0", "x1", ..., outputs "y0", "y1", ...
  std::vector<graph::NodeId> origins;  // by node of `graph`: the node of the whole graph
  std::vector<graph::NodeId> inputs;   // by number: the node of the whole graph whose value "x0", ... is
  std::vector<graph::NodeId> results;  // by number: the node that has the value "y0", ...
  std::string structure;               // regions with equal texts are equal but for names and lines
};

/// Which nodes of a graph are known before a run, since they depend on parameters and constants alone.
std::vector<bool> known_before_run(const graph::Graph&);

/// Whether each region has this node itself.
bool is_copied(const graph::Node&);

/// The region of these nodes, which are in the order of the graph. `results`: those that others need.
Region make_region(const graph::Graph&, const std::vector<graph::NodeId>& nodes, const std::vector<graph::NodeId>& results,
                   const std::vector<bool>& known);

}  // namespace tilewright::passes::search

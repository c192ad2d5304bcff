// Parses the arguments of a textual graph on a command line, and finds the values of its symbols.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/cli/arguments/values.h"
#include "tileir/graph/graph.h"

namespace tilewright::cli {

/// What an input or a scalar of a graph gets.
struct GraphArgument {
  graph::NodeId node;
  Argument value;
};

struct GraphArguments {
  std::vector<std::int64_t> symbols;  // by number
  std::vector<GraphArgument> given;
};

/// From NAME=VALUE words. An input takes what a parameter of `run` takes; a scalar also a number without its type, and a symbol a number.
/// The shapes of files give symbols their values, too. With a seed, inputs that are not given are random: floats normally distributed,
/// integers and bools 0 or 1. Throws UsageError for what is missing, given twice or does not fit.
GraphArguments parse_graph_arguments(const graph::Graph&, std::span<const std::string> words, std::optional<std::uint64_t> random_seed,
                                     Files&);

/// The shape for these values of the symbols. Throws Error at the node's line if an extent is no positive integer.
std::vector<std::int64_t> shape_of(const graph::Graph&, graph::NodeId, const std::vector<std::int64_t>& symbols);

/// How many elements the buffer of an input needs: with strides up to its last one, else as many as it has.
std::int64_t span_of(const graph::Graph&, graph::NodeId, const std::vector<std::int64_t>& symbols);

}  // namespace tilewright::cli

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

/// The value of an input or a scalar of a graph.
struct GraphArgument {
  graph::NodeId node;
  Argument value;
};

struct GraphArguments {
  std::vector<std::int64_t> symbols;  // by symbol number
  std::vector<GraphArgument> given;
};

/// Parses NAME=VALUE words. An input takes the same values as a parameter of `run`; a scalar may be a number without its type; a symbol is
/// a number. The shapes of files also give symbols their values. With a seed, inputs that are not given are random: floats normally
/// distributed, integers and bools 0 or 1. Throws UsageError for an argument that is missing, given twice or does not fit.
GraphArguments parse_graph_arguments(const graph::Graph&, std::span<const std::string> words, std::optional<std::uint64_t> random_seed,
                                     Files&);

}  // namespace tilewright::cli

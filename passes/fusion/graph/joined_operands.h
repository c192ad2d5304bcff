// Concatenations of many operands, which are written operand by operand: each kernel computes one operand and stores it at its position.
//
// A concatenation among the operands is replaced by its own operands if it is along the same axis and nothing else needs it. So a tensor to
// which rows are added one by one, concat(concat(concat(a, b), c), d), is written once, and not copied whenever a row is added.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Facts of each node, by its index.
struct JoinedConcats {
  std::vector<bool> is_in_parts;  // a concatenation that is written operand by operand
  std::vector<bool> is_inner;     // a concatenation without memory: its operands are written into the one that reads it
};

/// A single kernel would test for each element in which operand it is, and read all operands under masks. From a few operands on, that makes
/// a host slower, unless the operands' rows are shorter than its vectors. uses: the number of times that each node is an operand or an output.
JoinedConcats joined_concats(const graph::Graph&, const std::vector<bool>& needed, const std::vector<std::size_t>& uses, bool is_host);

struct JoinedOperand {
  graph::NodeId node;
  Dim begin;  // along the concatenated axis
};

/// The operands that have elements of a concatenation, in order, where those for which is_inner holds are replaced by their own.
std::vector<JoinedOperand> joined_operands(const graph::Graph&, graph::NodeId whole, const std::function<bool(graph::NodeId)>& is_inner);

}  // namespace tilewright::passes::fusion

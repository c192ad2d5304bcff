// Computes the values of a graph that depend on constants alone, as the interpreter does: each op in its type.
//
//   cast<f16>({70000, 0.5})                  {inf, 0.5}
//   sum of 257 ones in f32, cast to bf16     256
//
// Sums, products and scans of floats of 8 and 16 bits accumulate in f32, as all kernels do, and their results are rounded once. Positions,
// extents and random numbers do not count as constants, because kernels compute them at no cost. Neither do results of `materialize`,
// `scatter_add` and `call`, which are stored in their type.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tileir/graph/array.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The operands from which an op takes its elements as they are: of a choice, a pad, a concatenation or a view.
std::vector<std::size_t> moved_operands(const graph::Node&);

struct ConstantValue {
  std::shared_ptr<const graph::ConstantData> data;  // a single element if all are equal
  bool is_exact = true;                             // formulas, which have no types, have the same value
  bool depends_on_type = false;                     // the type of the node decides on the value
  bool is_computed = true;                          // by the interpreter

  bool is_uniform() const { return data->bits.size() == 1; }
};

/// The values of the nodes of a graph that grows.
class ConstantValues {
 public:
  /// Keeps the reference.
  explicit ConstantValues(const graph::Graph& g) : g_(g) {}

  /// The value of a node whose operands are in the graph; none if it depends on an input, or has more than kMostFoldedElements.
  std::optional<ConstantValue> value_of(const graph::Node&) const;
  /// Adds the value of the node that is appended to the graph next.
  void push_back(std::optional<ConstantValue> value);
  const std::optional<ConstantValue>& operator[](graph::NodeId n) const { return values_[n.index]; }

 private:
  const graph::Node& operand(const graph::Node& n, std::size_t i) const { return g_.node(n.operands[i]); }
  std::optional<std::uint64_t> uniform_bits(const graph::Node&) const;
  std::optional<ConstantValue> uniform_map(const graph::Node&) const;
  bool is_small(const graph::Node&) const;
  graph::Array interpreted(const graph::Node&, graph::Rounding) const;
  void compare_with_wide(const graph::Node&, const graph::Array& typed, ConstantValue&) const;

  const graph::Graph& g_;
  std::vector<std::optional<ConstantValue>> values_;  // by node
  std::size_t computed_ = 0;                          // elements of tables that were computed
};

}  // namespace tilewright::passes::fusion

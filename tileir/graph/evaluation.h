// One run of a graph by the interpreter: the values of its nodes, and functions that the families of ops share. Private to the interpreter.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tileir/graph/array.h"
#include "tileir/graph/graph.h"
#include "tileir/graph/perturbation.h"

namespace tilewright::graph {

class Evaluation {
 public:
  Evaluation(const Graph&, const Arguments&, Rounding);
  /// In double precision, with moved operands.
  Evaluation(const Graph&, const Arguments&, const Perturbation&);
  /// Computes the node and every node that it depends on.
  const Array& value(NodeId);

 private:
  const Array& operand(const Node& n, std::size_t i) const {
    return i < moved_.size() && moved_[i] ? *moved_[i] : values_[n.operands[i].index];
  }
  /// Puts great numbers in place of the infinities to which finite operands of the node overflow.
  void saturate(const Node&, Array&) const;
  /// The element type in which values of this element type are computed.
  ir::Element carried(ir::Element) const;
  /// Converts the bits of an element to the type in which it is computed.
  std::uint64_t carry(ir::Element, std::uint64_t bits) const;
  std::int64_t value_of(const Dim&, const Node&) const;
  /// An array of the node's shape and element, filled with zeros.
  Array result(const Node&) const;
  std::uint64_t apply(ir::OpKind, ir::Element, std::span<const std::uint64_t> operands) const;
  const std::vector<std::uint64_t>& argument(const Node&) const;
  [[noreturn]] void fail(const Node&, const std::string& message) const;

  // Declares Array run_input(const Node&) and so on: an op without its function does not link.
#define TW_GRAPH_OP(name, ...) Array run_##name(const Node&);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  Array run(const Node&);
  void run_perturbed(NodeId);

  std::vector<std::uint64_t> broadcast(const Array&, const std::vector<std::int64_t>& shape) const;
  std::uint64_t combine(const Node&, std::uint64_t earlier, std::uint64_t later);
  std::uint64_t evaluate_combiner(const std::vector<NodeId>& function, std::uint64_t earlier, std::uint64_t later);
  bool is_better(Combine, ir::Element, std::uint64_t candidate, std::uint64_t best) const;
  std::int64_t index_at(const Node&, const Array& index, std::size_t i, std::int64_t extent) const;

  const Graph& graph_;
  const Arguments& arguments_;
  Rounding rounding_;
  std::vector<std::int64_t> symbols_;  // indexed by symbol number; kUnknown: no value given
  std::vector<Array> values_;
  std::vector<Array> others_;  // of a perturbed run: the second result of each node
  std::vector<bool> is_done_;
  std::optional<PerturbedOperands> perturbed_;
  std::vector<std::optional<Array>> moved_;  // operands of the node that is computed now
};

/// Row-major strides.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape);
std::int64_t count_of(const std::vector<std::int64_t>& shape);
/// Calls body(index) for each index of the shape, in row-major order.
template <class F>
void for_each_index(const std::vector<std::int64_t>& shape, F&& body) {
  std::vector<std::int64_t> index(shape.size());
  for (std::int64_t left = count_of(shape); left > 0; --left) {
    body(index);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}
/// The offset of an index under strides.
std::int64_t offset_of(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& strides);

}  // namespace tilewright::graph

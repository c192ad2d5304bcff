// Appends the nodes of one call of the user to a graph: infers shapes and element types, and says what is wrong with the user's line.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tileir/graph/graph.h"
#include "tileir/graph/shapes.h"

namespace tilewright::graph {

/// The axes of a reduction as the user gives them: negative ones count from the end. No value stands for all axes.
using GivenAxes = std::optional<std::vector<std::int64_t>>;

/// `function`: the name of the function that the user called; messages begin with it. Every function throws Error at the user's line, with
/// a note at the line of each other operand involved, and returns the node of the result. Operands must be in the graph.
class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, std::string_view function, Location where, int most_axes = kMaxTensorRank)
      : graph_(graph), function_(function), where_(std::move(where)), most_axes_(most_axes) {}

  const Graph& graph() const { return graph_; }
  const TensorShape& shape(NodeId id) const { return graph_.node(id).shape; }
  int rank(NodeId id) const { return static_cast<int>(shape(id).size()); }
  ir::Element element(NodeId id) const { return graph_.node(id).element; }

  /// Nodes that are made from here on belong to one composite function, named after the call. They may have kMaxRank axes.
  void begin_composite();
  [[noreturn]] void fail(const std::string& message, std::span<const Party> parties = {}) const;
  [[noreturn]] void fail(const std::string& message, const Party& party) const { fail(message, std::span(&party, 1)); }
  /// Infers the node's shape and element, and appends it. Throws Error if its extents have symbols of another graph.
  NodeId add(Node);

  // ---- names and symbols ----
  /// Throws Error if an input, a scalar, an output or a symbol has the name, or if it is empty.
  void expect_new_name(const std::string&) const;
  Dim dim(const std::string& name, const DimBounds&);
  void output(const std::string& name, NodeId);

  // ---- leaves ----
  /// strides: in elements, one for each axis; empty: row-major.
  NodeId input(const std::string& name, ir::Element, TensorShape, std::vector<Dim> strides = {}, bool is_parameter = false);
  NodeId scalar(const std::string& name, ir::Element);
  NodeId constant(ir::Element, TensorShape, std::vector<std::uint64_t> bits);
  /// A number as a tensor of rank 0, rounded to the element.
  NodeId number(ir::Element, double);
  NodeId iota(ir::Element, TensorShape, std::int64_t axis);
  /// An extent as a number: a constant node if the extent is constant.
  NodeId extent(ir::Element, const Dim&);
  NodeId rand(std::uint64_t seed, TensorShape);

  // ---- element-wise ----
  /// Operands of the types that the op takes; they broadcast.
  NodeId map(ir::OpKind, std::vector<NodeId> operands);
  /// The node itself if it has this element type already.
  NodeId cast(NodeId, ir::Element);
  NodeId bitcast(NodeId, ir::Element);

  // ---- shape ----
  NodeId reshape(NodeId, TensorShape);
  NodeId permute(NodeId, const std::vector<std::int64_t>& axes);
  /// The last two axes swapped.
  NodeId transpose(NodeId);
  NodeId expand_dims(NodeId, std::int64_t axis);
  NodeId squeeze(NodeId, std::int64_t axis);
  NodeId broadcast(NodeId, TensorShape);
  NodeId slice(NodeId, std::int64_t axis, const Dim& begin, const Dim& end, const Dim& step);
  NodeId concat(const std::vector<NodeId>&, std::int64_t axis);
  NodeId pad(NodeId, std::int64_t axis, const Dim& before, const Dim& after, NodeId value);
  NodeId flip(NodeId, std::int64_t axis);
  /// Element i along the axis, of extent n, becomes element (i + offset) mod n.
  NodeId rotate(NodeId, std::int64_t axis, const Dim& offset);
  /// The axis becomes the positions of a window, and a new last axis has the elements of each.
  NodeId window(NodeId, std::int64_t axis, const Dim& size, const Dim& step, const Dim& dilation);

  // ---- reductions and scans ----
  /// Sums and products of 8- and 16-bit floats are computed in f32 and rounded once.
  NodeId reduce(Combine, NodeId, const GivenAxes&, bool keep_dims);
  NodeId mean(NodeId, const GivenAxes&, bool keep_dims);
  /// The arguments of a combining function: the earlier element and the later one.
  NodeId argument(ir::Element, int position);
  /// Reduces by a function of two arguments with the result `combiner`; if the function is one op, this may be a named reduction.
  NodeId reduce_by(NodeId, const GivenAxes&, std::uint64_t identity, NodeId combiner);
  NodeId scan(Combine, NodeId, std::int64_t axis, bool reverse);

  // ---- products; `result`: the element type of the result ----
  NodeId matmul(NodeId a, NodeId b, ir::Element result, ProductPrecision = ProductPrecision::standard);
  /// "..." stands for axes that broadcast; operands with an axis of extent 1 are reshaped to have none.
  NodeId einsum(std::string_view equation, const std::vector<NodeId>&, ir::Element result, ProductPrecision = ProductPrecision::standard);

  // ---- indexed ----
  NodeId gather(NodeId table, NodeId index, std::int64_t axis);
  NodeId take_along(NodeId, NodeId index, std::int64_t axis);
  /// Sums of 8- and 16-bit floats are computed in f32 and rounded once.
  NodeId scatter_add(NodeId, NodeId index, NodeId updates, std::int64_t axis);

  // ---- placement ----
  /// The node itself if it is a tensor in memory.
  NodeId materialize(NodeId);

  // ---- kernels of the user ----
  /// Makes one node for each result of the kernel. Operands that are not row-major in memory are copied to row-major tensors.
  std::vector<NodeId> call(const std::shared_ptr<OpaqueKernel>&, std::vector<NodeId> operands);

  /// The axis of a tensor of this rank, counted from the end if negative.
  int axis(std::int64_t axis, int rank, const Party& of) const;

 private:
  Node node(Op, std::vector<NodeId> operands = {}) const;
  void expect_own_symbols(std::span<const Dim>) const;
  std::vector<int> axes(const GivenAxes&, NodeId) const;

  Graph& graph_;
  std::string function_;
  Location where_;
  int most_axes_;
  std::optional<std::uint32_t> composite_;
};

}  // namespace tilewright::graph

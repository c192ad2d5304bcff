// Graph IR: whole tensors of any extents as a directed acyclic graph of tensor ops. It is what tw::Graph records, what the fusion passes
// read and what textual graphs hold. Nodes are appended in the order of their definition, so every operand has a smaller id.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tileir/graph/symbols.h"
#include "tileir/op_kind.h"
#include "tileir/type.h"
#include "tilewright/dim.h"
#include "tilewright/error.h"

namespace tilewright::graph {

/// The ops of graph_ops.def.
enum class Op : std::uint8_t {
#define TW_GRAPH_OP(name, ...) name,
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
};

/// The operation by which a reduce or a scan combines elements.
enum class Combine : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all, combine };

/// The precision in which a product of f32 multiplies: the same values as Precision of the tile language.
enum class ProductPrecision : std::uint8_t { standard, tf32, tf32x3, bf16x3, ieee };

struct NodeId {
  std::uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

using TensorShape = std::vector<Dim>;

/// The elements of a constant: bits of each element in row-major order, or one element for the whole shape.
struct ConstantData {
  std::vector<std::uint64_t> bits;
};

/// A kernel of the user as a node; only the front end knows what it launches.
class OpaqueKernel;

/// A function that the user called and whose formula consists of several nodes: softmax, layer_norm, ... Reports name it, not the formula.
struct Composite {
  std::string name;
  Location where;
};

struct Node {
  Op op{};
  ir::Element element{};
  TensorShape shape;
  std::vector<NodeId> operands;

  // Attributes; the op's row says which of them it uses.
  ir::OpKind function{};         // map
  Combine kind{};                // reduce, scan
  bool keep_dims = false;        // reduce: reduced axes stay with extent 1
  bool reverse = false;          // scan
  bool is_parameter = false;     // input: its values seldom change
  ProductPrecision precision{};  // einsum
  int position = 0;              // argument, call
  std::vector<int> axes;         // never negative; ascending in a reduce
  std::vector<Dim> lengths;      // slice, pad, window, strided input
  std::string text;              // einsum: the equation; input, scalar: the name that run() uses
  std::uint64_t seed = 0;        // rand
  std::shared_ptr<const ConstantData> data;
  std::optional<std::uint64_t> identity;  // reduce by combine: the bits of the neutral element
  NodeId combiner;                        // reduce by combine: the result of the function, a rank-0 node over two `argument` nodes
  std::shared_ptr<OpaqueKernel> kernel;

  // For reports.
  Location where;
  std::string name;  // given by the user, or empty
  std::optional<std::uint32_t> composite;
};

struct Output {
  std::string name;
  NodeId node;
  Location where;
};

class Graph {
 public:
  Graph() = default;
  /// An empty graph that shares the symbols of another graph.
  explicit Graph(std::shared_ptr<SymbolTable> symbols) : symbols_(std::move(symbols)) {}

  const Node& node(NodeId id) const { return nodes_[id.index]; }
  std::size_t size() const { return nodes_.size(); }
  const std::vector<Output>& outputs() const { return outputs_; }
  const Composite& composite(std::uint32_t index) const { return composites_[index]; }
  /// The number of composites.
  std::uint32_t composites() const { return static_cast<std::uint32_t>(composites_.size()); }
  const std::shared_ptr<SymbolTable>& symbols() const { return symbols_; }
  /// The input or scalar of this name, if there is one.
  std::optional<NodeId> find_input(const std::string& name) const;
  /// Indexed by node: whether an output depends on its value.
  std::vector<bool> needed_nodes() const;

  /// Appends a node whose shape and element are already inferred; only GraphBuilder and the parser call this.
  NodeId append(Node);
  /// Requires: the name is new.
  void add_output(Output output) { outputs_.push_back(std::move(output)); }
  std::uint32_t add_composite(Composite);
  void set_name(NodeId id, std::string name) { nodes_[id.index].name = std::move(name); }

 private:
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Composite> composites_;
  std::shared_ptr<SymbolTable> symbols_ = std::make_shared<SymbolTable>();
};

}  // namespace tilewright::graph

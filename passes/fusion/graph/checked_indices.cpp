// Copies a graph, and inserts a checking kernel before each op that takes an index.
#include "passes/fusion/graph/checked_indices.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/opaque_kernel.h"
#include "tileir/graph/shapes.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;
using graph::Op;
using graph::OpaqueKernel;
using ir::Element;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

/// One use of an index.
struct IndexUse {
  std::string function;  // the function that the user called
  Location where;
  Element element{};
  graph::TensorShape shape;
  Dim extent;  // the extent of the axis that the index selects from
};

// Each program checks some elements in row-major order:   i = index[k];   assert 0 <= i < extent;   copy[k] = i
ir::Function check_function(const IndexUse& use, std::int64_t lanes) {
  ir::Function f("check_" + use.function);
  const std::int64_t size = ir::bytes(use.element);
  const ValueId index = f.add_param(Type::pointer(use.element, true), {"index", size, false});
  const ValueId copy = f.add_param(Type::pointer(use.element, false), {"checked", size, true});
  const ValueId count = f.add_param(Type(Element::i64), {"count", 1, false});
  const ValueId extent = f.add_param(Type(Element::i64), {"extent", 1, false});
  ir::Builder b(f);
  b.set_loc({f.add_file(use.where.file), static_cast<std::uint32_t>(use.where.line), static_cast<std::uint32_t>(use.where.column)});
  const std::vector<std::int64_t> shape = {lanes};
  const auto spread = [&](ValueId v) { return b.broadcast(v, shape); };
  const ValueId program = f.result(b.create(OpKind::program_id_, {}, {ir::Attr{ir::AttrName::axis, 0, {}, {}}}));
  const ValueId first = b.binary(OpKind::mul_, b.cast(program, Element::i64), b.constant(Type(Element::i64), lanes));
  const ValueId at = b.binary(OpKind::add_, spread(first), b.cast(b.arange(0, lanes), Element::i64));
  const ValueId is_there = b.binary(OpKind::lt_, at, spread(count));
  const ValueId from[] = {b.add_ptr(spread(index), at), is_there};
  const ValueId value = f.result(b.create(OpKind::load_, from));
  // Read as an unsigned number, a negative index is large.
  const ValueId word = b.cast(b.cast(value, Element::i64), Element::u64);
  const ValueId inside = b.binary(OpKind::lt_, word, spread(b.cast(extent, Element::u64)));
  std::string range = fmt::format("an index is outside of 0 to {}", (use.extent - Dim(1)).text());
  if (use.extent == Dim(0)) range = "an index into an axis of extent 0";
  const ValueId claim[] = {inside, is_there, value};
  b.create(OpKind::device_assert_, claim, {ir::Attr{ir::AttrName::text, 0, {}, use.function + ": " + range}});
  const ValueId to[] = {b.add_ptr(spread(copy), at), value, is_there};
  b.create(OpKind::store_, to);
  return f;
}

std::shared_ptr<OpaqueKernel> check_kernel(const IndexUse& use) {
  const Dim count = graph::element_count(use.shape);
  const std::int64_t most = std::clamp<std::int64_t>(count.greatest(), 1, kCheckedAtOnce);
  auto kernel = std::make_shared<OpaqueKernel>();
  kernel->lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
  kernel->name = "check_" + use.function;
  kernel->function = check_function(use, kernel->lanes);
  kernel->grid[0] = count;
  using Kind = OpaqueKernel::Argument::Kind;
  kernel->arguments = {
      {Kind::operand, 0, {}, 0, {}}, {Kind::result, 0, {}, 0, {}}, {Kind::extent, 0, count, 0, {}}, {Kind::extent, 0, use.extent, 0, {}}};
  kernel->results = {{use.element, use.shape}};
  kernel->check = true;
  kernel->reason = "checked mode: each index is inside of the tensor";
  return kernel;
}

class IndexChecks {
 public:
  explicit IndexChecks(const graph::Graph& g) : g_(g), checked_(g.symbols()) {}

  graph::Graph run() {
    for (std::uint32_t i = 0; i < g_.composites(); ++i) checked_.add_composite(g_.composite(i));
    const std::vector<bool> is_needed = g_.needed_nodes();
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      graph::Node n = g_.node({i});
      for (NodeId& x : n.operands) x = moved_[x.index];
      if (n.combiner.valid()) n.combiner = moved_[n.combiner.index];
      if (is_needed[i] && graph::takes_index(n.op)) n.operands[1] = checked({i}, n);
      moved_.push_back(checked_.append(std::move(n)));
    }
    for (const graph::Output& o : g_.outputs()) checked_.add_output({o.name, moved_[o.node.index], o.where});
    return std::move(checked_);
  }

 private:
  // The index of a node, which is checked once for all its uses by one call of the user.
  NodeId checked(NodeId id, const graph::Node& n) {
    const graph::Node& index = checked_.node(n.operands[1]);
    const Location where = graph::call_location(g_, id);
    IndexUse use{n.composite ? g_.composite(*n.composite).name : graph::function_name(n), where, index.element, index.shape,
                 checked_.node(n.operands[0]).shape[static_cast<std::size_t>(n.axes[0])]};
    const auto [known, is_new] = made_.try_emplace({n.operands[1], use.extent.text(), use.function, where.file, where.line, where.column});
    if (is_new) known->second = graph::GraphBuilder(checked_, use.function, where).call(check_kernel(use), {n.operands[1]})[0];
    return known->second;
  }

  const graph::Graph& g_;
  graph::Graph checked_;
  std::vector<NodeId> moved_;  // indexed by node of the graph
  std::map<std::tuple<NodeId, std::string, std::string, std::string, int, int>, NodeId> made_;
};

}  // namespace

graph::Graph with_checked_indices(const graph::Graph& g) { return IndexChecks(g).run(); }

}  // namespace tilewright::passes::fusion

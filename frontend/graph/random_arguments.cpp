// Draws inputs. An integer that is an index lies within the axis that it selects from.
#include "frontend/graph/random_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/graph/run_memory.h"
#include "passes/fusion/expr/extents.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::detail {

using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

constexpr std::uint64_t kMostIndex = 127;  // fits every integer type
constexpr double kMostOfMemory = 0.5;      // the share of free memory that arguments take: plans need memory of their own

/// The leaf whose elements a node's elements are; none if it computes others.
std::optional<NodeId> source_of(const graph::Graph& g, NodeId n) {
  while (!graph::is_leaf(g.node(n).op)) {
    const Node& node = g.node(n);
    const bool is_copy = graph::is_view(node.op) || node.op == Op::materialize;
    if (!is_copy && !(node.op == Op::map && node.function == ir::OpKind::cast_)) return std::nullopt;
    n = node.operands[0];
  }
  return n;
}

/// The greatest value of each input that is an index.
struct IndexLimits {
  std::map<NodeId, std::uint64_t> most;
  std::string problem;
};

IndexLimits index_limits(const graph::Graph& g, const std::vector<std::int64_t>& symbols) {
  IndexLimits limits;
  const std::vector<bool> needed = g.needed_nodes();
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (!needed[i] || !graph::takes_index(n.op)) continue;
    const std::int64_t extent = shape_of(g, n.operands[0], symbols)[static_cast<std::size_t>(n.axes[0])];
    const std::optional<NodeId> source = source_of(g, n.operands[1]);
    if (!source || extent < 1) {
      limits.problem = "it computes indices, and those of random numbers may be outside of their axis";
      return limits;
    }
    const auto [at, is_new] = limits.most.emplace(*source, kMostIndex);
    at->second = std::min(at->second, static_cast<std::uint64_t>(extent - 1));
  }
  return limits;
}

double bytes_of(const graph::Graph& g, const std::vector<std::int64_t>& symbols) {
  double bytes = 0;
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).op == Op::input) bytes += static_cast<double>(span_of(g, {i}, symbols)) * ir::bytes(g.node({i}).element);
  for (const graph::Output& o : g.outputs()) bytes += static_cast<double>(span_of(g, o.node, symbols)) * ir::bytes(g.node(o.node).element);
  return bytes;
}

/// An index selects the first element.
Scalar scalar_of(ir::Element e, bool is_index) {
  if (e == ir::Element::boolean) return true;
  if (ir::is_float(e)) return 0.5;
  return is_index ? 0 : 1;
}

RunArgument number(const std::string& name, Scalar value) {
  RunValue v;
  v.number = value;
  return {name, v};
}

}  // namespace

std::string RandomArguments::problem_of(const graph::Graph& g, const rt::Device& device) {
  const std::vector<bool> needed = g.needed_nodes();
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (needed[i] && g.node({i}).op == Op::call) return "it has a kernel of the user, which is not run on random numbers";
  const std::vector<std::int64_t> symbols = passes::fusion::typical_values(g);
  try {
    const double bytes = bytes_of(g, symbols);
    const std::size_t free = device.free_memory();
    if (bytes > kMostOfMemory * static_cast<double>(free))
      return fmt::format("its inputs and outputs have {:.0f} bytes, and {} are free on device '{}'", bytes, free, device.name());
    return index_limits(g, symbols).problem;
  } catch (const Error& e) {
    return fmt::format("typical values of its symbols do not fit: {}", e.what());
  }
}

RandomArguments::RandomArguments(const graph::Graph& g, std::shared_ptr<rt::Device> device, const Here& at)
    : device_(std::move(device)), at_(at) {
  const std::vector<std::int64_t> symbols = passes::fusion::typical_values(g);
  const IndexLimits limits = index_limits(g, symbols);
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    const auto limit = limits.most.find({i});
    if (n.op == Op::scalar) {
      each_run_.push_back(number(n.text, scalar_of(n.element, limit != limits.most.end())));
    } else if (n.op == Op::input) {
      const std::int64_t count = span_of(g, {i}, symbols);
      (n.is_parameter ? parameters_ : each_run_).push_back(argument(n.text, n.element, count));
      const std::vector<std::byte> elements = random_elements(n.element, count, random, limit == limits.most.end() ? 1 : limit->second);
      buffers_.back()->write(elements.data(), static_cast<std::size_t>(count), at_);
    }
  }
  for (const graph::Output& o : g.outputs()) each_run_.push_back(argument(o.name, g.node(o.node).element, span_of(g, o.node, symbols)));
  for (std::uint32_t s = 0; s < symbols.size(); ++s) each_run_.push_back(number((*g.symbols())[s].name, Scalar(symbols[s])));
}

RunArgument RandomArguments::argument(const std::string& name, ir::Element e, std::int64_t count) {
  buffers_.push_back(std::make_unique<RawBuffer>(device_, static_cast<Code>(e), count, at_));
  RunValue value;
  value.kind = RunValue::Kind::buffer;
  value.element = static_cast<Code>(e);
  value.buffer = buffers_.back().get();
  return {name, value};
}

}  // namespace tilewright::detail

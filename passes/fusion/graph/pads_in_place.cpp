// Passes what reads a value from users to operands.
#include "passes/fusion/graph/pads_in_place.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "passes/fusion/graph/moved_ones.h"
#include "passes/fusion/graph/node_memory.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

// The operand of a product of two that has its rows, which is the one with the first label of the result that the other lacks; none if the
// einsum contracts nothing, or if one operand has all labels of the other.
std::optional<std::size_t> left_operand(const Node& n) {
  const graph::Equation e = graph::parse_equation(n.text, false).equation;
  if (e.operands.size() != 2 || e.summed().empty()) return std::nullopt;
  const auto has = [](const std::string& labels, char c) { return labels.find(c) != labels.npos; };
  std::optional<std::size_t> first;
  bool has_columns = false;
  for (char c : e.result) {
    const bool in[] = {has(e.operands[0], c), has(e.operands[1], c)};
    if (in[0] == in[1]) continue;
    const std::size_t own = in[0] ? 0 : 1;
    if (!first) first = own;
    has_columns = has_columns || own != *first;
  }
  return has_columns ? first : std::nullopt;
}

// Whether every row of the value is a row of the operand, or of it and its border.
bool keeps_rows(const Graph& g, const Node& n) {
  return n.op == Op::window || n.op == Op::slice || n.op == Op::permute || moves_ones(g, n);
}

// An axis of a value that keeps rows, as an axis of its operand; none if the operand lacks it.
std::optional<std::size_t> axis_of_operand(const Graph& g, const Node& n, std::size_t axis) {
  const graph::TensorShape& shape = g.node(n.operands[0]).shape;
  if (n.op == Op::permute) return static_cast<std::size_t>(n.axes[axis]);
  if (n.op != Op::reshape) return axis < shape.size() ? std::optional(axis) : std::nullopt;
  if (is_one(n.shape[axis])) return std::nullopt;
  auto before =
      std::count_if(n.shape.begin(), n.shape.begin() + static_cast<std::ptrdiff_t>(axis), [](const Dim& d) { return !is_one(d); });
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!is_one(shape[i]) && before-- == 0) return i;
  return std::nullopt;
}

// Whether what is padded is in memory, since anything else would be computed under the pad, and the pad cuts none of its rows.
bool pads_rows(const Graph& g, const std::vector<bool>& found, const Node& pad) {
  std::optional<std::size_t> axis = static_cast<std::size_t>(pad.axes[0]);
  NodeId x = pad.operands[0];
  for (; axis && (found[x.index] || keeps_rows(g, g.node(x))); x = g.node(x).operands[0])
    if (!found[x.index]) axis = axis_of_operand(g, g.node(x), *axis);
  const Node& n = g.node(x);
  const bool is_cast = n.op == Op::map && n.function == ir::OpKind::cast_;
  const bool is_stored = !graph::is_leaf(n.op) && !graph::is_view(n.op) && n.op != Op::pad && n.op != Op::concat && !is_cast;
  if (!axis || !(has_own_memory(n) || is_stored)) return false;
  return std::any_of(n.shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, n.shape.end(), [](const Dim& d) { return !is_one(d); });
}

}  // namespace

std::vector<bool> pads_read_in_place(const Graph& g, const std::vector<bool>& is_needed) {
  const auto is_zero = [&](NodeId n) { return g.node(n).op == Op::constant && g.node(n).data->bits == std::vector<std::uint64_t>{0}; };
  // Whether all that reads a value reads it in place, and whether a product does.
  std::vector<bool> in_place(g.size(), true), is_factor(g.size()), found(g.size());
  for (const graph::Output& o : g.outputs()) in_place[o.node.index] = false;
  for (std::size_t i = g.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    const Node& n = g.node({static_cast<std::uint32_t>(i)});
    const std::optional<std::size_t> left = n.op == Op::einsum ? left_operand(n) : std::nullopt;
    found[i] = n.op == Op::pad && in_place[i] && (!is_factor[i] || is_zero(n.operands[1]));
    const bool is_passed = n.op == Op::reduce || found[i] || (in_place[i] && keeps_rows(g, n));
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      const std::uint32_t x = n.operands[k].index;
      const bool is_left = left && *left == k;
      if (!(is_passed && k == 0) && !is_left) in_place[x] = false;
      if (is_left || (is_factor[i] && n.op != Op::reduce)) is_factor[x] = true;
    }
  }
  for (std::size_t i = 0; i < g.size(); ++i)
    if (found[i]) found[i] = pads_rows(g, found, g.node({static_cast<std::uint32_t>(i)}));
  return found;
}

}  // namespace tilewright::passes::fusion

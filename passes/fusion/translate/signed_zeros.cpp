// Walks from the ops that read signs to their operands.
#include "passes/fusion/translate/signed_zeros.h"

#include <algorithm>
#include <cmath>

#include "passes/fusion/graph/constant_values.h"
#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::Op;
using ir::OpKind;

// Indexed by node: whether it has an element that is a constant of the user, -0. What is computed may be a zero of either sign.
std::vector<bool> nodes_of_negative_zeros(const graph::Graph& g) {
  std::vector<bool> found(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (n.op == Op::constant && ir::is_float(n.element))
      found[i] = std::ranges::any_of(n.data->bits, [&](std::uint64_t bits) {
        const double value = ir::float_value(n.element, bits);
        return value == 0 && std::signbit(value);
      });
    const std::vector<std::size_t> moved = n.op == Op::gather || n.op == Op::take_along ? std::vector<std::size_t>{0} : moved_operands(n);
    for (std::size_t operand : moved) found[i] = found[i] || found[n.operands[operand].index];
  }
  return found;
}

bool reads_sign(const Node& n, std::size_t operand, bool is_negative_zero) {
  if (n.op != Op::map) return false;
  const bool divides = n.function == OpKind::div_ || n.function == OpKind::div_rn_;
  if (divides && operand == 1 && is_negative_zero) return true;
  return n.function == OpKind::bitcast_ || n.function == OpKind::atan2_ || (n.function == OpKind::copysign_ && operand == 1);
}

// Whether the sign of a zero of the result depends on that of a zero of an operand.
bool keeps_sign(const Node& n) {
  switch (n.op) {
    case Op::reduce:
    case Op::scan:
    case Op::einsum:
    case Op::scatter_add:
    case Op::call: return false;
    case Op::map: break;
    default: return true;
  }
  switch (n.function) {
    case OpKind::abs_:
    case OpKind::exp_:
    case OpKind::exp2_:
    case OpKind::exp10_:
    case OpKind::log_:
    case OpKind::log2_:
    case OpKind::log10_:
    case OpKind::cos_:
    case OpKind::cosh_: return false;
    default: return true;
  }
}

}  // namespace

std::vector<bool> nodes_with_signed_zeros(const graph::Graph& g) {
  std::vector<bool> found(g.size());
  const std::vector<bool> has_negative_zero = nodes_of_negative_zeros(g);
  for (std::uint32_t i = static_cast<std::uint32_t>(g.size()); i-- > 0;) {
    const Node& n = g.node({i});
    const bool keeps = found[i] && keeps_sign(n);
    for (std::size_t operand = 0; operand < n.operands.size(); ++operand) {
      const graph::NodeId x = n.operands[operand];
      if (ir::is_float(g.node(x).element) && (keeps || reads_sign(n, operand, has_negative_zero[x.index]))) found[x.index] = true;
    }
  }
  return found;
}

}  // namespace tilewright::passes::fusion

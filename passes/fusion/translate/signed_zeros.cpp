// Walks from the ops that read signs to their operands.
#include "passes/fusion/translate/signed_zeros.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/graph/constant_values.h"
#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::Op;
using ir::OpKind;

bool has_element(const Node& n, bool (*holds)(double)) {
  return n.op == Op::constant && ir::is_float(n.element) &&
         std::ranges::any_of(n.data->bits, [&](std::uint64_t bits) { return holds(ir::float_value(n.element, bits)); });
}

std::optional<double> least_of_constant(const Node& n) {
  if (n.op != Op::constant || !ir::is_float(n.element) || n.data->bits.empty()) return std::nullopt;
  double least = HUGE_VAL;
  for (std::uint64_t bits : n.data->bits) least = std::min(least, ir::float_value(n.element, bits));
  return least;
}

// Indexed by node: whether it has an element that is a constant of the user, -0. What is computed may be a zero of either sign.
std::vector<bool> nodes_of_negative_zeros(const graph::Graph& g) {
  std::vector<bool> found(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    found[i] = has_element(n, [](double value) { return value == 0 && std::signbit(value); });
    const std::vector<std::size_t> moved = n.op == Op::gather || n.op == Op::take_along ? std::vector<std::size_t>{0} : moved_operands(n);
    for (std::size_t operand : moved) found[i] = found[i] || found[n.operands[operand].index];
  }
  return found;
}

bool is_division(const Node& n) { return n.op == Op::map && (n.function == OpKind::div_ || n.function == OpKind::div_rn_); }

// What an op reads of the sign of an operand's zero. A quotient by a zero gives it to an infinity.
ZeroSign read_by(const graph::Graph& g, const Node& n, std::size_t operand, bool is_negative_zero) {
  if (n.op != Op::map) return ZeroSign::ignored;
  if (is_division(n) && operand == 1) return is_negative_zero ? ZeroSign::as_written : ZeroSign::unless_nonnegative;
  if (n.function == OpKind::rsqrt_) return ZeroSign::unless_nonnegative;
  if (n.function == OpKind::pow_ && operand == 0) {
    const std::optional<double> least = least_of_constant(g.node(n.operands[1]));
    return least && *least >= 0 ? ZeroSign::ignored : ZeroSign::unless_nonnegative;
  }
  if (n.function == OpKind::bitcast_ || n.function == OpKind::atan2_) return ZeroSign::as_written;
  return n.function == OpKind::copysign_ && operand == 1 ? ZeroSign::as_written : ZeroSign::ignored;
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

// Indexed by node: whether its elements are known to be positive, +0 or NaN, so that they are no zeros of another sign in normal form either.
std::vector<bool> nodes_without_signs(const graph::Graph& g) {
  std::vector<bool> found(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    const auto holds = [&](std::size_t operand) { return static_cast<bool>(found[n.operands[operand].index]); };
    const auto all_hold = [&](std::size_t first) {
      for (std::size_t k = first; k < n.operands.size(); ++k)
        if (!holds(k)) return false;
      return n.operands.size() > first;
    };
    const auto of_map = [&] {
      switch (n.function) {
        case OpKind::abs_:
        case OpKind::exp_:
        case OpKind::exp2_:
        case OpKind::exp10_:
        case OpKind::cosh_: return true;
        case OpKind::mul_: return all_hold(0) || n.operands[0] == n.operands[1];
        case OpKind::select_: return all_hold(1);
        case OpKind::cast_:
        case OpKind::sqrt_:
        case OpKind::rsqrt_:
        case OpKind::add_:
        case OpKind::div_:
        case OpKind::maximum_:
        case OpKind::minimum_: return all_hold(0);
        default: return false;
      }
    };
    if (!ir::is_float(n.element)) {
      found[i] = !ir::is_signed(n.element);
      continue;
    }
    switch (n.op) {
      case Op::constant: found[i] = !has_element(n, [](double value) { return std::signbit(value); }); break;
      case Op::extent:
      case Op::iota:
      case Op::rand: found[i] = true; break;
      case Op::map: found[i] = of_map(); break;
      case Op::reduce:
      case Op::scan: found[i] = n.kind != graph::Combine::combine && all_hold(0); break;
      case Op::einsum: found[i] = all_hold(0); break;
      case Op::gather:
      case Op::take_along: found[i] = holds(0); break;
      default: {
        const std::vector<std::size_t> moved = moved_operands(n);
        found[i] = !moved.empty() && std::ranges::all_of(moved, holds);
      }
    }
  }
  return found;
}

// Whether normal form may give a zero of the result another sign, where it keeps the signs of the operands' zeros: a sum is distributed, and
// its terms cancel, and 0 x^2 is 0 x.
bool changes_sign(const graph::Graph& g, const Node& n) {
  if (n.op == Op::constant) return true;
  if (n.op != Op::map) return false;
  const auto is_zero = [](double value) { return value == 0; };
  switch (n.function) {
    case OpKind::add_:
    case OpKind::sub_:
    case OpKind::fma_: return true;
    case OpKind::mul_:
    case OpKind::div_: return std::ranges::any_of(n.operands, [&](graph::NodeId x) { return has_element(g.node(x), is_zero); });
    default: return false;
  }
}

// Whether the sign of an infinite result of a node may matter because of a use as this operand. What is divided by an infinity is 0.
bool shows_infinity(const Node& user, std::size_t operand, bool user_shows, ZeroSign of_user) {
  if (is_division(user) && operand == 1) return of_user != ZeroSign::ignored;
  const bool multiplies = user.op == Op::map && (is_division(user) || user.function == OpKind::mul_ || user.function == OpKind::neg_);
  return user_shows || !(multiplies || (user.op != Op::map && !moved_operands(user).empty()));
}

}  // namespace

std::vector<ZeroSign> nodes_with_signed_zeros(const graph::Graph& g) {
  std::vector<ZeroSign> read(g.size()), found(g.size());
  std::vector<bool> shows(g.size());
  for (const graph::Output& o : g.outputs()) shows[o.node.index] = true;
  const std::vector<bool> has_negative_zero = nodes_of_negative_zeros(g), has_no_sign = nodes_without_signs(g);
  for (std::uint32_t i = static_cast<std::uint32_t>(g.size()); i-- > 0;) {
    const Node& n = g.node({i});
    if (read[i] == ZeroSign::unless_nonnegative && has_no_sign[i]) read[i] = ZeroSign::ignored;
    if (read[i] == ZeroSign::as_written || changes_sign(g, n)) found[i] = read[i];
    for (std::size_t operand = 0; operand < n.operands.size(); ++operand) {
      const graph::NodeId x = n.operands[operand];
      if (!ir::is_float(g.node(x).element)) continue;
      const ZeroSign own = read_by(g, n, operand, has_negative_zero[x.index]);
      // The quotient by a zero is no zero, but the bits of an infinity may be read.
      if (keeps_sign(n) && (own != ZeroSign::unless_nonnegative || read[i] == ZeroSign::as_written))
        read[x.index] = std::max(read[x.index], read[i]);
      if (own == ZeroSign::as_written || shows[i]) read[x.index] = std::max(read[x.index], own);
      shows[x.index] = shows[x.index] || shows_infinity(n, operand, shows[i], read[i]);
    }
  }
  return found;
}

}  // namespace tilewright::passes::fusion

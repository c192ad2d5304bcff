// Says which operands rounding may move, and by how much.
#include "tileir/graph/perturbation.h"

#include <algorithm>
#include <cmath>

#include "tileir/builder.h"
#include "tilewright/small_float.h"

namespace tilewright::graph {

namespace {

Spacing spacing(const detail::FloatFormat& f) {
  const int bias = (1 << (f.exponent - 1)) - 1;
  return {std::ldexp(1.0, -1 - f.mantissa), std::ldexp(1.0, 1 - bias - f.mantissa)};
}

/// The rounding unit of an accumulator.
double unit_of_sum(ir::Element e) { return std::min(spacing_of(e).unit, 0x1p-24); }

/// Functions of which each result is an operand, or its negative: they round nothing.
bool chooses(ir::OpKind f) {
  switch (f) {
    case ir::OpKind::neg_:
    case ir::OpKind::abs_:
    case ir::OpKind::minimum_:
    case ir::OpKind::maximum_:
    case ir::OpKind::fmin_:
    case ir::OpKind::fmax_:
    case ir::OpKind::select_: return true;
    default: return false;
  }
}

bool is_sum(ir::OpKind f) { return f == ir::OpKind::add_ || f == ir::OpKind::sub_ || f == ir::OpKind::fma_; }

/// Formulas have the exact number that a user means, which the type may not hold: only numbers of few digits are the same in both.
bool has_few_digits(ir::Element e, const ConstantData& data) {
  return !ir::is_float(e) || std::ranges::all_of(data.bits, [&](std::uint64_t bits) {
    const double v = ir::float_value(e, bits) * 4096;
    return !std::isfinite(v) || (std::trunc(v) == v && std::fabs(v) <= 0x1p24);
  });
}

bool gives_integers(ir::OpKind f) {
  return f == ir::OpKind::floor_ || f == ir::OpKind::ceil_ || f == ir::OpKind::round_ || f == ir::OpKind::rint_ || f == ir::OpKind::trunc_;
}

/// How the result of a node is rounded: by the node, not at all, or as its operands are if it only chooses, moves or widens them.
enum class Rounded : std::uint8_t { here, not_at_all, as_operands };

Rounded rounded(const Graph& g, const Node& n) {
  if (!ir::is_float(n.element)) return Rounded::not_at_all;
  switch (n.op) {
    case Op::constant: return has_few_digits(n.element, *n.data) ? Rounded::not_at_all : Rounded::here;
    case Op::map: {
      if (gives_integers(n.function)) return Rounded::not_at_all;
      if (n.function != ir::OpKind::cast_) return chooses(n.function) ? Rounded::as_operands : Rounded::here;
      const ir::Element from = g.node(n.operands[0]).element;
      if (!ir::is_float(from)) return Rounded::not_at_all;
      return spacing_of(from).unit >= spacing_of(n.element).unit ? Rounded::as_operands : Rounded::here;
    }
    case Op::reduce:
    case Op::scan: return n.kind == Combine::max || n.kind == Combine::min ? Rounded::as_operands : Rounded::here;
    case Op::einsum:
    case Op::scatter_add:
    case Op::call: return Rounded::here;
    default: return Rounded::as_operands;
  }
}

/// The precision of the operands of a product of f32.
double unit_of_product(const Node& n, bool multiplies_in_tf32) {
  switch (n.precision) {
    case ProductPrecision::standard: return multiplies_in_tf32 ? 0x1p-11 : 0;
    case ProductPrecision::tf32: return 0x1p-11;
    case ProductPrecision::tf32x3: return 0x1p-20;
    case ProductPrecision::bf16x3: return 0x1p-15;
    case ProductPrecision::ieee: break;
  }
  return 0;
}

}  // namespace

Spacing spacing_of(ir::Element e) {
  switch (e) {
    case ir::Element::f8e4m3: return spacing(detail::kF8E4M3);
    case ir::Element::f8e5m2: return spacing(detail::kF8E5M2);
    case ir::Element::f16: return spacing(detail::kF16);
    case ir::Element::bf16: return spacing(detail::kBF16);
    case ir::Element::f64: return {0x1p-53, 0x1p-1022};
    default: return {0x1p-24, 0x1p-126};  // numbers below 2^-126 may be flushed to 0
  }
}

bool may_overflow(ir::OpKind function) { return function != ir::OpKind::log1p_; }

PerturbedOperands::PerturbedOperands(const Graph& g, const Perturbation& p)
    : graph_(g), perturbation_(p), is_rounded_(g.size()), engine_(p.seed) {
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    const Rounded r = rounded(g, n);
    is_rounded_[i] = r == Rounded::here ||
                     (r == Rounded::as_operands && std::ranges::any_of(n.operands, [&](NodeId x) { return is_rounded_[x.index]; }));
  }
}

Array PerturbedOperands::moved(Array a, const Node& from, double unit) {
  const double least = spacing_of(from.element).least;
  std::uniform_real_distribution<double> within(-1, 1);
  for (std::uint64_t& bits : a.bits) {
    const double v = ir::float_value(ir::Element::f64, bits);
    if (v == 0 || !std::isfinite(v)) continue;
    bits = ir::element_bits(ir::Element::f64, v + within(engine_) * std::max(unit * std::fabs(v), least));
  }
  return a;
}

/// By how much of itself the operand of a node is moved.
double PerturbedOperands::unit_of(const Node& n, std::size_t operand) const {
  const NodeId id = n.operands[operand];
  const Node& from = graph_.node(id);
  if (!ir::is_float(from.element)) return 0;
  const double computed = is_rounded_[id.index] ? spacing_of(from.element).unit : 0;
  const double summed = std::max(computed, unit_of_sum(from.element));
  switch (n.op) {
    case Op::map:
      if (chooses(n.function) || (n.function == ir::OpKind::cast_ && ir::is_float(n.element))) return 0;
      return is_sum(n.function) ? summed : computed;
    case Op::reduce:
    case Op::scan:
      if (n.kind == Combine::max || n.kind == Combine::min) return 0;
      return n.kind == Combine::argmax || n.kind == Combine::argmin ? computed : summed;
    case Op::einsum:
      return from.element == ir::Element::f32 ? std::max(summed, unit_of_product(n, perturbation_.multiplies_in_tf32)) : summed;
    case Op::scatter_add: return summed;
    default: return 0;
  }
}

// Where one result takes the first result of an operand, the other one takes the second. So both never come from the same numbers, however many
// nodes stand between these and an operand in which rounding matters.
std::array<PerturbedOperands::Operands, 2> PerturbedOperands::of(const Node& n, const std::vector<Array>& values,
                                                                 const std::vector<Array>& others) {
  std::array<Operands, 2> both;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const std::uint32_t index = n.operands[i].index;
    const double unit = unit_of(n, i);
    const bool takes_other = engine_() % 2 != 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const bool is_other = takes_other != (k == 1);
      const Array& taken = is_other ? others[index] : values[index];
      if (unit > 0)
        both[k].emplace_back(moved(taken, graph_.node({index}), unit));
      else
        both[k].emplace_back(is_other ? std::optional(taken) : std::nullopt);
    }
  }
  return both;
}

}  // namespace tilewright::graph

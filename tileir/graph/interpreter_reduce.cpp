// Interprets reductions, scans and products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/evaluation.h"
#include "tileir/graph/function_nodes.h"
#include "tileir/graph/neutral.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::graph {

using Index = std::vector<std::int64_t>;

namespace {

ir::OpKind function_of(Combine kind) {
  switch (kind) {
    case Combine::sum: return ir::OpKind::add_;
    case Combine::prod: return ir::OpKind::mul_;
    case Combine::max: return ir::OpKind::maximum_;
    case Combine::min: return ir::OpKind::minimum_;
    case Combine::any: return ir::OpKind::bit_or_;
    case Combine::all: return ir::OpKind::bit_and_;
    case Combine::argmax:
    case Combine::argmin:
    case Combine::combine: break;
  }
  TW_UNREACHABLE("a reduction without an op");
}

bool is_nan(ir::Element e, std::uint64_t bits) { return ir::is_float(e) && std::isnan(ir::float_value(e, bits)); }

}  // namespace

std::uint64_t Evaluation::evaluate_combiner(const std::vector<NodeId>& function, std::uint64_t earlier, std::uint64_t later) {
  std::vector<std::uint64_t> values;
  values.reserve(function.size());
  const auto value_of = [&](NodeId id) {
    return values[static_cast<std::size_t>(std::lower_bound(function.begin(), function.end(), id) - function.begin())];
  };
  for (NodeId id : function) {
    const Node& n = graph_.node(id);
    if (n.op == Op::argument) {
      values.push_back(n.position == 0 ? earlier : later);
    } else if (n.op == Op::constant) {
      values.push_back(carry(n.element, n.data->bits[0]));
    } else {
      TW_CHECK(n.op == Op::map, "a combining function is element-wise");
      std::vector<ir::Type> types;
      std::vector<std::uint64_t> operands;
      for (NodeId operand : n.operands) {
        types.emplace_back(carried(graph_.node(operand).element));
        operands.push_back(value_of(operand));
      }
      const ir::Type type(carried(n.element));
      const bool is_same = n.function == ir::OpKind::cast_ && types[0] == type;
      values.push_back(is_same ? operands[0] : ir::evaluate_scalar(n.function, types, operands, type));
    }
  }
  return values.back();
}

std::uint64_t Evaluation::combine(const Node& n, std::uint64_t earlier, std::uint64_t later) {
  const std::uint64_t both[] = {earlier, later};
  return apply(function_of(n.kind), carried(n.element), both);
}

/// Whether argmax (argmin) replaces its best element by the candidate, which comes later. NaN wins; of equal elements the first one wins.
bool Evaluation::is_better(Combine kind, ir::Element e, std::uint64_t candidate, std::uint64_t best) const {
  if (is_nan(e, best)) return false;
  if (is_nan(e, candidate)) return true;
  const ir::Type types[] = {ir::Type(e), ir::Type(e)};
  const std::uint64_t both[] = {candidate, best};
  return ir::evaluate_scalar(kind == Combine::argmax ? ir::OpKind::gt_ : ir::OpKind::lt_, types, both, ir::Type(ir::Element::boolean)) != 0;
}

Array Evaluation::run_reduce(const Node& n) {
  Array a = result(n);
  const Array& x = operand(n, 0);
  const Index strides = strides_of(x.shape);
  Index kept_extents, kept_strides, extents, inner_strides;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool is_reduced = std::find(n.axes.begin(), n.axes.end(), static_cast<int>(i)) != n.axes.end();
    (is_reduced ? extents : kept_extents).push_back(x.shape[i]);
    (is_reduced ? inner_strides : kept_strides).push_back(strides[i]);
  }
  const bool is_arg = n.kind == Combine::argmax || n.kind == Combine::argmin;
  const std::vector<NodeId> function = n.combiner.valid() ? function_nodes(graph_, n.combiner) : std::vector<NodeId>();
  std::size_t i = 0;
  for_each_index(kept_extents, [&](const Index& outer) {
    const std::int64_t base = offset_of(outer, kept_strides);
    const bool is_nothing = count_of(extents) == 0;
    std::uint64_t state = n.identity ? carry(n.element, *n.identity) : is_nothing ? neutral_bits(n.kind, carried(n.element)) : 0;
    std::uint64_t position = 0, at = 0;
    for_each_index(extents, [&](const Index& inner) {
      const std::uint64_t later = x.bits[static_cast<std::size_t>(base + offset_of(inner, inner_strides))];
      const bool is_first = at == 0 && !n.identity;
      if (is_first || (is_arg && is_better(n.kind, x.element, later, state)))
        state = later, position = at;
      else if (!is_arg)
        state = function.empty() ? combine(n, state, later) : evaluate_combiner(function, state, later);
      ++at;
    });
    a.bits[i++] = is_arg ? position : state;
  });
  return a;
}

Array Evaluation::run_scan(const Node& n) {
  Array a = operand(n, 0);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  const Index strides = strides_of(a.shape);
  Index rows = a.shape;
  rows[axis] = 1;
  for_each_index(rows, [&](const Index& row) {
    const std::int64_t base = offset_of(row, strides), last = a.shape[axis] - 1;
    for (std::int64_t k = 1; k <= last; ++k) {
      const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(base + (n.reverse ? last - j : j) * strides[axis]); };
      a.bits[at(k)] = combine(n, a.bits[at(k - 1)], a.bits[at(k)]);
    }
  });
  return a;
}

namespace {

/// One element of the result: the sum of products over the summed labels.
template <class Product>
void for_each_product(const std::vector<const Array*>& operands, const std::vector<Index>& result_strides, const Index& at,
                      const Index& extents, const std::vector<Index>& summed_strides, Product&& product) {
  for_each_index(extents, [&](const Index& inner) {
    std::vector<std::uint64_t> factors;
    for (std::size_t k = 0; k < operands.size(); ++k)
      factors.push_back(
          operands[k]->bits[static_cast<std::size_t>(offset_of(at, result_strides[k]) + offset_of(inner, summed_strides[k]))]);
    product(factors);
  });
}

/// sum + the product of the factors; the last multiplication and the addition are one fma.
template <class Real>
Real add_product(Real sum, ir::Element e, const std::vector<std::uint64_t>& factors) {
  Real product = 1;
  for (std::size_t k = 0; k + 1 < factors.size(); ++k) product *= static_cast<Real>(ir::float_value(e, factors[k]));
  return std::fma(product, static_cast<Real>(ir::float_value(e, factors.back())), sum);
}

}  // namespace

Array Evaluation::run_einsum(const Node& n) {
  Array a = result(n);
  const Equation equation = parse_equation(n.text, false).equation;
  const std::string summed = equation.summed();
  std::vector<const Array*> operands;
  std::vector<Index> result_strides, summed_strides;
  Index extents(summed.size());
  for (std::size_t k = 0; k < n.operands.size(); ++k) {
    const Array& x = operand(n, k);
    const Index strides = strides_of(x.shape);
    operands.push_back(&x);
    result_strides.emplace_back(equation.result.size());
    summed_strides.emplace_back(summed.size());
    for (std::size_t i = 0; i < x.shape.size(); ++i) {
      const char label = equation.operands[k][i];
      // A label that occurs twice in an operand selects its diagonal: the two strides add up.
      if (const std::size_t j = equation.result.find(label); j != std::string::npos) result_strides[k][j] += strides[i];
      if (const std::size_t j = summed.find(label); j != std::string::npos) summed_strides[k][j] += strides[i], extents[j] = x.shape[i];
    }
  }
  const ir::Element e = operands[0]->element;
  std::size_t i = 0;
  for_each_index(a.shape, [&](const Index& at) {
    std::uint64_t integer = 0;
    float single = 0;
    double real = 0;
    for_each_product(operands, result_strides, at, extents, summed_strides, [&](const std::vector<std::uint64_t>& factors) {
      if (e == ir::Element::f64) {
        real = add_product(real, e, factors);
      } else if (ir::is_float(e)) {
        single = add_product(single, e, factors);
      } else {
        std::uint64_t product = 1;
        for (std::uint64_t factor : factors) product *= static_cast<std::uint64_t>(ir::integer_value(e, factor));
        integer += product;
      }
    });
    a.bits[i++] = !ir::is_float(e) ? ir::element_bits(a.element, static_cast<std::int64_t>(integer))
                                   : ir::element_bits(a.element, e == ir::Element::f64 ? real : static_cast<double>(single));
  });
  return a;
}

}  // namespace tilewright::graph

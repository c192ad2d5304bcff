// Divides factors into two operands, and orders their axes as a dot needs them.
#include "passes/fusion/emit/matrix_products.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/products.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

static_assert(static_cast<int>(graph::ProductPrecision::ieee) == static_cast<int>(ir::Precision::ieee) &&
              static_cast<int>(graph::ProductPrecision::tf32x3) == static_cast<int>(ir::Precision::tf32x3));

}  // namespace

bool is_zero_outside(const std::vector<Factor>& factors, Axis a) {
  bool has_load = false;
  for (const Factor& f : factors) {
    if (!f.base->axes.contains(a)) continue;
    if (!f.base->is(ExprKind::load) || !f.exponent.is_integer() || f.exponent.is_negative()) return false;
    has_load = true;
  }
  return has_load;
}

// The value of a group of factors in this order of axes; 0 outside of the extents of the contracted axes.
Part MatrixProducts::operand(const std::vector<Factor>& factors, const Order& order, const AxisSet& along, Element element) {
  const std::optional<MaskedLoad> element_of_tensor = masked_load(exprs_, factors);
  Part x;
  if (element_of_tensor && element_of_tensor->conditions.empty()) {
    x = memory_.loaded(element_of_tensor->load, order);
  } else if (element_of_tensor && !element_of_tensor->load->tensor->is_scalar) {
    x = memory_.loaded_under(element_of_tensor->conditions, element_of_tensor->load, exprs_.multiply(1, factors), order);
  } else {
    const Expr product = exprs_.multiply(1, factors);
    x = values_.value_as(product, order, product->element);
    AxisSet masked;
    for (Axis a : along)
      if (scopes_.is_tiled(a) && !is_zero_outside(factors, a)) masked.insert(a);
    x = {build_.broadcast(x, order), order};
    if (const auto inside = integers_.mask(masked, order))
      x = build_.select(*inside, x, {ir_.constant(ir::Type(build_.element(x)), 0), {}}, order);
  }
  return {build_.broadcast(build_.cast(x, element), order), order};
}

Part MatrixProducts::is_finite(const Part& x) {
  const Element e = build_.element(x);
  return build_.binary(OpKind::lt_, build_.unary(OpKind::abs_, x), build_.constant(e, std::numeric_limits<double>::infinity()), x.axes);
}

std::optional<Part> MatrixProducts::dot(Expr reduction, const AxisSet& along, Expr body, const Order& order,
                                        const std::optional<Part>& accumulator) {
  const ProductElement operand_element = reduction->operand_element;
  if (!body->is(ExprKind::mul) || !(body->number.is_one() || ir::is_float(body->element))) return std::nullopt;
  Order contracted;
  for (Axis a : along)
    if (scopes_.is_tiled(a)) contracted.push_back(a);
  if (contracted.empty()) return std::nullopt;
  const auto position = [&](Axis a) { return std::find(order.begin(), order.end(), a); };
  auto [sides, common] = operands_of(body->factors, along, [&](Axis a) { return position(a) != order.end() && scopes_.is_tiled(a); });
  if (sides.size() != 2) return std::nullopt;
  // The operand with the first axis of the result has its rows. Factors without an axis of the result are multiplied with this operand.
  Order rows = build_.restricted(order, sides[0].axes), columns = build_.restricted(order, sides[1].axes);
  if (position(columns.front()) < position(rows.front())) {
    std::swap(sides[0], sides[1]);
    std::swap(rows, columns);
  }
  PlacedFactors placed = placed_factors({sides, common}, exprs_);
  std::vector<Factor>&left = placed.factors[0], &right = placed.factors[1];
  // Both groups must vary along the contracted axes; otherwise this is not a matrix product.
  for (const auto* group : {&left, &right})
    if (std::none_of(group->begin(), group->end(), [&](const Factor& f) { return f.base->axes.intersects(along); })) return std::nullopt;

  Element multiplied = operand_element.element;
  if (ir::is_integer(reduction->element)) {
    if (multiplied != Element::i8 || reduction->element != Element::i32) return std::nullopt;
    // An operand that is a product of bytes, or a sum of such products, does not fit into a byte: it is multiplied and added in 32 bits.
    const auto is_byte = [&](const std::vector<Factor>& group) { return fits(integer_range(exprs_.multiply(1, group)), Element::i8); };
    if (!body->number.is_one() || !is_byte(left) || !is_byte(right)) return std::nullopt;
  } else if (reduction->element == Element::f64) {
    multiplied = Element::f64;
  } else if (!ir::is_float(multiplied)) {
    multiplied = Element::f32;
  }
  Order left_order = rows, right_order = contracted, result_order = rows;
  left_order.insert(left_order.end(), contracted.begin(), contracted.end());
  right_order.insert(right_order.end(), columns.begin(), columns.end());
  result_order.insert(result_order.end(), columns.begin(), columns.end());
  if (!body->number.is_one()) left.push_back({exprs_.number(body->number), 1});
  const auto precision = is_exact_in_tf32(left) && is_exact_in_tf32(right) ? graph::ProductPrecision::standard : operand_element.precision;
  const std::int64_t m = build_.elements(rows), n = build_.elements(columns), k = build_.elements(contracted);
  Part a = operand(left, left_order, along, multiplied), b = operand(right, right_order, along, multiplied);
  const std::int64_t mk[] = {m, k}, kn[] = {k, n}, mn[] = {m, n};
  const Element result = multiplied == Element::f64 ? Element::f64 : ir::is_integer(multiplied) ? Element::i32 : Element::f32;
  const ir::ValueId start = accumulator ? ir_.reshape(build_.broadcast(build_.permuted(*accumulator, result_order), result_order), mn)
                                        : ir_.constant(ir::Type(result, mn), 0);
  const auto multiply = [&](const Part& x, const Part& y, ir::ValueId from) {
    const ir::ValueId operands[] = {ir_.reshape(x.value, mk), ir_.reshape(y.value, kn), from};
    std::vector<ir::Attr> attrs;
    if (multiplied == Element::f32 && precision != graph::ProductPrecision::standard)
      attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(precision), {}, {}});
    return ir_.function().result(ir_.create(OpKind::dot_, operands, attrs));
  };
  // An element that is not finite is left out where a mask of the other operand may hide it, and counted where none does. If the other operand
  // has masks alone, as that of a gather, infinities keep their signs.
  struct Guard {
    int with_mask;
    Part masks, high, low;  // high: elements that are +inf or NaN; low: those that are -inf or NaN; both: all that are not finite
    bool has_signs;
    ir::ValueId is_needed;
  };
  std::vector<Guard> guards;
  const auto guard = [&](int with_mask, Part& x) {
    if (placed.guards[with_mask].empty()) return;
    const Part masks = operand(placed.guards[with_mask], with_mask == 0 ? left_order : right_order, along, multiplied);
    const Part finite = is_finite(x), none = build_.constant(multiplied, 0);
    const Part others = build_.select(finite, none, build_.constant(multiplied, 1), x.axes);
    const bool has_signs = std::ranges::all_of(placed.factors[with_mask], is_mask) && body->number.is_one();
    const auto without = [&](OpKind comparison) { return build_.select(build_.binary(comparison, x, none, x.axes), none, others, x.axes); };
    const Part high = has_signs ? without(OpKind::lt_) : others, low = has_signs ? without(OpKind::gt_) : others;
    x = build_.select(finite, x, none, x.axes);
    const Part most = folds_.reduce(graph::Combine::max, others, static_cast<int>(others.axes.size()));
    guards.push_back({with_mask, masks, high, low, has_signs, ir_.binary(OpKind::gt_, most.value, none.value)});
  };
  guard(0, b);
  guard(1, a);
  ir::ValueId product = multiply(a, b, start);
  for (const Guard& g : guards) {
    const ir::Type type(result, mn);
    const ir::OpId branch = ir_.create(OpKind::if_, std::span(&g.is_needed, 1), {}, std::span(&type, 1));
    const auto region = [&](int number, const auto& value) {
      EmitScope scope;
      scope.block = ir_.function().region(branch, number);
      scopes_.push(std::move(scope));
      const ir::ValueId yielded = value();
      ir_.create(OpKind::yield_, std::span(&yielded, 1));
      scopes_.pop();
    };
    region(0, [&] {
      const ir::ValueId zero = ir_.constant(type, 0);
      const auto are_there = [&](const Part& elements) {
        const ir::ValueId count = g.with_mask == 0 ? multiply(g.masks, elements, zero) : multiply(elements, g.masks, zero);
        return ir_.binary(OpKind::gt_, count, zero);
      };
      const auto added = [&](ir::ValueId to, const Part& elements, double value) {
        return ir_.binary(OpKind::add_, to, ir_.select(are_there(elements), ir_.constant_float(type, value), zero));
      };
      if (!g.has_signs) return ir_.select(are_there(g.high), ir_.constant_float(type, std::numeric_limits<double>::quiet_NaN()), product);
      constexpr double infinity = std::numeric_limits<double>::infinity();
      return added(added(product, g.high, infinity), g.low, -infinity);
    });
    region(1, [&] { return product; });
    product = ir_.function().result(branch);
  }
  const Part whole{ir_.reshape(product, build_.shape(result_order)), result_order};
  AxisSet axes;
  for (Axis x : result_order) axes.insert(x);
  return build_.permuted(whole, build_.restricted(order, axes));
}

}  // namespace tilewright::passes::fusion

// Translates the element-wise ops of a graph to expressions.
#include <algorithm>
#include <array>
#include <cmath>

#include "passes/fusion/bit_counts.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "tileir/builder.h"
#include "tileir/comparison.h"
#include "tileir/diagnostics.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using ir::Element;
using ir::OpKind;

// Whether a value is computed from a part, as the user writes it.
bool is_written_with(const ExprPool& pool, Expr value, Expr part) {
  return !all_hold(value, [&](Expr e, std::vector<Expr>& next) {
    if (const WrittenValue* written = pool.written_value(e)) {
      next.push_back(written->left);
      if (written->right) next.push_back(written->right);
    }
    return e != part;
  });
}

// Whether a float of the node's type need not hold the result exactly. A cast rounds by itself.
bool may_round(const Node& node) {
  using graph::Combine;
  if (node.op == graph::Op::reduce) return node.kind != Combine::max && node.kind != Combine::min;
  if (node.op != graph::Op::map) return node.op == graph::Op::einsum;
  switch (node.function) {
    case OpKind::cast_:
    case OpKind::bitcast_:
    case OpKind::select_:
    case OpKind::neg_:
    case OpKind::abs_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::fmax_:
    case OpKind::fmin_:
    case OpKind::copysign_: return false;
    default: return true;
  }
}

// Whether the coefficient of a product is near the end of f32's range, or needs more than 127 bits: in a chain of steps such as
// x = c x (1 - x) the coefficient would grow with each step while the other factors shrink. Such a product is computed as it is written, and
// is one factor of other products.
bool has_extreme_number(Expr product) {
  if (!product->is(ExprKind::mul) || !ir::is_float(product->element)) return false;
  const bool is_far = product->element != Element::f64 && !product->number.is_zero() &&
                      std::abs(std::ilogb(product->number.to_double())) > kMostCoefficientExponent;
  return is_far || std::any_of(product->factors.begin(), product->factors.end(), [](const Factor& f) {
           return f.base->is(ExprKind::number) && f.exponent.is_integer() && !f.base->number.is_zero() && !f.base->number.is_negative();
         });
}

}  // namespace

Expr GraphToExprs::map(graph::NodeId n, const std::vector<Expr>& x) {
  const Node& node = g_.node(n);
  const Element operand_element = g_.node(node.operands.back()).element;
  if (node.function == OpKind::cast_) return cast(x[0], operand_element, node.element);
  if (node.function == OpKind::select_) return b_.select(x[0], x[1], x[2], node.element);
  if (ir::is_comparison(node.function)) return compare(node.function, x[0], x[1], operand_element);
  if (operand_element == Element::boolean && node.element == Element::boolean) {
    switch (node.function) {
      case OpKind::bit_and_: return b_.conjunction({x[0], x[1]});
      case OpKind::bit_or_: return b_.negation(b_.conjunction({b_.negation(x[0]), b_.negation(x[1])}));
      case OpKind::bit_not_: return b_.negation(x[0]);
      default: return b_.function(node.function, x, Element::boolean);
    }
  }
  if (counts_bits(node.function)) {
    const bool is_typed = x[0]->element == operand_element;
    return b_.function(node.function, {is_typed ? x[0] : b_.function(OpKind::cast_, {x[0]}, operand_element)}, node.element);
  }
  if (node.function == OpKind::bitcast_) return b_.bitcast(x[0], operand_element, node.element);
  if (ir::is_float(node.element) && ir::is_float(operand_element) && zero_signs_[n.index] != ZeroSign::ignored)
    return with_sign_of_zero(n, x);
  if (ir::is_float(node.element) == ir::is_float(operand_element)) return arithmetic(node.function, x, node.element);
  if (node.element == Element::boolean) return b_.function(node.function, x, Element::boolean, operand_bits(computed(operand_element)));
  return b_.function(node.function, x, computed(node.element));
}

Expr GraphToExprs::with_sign_of_zero(graph::NodeId n, std::vector<Expr> x) {
  const Node& node = g_.node(n);
  if (zero_signs_[n.index] == ZeroSign::unless_nonnegative) {
    if (const Expr normal = arithmetic(node.function, x, node.element); normal->is_nonnegative) return normal;
    if (node.function == OpKind::add_ || node.function == OpKind::mul_) std::sort(x.begin(), x.end(), by_key);
  }
  return b_.function(node.function, std::move(x), computed(node.element));
}

Expr GraphToExprs::typed(const Node& node, graph::Integers integers, Expr value) {
  switch (integers) {
    case graph::Integers::position: return cast(value, Element::i64, node.element);
    case graph::Integers::computed: return ir::is_integer(node.element) ? b_.wrapped(value, node.element) : value;
    case graph::Integers::stated:
    case graph::Integers::operand:
    case graph::Integers::none: return value;
  }
  TW_UNREACHABLE("what gives integers their type");
}

Expr GraphToExprs::rounded(const Node& node, Expr value) {
  if (options_.move_rounding || value->is(ExprKind::load) || !ir::is_float(node.element) || ir::bits(node.element) > 16) return value;
  return may_round(node) ? b_.function(OpKind::cast_, {value}, node.element) : value;
}

Expr GraphToExprs::arithmetic(OpKind op, const std::vector<Expr>& x, Element element) {
  return ir::is_float(element) ? float_arithmetic(op, x, element) : integer_arithmetic(op, x, element);
}

// The product of two values, with a note of how the user writes it; x * (1 / y) counts as x / y.
Expr GraphToExprs::written_product(Expr x, Expr y) {
  // 0 (3e38 x) and 0 x^2 are NaN where 3e38 x and x^2 are infinite, which 0 x may not be.
  const auto may_overflow = [](Expr e) { return e->is(ExprKind::mul) && e->finite != Finite::always; };
  if ((x == b_.zero() && may_overflow(y)) || (y == b_.zero() && may_overflow(x)))
    return b_.function(OpKind::mul_, {x, y}, common_element(std::array{x, y}));
  const Expr product = b_.product_of_written(x, y);
  const auto is_inverse = [](Expr e) {
    return e->is(ExprKind::mul) && e->number.is_one() &&
           std::all_of(e->factors.begin(), e->factors.end(), [](const Factor& f) { return f.exponent.is_negative(); });
  };
  if (!is_inverse(y) && (is_inverse(x) || y->key < x->key)) std::swap(x, y);
  const bool is_quotient = is_inverse(y);
  if (is_quotient) y = b_.power(y, -1);
  if (has_extreme_number(product)) return b_.function(is_quotient ? OpKind::div_ : OpKind::mul_, {x, y}, common_element(std::array{x, y}));
  // A moderate number before a value without a written order does not affect the order: (4 x) 0.25 is x.
  const auto is_plain = [&](Expr number, Expr other) {
    return number->is(ExprKind::number) && is_moderate(number->number) && !number->number.is_zero() && product->is(ExprKind::mul) &&
           !b_.pool().written_value(other);
  };
  if (is_plain(x, y) || is_plain(y, x)) return product;
  b_.note_written(product, {is_quotient ? WrittenValue::Kind::quotient : WrittenValue::Kind::product, x, y});
  // A sum holds coefficients apart from its terms, so the product may become a term without its coefficient. That term is noted, too: it is
  // the product divided by the coefficient.
  if (!product->is(ExprKind::mul) || !b_.pool().written_value(product)) return product;
  std::vector<Factor> roots, others;
  for (const Factor& f : product->factors) (f.base->is_numeric ? roots : others).push_back(f);
  const auto note_without = [&](Expr number, std::vector<Factor> rest) {
    if (number == b_.one() || number->is_number(0) || !is_moderate(b_, number)) return;
    const Expr unscaled = b_.multiply(1, rest);
    if (!b_.pool().written_value(unscaled) && !is_written_with(b_.pool(), product, unscaled))
      b_.note_written(unscaled, {WrittenValue::Kind::product, product, b_.power(number, -1)});
  };
  note_without(b_.number(product->number), product->factors);
  if (!roots.empty()) note_without(b_.multiply(product->number, roots), others);
  return product;
}

Expr GraphToExprs::written_power(Expr x, const Rational& exponent) {
  const Expr power = b_.power(x, exponent);
  if (power != x) b_.note_written(power, {WrittenValue::Kind::power, x, {}, exponent});
  return power;
}

// A sum has one term for each value. An infinite value of which one operand has a positive multiple and the other one a negative multiple
// makes the sum NaN, as 2 x - x: beside the term that is left, 0 times a copy of the value is NaN there.
Expr GraphToExprs::with_lost_differences(Expr sum, Expr x, Expr y) {
  std::vector<Term> few = b_.terms(x), many = b_.terms(y);
  if (few.size() > many.size()) std::swap(few, many);
  std::vector<Expr> all = {sum};
  for (const Term& t : few) {
    const auto other = std::lower_bound(many.begin(), many.end(), t, [](const Term& a, const Term& b) { return by_key(a.value, b.value); });
    if (other == many.end() || other->value != t.value || t.value->finite == Finite::always) continue;
    const Rational &a = t.coefficient, &b = other->coefficient;
    if (a.is_zero() || b.is_zero() || a.is_negative() == b.is_negative() || a == -b) continue;
    all.push_back(b_.scale(0, b_.function(OpKind::mul_, {t.value, b_.one()}, common_element(std::array{t.value}))));
  }
  return all.size() == 1 ? sum : b_.add(all);
}

Expr GraphToExprs::written_sum(Expr x, Expr y) {
  const Expr sum = with_lost_differences(b_.add({x, y}), x, y);
  if (y->key < x->key) std::swap(x, y);
  b_.note_written(sum, {WrittenValue::Kind::sum, x, y});
  return sum;
}

Expr GraphToExprs::float_arithmetic(OpKind op, const std::vector<Expr>& x, Element element) {
  if (!b_.rewrites()) return b_.function(op, x, computed(element));
  const auto log_of = [&](int n) { return b_.log(b_.number(n)); };
  switch (op) {
    case OpKind::neg_: return written_product(x[0], b_.number(-1));
    case OpKind::abs_: return b_.absolute(x[0]);
    case OpKind::add_: return written_sum(x[0], x[1]);
    case OpKind::sub_: return written_sum(x[0], b_.scale(-1, x[1]));
    case OpKind::mul_: return written_product(x[0], x[1]);
    case OpKind::div_: return written_product(x[0], b_.power(x[1], -1));
    case OpKind::fma_: return written_sum(written_product(x[0], x[1]), x[2]);
    case OpKind::sqrt_: return written_power(x[0], Rational(1, 2));
    case OpKind::rsqrt_: return written_power(x[0], Rational(-1, 2));
    case OpKind::exp_: return b_.exp(x[0]);
    case OpKind::exp2_: return b_.exp(b_.product({x[0], log_of(2)}));
    case OpKind::exp10_: return b_.exp(b_.product({x[0], log_of(10)}));
    case OpKind::log_: return b_.log(x[0]);
    case OpKind::log2_: return b_.divide(b_.log(x[0]), log_of(2));
    case OpKind::log10_: return b_.divide(b_.log(x[0]), log_of(10));
    case OpKind::maximum_: return b_.maximum(x[0], x[1]);
    case OpKind::minimum_: return b_.minimum(x[0], x[1]);
    case OpKind::pow_:
      // pow(-inf, 0.5) is inf and no root.
      if (x[1]->is(ExprKind::number) && (x[1]->number.is_integer() || x[0]->is_nonnegative)) return written_power(x[0], x[1]->number);
      break;
    default: break;
  }
  return b_.function(op, x, computed(element));
}

// Sums and products that cannot wrap are exact integers; others remain ops of their type.
Expr GraphToExprs::integer_arithmetic(OpKind op, const std::vector<Expr>& x, Element element) {
  const Expr wrapping = b_.function(op, x, element);
  Expr exact;
  switch (op) {
    case OpKind::neg_: exact = b_.scale(-1, x[0]); break;
    case OpKind::add_: exact = b_.add({x[0], x[1]}); break;
    case OpKind::sub_: exact = b_.subtract(x[0], x[1]); break;
    case OpKind::mul_: exact = b_.product({x[0], x[1]}); break;
    default: return wrapping;
  }
  return fits(integer_range(exact), element) ? exact : wrapping;
}

Expr GraphToExprs::compare(OpKind op, Expr a, Expr b, Element element) {
  if (op == OpKind::ne_) return b_.negation(compare(OpKind::eq_, a, b, element));
  if (op == OpKind::lt_) return compare(OpKind::gt_, b, a, element);
  if (op == OpKind::le_) return compare(OpKind::ge_, b, a, element);
  if (ir::is_integer(element)) {
    if (op == OpKind::eq_) return b_.equal(a, b);
    const Expr difference = op == OpKind::gt_ ? b_.add({a, b_.scale(-1, b), b_.number(-1)}) : b_.subtract(a, b);
    if (fits(integer_range(difference), Element::i64)) return b_.at_least_zero(difference);
  }
  if (a->is(ExprKind::number) && b->is(ExprKind::number))
    return b_.truth(op == OpKind::eq_ ? a == b : op == OpKind::gt_ ? a->number > b->number : a->number >= b->number);
  std::vector<Expr> both{a, b};
  if (op == OpKind::eq_) std::sort(both.begin(), both.end(), [](Expr l, Expr r) { return l->key < r->key; });
  return b_.function(op, std::move(both), Element::boolean, operand_bits(computed(element)));
}

// A float as an integer, as the cast op has it: rounded toward zero, and the nearest integer of the type if it is out of range.
Expr GraphToExprs::truncated(Expr number, Element to) {
  if (number->is(ExprKind::number)) {
    const ir::Int128 whole = number->number.numerator() / number->number.denominator();
    const ir::Int128 least = ir::is_signed(to) ? -(ir::Int128{1} << (ir::bits(to) - 1)) : 0;
    const ir::Int128 greatest = (ir::Int128{1} << (ir::is_signed(to) ? ir::bits(to) - 1 : ir::bits(to))) - 1;
    if (whole >= least && whole <= greatest) return b_.number(Rational(whole, 1));
  }
  const std::uint64_t bits = ir::element_bits(Element::f64, nearest_double(number));
  return constant(to, ir::evaluate_scalar(OpKind::cast_, std::array{ir::Type(Element::f64)}, std::array{bits}, ir::Type(to)));
}

Expr GraphToExprs::cast(Expr x, Element from, Element to) {
  if (from == to) return x;
  if (to == Element::boolean) {
    if (ir::is_integer(from)) return b_.negation(b_.equal(x, b_.zero()));
    return b_.negation(compare(OpKind::eq_, x, b_.zero(), from));
  }
  if (from == Element::boolean) {
    if (ir::is_float(to)) return b_.indicator(x, computed(to));
    return b_.select(x, b_.one(), b_.zero(), to);
  }
  if (ir::is_integer(from) && ir::is_integer(to)) return b_.wrapped(x, to);
  if (is_any_number(x) && ir::is_float(from) && ir::is_integer(to)) return truncated(x, to);
  // The rounding of a constant may be moved, but not out of its type into a wider one.
  if (x->is(ExprKind::number) && ir::is_float(from) && to == Element::f64)
    return b_.constant(ir::float_value(from, ir::element_bits(from, x->number.to_double())));
  if (b_.rewrites() && options_.move_rounding && x->is(ExprKind::number) && ir::is_float(to)) return x;
  if (x->is(ExprKind::extent) && ir::is_integer(from) && ir::is_float(to) && (options_.move_rounding || ir::bits(to) > 16))
    return b_.extent(x->extent, computed(to));
  if (ir::is_float(from) && ir::is_float(to)) {
    const bool is_wide = from == Element::f64 || to == Element::f64;
    const bool widens = ir::bits(to) > ir::bits(from);
    if (!is_wide && (widens || (options_.move_rounding && !ir::is_fp8(to)))) return x;
  }
  return b_.function(OpKind::cast_, {x}, to);
}

}  // namespace tilewright::passes::fusion

// Emits element-wise expressions in the outermost scope that has their operands.
#include "passes/fusion/emit/tile_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>

#include "passes/fusion/bit_counts.h"
#include "passes/fusion/emit/emission_failed.h"
#include "passes/fusion/expr/exponentials.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/tensor_names.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/philox.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;
using ir::ValueId;

// A factor log(2) or log(10) to a power: exponentials and logarithms to these bases are ops.
std::optional<int> base_of_log(const Factor& f, const Rational& exponent) {
  if (!f.base->is(ExprKind::log) || f.exponent != exponent) return std::nullopt;
  for (const int base : {2, 10})
    if (f.base->operands[0]->is_number(base)) return base;
  return std::nullopt;
}

// log(x) / log(2) is log2(x), which is an integer for powers of two. Removes both factors; none if they are not present.
struct LogarithmToBase {
  OpKind op;
  Expr x;
};
std::optional<LogarithmToBase> take_logarithm(std::vector<Factor>& factors) {
  const auto divisor = std::find_if(factors.begin(), factors.end(), [](const Factor& f) { return base_of_log(f, -1).has_value(); });
  const auto logarithm = std::find_if(factors.begin(), factors.end(), [](const Factor& f) {
    return f.base->is(ExprKind::log) && f.exponent.is_one() && !constant_value(f.base);
  });
  if (divisor == factors.end() || logarithm == factors.end()) return std::nullopt;
  const LogarithmToBase taken{base_of_log(*divisor, -1) == 2 ? OpKind::log2_ : OpKind::log10_, logarithm->base->operands[0]};
  const Factor both[] = {*divisor, *logarithm};
  for (const Factor& f : both) std::erase(factors, f);
  return taken;
}

// The type in which a value is computed: 32 bits in place of 64 if they hold every value of it.
Element narrowed(Expr e) { return ir::is_integer(e->element) && ir::bits(e->element) == 64 ? index_element(e) : e->element; }

}  // namespace

// ---- values ----

Part TileValues::value(Expr e, const Order& order) {
  if (const Part* known = scopes_.find_known(e)) {
    AxisSet axes;
    for (Axis a : known->axes) axes.insert(a);
    return build_.permuted(*known, build_.restricted(order, axes));
  }
  const Order own = build_.restricted(order, e->axes);
  const std::size_t at = scopes_.depth_of(e);
  if (const auto found = build_.find_permuted(scopes_[at].emitted, e, own)) return *found;
  const LineOf line(context_, e);
  if (!open_.insert(e).second) throw CircularValue{};
  const Part part = scopes_.emit_at(at, [&] { return emit(e, own); });
  open_.erase(e);
  scopes_[at].emitted[{e.operator->(), own}] = part;
  return part;
}

Part TileValues::value_as(Expr e, const Order& order, Element wanted) {
  if (ir::is_integer(wanted) && e->element != Element::boolean) return build_.cast(integers_.value(e, order, wanted), wanted);
  if (ir::is_float(wanted)) {
    if (const std::optional<Wide> number = constant_value(e)) return build_.constant(wanted, static_cast<double>(*number));
    if (e->is(ExprKind::infinity)) return build_.constant(wanted, e->number.is_negative() ? -HUGE_VAL : HUGE_VAL);
    if (e->is(ExprKind::extent)) return context_.extent(e->extent, wanted);
    if (ir::is_integer(e->element)) return build_.cast(integers_.value(e, order, index_element(e)), wanted);
  }
  return build_.cast(value(e, order), wanted);
}

Part TileValues::emit(Expr e, const Order& own) {
  switch (e->kind) {
    case ExprKind::number:
    case ExprKind::constant:
    case ExprKind::infinity: return value_as(e, own, Element::f32);
    case ExprKind::extent: return context_.extent(e->extent, ir::is_float(e->element) ? e->element : index_element(e));
    case ExprKind::index: return integers_.value(e, own, index_element(e));
    case ExprKind::load: {
      const Part raw = memory_.loaded(e, own);
      return build_.cast(raw, e->element);
    }
    case ExprKind::add: return ir::is_integer(e->element) ? integers_.value(e, own, index_element(e)) : emit_float_sum(e, own);
    case ExprKind::mul: return ir::is_integer(e->element) ? integers_.value(e, own, index_element(e)) : emit_float_product(e, own);
    case ExprKind::exp: return emit_exp(e, own);
    case ExprKind::log: return build_.unary(OpKind::log_, value_as(e->operands[0], own, e->element));
    case ExprKind::function: return emit_function(e, own);
    case ExprKind::random: return emit_random(e, own);
    case ExprKind::indicator:
      return build_.select(value(e->operands[0], own), build_.constant(e->element, 1), build_.constant(e->element, 0), own);
    case ExprKind::select: {
      const Element element = narrowed(e);
      if (const auto padded = emit_padded_select(e, element, own)) return *padded;
      return build_.select(value(e->operands[0], own), value_as(e->operands[1], own, element), value_as(e->operands[2], own, element), own);
    }
    case ExprKind::at_least_zero:
    case ExprKind::equal:
    case ExprKind::conjunction:
    case ExprKind::negation: return integers_.condition(e, own);
    case ExprKind::reduce: return reductions_.value(e, own);
    case ExprKind::scan:
    case ExprKind::reference:
    case ExprKind::shift_reference:
    case ExprKind::delta: break;
  }
  TW_CHECK(false, "fusion: a reference or a scan without a value");
  return {};
}

// A tensor that is padded with a number: the load has a mask that keeps its positions inside of the tensor, and gives the number elsewhere.
std::optional<Part> TileValues::emit_padded_select(Expr e, Element element, const Order& own) {
  const Expr load = e->operands[1], number = e->operands[2];
  if (!load->is(ExprKind::load) || load->tensor->is_scalar) return std::nullopt;
  const Element given = load->tensor->element;
  const bool is_infinity = number->is(ExprKind::infinity), has_infinities = given == Element::f16 || given == Element::bf16;
  if (!(given == element && (is_infinity || constant_value(number))) && !(is_infinity && has_infinities)) return std::nullopt;
  const auto padded = memory_.padded(conjuncts(e->operands[0]), load, value_as(number, {}, given), own);
  return padded ? std::optional(build_.cast(*padded, element)) : std::nullopt;
}

// A tensor that is padded with zeros: a load gives 0 where its mask does not hold.
std::optional<Part> TileValues::emit_padded_product(Expr e, const Order& own) {
  const auto load = std::ranges::find_if(e->factors, [](const Factor& f) { return f.base->is(ExprKind::load); });
  if (load == e->factors.end() || !load->exponent.is_one() || !e->number.is_one()) return std::nullopt;
  std::vector<Expr> conditions;
  for (const Factor& f : e->factors) {
    if (f == *load) continue;
    if (!is_mask(f) || !hides(f, *load)) return std::nullopt;
    for (Expr c : conjuncts(f.base->operands[0])) conditions.push_back(c);
  }
  const auto padded = conditions.empty() ? std::nullopt : memory_.padded(conditions, load->base, std::nullopt, own);
  return padded ? std::optional(build_.cast(*padded, e->element)) : std::nullopt;
}

Part TileValues::emit_exp(Expr e, const Order& own) {
  // exp(x log 2) is exp2(x).
  for (const Factor& f : e->operands[0]->factors)
    if (const std::optional<int> base = base_of_log(f, 1)) {
      std::vector<Factor> rest = e->operands[0]->factors;
      std::erase(rest, f);
      const Expr x = exprs_.multiply(e->operands[0]->number, rest);
      return build_.unary(*base == 2 ? OpKind::exp2_ : OpKind::exp10_, value_as(x, own, e->element));
    }
  return exp_of_sum(e, own);
}

Part TileValues::power(Expr base, const Rational& exponent, const Order& own, Element element) {
  return power_of(value_as(base, own, element), exponent, own, element, base->is_nonnegative);
}

Part TileValues::power_of(const Part& x, const Rational& exponent, const Order& own, Element element, bool is_nonnegative) {
  if (exponent == Rational(1, 2)) return build_.unary(OpKind::sqrt_, x);
  if (exponent == Rational(-1, 2)) return build_.unary(OpKind::rsqrt_, x);
  if (!is_call_of_pow(exponent) && !exponent.is_negative()) {
    Part result = x;
    for (Rational i = 1; i < exponent; i += 1) result = build_.binary(OpKind::mul_, result, x, own);
    return result;
  }
  // A fraction is a product of roots, which is NaN for -inf. pow(-inf, 0.25) is inf.
  if (!is_nonnegative && !exponent.is_integer())
    return power_of(build_.unary(OpKind::sqrt_, x), exponent * Rational(2), own, element, true);
  return build_.binary(OpKind::pow_, x, build_.constant(element, exponent.to_double()), own);
}

// Whether a constant is near the end of its type's range or outside of it, although its parts, as written, need not have been.
bool TileValues::is_far_from_one(Wide number, Element element) {
  const int most = element == Element::f64 ? kMostConstantExponentOfF64 : kMostConstantExponentOfF32;
  return number != 0 && std::isfinite(number) && std::abs(std::ilogb(number)) > most;
}

// Multiplies the factors in turn by powers of two, until the rest of the number is near 1: (1e-20 x)^2 must not become 1e-40 x^2, which is
// inf or 0.
Wide TileValues::distribute_factor(Wide number, std::vector<Part>& numerator, std::vector<Part>& denominator, Element element) {
  std::vector<Part>& factors = numerator.empty() ? denominator : numerator;
  if (factors.empty()) return number;
  const int most = element == Element::f64 ? kExponentOfStepOfF64 : kExponentOfStepOfF32;
  for (std::size_t i = 0; std::abs(std::ilogb(number)) > most; ++i) {
    const int step = std::ilogb(number) < 0 ? -most : most;
    number = std::ldexp(number, -step);
    Part& x = factors[i % factors.size()];
    x = build_.binary(OpKind::mul_, x, build_.constant(element, std::ldexp(1.0, &factors == &numerator ? step : -step)), x.axes);
  }
  return number;
}

// numerator / denominator, each with few axes first. Factors that have no other axes than the denominator are divided before the others are
// multiplied, so that a tile with more axes is not divided. Conditions are selects around the factors that they hide, since 0 * inf is NaN:
// all factors that are finite for finite data. The other factors multiply the 0.
Part TileValues::emit_float_product(Expr e, const Order& own) {
  if (const auto padded = emit_padded_product(e, own)) return *padded;
  const auto divides_by_mask = [](const Factor& f) { return f.base->is(ExprKind::indicator) && f.exponent.is_negative(); };
  if (std::ranges::any_of(e->factors, divides_by_mask)) return emit_masked_quotient(e, own);
  const auto is_hidden = [&](const Factor& f) {
    return is_mask(f) || std::ranges::all_of(e->factors, [&](const Factor& mask) { return !is_mask(mask) || hides(mask, f); });
  };
  const bool is_partly_hidden = !std::ranges::all_of(e->factors, is_hidden);
  if (!is_partly_hidden || has_exposed_factors(e))
    if (const auto written = emit_written_product(e, own)) return *written;
  if (is_partly_hidden) return emit_partly_hidden(e, own);
  std::vector<Part> numerator, denominator;
  std::vector<Expr> conditions;
  Wide number = wide(e->number);
  std::vector<Factor> given = e->factors, factors;
  if (const auto log = take_logarithm(given)) numerator.push_back(build_.unary(log->op, value_as(log->x, own, e->element)));
  for (const Factor& f : given) {
    if (is_mask(f))
      conditions.push_back(f.base->operands[0]);
    else if (const std::optional<Wide> value = constant_value(f.base))
      number *= std::pow(*value, wide(f.exponent));
    else
      factors.push_back(f);
  }
  const SumOrders::Product bases = sums_.product_of_bases(number, factors);
  number = bases.number;
  const bool is_extreme = is_far_from_one(number, e->element);
  for (const Factor& f : bases.factors) {
    const bool divides = f.exponent.is_negative() && f.exponent.is_integer();
    std::vector<Part>& side = divides ? denominator : numerator;
    const Rational exponent = divides ? -f.exponent : f.exponent;
    // If factors are multiplied one by one, an extreme number is distributed over them.
    const bool is_repeated = is_extreme && exponent.is_integer() && exponent <= Rational(kMostMultiplications);
    const Part x = power(f.base, is_repeated ? Rational(1) : exponent, own, e->element);
    side.insert(side.end(), is_repeated ? static_cast<std::size_t>(whole(exponent)) : 1, x);
  }
  if (is_extreme) number = distribute_factor(number, numerator, denominator, e->element);
  const auto coefficient = static_cast<double>(number);
  const auto product = [&](std::optional<Part> result, std::span<Part> parts) {
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.axes.size() < b.axes.size(); });
    for (const Part& p : parts) result = result ? build_.binary(OpKind::mul_, *result, p, own) : p;
    return result;
  };
  const bool is_negation = coefficient == -1 && denominator.empty() && numerator.size() == 1;
  const std::optional<Part> divisor = product({}, denominator);
  const auto is_of_divisor = [&](const Part& p) {
    return divisor && std::all_of(p.axes.begin(), p.axes.end(),
                                  [&](Axis a) { return std::find(divisor->axes.begin(), divisor->axes.end(), a) != divisor->axes.end(); });
  };
  auto first_other = std::stable_partition(numerator.begin(), numerator.end(), is_of_divisor);
  // A reciprocal would overflow where the quotient does not.
  if (first_other == numerator.begin()) first_other = numerator.end();
  std::optional<Part> start;
  if (coefficient != 1 && !is_negation) start = build_.constant(e->element, coefficient);
  Part result = product(start, {numerator.begin(), first_other}).value_or(build_.constant(e->element, 1));
  if (is_negation) result = build_.unary(OpKind::neg_, result);
  if (divisor) result = build_.binary(OpKind::div_, result, *divisor, own);
  result = *product(result, {first_other, numerator.end()});
  if (!conditions.empty()) result = build_.select(value(exprs_.conjunction(conditions), own), result, build_.constant(e->element, 0), own);
  return result;
}

// x / where(m, l, 0): the mask hides l in the divisor, which is a value of its own.
Part TileValues::emit_masked_quotient(Expr e, const Order& own) {
  std::vector<Factor> divided, dividing;
  for (const Factor& f : e->factors) {
    const bool divides = f.exponent.is_negative() && f.exponent.is_integer();
    (divides ? dividing : divided).push_back({f.base, divides ? -f.exponent : f.exponent});
  }
  const Part numerator = value_as(exprs_.multiply(e->number, divided), own, e->element);
  return build_.binary(OpKind::div_, numerator, value_as(exprs_.multiply(1, dividing), own, e->element), own);
}

// The factors that the same masks hide form one value. The values multiply each other, the factors that no mask hides, and the masks that hide
// none.
Part TileValues::emit_partly_hidden(Expr e, const Order& own) {
  std::map<std::vector<std::size_t>, std::vector<Factor>> values;  // by the masks that hide them
  std::vector<Factor> others, dividing;
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < e->factors.size(); ++i)
    if (is_mask(e->factors[i])) idle.push_back(i);
  const std::vector<std::size_t> masks = idle;
  for (const Factor& f : e->factors) {
    if (is_mask(f)) continue;
    std::vector<std::size_t> hiding;
    std::ranges::copy_if(masks, std::back_inserter(hiding), [&](std::size_t i) { return hides(e->factors[i], f); });
    std::erase_if(idle, [&](std::size_t i) { return std::ranges::find(hiding, i) != hiding.end(); });
    (hiding.empty() ? others : values[hiding]).push_back(f);
  }
  if (!idle.empty()) values[idle];
  std::optional<Part> hidden;
  for (auto& [hiding, factors] : values) {
    for (std::size_t i : hiding) factors.push_back({exprs_.indicator(e->factors[i].base->operands[0], e->element), 1});
    const Part value = value_as(exprs_.multiply(hidden ? 1 : e->number, factors), own, e->element);
    hidden = hidden ? build_.binary(OpKind::mul_, *hidden, value, own) : value;
  }
  std::erase_if(others, [&](const Factor& f) {
    const bool divides = f.exponent.is_negative() && f.exponent.is_integer();
    if (divides) dividing.push_back({f.base, -f.exponent});
    return divides;
  });
  Part result = *hidden;
  if (!others.empty()) result = build_.binary(OpKind::mul_, result, value_as(exprs_.multiply(1, others), own, e->element), own);
  if (!dividing.empty()) result = build_.binary(OpKind::div_, result, value_as(exprs_.multiply(1, dividing), own, e->element), own);
  return result;
}

// ---- functions ----

Part TileValues::emit_function(Expr e, const Order& own) {
  if (e->function == OpKind::cast_) {
    const Expr x = e->operands[0];
    if (e->bits != 0) return build_.cast(value_as(x, own, operand_of_bits(e->bits)), e->element);
    if (ir::is_integer(e->element) && x->is(ExprKind::number)) return integers_.value(x, own, e->element);
    return build_.cast(ir::is_integer(x->element) ? integers_.value(x, own, index_element(x)) : value(x, own), e->element);
  }
  if (e->function == OpKind::bitcast_) {
    const Part x = value_as(e->operands[0], own, bitcast_from(e->bits));
    return build_.cast({ir_.bitcast(x.value, ir::Type(bitcast_to(e->bits))), x.axes}, e->element);
  }
  const ir::OpInfo& info = ir::info(e->function);
  // Operands of comparisons and tests have a type of their own; operands of other ops have the type of the result.
  Element element = e->element == Element::boolean && e->bits != 0 ? operand_of_bits(e->bits) : e->element;
  const bool keeps_element = element != Element::boolean && info.family != ir::Family::convert;
  if (!keeps_element || counts_bits(e->function))
    for (Expr x : e->operands) element = constant_value(x) ? (element == Element::boolean ? Element::f32 : element) : x->element;
  if (ir::is_fp8(element)) element = Element::f32;  // floats of 8 bits are only converted
  // Hosts have no vector division of 64 bits.
  const bool divides = e->function == OpKind::div_ || e->function == OpKind::rem_;
  if (divides && std::ranges::all_of(e->operands, [](Expr x) { return fits(integer_range(x), Element::i32); })) element = narrowed(e);
  std::vector<Part> x;
  for (Expr operand : e->operands) x.push_back(value_as(operand, own, element));
  // A formula that is computed as it is written.
  const bool subtracts_maximum = e->function == OpKind::sub_ && ir::is_float(element) && is_extreme(exprs_, e->operands[1]);
  if (subtracts_maximum) x = {rounded(x[0]), rounded(x[1])};
  if (x.size() == 1) return build_.unary(e->function, x[0]);
  if (x.size() == 2) return build_.binary(e->function, x[0], x[1], own);
  return build_.ternary(e->function, x[0], x[1], x[2], own);
}

Part TileValues::emit_random(Expr e, const Order& own) {
  const Part counter = integers_.value(e->operands[0], own, Element::i64);
  return {ir::philox_uniform(ir_, e->bits, counter.value), counter.axes};
}

}  // namespace tilewright::passes::fusion

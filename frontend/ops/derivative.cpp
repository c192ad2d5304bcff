// Traces derivatives: forward-mode differentiation of the element-wise ops that lead from one value to another.
#include "tilewright/ops/derivative.h"

#include <fmt/format.h>

#include <numbers>
#include <unordered_map>

#include "frontend/ops/derivative.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

using ir::OpKind;
using ir::ValueId;

/// The derivative of y with respect to x, built from the ops between them. A missing value means 0.
class Derivative {
 public:
  Derivative(Emit& e, ValueId y, ValueId x, const RefuseDerivative& refuse)
      : e_(e), f_(e.trace().function()), y_(y), x_(x), refuse_(refuse) {}
  ValueId trace() { return of(y_); }

 private:
  ValueId of(ValueId v) {
    if (v == x_) return real(v, 1);
    // Values are numbered in the order in which they are created.
    if (v.index < x_.index || !f_.type(v).is_float()) return {};
    if (const auto known = known_.find(v.index); known != known_.end()) return known->second;
    const ValueId d = derive(v);
    known_.emplace(v.index, d);
    return d;
  }

  ValueId derive(ValueId v) {
    const ir::OpId op = f_.value(v).op;
    if (!op || ir::info(f_.kind(op)).family == ir::Family::control) {
      if (depends(v)) refuse(v, "a loop or a branch");
      return {};
    }
    const std::vector<ValueId> operands = f_.op(op).operands;
    const OpKind kind = f_.kind(op);
    if (kind == OpKind::select_) return chosen(operands[0], of(operands[1]), of(operands[2]), v);
    if (kind == OpKind::bitcast_ && depends(operands[0])) refuse(v, "bitcast");
    std::vector<ValueId> d;
    bool any = false;
    for (const ValueId operand : operands) d.push_back(of(operand)), any |= d.back().valid();
    if (!any) return {};
    if (operands.size() == 1) return of_unary(kind, operands[0], v, d[0]);
    return of_several(kind, operands, v, d);
  }

  ValueId of_unary(OpKind kind, ValueId a, ValueId y, ValueId d) {
    using namespace std::numbers;
    switch (kind) {
      case OpKind::neg_: return unary(OpKind::neg_, d);
      case OpKind::cast_: return e_.b().cast(d, f_.type(y).element());
      case OpKind::abs_:
        return times(d, sub(to_float(binary(OpKind::gt_, a, real(a, 0)), a), to_float(binary(OpKind::lt_, a, real(a, 0)), a)));
      case OpKind::ceil_:
      case OpKind::floor_:
      case OpKind::round_:
      case OpKind::rint_:
      case OpKind::trunc_: return {};
      case OpKind::sqrt_: return over(times(d, real(y, 0.5)), y);
      case OpKind::rsqrt_: return over(times(times(d, real(y, -0.5)), y), a);
      case OpKind::cbrt_: return over(d, times(times(y, y), real(y, 3)));
      case OpKind::exp_: return times(d, y);
      case OpKind::exp2_: return times(d, times(y, real(y, ln2)));
      case OpKind::exp10_: return times(d, times(y, real(y, ln10)));
      case OpKind::expm1_: return times(d, add(y, real(y, 1)));
      case OpKind::log_: return over(d, a);
      case OpKind::log2_: return over(times(d, real(a, 1 / ln2)), a);
      case OpKind::log10_: return over(times(d, real(a, 1 / ln10)), a);
      case OpKind::log1p_: return over(d, add(a, real(a, 1)));
      case OpKind::sin_: return times(d, unary(OpKind::cos_, a));
      case OpKind::cos_: return times(d, unary(OpKind::neg_, unary(OpKind::sin_, a)));
      case OpKind::tan_: return times(d, add(times(y, y), real(y, 1)));
      case OpKind::asin_: return over(d, unary(OpKind::sqrt_, sub(real(a, 1), times(a, a))));
      case OpKind::acos_: return unary(OpKind::neg_, over(d, unary(OpKind::sqrt_, sub(real(a, 1), times(a, a)))));
      case OpKind::atan_: return over(d, add(times(a, a), real(a, 1)));
      case OpKind::sinh_: return times(d, unary(OpKind::cosh_, a));
      case OpKind::cosh_: return times(d, unary(OpKind::sinh_, a));
      case OpKind::tanh_: return times(d, sub(real(y, 1), times(y, y)));
      case OpKind::erf_: return times(d, times(real(a, 2 * inv_sqrtpi), unary(OpKind::exp_, unary(OpKind::neg_, times(a, a)))));
      default: refuse(y, ir::text(kind));
    }
  }

  ValueId of_several(OpKind kind, const std::vector<ValueId>& x, ValueId y, const std::vector<ValueId>& d) {
    switch (kind) {
      case OpKind::add_: return sum(d[0], d[1]);
      case OpKind::sub_: return sum(d[0], negated(d[1]));
      case OpKind::mul_: return sum(product(d[0], x[1]), product(d[1], x[0]));
      case OpKind::fma_: return sum(sum(product(d[0], x[1]), product(d[1], x[0])), d[2]);
      case OpKind::div_:
      case OpKind::div_rn_: return over(sum(d[0], negated(product(d[1], y))), x[1]);
      case OpKind::maximum_:
      case OpKind::fmax_: return chosen(binary(OpKind::gt_, x[0], x[1]), d[0], d[1], y);
      case OpKind::minimum_:
      case OpKind::fmin_: return chosen(binary(OpKind::lt_, x[0], x[1]), d[0], d[1], y);
      case OpKind::copysign_:
        if (!d[0]) return {};
        return chosen(binary(OpKind::eq_, x[0], y), d[0], unary(OpKind::neg_, d[0]), y);
      case OpKind::pow_:
        return sum(product(d[0], times(x[1], binary(OpKind::pow_, x[0], sub(x[1], real(y, 1))))),
                   d[1] ? times(d[1], times(y, unary(OpKind::log_, x[0]))) : ValueId());
      case OpKind::atan2_: return over(sum(product(d[0], x[1]), negated(product(d[1], x[0]))), add(times(x[0], x[0]), times(x[1], x[1])));
      case OpKind::hypot_: return over(sum(product(d[0], x[0]), product(d[1], x[1])), y);
      default: refuse(y, ir::text(kind));
    }
  }

  /// Whether a value of any type depends on x.
  bool depends(ValueId v) {
    if (v == x_) return true;
    if (v.index < x_.index) return false;
    const ir::OpId op = f_.value(v).op;
    // A value that a loop around y carries may depend on x through earlier iterations. For a loop before y, all values that it uses are
    // checked.
    if (!op) return f_.value(v).block != f_.body() && f_.encloses(f_.value(v).block, f_.defining_block(y_));
    if (const auto known = depends_.find(v.index); known != depends_.end()) return known->second;
    const bool result = uses_dependent(op);
    depends_.emplace(v.index, result);
    return result;
  }
  /// Whether an op, or one of its regions, uses a value that depends on x.
  bool uses_dependent(ir::OpId op) {
    for (const ValueId operand : f_.op(op).operands)
      if (depends(operand)) return true;
    for (const ir::BlockId block : f_.op(op).regions)
      for (const ir::OpId inner : f_.ops(block))
        if (uses_dependent(inner)) return true;
    return false;
  }

  [[noreturn]] void refuse(ValueId v, std::string_view what) {
    refuse_(v, what);
    TW_CHECK(false, "a derivative that is refused must throw");
  }

  ValueId real(ValueId like, double value) { return e_.real(f_.type(like), value); }
  ValueId unary(OpKind kind, ValueId a) { return e_.b().unary(kind, a); }
  ValueId binary(OpKind kind, ValueId a, ValueId b) { return e_.b().binary(kind, a, b); }
  ValueId add(ValueId a, ValueId b) { return binary(OpKind::add_, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(OpKind::sub_, a, b); }
  ValueId times(ValueId a, ValueId b) { return binary(OpKind::mul_, a, b); }
  ValueId over(ValueId a, ValueId b) { return binary(OpKind::div_, a, b); }
  ValueId to_float(ValueId condition, ValueId like) { return e_.b().select(condition, real(like, 1), real(like, 0)); }
  // Derivatives, which may be 0 (no value):
  ValueId sum(ValueId a, ValueId b) { return !a ? b : !b ? a : add(a, b); }
  ValueId negated(ValueId a) { return a ? unary(OpKind::neg_, a) : a; }
  ValueId product(ValueId d, ValueId factor) { return d ? times(d, factor) : d; }
  ValueId chosen(ValueId condition, ValueId a, ValueId b, ValueId like) {
    if (!a && !b) return {};
    return e_.b().select(condition, a ? a : real(like, 0), b ? b : real(like, 0));
  }

  Emit& e_;
  ir::Function& f_;
  ValueId y_, x_;
  const RefuseDerivative& refuse_;
  std::unordered_map<std::uint32_t, ValueId> known_;
  std::unordered_map<std::uint32_t, bool> depends_;
};

}  // namespace

ValueId trace_derivative(Emit& e, ValueId y, ValueId x, const RefuseDerivative& refuse) {
  const ValueId d = Derivative(e, y, x, refuse).trace();
  return d ? d : e.real(e.type(y), 0);
}

Made derivative(const Handle& y, const Handle& x, const Here& at) {
  Emit e("derivative", at);
  e.expect_no_combine();
  const ValueId of = e.value(y, "y"), by = e.value(x, "x");
  if (e.type(of).shape() != e.type(by).shape())
    e.fail(fmt::format("'y' is {} and 'x' is {}; they must have one shape", ir::shape_text(e.type(of)), ir::shape_text(e.type(by))), by,
           "'x' defined here");
  return made(trace_derivative(e, of, by, [&](ValueId v, std::string_view what) {
    e.fail(fmt::format("'y' depends on 'x' by {}, which is not differentiated", what), v, "it is here");
  }));
}

}  // namespace tilewright::detail

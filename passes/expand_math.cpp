// Expands math functions to arithmetic, so that they give the same bits on every target and need no library. f32 functions for which GPUs
// have instructions stay there. 16-bit floats are computed in f32. Every lane computes the same ops: no branches, no tables.
//
// Input, output: traced IR. Numerics: the expansion determines a function's error, see ACCURACY.md. See tests/files/passes/expand_math/.
#include "passes/math/functions.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace math {

Expr rsqrt(Expr x) { return 1.0 / sqrt(x); }

Expr round(Expr x) {
  const Expr t = trunc(x);
  return select(abs(x - t) >= 0.5, t + copysign(like(x, 1.0), x), t);
}

}  // namespace math

namespace {

using math::Expr;
using Unary = Expr (*)(Expr);

/// The cheaper expansions of f32, for the attribute fast.
Unary fast_expansion(ir::OpKind k) {
  switch (k) {
    case ir::OpKind::exp_: return math::fast_exp;
    case ir::OpKind::log_: return math::fast_log;
    case ir::OpKind::sin_: return math::fast_sin;
    case ir::OpKind::cos_: return math::fast_cos;
    case ir::OpKind::tanh_: return math::fast_tanh;
    default: return nullptr;
  }
}

using Binary = Expr (*)(Expr, Expr);
Binary binary_expansion(ir::OpKind k) {
  switch (k) {
    case ir::OpKind::pow_: return math::pow;
    case ir::OpKind::atan2_: return math::atan2;
    case ir::OpKind::hypot_: return math::hypot;
    default: return nullptr;
  }
}

Unary expansion(ir::OpKind k) {
  switch (k) {
    case ir::OpKind::exp_: return math::exp;
    case ir::OpKind::exp2_: return math::exp2;
    case ir::OpKind::exp10_: return math::exp10;
    case ir::OpKind::expm1_: return math::expm1;
    case ir::OpKind::log_: return math::log;
    case ir::OpKind::log10_: return math::log10;
    case ir::OpKind::log1p_: return math::log1p;
    case ir::OpKind::log2_: return math::log2;
    case ir::OpKind::sin_: return math::sin;
    case ir::OpKind::cos_: return math::cos;
    case ir::OpKind::tan_: return math::tan;
    case ir::OpKind::tanh_: return math::tanh;
    case ir::OpKind::asin_: return math::asin;
    case ir::OpKind::acos_: return math::acos;
    case ir::OpKind::atan_: return math::atan;
    case ir::OpKind::sinh_: return math::sinh;
    case ir::OpKind::cosh_: return math::cosh;
    case ir::OpKind::cbrt_: return math::cbrt;
    case ir::OpKind::erf_: return math::erf;
    case ir::OpKind::rsqrt_: return math::rsqrt;
    case ir::OpKind::round_: return math::round;
    default: return nullptr;
  }
}

/// Whether GPU code generation computes the f32 function within the error of ACCURACY.md.
bool has_instruction(ir::OpKind k, bool fast) {
  switch (k) {
    case ir::OpKind::exp_:
    case ir::OpKind::exp2_:
    case ir::OpKind::rsqrt_: return true;
    case ir::OpKind::log_:
    case ir::OpKind::sin_:
    case ir::OpKind::cos_:
    case ir::OpKind::tanh_: return fast;
    default: return false;
  }
}

}  // namespace

bool expand_math(ir::Function& f, const PassContext& context) {
  Rewriter rewriter(f);
  math::Emitter emitter(rewriter, context.target.has_fma, context.target.is_gpu());
  f.walk([&](ir::OpId id) {
    Unary unary = expansion(f.kind(id));
    const Binary binary = binary_expansion(f.kind(id));
    if (!unary && !binary) return;
    rewriter.at(id);
    const ir::Element element = f.type(f.result(id)).element();
    const ir::Element wide = element == ir::Element::f64 ? element : ir::Element::f32;
    const bool fast = f.attr(id, ir::AttrName::fast) != 0;
    const auto operand = [&](int i) { return math::cast(emitter.wrap(f.operand(id, i)), wide); };
    if (context.target.is_gpu() && wide == ir::Element::f32 && has_instruction(f.kind(id), fast)) {
      if (element == wide) return;
      const ir::ValueId x = operand(0).id;
      const Expr y = emitter.wrap(f.result(rewriter.create(f.kind(id), std::span(&x, 1), f.op(id).attrs)));
      rewriter.replace(id, math::cast(y, element).id);
      return;
    }
    if (fast && wide == ir::Element::f32) unary = fast_expansion(f.kind(id));
    const Expr y = unary ? unary(operand(0)) : binary(operand(0), operand(1));
    rewriter.replace(id, math::cast(y, element).id);
  });
  return rewriter.changed();
}

}  // namespace tilewright::passes

// expand_math for GPUs: which functions become instructions, and the error of those that are built from instructions. Instructions are
// exact in the interpreter, so the bounds are those of ACCURACY.md minus the error of the instructions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <vector>

#include "passes/pass_manager.h"
#include "tests/unit/passes/straight_line_eval.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::passes {
namespace {

using ir::Element;
using ir::OpKind;

ir::Function expanded_for_gpu(OpKind k, Element e, std::vector<ir::Attr> attrs = {}) {
  ir::Function f("one");
  std::vector<ir::ValueId> x;
  for (int i = 0; i < ir::info(k).min_operands(); ++i) x.push_back(f.add_param(ir::Type(e), {fmt::format("x{}", i)}));
  const ir::ValueId p = f.add_param(ir::Type::pointer(e, false), {"p"});
  ir::Builder b(f);
  const ir::ValueId stored[] = {p, f.result(b.create(k, x, std::move(attrs)))};
  b.create(OpKind::store_, stored);
  PassContext context;
  context.target.kind = ir::TargetDesc::Kind::nvptx;
  context.target.sm = 80;
  context.target.has_fma = context.target.has_f16_conversion = true;
  expand_math(f, context);
  REQUIRE(ir::verify(f).empty());
  return f;
}

int ops(const ir::Function& f, OpKind k) {
  int n = 0;
  f.walk([&](ir::OpId id) { n += f.kind(id) == k; });
  return n;
}

double error_in_ulp(float got, double exact) {
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : HUGE_VAL;
  if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : HUGE_VAL;
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::ldexp(std::fabs(got - exact), 23 - exponent);
}

double worst_of(OpKind k, double (*exact)(double)) {
  const ir::Function f = expanded_for_gpu(k, Element::f32);
  std::vector<float> x{0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, NAN, 0x1p-149f, -0x1p-126f, 0x1.fffffep127f, 0.7f, -0.7f, 0.925f};
  for (std::uint64_t u = 0; u <= 0xffffffff; u += 20011) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  for (int i = -40000; i < 40000; ++i) x.push_back(static_cast<float>(i) * 0x1.23p-13f);
  std::vector<float> y(x.size());
  const void* arguments[] = {x.data()};
  testing::StraightLine(f).run(arguments, y.data(), x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = error_in_ulp(y[i], exact(x[i]));
    CAPTURE(x[i]);
    CAPTURE(y[i]);
    REQUIRE(error < 100);
    worst = std::max(worst, error);
  }
  return worst;
}

TEST_CASE("expand_math for GPUs: what has an instruction stays, in f32 and below it") {
  for (OpKind k : {OpKind::exp_, OpKind::exp2_, OpKind::rsqrt_}) {
    CAPTURE(ir::text(k));
    CHECK(ops(expanded_for_gpu(k, Element::f32), k) == 1);
    const ir::Function half = expanded_for_gpu(k, Element::f16);
    CHECK(ops(half, k) == 1);
    CHECK(ops(half, OpKind::cast_) == 2);
    CHECK(ops(expanded_for_gpu(k, Element::f64), k) == 0);
  }
  for (OpKind k : {OpKind::log_, OpKind::sin_, OpKind::cos_, OpKind::tanh_}) {
    CAPTURE(ir::text(k));
    CHECK(ops(expanded_for_gpu(k, Element::f32), k) == 0);
    CHECK(ops(expanded_for_gpu(k, Element::f32, {{ir::AttrName::fast, 1}}), k) == 1);
    CHECK(ops(expanded_for_gpu(k, Element::f64, {{ir::AttrName::fast, 1}}), k) == 0);
  }
}

TEST_CASE("expand_math for GPUs: functions built on instructions keep their bounds") {
  CHECK(worst_of(OpKind::tanh_, [](double v) { return std::tanh(v); }) <= 1.5);
  CHECK(worst_of(OpKind::erf_, [](double v) { return std::erf(v); }) <= 1.4);
}

}  // namespace
}  // namespace tilewright::passes

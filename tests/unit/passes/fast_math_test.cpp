// The functions of tw::fast against the host's libm: the ranges and bounds that passes/ACCURACY.md gives, with and without fma.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
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
using ir::Type;
using testing::StraightLine;

constexpr float kInf = std::numeric_limits<float>::infinity();

ir::Function expanded(OpKind k, Element e, bool has_fma, bool fast = true) {
  std::vector<ir::Attr> attrs;
  if (fast) attrs.push_back({ir::AttrName::fast, 1, {}, {}});
  return testing::expanded(k, e, has_fma, std::move(attrs));
}

std::vector<float> run(OpKind k, bool has_fma, const std::vector<float>& x) {
  std::vector<float> out(x.size());
  const void* arguments[] = {x.data()};
  StraightLine(expanded(k, Element::f32, has_fma)).run(arguments, out.data(), x.size());
  return out;
}

double reference(OpKind k, double x) {
  switch (k) {
    case OpKind::exp_: return std::exp(x);
    case OpKind::log_: return std::log(x);
    case OpKind::sin_: return std::sin(x);
    case OpKind::cos_: return std::cos(x);
    default: return std::tanh(x);
  }
}

struct Bound {
  OpKind op;
  float lo, hi;
  double ulp;  // of the result; 0: the bound is absolute
  double absolute;
};
constexpr Bound kBounds[] = {
    {OpKind::exp_, -87.3f, 88.3f, 6, 0},    {OpKind::log_, 0x1p-126f, 0x1.fffffep127f, 4, 0},
    {OpKind::sin_, -10000, 10000, 0, 2e-7}, {OpKind::cos_, -10000, 10000, 0, 2e-7},
    {OpKind::tanh_, -kInf, kInf, 0, 3e-7},
};

TEST_CASE("fast functions: f32 keeps the documented bounds in the documented range") {
  for (const Bound& bound : kBounds) {
    std::vector<float> x;
    for (std::uint64_t u = 0; u <= 0xffffffff; u += 4999) {
      const float v = std::bit_cast<float>(static_cast<std::uint32_t>(u));
      if (v >= bound.lo && v <= bound.hi) x.push_back(v);
    }
    // Most bit patterns are tiny or huge.
    for (float v = std::max(bound.lo, -20000.0f); v < std::min(bound.hi, 20000.0f); v += 0.0173f) x.push_back(v);
    for (const bool has_fma : {true, false}) {
      const std::vector<float> y = run(bound.op, has_fma, x);
      double worst = 0;
      float at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = reference(bound.op, x[i]), off = std::fabs(y[i] - want);
        const double error = bound.ulp == 0 ? off : std::ldexp(off, 23 - std::max(std::ilogb(want == 0 ? 0x1p-126 : want), -126));
        if (!(error <= worst)) worst = error, at = x[i];
      }
      INFO(fmt::format("{}, fma {}: {:.3g} at {}", ir::text(bound.op), has_fma, worst, at));
      CHECK(worst <= (bound.ulp == 0 ? bound.absolute : bound.ulp));
    }
  }
}

TEST_CASE("fast functions: the ends of their ranges are as documented") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool has_fma : {true, false}) {
    const auto exp = run(OpKind::exp_, has_fma, {-kInf, -1e30f, -88, 88.5f, 1e30f, kInf, 0, nan});
    CHECK(std::vector<float>(exp.begin(), exp.end() - 1) == std::vector<float>{0, 0, 0, kInf, kInf, kInf, 1});
    CHECK(std::isnan(exp.back()));
    const auto log = run(OpKind::log_, has_fma, {0, -0.0f, -1, -kInf, 1, nan});
    CHECK(std::vector<float>(log.begin(), log.end() - 1) == std::vector<float>{-kInf, -kInf, -kInf, -kInf, 0});
    CHECK(std::isnan(log.back()));
    const auto tanh = run(OpKind::tanh_, has_fma, {-kInf, -100, 0, 100, kInf, nan});
    CHECK(std::vector<float>(tanh.begin(), tanh.end() - 1) == std::vector<float>{-1, -1, 0, 1, 1});
    CHECK(std::isnan(tanh.back()));
    CHECK(run(OpKind::sin_, has_fma, {0.0f})[0] == 0);
    CHECK(run(OpKind::cos_, has_fma, {0.0f})[0] == 1);
  }
}

TEST_CASE("fast functions: fewer ops than the exact ones, and f64 is as without fast") {
  const auto count = [](const ir::Function& f) {
    int n = 0;
    f.walk([&](ir::OpId id) { n += f.kind(id) != OpKind::constant_; });
    return n;
  };
  for (const Bound& bound : kBounds) {
    CAPTURE(ir::text(bound.op));
    CHECK(count(expanded(bound.op, Element::f32, true)) < count(expanded(bound.op, Element::f32, true, false)));
    CHECK(count(expanded(bound.op, Element::f64, true)) == count(expanded(bound.op, Element::f64, true, false)));
  }
}

TEST_CASE("fast div: shares reciprocals of broadcast and constant divisors, exact division stays") {
  const auto divisions = [](bool fast, std::optional<double> c) {
    ir::Function f("quotients");
    const std::int64_t shape[] = {4};
    const ir::ValueId x = f.add_param(Type(Element::f32), {"x"}), s = f.add_param(Type(Element::f32), {"s"}),
                      p = f.add_param(Type::pointer(Element::f32, false), {"p"});
    ir::Builder b(f);
    const ir::ValueId xs = b.broadcast(x, shape), divisor = c ? b.constant_float(Type(Element::f32, shape), *c) : b.broadcast(s, shape);
    std::vector<ir::Attr> attrs;
    if (fast) attrs.push_back({ir::AttrName::fast, 1, {}, {}});
    const ir::ValueId operands[] = {xs, divisor};
    const ir::ValueId stored[] = {b.broadcast(p, shape), f.result(b.create(OpKind::div_, operands, std::move(attrs)))};
    b.create(OpKind::store_, stored);
    combine(f, {});
    REQUIRE(ir::verify(f).empty());
    int tiles = 0;
    f.walk([&](ir::OpId id) { tiles += f.kind(id) == OpKind::div_ && !f.type(f.result(id)).is_scalar(); });
    return tiles;
  };
  CHECK(divisions(true, {}) == 0);
  CHECK(divisions(true, 3.0) == 0);
  CHECK(divisions(true, 0.0) == 1);
  CHECK(divisions(true, 1e-40) == 1);
  CHECK(divisions(false, {}) == 1);
  CHECK(divisions(false, 3.0) == 1);
}

}  // namespace
}  // namespace tilewright::passes

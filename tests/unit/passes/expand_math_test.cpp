// The expanded math functions against the host's libm in a wider type: dense samples for f32, every pattern of the 16-bit types,
// random and special values for f64. The bounds are those of passes/ACCURACY.md, with and without fma.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "passes/pass_manager.h"
#include "tests/unit/passes/straight_line_eval.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"
#include "tileir/verifier.h"

namespace tilewright::passes {
namespace {

using ir::Element;
using ir::OpKind;
using ir::Type;
using testing::expanded;
using testing::StraightLine;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr long double kHalfPi = 1.57079632679489661923132169163975144L;

/// Bounds in ulp of the result, with and without fma; the larger one is used.
struct Bound {
  OpKind op;
  double f32, f64;
};
constexpr Bound kBounds[] = {
    {OpKind::exp_, 1.3, 1.3},   {OpKind::exp2_, 1.3, 1.2},  {OpKind::log_, 1.0, 1.0},   {OpKind::log2_, 2.0, 1.0},
    {OpKind::sin_, 1.7, 1.0},   {OpKind::cos_, 1.7, 1.0},   {OpKind::tan_, 3.0, 3.0},   {OpKind::tanh_, 3.0, 3.0},
    {OpKind::erf_, 1.4, 1.4},   {OpKind::rsqrt_, 1.5, 1.5}, {OpKind::round_, 0.0, 0.0}, {OpKind::exp10_, 1.4, 1.4},
    {OpKind::expm1_, 2.0, 2.2}, {OpKind::log10_, 2.0, 1.0}, {OpKind::log1p_, 1.5, 1.0}, {OpKind::asin_, 2.5, 2.5},
    {OpKind::acos_, 1.5, 1.5},  {OpKind::atan_, 2.5, 2.5},  {OpKind::sinh_, 2.0, 2.5},  {OpKind::cosh_, 2.0, 2.0},
    {OpKind::cbrt_, 1.0, 1.0},
};
/// Functions of two arguments.
constexpr Bound kBinaryBounds[] = {{OpKind::pow_, 0.6, 1.3}, {OpKind::atan2_, 2.5, 2.5}, {OpKind::hypot_, 1.2, 1.2}};

template <class R>
R reference(OpKind k, R x, R y) {
  switch (k) {
    case OpKind::exp_: return std::exp(x);
    case OpKind::exp2_: return std::exp2(x);
    case OpKind::log_: return std::log(x);
    case OpKind::log2_: return std::log2(x);
    case OpKind::sin_: return std::sin(x);
    case OpKind::cos_: return std::cos(x);
    case OpKind::tan_: return std::tan(x);
    case OpKind::tanh_: return std::tanh(x);
    case OpKind::erf_: return std::erf(x);
    case OpKind::rsqrt_: return 1 / std::sqrt(x);
    case OpKind::round_: return std::round(x);
    case OpKind::exp10_: return std::pow(R{10}, x);
    case OpKind::expm1_: return std::expm1(x);
    case OpKind::log10_: return std::log10(x);
    case OpKind::log1p_: return std::log1p(x);
    case OpKind::asin_: return std::asin(x);
    case OpKind::acos_: return std::acos(x);
    case OpKind::atan_: return std::atan(x);
    case OpKind::sinh_: return std::sinh(x);
    case OpKind::cosh_: return std::cosh(x);
    case OpKind::cbrt_: return std::cbrt(x);
    case OpKind::atan2_: return std::atan2(x, y);
    case OpKind::hypot_: return std::hypot(x, y);
    case OpKind::pow_: return std::pow(x, y);
    default: TW_UNREACHABLE("no reference for this op");
  }
}

/// A floating format by its numbers.
struct Precision {
  int digits, least_exponent, greatest_exponent;  // ulp(x) = 2^(max(floor(log2 x), least_exponent) - digits + 1)
};
Precision precision_of(Element e) {
  switch (e) {
    case Element::f16: return {11, -14, 15};
    case Element::bf16: return {8, -126, 127};
    case Element::f32: return {24, -126, 127};
    case Element::f64: return {53, -1022, 1023};
    default: TW_UNREACHABLE("not computed in");
  }
}

/// |got - expected| in ulp of the format; infinity counts as the number after the greatest. A wrong sign of zero, and NaN for a number
/// or the reverse, is infinitely wrong.
template <class R>
double error_in_ulp(Precision p, R got, R expected) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : kInf;
  if (got == 0 && std::signbit(got) != std::signbit(expected)) return kInf;
  const R after_greatest = std::ldexp(R{1}, p.greatest_exponent + 1);
  const auto bounded = [&](R v) { return std::fabs(v) > after_greatest ? std::copysign(after_greatest, v) : v; };
  const R a = bounded(got), b = bounded(expected);
  const int exponent = b == 0 ? p.least_exponent : std::min(std::max(std::ilogb(b), p.least_exponent), p.greatest_exponent);
  return static_cast<double>(std::ldexp(std::fabs(a - b), p.digits - 1 - exponent));
}

/// T: the type of array elements; R: the type of the reference.
template <class T, class R>
void check_bound(OpKind k, Element e, bool has_fma, double bound, const std::vector<T>& x, const std::vector<T>& y = {}) {
  const ir::Function f = expanded(k, e, has_fma);
  std::vector<T> out(x.size());
  const void* arguments[] = {x.data(), y.data()};
  StraightLine(f).run(arguments, out.data(), x.size());
  const auto value = [&](T v) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<R>(v);
    else
      return static_cast<R>(ir::float_value(e, v));
  };
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const R b = y.empty() ? R{0} : value(y[i]);
    const double error = error_in_ulp<R>(precision_of(e), value(out[i]), reference<R>(k, value(x[i]), b));
    if (error > worst) worst = error, at = i;
  }
  INFO(fmt::format("{} of {}, fma {}: {} ulp at {:.17g} {:.17g}, got {:.17g}", ir::text(k), ir::text(e), has_fma, worst,
                   static_cast<double>(value(x[at])), y.empty() ? 0.0 : static_cast<double>(value(y[at])),
                   static_cast<double>(value(out[at]))));
  CHECK(worst <= bound);
}

TEST_CASE("expand_math: f32 functions keep their bounds over the whole range") {
  std::vector<float> x;
  for (std::uint64_t u = 0; u <= 0xffffffff; u += 9973) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  for (const float v : {0.0f,       -0.0f,     1.0f,      -1.0f,      0.5f,        -0.5f,       1.5f,       2.5f,          0.49999997f,
                        8388607.5f, 88.72283f, 88.72284f, -87.33655f, -103.97208f, -103.97209f, 127.99999f, 128.0f,        -149.0f,
                        -150.0f,    0.925f,    3.9f,      0.7853981f, 0.7853982f,  1.5707964f,  3.1415927f, 1.6367173e16f, 1e22f})
    x.push_back(v), x.push_back(-v);
  for (const double v : {kInf, -kInf, kNaN, 0x1p-149, 0x1p-126, 0x1.fffffep127}) x.push_back(static_cast<float>(v));
  for (int k = 1; k < 100000; k += 7) x.push_back(static_cast<float>(k * kHalfPi));
  for (const Bound& b : kBounds)
    for (const bool has_fma : {true, false}) check_bound<float, double>(b.op, Element::f32, has_fma, b.f32, x);
}

TEST_CASE("expand_math: f64 functions keep their bounds") {
  std::mt19937_64 random(5);
  const auto signed_unit = [&] { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63); };
  std::vector<double> x{0.0,
                        -0.0,
                        kInf,
                        -kInf,
                        kNaN,
                        0x1p-1074,
                        -0x1p-1074,
                        0x1p-1022,
                        0x1.fffffffffffffp1023,
                        1,
                        -1,
                        0.5,
                        -0.5,
                        1.5,
                        2.5,
                        0.49999999999999994,
                        4503599627370495.5,
                        709.782712893384,
                        709.7827128933841,
                        -745.1332191019411,
                        -745.1332191019412,
                        1024,
                        -1074.5,
                        -1075,
                        0.7853981633974483,
                        1.5707963267948966,
                        3.141592653589793,
                        1e22,
                        6381956970095103 * 0x1p797,
                        5.319372648326541e+255};
  for (int i = 0; i < 60000; ++i) {
    x.push_back(std::bit_cast<double>(random()));
    x.push_back(8 * signed_unit());
    x.push_back(750 * signed_unit());
    x.push_back(std::ldexp(signed_unit(), 5 - static_cast<int>(random() % 40)));
    x.push_back(1 + std::ldexp(signed_unit(), -static_cast<int>(random() % 50)));
    x.push_back(static_cast<double>(std::rint(std::ldexp(1.0L, static_cast<int>(random() % 50)) * signed_unit()) * kHalfPi));
  }
  for (const Bound& b : kBounds)
    for (const bool has_fma : {true, false}) check_bound<double, long double>(b.op, Element::f64, has_fma, b.f64, x);
}

TEST_CASE("expand_math: functions of 16-bit floats are rounded right but for ties of f32, for every pattern") {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  for (const Element e : {Element::f16, Element::bf16})
    for (const Bound& b : kBounds) check_bound<std::uint16_t, double>(b.op, e, true, b.op == OpKind::round_ ? 0.0 : 0.501, x);
  std::mt19937_64 random(6);
  std::vector<std::uint16_t> a(100000), c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint16_t>(random());
    c[i] = static_cast<std::uint16_t>(random());
  }
  for (const Element e : {Element::f16, Element::bf16})
    for (const Bound& b : kBinaryBounds) check_bound<std::uint16_t, double>(b.op, e, true, 0.501, a, c);
}

/// Bases and exponents: most powers are in range; includes bases near 1, and negative bases with integer exponents.
template <class T>
void power_arguments(std::vector<T>& x, std::vector<T>& y) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       -T{0},
                       1,
                       -1,
                       2,
                       -2,
                       3,
                       -3,
                       0.5,
                       -0.5,
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::denorm_min(),
                       -Limits::denorm_min(),
                       Limits::max(),
                       -Limits::max(),
                       Limits::min(),
                       1 + Limits::epsilon(),
                       1 - Limits::epsilon() / 2,
                       T(1.5),
                       T(-1.5),
                       T(16777215),
                       T(9007199254740991.0)};
  for (T a : special)
    for (T b : special) x.push_back(a), y.push_back(b);
  std::mt19937_64 random(7);
  const auto unit = [&] { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63); };
  const double range = Limits::max_exponent * 1.1;
  for (int i = 0; i < 40000; ++i) {
    const double base = std::exp2(range * unit()), near_one = 1 + 0.3 * unit() * std::ldexp(1.0, -static_cast<int>(random() % 20));
    x.push_back(static_cast<T>(base)), y.push_back(static_cast<T>(range * unit() / std::log2(base)));
    x.push_back(static_cast<T>(near_one)), y.push_back(static_cast<T>(range * unit() / std::log2(near_one)));
    x.push_back(static_cast<T>(20 * unit())), y.push_back(static_cast<T>(static_cast<int>(random() % 41) - 20));
    x.push_back(static_cast<T>(unit())), y.push_back(static_cast<T>(unit()));
  }
}

TEST_CASE("expand_math: pow keeps its bounds, with C's special cases") {
  std::vector<float> a, b;
  power_arguments(a, b);
  std::vector<double> c, d;
  power_arguments(c, d);
  for (const bool has_fma : {true, false}) {
    check_bound<float, double>(OpKind::pow_, Element::f32, has_fma, kBinaryBounds[0].f32, a, b);
    check_bound<double, long double>(OpKind::pow_, Element::f64, has_fma, kBinaryBounds[0].f64, c, d);
  }
}

/// Points in all directions and of all sizes: random bits, sides of like size, those of pow, and next to the borders of octants.
template <class T>
void points(std::vector<T>& x, std::vector<T>& y) {
  power_arguments(x, y);
  std::mt19937_64 random(11);
  const auto unit = [&] { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63); };
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (int i = 0; i < 60000; ++i) {
    x.push_back(std::bit_cast<T>(static_cast<Bits>(random()))), y.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    const double scale = std::exp2(std::numeric_limits<T>::max_exponent * 0.99 * unit());
    x.push_back(static_cast<T>(scale * unit())), y.push_back(static_cast<T>(scale * unit()));
    const double slope = (random() & 1 ? 0.41421356237309503 : 1) * (1 + std::ldexp(unit(), -static_cast<int>(random() % 30)));
    x.push_back(static_cast<T>(scale)), y.push_back(static_cast<T>(scale * slope));
    const double least = std::numeric_limits<T>::denorm_min();
    x.push_back(static_cast<T>(least * static_cast<int>(random() % 1000))),
        y.push_back(static_cast<T>(least * static_cast<int>(random() % 1000)));
  }
}

TEST_CASE("expand_math: atan2 and hypot keep their bounds, with C's special cases") {
  std::vector<float> a, b;
  points(a, b);
  std::vector<double> c, d;
  points(c, d);
  for (const Bound& bound : std::span(kBinaryBounds).subspan(1))
    for (const bool has_fma : {true, false}) {
      check_bound<float, double>(bound.op, Element::f32, has_fma, bound.f32, a, b);
      check_bound<float, double>(bound.op, Element::f32, has_fma, bound.f32, b, a);
      check_bound<double, long double>(bound.op, Element::f64, has_fma, bound.f64, c, d);
      check_bound<double, long double>(bound.op, Element::f64, has_fma, bound.f64, d, c);
    }
}

TEST_CASE("expand_math: values that users count on are exact") {
  struct Exact {
    OpKind op;
    double x, y;
  };
  constexpr Exact kExact[] = {{OpKind::exp_, 0, 1},
                              {OpKind::exp_, -kInf, 0},
                              {OpKind::exp_, kInf, kInf},
                              {OpKind::exp_, 1e4, kInf},
                              {OpKind::exp_, -1e4, 0},
                              {OpKind::exp2_, 0, 1},
                              {OpKind::exp2_, 10, 1024},
                              {OpKind::exp2_, -126, 0x1p-126},
                              {OpKind::exp2_, -149, 0x1p-149},
                              {OpKind::exp2_, -kInf, 0},
                              {OpKind::log_, 1, 0},
                              {OpKind::log_, 0, -kInf},
                              {OpKind::log_, -0.0, -kInf},
                              {OpKind::log_, -1, kNaN},
                              {OpKind::log_, kInf, kInf},
                              {OpKind::log2_, 1, 0},
                              {OpKind::log2_, 8, 3},
                              {OpKind::log2_, 0x1p-149, -149},
                              {OpKind::log2_, 0, -kInf},
                              {OpKind::log2_, -kInf, kNaN},
                              {OpKind::sin_, 0, 0},
                              {OpKind::sin_, -0.0, -0.0},
                              {OpKind::sin_, kInf, kNaN},
                              {OpKind::cos_, 0, 1},
                              {OpKind::cos_, -kInf, kNaN},
                              {OpKind::tan_, -0.0, -0.0},
                              {OpKind::tan_, kInf, kNaN},
                              {OpKind::tanh_, 40, 1},
                              {OpKind::tanh_, -kInf, -1},
                              {OpKind::tanh_, -0.0, -0.0},
                              {OpKind::erf_, 10, 1},
                              {OpKind::erf_, -kInf, -1},
                              {OpKind::erf_, -0.0, -0.0},
                              {OpKind::rsqrt_, 4, 0.5},
                              {OpKind::rsqrt_, 0, kInf},
                              {OpKind::rsqrt_, kInf, 0},
                              {OpKind::rsqrt_, -1, kNaN},
                              {OpKind::round_, -0.5, -1},
                              {OpKind::round_, 2.5, 3},
                              {OpKind::round_, -0.25, -0.0},
                              {OpKind::exp10_, 0, 1},
                              {OpKind::exp10_, -kInf, 0},
                              {OpKind::exp10_, 400, kInf},
                              {OpKind::expm1_, -0.0, -0.0},
                              {OpKind::expm1_, -0x1p-149, -0x1p-149},
                              {OpKind::expm1_, -kInf, -1},
                              {OpKind::expm1_, 1e4, kInf},
                              {OpKind::log10_, 1, 0},
                              {OpKind::log10_, 1000, 3},
                              {OpKind::log10_, 0, -kInf},
                              {OpKind::log10_, -1, kNaN},
                              {OpKind::log1p_, -0.0, -0.0},
                              {OpKind::log1p_, 0x1p-149, 0x1p-149},
                              {OpKind::log1p_, -1, -kInf},
                              {OpKind::log1p_, -1.5, kNaN},
                              {OpKind::log1p_, kInf, kInf},
                              {OpKind::asin_, -0.0, -0.0},
                              {OpKind::asin_, 0x1p-149, 0x1p-149},
                              {OpKind::asin_, 1.5, kNaN},
                              {OpKind::asin_, -kInf, kNaN},
                              {OpKind::acos_, 1, 0},
                              {OpKind::acos_, -1.5, kNaN},
                              {OpKind::acos_, kInf, kNaN},
                              {OpKind::atan_, -0.0, -0.0},
                              {OpKind::atan_, -0x1p-149, -0x1p-149},
                              {OpKind::sinh_, -0.0, -0.0},
                              {OpKind::sinh_, 0x1p-149, 0x1p-149},
                              {OpKind::sinh_, -1e4, -kInf},
                              {OpKind::cosh_, -0.0, 1},
                              {OpKind::cosh_, -kInf, kInf},
                              {OpKind::cbrt_, -0.0, -0.0},
                              {OpKind::cbrt_, -kInf, -kInf},
                              {OpKind::cbrt_, -27, -3},
                              {OpKind::cbrt_, 0x1p-147, 0x1p-49}};
  const auto same = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
  };
  for (const Exact& c : kExact) {
    CAPTURE(ir::text(c.op));
    CAPTURE(c.x);
    for (const bool has_fma : {true, false}) {
      float in32 = static_cast<float>(c.x), out32;
      double out64;
      const void *a32[] = {&in32}, *a64[] = {&c.x};
      StraightLine(expanded(c.op, Element::f32, has_fma)).run(a32, &out32, 1);
      StraightLine(expanded(c.op, Element::f64, has_fma)).run(a64, &out64, 1);
      CHECK(same(out32, c.y));
      CHECK(same(out64, c.y));
    }
  }
}

TEST_CASE("expand_math: exp of f32 is short and does not divide") {
  const ir::Function f = expanded(OpKind::exp_, Element::f32, true);
  int ops = 0, divisions = 0;
  f.walk([&](ir::OpId id) {
    const OpKind k = f.kind(id);
    ops += k != OpKind::constant_ && k != OpKind::bitcast_ && k != OpKind::store_;
    divisions += k == OpKind::div_ || k == OpKind::div_rn_;
  });
  CHECK(ops <= 20);
  CHECK(divisions == 0);
}

TEST_CASE("expand_math: works inside regions, on tiles and on scalars") {
  ir::Module m = ir::parse(R"(kernel @k(%p: ptr<f32>, %x: f16, %c: i1) {
  %0 = constant {value = 1.5} : f32[8, 16]
  %1 = reduce %0 {axis = 1} : f32[8] (%a: f32, %b: f32) {
    %2 = log %a : f32
    %3 = pow %2, %b : f32
    yield %3
  }
  %4 = if %c : f16 {
    %5 = tanh %x : f16
    yield %5
  } {
    %6 = rsqrt %x : f16
    yield %6
  }
  %7 = cast %4 : f32
  store %p, %7
}
)",
                           "regions.tile");
  CHECK(expand_math(m.functions[0], {}));
  CHECK(ir::verify(m.functions[0]).empty());
  m.functions[0].walk([&](ir::OpId id) {
    for (const Bound& b : kBounds) CHECK(m.functions[0].kind(id) != b.op);
    for (const Bound& b : kBinaryBounds) CHECK(m.functions[0].kind(id) != b.op);
  });
  CHECK_FALSE(expand_math(m.functions[0], {}));
}

/// How many elements of two arrays differ, NaN counting as equal to NaN.
int differing(Element e, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y) {
  const std::size_t size = ir::bytes(e);
  int n = 0;
  for (std::size_t i = 0; i < x.size(); i += size) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, x.data() + i, size);
    std::memcpy(&b, y.data() + i, size);
    n += a != b && !(std::isnan(ir::float_value(e, a)) && std::isnan(ir::float_value(e, b)));
  }
  return n;
}

TEST_CASE("expand_math: the passes after it do not change a bit of the result") {
  std::mt19937_64 random(9);
  for (const Element e : {Element::f16, Element::f32, Element::f64})
    for (const OpKind k : {OpKind::exp_, OpKind::log_, OpKind::log2_, OpKind::sin_, OpKind::tan_, OpKind::tanh_, OpKind::erf_, OpKind::pow_,
                           OpKind::log1p_, OpKind::acos_, OpKind::atan_, OpKind::atan2_, OpKind::sinh_, OpKind::cbrt_, OpKind::hypot_})
      for (const bool has_fma : {true, false}) {
        PassContext context;
        context.target.has_fma = has_fma;
        ir::Function plain = expanded(k, e, has_fma), optimized = plain;
        const std::string_view after[] = {"canonicalize", "cse", "licm"};
        run_passes(optimized, after, context);
        const std::size_t n = 2000, size = ir::bytes(e);
        std::vector<unsigned char> x(n * size), y(n * size), a(n * size), b(n * size);
        for (auto* bytes : {&x, &y})
          for (unsigned char& byte : *bytes) byte = static_cast<unsigned char>(random());
        const void* arguments[] = {x.data(), y.data()};
        StraightLine(plain).run(arguments, a.data(), n);
        StraightLine(optimized).run(arguments, b.data(), n);
        CHECK(differing(e, a, b) == 0);
      }
}

TEST_CASE("straight_line_eval: agrees with evaluate_scalar on every expansion") {
  std::mt19937_64 random(8);
  for (const Element e : {Element::f32, Element::f64})
    for (const OpKind k : {OpKind::exp_, OpKind::log2_, OpKind::sin_, OpKind::tan_, OpKind::erf_, OpKind::pow_, OpKind::round_,
                           OpKind::log1p_, OpKind::atan2_, OpKind::cbrt_})
      for (const bool has_fma : {true, false}) {
        const std::size_t n = 600, size = ir::bytes(e);
        std::vector<unsigned char> x(n * size), y(n * size), fast(n * size), slow(n * size);
        for (auto* bytes : {&x, &y})
          for (unsigned char& byte : *bytes) byte = static_cast<unsigned char>(random());
        const void* arguments[] = {x.data(), y.data()};
        StraightLine line(expanded(k, e, has_fma));
        line.run(arguments, fast.data(), n);
        line.slow = true;
        line.run(arguments, slow.data(), n);
        CHECK(differing(e, fast, slow) == 0);
      }
}

}  // namespace
}  // namespace tilewright::passes

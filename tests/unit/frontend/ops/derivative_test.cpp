// Derivatives beside quotients of differences in double, on the interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/messages.h"
#include "tests/unit/frontend/traced.h"

namespace tw = tilewright;

namespace {

constexpr int kCount = 8;

/// f(x) and derivative(f(x), x) over 8 elements.
struct Values {
  std::vector<double> y = std::vector<double>(kCount), dy = std::vector<double>(kCount);
};
template <class F>
Values values_of(std::vector<double> x, F f) {
  Values v;
  traced::run(
      [&](tw::Ptr<const double> in, tw::Ptr<double> y, tw::Ptr<double> dy) {
        const auto i = tw::arange(0, kCount);
        const tw::F64 at = tw::load(in + i), value = f(at);
        tw::store(y + i, value);
        tw::store(dy + i, tw::derivative(value, at));
      },
      x, v.y, v.dy);
  return v;
}

/// Checks derivatives at numbers from low to high, where f must be smooth.
template <class F>
void check(const char* name, double low, double high, F f) {
  CAPTURE(name);
  constexpr double h = 1e-6;
  std::vector<double> x(kCount), left(kCount), right(kCount);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = low + (high - low) * (static_cast<double>(i) + 0.4) / kCount;
    left[i] = x[i] - h, right[i] = x[i] + h;
  }
  const Values v = values_of(x, f), l = values_of(left, f), r = values_of(right, f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    CHECK(v.dy[i] == doctest::Approx((r.y[i] - l.y[i]) / (2 * h)).epsilon(1e-7));
  }
}

std::string refused(const std::function<void(tw::F64)>& f) {
  try {
    traced::trace([&](tw::Ptr<const double> in) { f(tw::load(in + tw::arange(0, kCount))); });
  } catch (const tw::Error& e) {
    return e.what();
  }
  return "";
}
using tilewright::test::has;

}  // namespace

// A name and its function:
// clang-format off
TEST_CASE("derivative: functions of one number") {
  check("neg", -2, 2, [](auto x) { return -x; });
  check("abs", -2, 1.7, [](auto x) { return tw::abs(x); });
  check("floor", 0.1, 0.9, [](auto x) { return tw::floor(x) + x; });
  check("ceil", 0.1, 0.9, [](auto x) { return tw::ceil(x) + x; });
  check("round", 0.6, 1.4, [](auto x) { return tw::round(x) + tw::rint(x) + tw::trunc(x * 0.5) + x; });
  check("sqrt", 0.1, 3, [](auto x) { return tw::sqrt(x); });
  check("rsqrt", 0.1, 3, [](auto x) { return tw::rsqrt(x); });
  check("cbrt", 0.1, 3, [](auto x) { return tw::cbrt(x); });
  check("exp", -2, 2, [](auto x) { return tw::exp(x); });
  check("exp2", -2, 2, [](auto x) { return tw::exp2(x); });
  check("exp10", -1, 1, [](auto x) { return tw::exp10(x); });
  check("expm1", -2, 2, [](auto x) { return tw::expm1(x); });
  check("log", 0.1, 3, [](auto x) { return tw::log(x); });
  check("log2", 0.1, 3, [](auto x) { return tw::log2(x); });
  check("log10", 0.1, 3, [](auto x) { return tw::log10(x); });
  check("log1p", -0.5, 3, [](auto x) { return tw::log1p(x); });
  check("sin", -2, 2, [](auto x) { return tw::sin(x); });
  check("cos", -2, 2, [](auto x) { return tw::cos(x); });
  check("tan", -1, 1, [](auto x) { return tw::tan(x); });
  check("asin", -0.9, 0.9, [](auto x) { return tw::asin(x); });
  check("acos", -0.9, 0.9, [](auto x) { return tw::acos(x); });
  check("atan", -2, 2, [](auto x) { return tw::atan(x); });
  check("sinh", -2, 2, [](auto x) { return tw::sinh(x); });
  check("cosh", -2, 2, [](auto x) { return tw::cosh(x); });
  check("tanh", -2, 2, [](auto x) { return tw::tanh(x); });
  check("erf", -2, 2, [](auto x) { return tw::erf(x); });
}

TEST_CASE("derivative: functions of several numbers, choices and compositions") {
  check("add, sub", -2, 2, [](auto x) { return (x + x) - (3 - x) + 1; });
  check("mul", -2, 2, [](auto x) { return x * x * x; });
  check("div", 0.5, 2, [](auto x) { return (x + 1) / (x * x + 2) + 1 / x; });
  check("fma", -2, 2, [](auto x) { return tw::fma(x, x + 1, x); });
  check("maximum", -2, 1.7, [](auto x) { return tw::maximum(x * 2, x) + tw::fmax(x, 0.0); });
  check("minimum", -2, 1.7, [](auto x) { return tw::minimum(x * 2, x) + tw::fmin(0.0, x); });
  check("copysign", -2, 1.7, [](auto x) { return tw::copysign(x * x, x) + tw::copysign(x, -1.0); });
  check("pow", 0.5, 2, [](auto x) { return tw::pow(x, 3.5) + tw::pow(x, x) + tw::pow(2.0, x); });
  check("atan2", 0.5, 2, [](auto x) { return tw::atan2(x, x * x + 1); });
  check("hypot", 0.5, 2, [](auto x) { return tw::hypot(x, 2 - x); });
  check("where", -2, 1.7, [](auto x) { return tw::where(x > 0, x * x, 3.0) + tw::where(x > 0, 1.0, 2 * x); });
  check("clamp", -2.1, 2.2, [](auto x) { return tw::clamp(x, -1.0, 1.0) * x; });
  check("activations", -2, 1.7, [](auto x) { return tw::silu(x) + tw::sigmoid(x) + tw::gelu(x) + tw::gelu_tanh(x) + tw::relu(x); });
  check("constants", -2, 2, [](auto) { return tw::arange(0, kCount).template to<double>(); });
  check("integers are constants", 0.1, 0.9, [](auto x) { return x.template to<int>().template to<double>() + x; });
  check("one value twice", -2, 2, [](auto x) { const auto y = tw::sin(x); return y * y + y; });
}
// clang-format on

TEST_CASE("derivative: 0 at the corner of relu and of abs, and where a side of a choice is not taken") {
  const Values relu = values_of(std::vector<double>(kCount, 0), [](auto x) { return tw::relu(x); });
  const Values abs = values_of(std::vector<double>(kCount, 0), [](auto x) { return tw::abs(x); });
  CHECK(relu.dy == std::vector<double>(kCount, 0));
  CHECK(abs.dy == std::vector<double>(kCount, 0));
}

TEST_CASE("derivative: by a value between, through casts, and twice") {
  std::vector<float> x{-1.5f, -0.5f, 0.25f, 1, 2, 3, 4, 5}, dy(kCount), second(kCount);
  traced::run(
      [](tw::Ptr<const float> in, tw::Ptr<float> d, tw::Ptr<float> dd) {
        const auto i = tw::arange(0, kCount);
        const auto at = tw::load(in + i);
        const auto between = at.to<double>() * 3;
        const auto y = (between * between * between).to<float>();
        tw::store(d + i, tw::derivative(y, between));
        const auto cube = at * at * at;
        tw::store(dd + i, tw::derivative(tw::derivative(cube, at), at));
      },
      x, dy, second);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(dy[i] == 27 * x[i] * x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(second[i] == 6 * x[i]);
}

TEST_CASE("derivative: inside of a loop, by a value of the iteration") {
  std::vector<double> sums(kCount);
  traced::run(
      [](tw::Ptr<double> out) {
        auto total = tw::zeros<double>({kCount});
        for (auto n : tw::range(0, 3)) {
          const auto x = tw::arange(0, kCount).to<double>() + n.to<double>();
          total += tw::derivative(x * x, x);
        }
        tw::store(out + tw::arange(0, kCount), total);
      },
      sums);
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == 6 * static_cast<double>(i) + 6);
}

TEST_CASE("derivative: arguments of the kernel and loops that x is not used in are constants") {
  std::vector<double> one(1), other(1);
  traced::run(
      [](tw::F64 a, tw::F64 b, tw::Ptr<double> by_a, tw::Ptr<double> by_b) {
        tw::F64 total = 0.0;
        for (auto n : tw::range(0, 3)) {
          tw::F64 product = b;
          for ([[maybe_unused]] auto m : tw::range(0, 2)) product = product * 2.0;
          total += product + n.to<double>();
        }
        tw::store(by_a, tw::derivative(a * b * total, a));
        tw::store(by_b, tw::derivative(a * b, b));
      },
      3.0, 5.0, one, other);
  CHECK(one[0] == 5 * (3 * 4 * 5 + 3));
  CHECK(other[0] == 3);
}

TEST_CASE("derivative: what is not differentiated is refused with both lines") {
  const auto by = [](const char* what) {
    return std::string("derivative: 'y' depends on 'x' by ") + what + ", which is not differentiated";
  };
  const std::string sum = refused([](tw::F64 x) { tw::derivative(x - tw::sum(x, 0), x); });
  CHECK_MESSAGE(has(sum, by("reduce")), sum);
  CHECK_MESSAGE(has(sum, "derivative_test.cpp"), sum);
  CHECK_MESSAGE(has(sum, "note: it is here"), sum);
  CHECK(has(refused([](tw::F64 x) { tw::derivative(tw::flip(x, 0), x); }), by("flip")));
  CHECK(has(refused([](tw::F64 x) { tw::derivative(x.bitcast<std::int64_t>().bitcast<double>(), x); }), by("bitcast")));
  CHECK(has(refused([](tw::F64 x) {
              auto y = x;
              for ([[maybe_unused]] auto n : tw::range(0, 3)) y = y * x;
              tw::derivative(y, x);
            }),
            by("a loop or a branch")));
  CHECK(has(refused([](tw::F64 x) {
              auto y = x;
              for ([[maybe_unused]] auto n : tw::range(0, 3)) {
                y = y * x;
                tw::derivative(y, x);
              }
            }),
            by("a loop or a branch")));
  CHECK(has(refused([](tw::F64 x) {
              auto y = x;
              for (int i = 0; i < 64; ++i) y = y * y;  // gives 2^64 paths
              tw::derivative(y.bitcast<std::int64_t>().bitcast<double>(), x);
            }),
            by("bitcast")));
  CHECK(has(refused([](tw::F64 x) { tw::derivative(tw::sum(x, 0), x); }),
            "derivative: 'y' is a scalar and 'x' is [8]; they must have one shape"));
  CHECK(refused([](tw::F64 x) { tw::derivative(x + tw::sum(tw::arange(0, kCount).to<double>(), 0), x); }) == "");
}

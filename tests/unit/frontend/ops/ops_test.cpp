// Each function of the language against plain C++ on the interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tests/unit/frontend/traced.h"

namespace tw = tilewright;
using traced::run;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

/// f over 8 elements of x.
template <class T, class R = T, class F>
std::vector<R> map(std::vector<T> x, F f) {
  x.resize(8, T());
  std::vector<R> out(8);
  run(
      [&](tw::Ptr<const T> in, tw::Ptr<R> out) {
        auto i = tw::arange(0, 8);
        tw::store(out + i, f(tw::load(in + i)));
      },
      x, out);
  return out;
}

/// f over a [4, 8] tile, to a tile or scalar of R elements.
template <class R, class T, class F>
std::vector<R> on_matrix(std::vector<T> x, std::size_t results, F f) {
  std::vector<R> out(results);
  run(
      [&](tw::Ptr<const T> in, tw::Ptr<R> out) {
        auto y = f(tw::load(in + tw::column(tw::arange(0, 4)) * 8 + tw::arange(0, 8)));
        auto at = out + (y.rank() == 0 ? tw::I32(0)
                                       : tw::reshape(tw::arange(0, y.rank() == 1 ? y.extent(0) : y.extent(0) * y.extent(1)), y.shape()));
        tw::store(at, y);
      },
      x, out);
  return out;
}

std::vector<float> matrix() {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = float((i * 7) % 32 - 12) / 2;
  return x;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

}  // namespace

TEST_CASE("operators: arithmetic, comparisons and bits of integers") {
  const std::vector<std::int32_t> x{-7, -1, 0, 1, 5, 100, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  const auto r = map<std::int32_t>(x, [](tw::I32 v) { return (((v / 3) * 2 + v % 3 - 1) ^ (v & 12)) | (v << 1) | (v >> 3) | ~v | -v; });
  for (int i = 0; i < 6; ++i) CHECK(r[i] == (((x[i] / 3 * 2 + x[i] % 3 - 1) ^ (x[i] & 12)) | (x[i] << 1) | (x[i] >> 3) | ~x[i] | -x[i]));
  const auto c = map<std::int32_t>(x, [](tw::I32 v) {
    return (v == 0).to<int>() + (v != 1).to<int>() * 2 + (v < 5).to<int>() * 4 + (v <= 5).to<int>() * 8 + (v > -1).to<int>() * 16 +
           (v >= -1).to<int>() * 32 + ((v > 0 && !(v > 50)) || v == -7).to<int>() * 64;
  });
  for (int i = 0; i < 8; ++i) {
    const int v = x[i];
    CHECK(c[i] ==
          (v == 0) + (v != 1) * 2 + (v < 5) * 4 + (v <= 5) * 8 + (v > -1) * 16 + (v >= -1) * 32 + ((v > 0 && !(v > 50)) || v == -7) * 64);
  }
}

TEST_CASE("operators: constants on either side, and compound assignments") {
  const auto r = map<float>({1, 2, 3, 4}, [](tw::F32 v) {
    v += 1, v -= 0.5, v *= 2, v /= 4;
    return 10 - v * 2.0 + 1 / v;
  });
  for (int i = 0; i < 4; ++i) {
    const float v = ((float(i + 1) + 1) - 0.5f) * 2 / 4;
    CHECK(r[i] == 10 - v * 2 + 1 / v);
  }
}

TEST_CASE("operators: narrower types widen, f16 and bf16 meet in f32") {
  CHECK(map<std::int8_t, std::int32_t>({-128, 127}, [](tw::I8 v) { return v + tw::I32(1000); })[0] == 872);
  CHECK(map<std::uint16_t, std::int32_t>({65535}, [](tw::U16 v) { return tw::I32(1) + v; })[0] == 65536);
  CHECK(map<tw::f16, float>({tw::f16(0.1f)}, [](tw::F16 v) { return v + v.to<tw::bf16>(); })[0] ==
        float(tw::f16(0.1f)) + float(tw::bf16(float(tw::f16(0.1f)))));
  CHECK(map<tw::bf16, std::int32_t>({tw::bf16(2)}, [](tw::BF16 v) { return (v > tw::F16(tw::f16(1))).to<int>(); })[0] == 1);
}

TEST_CASE("pointers: offsets of any integer type and sign") {
  std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 7}, out(6);
  run(
      [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::U8 u, tw::I64 j) {
        auto p = x + 4;
        tw::store(out, tw::load(p + u)), tw::store(out + 1, tw::load(p - u)), tw::store(out + 2, tw::load(j + x));
        tw::store(out + 3, tw::load(p - std::uint64_t{3})), tw::store(out + 4, tw::load(p + -2));
        p += 1, p -= 3;
        tw::store(out + 5, tw::load(p));
      },
      x, out, std::uint8_t{2}, std::int64_t{7});
  CHECK(out == std::vector<float>{6, 2, 7, 1, 2, 2});
}

TEST_CASE("shape: column, row, broadcasting, reshape, permute, squeeze") {
  std::vector<std::int32_t> out(32);
  run(
      [](tw::Ptr<int> out) {
        auto m = tw::column(tw::arange(0, 4)) * 10 + tw::row(tw::arange(0, 8));
        CHECK(m.shape() == tw::Shape{4, 8});
        CHECK(m.extent(-1) == 8);
        CHECK(tw::transpose(m).shape() == tw::Shape{8, 4});
        CHECK(tw::expand_dims(m, -1).shape() == tw::Shape{4, 8, 1});
        CHECK(tw::expand_dims(m, 0).shape() == tw::Shape{1, 4, 8});
        CHECK(tw::squeeze(tw::expand_dims(m, 1), 1).shape() == m.shape());
        CHECK(tw::permute(tw::expand_dims(m, 0), {-1, 0, 1}).shape() == tw::Shape{8, 1, 4});
        CHECK(tw::broadcast_to(tw::arange(0, 8), {2, 4, 8}).shape() == tw::Shape{2, 4, 8});
        CHECK(tw::zeros<float>({}).rank() == 0);
        CHECK(tw::ravel(tw::I32(3)).shape() == tw::Shape{1});
        CHECK(tw::full_like(m, 7).shape() == m.shape());
        tw::store(out + tw::arange(0, 32), tw::ravel(tw::transpose(tw::reshape(m, {4, 8}))));
      },
      out);
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) CHECK(out[j * 4 + i] == i * 10 + j);
}

TEST_CASE("where: two C++ numbers give a tile of their own type in the shape of the condition") {
  std::vector<std::int32_t> out(8);
  std::vector<float> floats(8);
  std::vector<double> doubles(8);
  run(
      [](tw::Ptr<int> out, tw::Ptr<float> floats, tw::Ptr<double> doubles) {
        auto i = tw::arange(0, 8);
        tw::I32 y = tw::where(i < 3, -1, 2);
        tw::F32 z = tw::where(i < 3, 0.5f, -tw::inf), w = tw::where(i < 5, z, tw::where(i == 6, 3, 1.5f));
        tw::F64 d = tw::where(i < 3, 0.1, 0);
        tw::Bool b = tw::where(i == 7, true, false);
        tw::store(out + i, tw::where(b, 9, 0) + y), tw::store(floats + i, w), tw::store(doubles + i, d);
      },
      out, floats, doubles);
  CHECK(out == std::vector<std::int32_t>{-1, -1, -1, 2, 2, 2, 2, 11});
  CHECK(floats == std::vector<float>{0.5f, 0.5f, 0.5f, -kInf, -kInf, 1.5f, 3, 1.5f});
  CHECK(doubles == std::vector<double>{0.1, 0.1, 0.1, 0, 0, 0, 0, 0});
}

TEST_CASE("roll: along an axis and over all elements, by constants and at run time") {
  constexpr int kShifts[] = {0, 1, 3, -1, 8, -13, 1 << 30};
  for (const int shift : kShifts) {
    CAPTURE(shift);
    std::vector<std::int32_t> rows(32), columns(32), all(32), at_run_time(32), wide(32);
    run(
        [&](tw::Ptr<int> rows, tw::Ptr<int> columns, tw::Ptr<int> all, tw::Ptr<int> at_run_time, tw::Ptr<int> wide, tw::I32 n, tw::I64 j) {
          auto i = tw::reshape(tw::arange(0, 32), {4, 8});
          tw::store(rows + i, tw::roll(i, shift, 0)), tw::store(columns + i, tw::roll(i, shift, -1));
          tw::store(all + i, tw::roll(i, shift)), tw::store(at_run_time + i, tw::roll(i, n, 1)), tw::store(wide + i, tw::roll(i, j));
        },
        rows, columns, all, at_run_time, wide, shift, std::int64_t{shift});
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 8; ++c) {
        const int k = r * 8 + c;
        CHECK(rows[k] == ((r - shift) & 3) * 8 + c);
        CHECK(columns[k] == r * 8 + ((c - shift) & 7));
        CHECK(all[k] == ((k - shift) & 31));
        CHECK(at_run_time[k] == columns[k]);
        CHECK(wide[k] == all[k]);
      }
  }
}

TEST_CASE("shape: flip, join, split, interleave, cat") {
  std::vector<std::int32_t> flipped(32), joined(16), odd(4), woven(16), woven_deep(4), stacked(64), two(2);
  run(
      [](tw::Ptr<int> flipped, tw::Ptr<int> joined, tw::Ptr<int> odd, tw::Ptr<int> woven, tw::Ptr<int> woven_deep, tw::Ptr<int> stacked,
         tw::Ptr<int> two) {
        const auto put = [](tw::Ptr<int> out, tw::I32 t) {
          const int n = static_cast<int>(tw::ravel(t).extent(0));
          tw::store(out + tw::arange(0, n), tw::ravel(t));
        };
        auto m = tw::column(tw::arange(0, 4)) * 10 + tw::row(tw::arange(0, 8));
        auto l = tw::arange(0, 8);
        put(flipped, tw::flip(tw::flip(m, -1), 0));
        CHECK(tw::join(l, tw::I32(7)).shape() == tw::Shape{8, 2});
        put(joined, tw::join(l, tw::I32(7)));
        auto [even, uneven] = tw::split(tw::reshape(l, {2, 2, 2}));
        CHECK(even.shape() == tw::Shape{2, 2});
        put(odd, uneven);
        CHECK(tw::interleave(m, m).shape() == tw::Shape{4, 16});
        put(woven, tw::interleave(l, -l));
        put(woven_deep, tw::interleave(tw::reshape(tw::arange(0, 2), {1, 1, 1, 1, 2}), tw::I32(5)));
        CHECK(tw::cat(m, m, 0).shape() == tw::Shape{8, 8});
        put(stacked, tw::cat(m, -m, -1));
        auto [first, second] = tw::split(tw::interleave(tw::I32(3), tw::I32(4)));
        CHECK(first.rank() == 0);
        tw::store(two, second);
        tw::store(two + 1, first);
      },
      flipped, joined, odd, woven, woven_deep, stacked, two);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      CHECK(flipped[i * 8 + j] == (3 - i) * 10 + 7 - j);
      CHECK(stacked[i * 16 + j] == i * 10 + j);
      CHECK(stacked[i * 16 + 8 + j] == -(i * 10 + j));
    }
  for (int i = 0; i < 8; ++i) {
    CHECK(joined[2 * i] == i);
    CHECK(joined[2 * i + 1] == 7);
    CHECK(woven[2 * i] == i);
    CHECK(woven[2 * i + 1] == -i);
  }
  CHECK(odd == std::vector<std::int32_t>{1, 3, 5, 7});
  CHECK(woven_deep == std::vector<std::int32_t>{0, 5, 1, 5});
  CHECK(two == std::vector<std::int32_t>{4, 3});
}

TEST_CASE("element-wise: rounding, comparison and bits") {
  const std::vector<float> x{-2.5f, -0.5f, 0.5f, 1.5f, kNan, kInf, -0.0f, 3.7f};
#define EXPECT_MAP(CALL, EXPECTED)                                           \
  do {                                                                       \
    const auto r = map<float>(x, [](tw::F32 v) -> tw::F32 { return CALL; }); \
    for (int i = 0; i < 8; ++i) {                                            \
      [[maybe_unused]] const float v = x[i];                                 \
      INFO(#CALL " of " << v);                                               \
      CHECK(same(r[i], EXPECTED));                                           \
    }                                                                        \
  } while (0)
  EXPECT_MAP(tw::floor(v), std::floor(v));
  EXPECT_MAP(tw::ceil(v), std::ceil(v));
  EXPECT_MAP(tw::trunc(v), std::trunc(v));
  EXPECT_MAP(tw::round(v), std::round(v));
  EXPECT_MAP(tw::rint(v), std::nearbyint(v));
  EXPECT_MAP(tw::abs(v), std::fabs(v));
  EXPECT_MAP(tw::maximum(v, 1), std::isnan(v) ? kNan : std::max(v, 1.0f));
  EXPECT_MAP(tw::minimum(1.0, v), std::isnan(v) ? kNan : std::min(v, 1.0f));
  EXPECT_MAP(tw::fmax(v, 1), std::fmax(v, 1.0f));
  EXPECT_MAP(tw::fmin(v, 1), std::fmin(v, 1.0f));
  EXPECT_MAP(tw::copysign(2, v), std::copysign(2.0f, v));
  EXPECT_MAP(tw::fma(v, v, 1), std::fma(v, v, 1.0f));
  EXPECT_MAP(tw::clamp(v, -1, 2), std::isnan(v) ? kNan : std::min(std::max(v, -1.0f), 2.0f));
  EXPECT_MAP(tw::where(tw::isnan(v) || tw::isinf(v), 9, v), std::isfinite(v) ? v : 9);
  EXPECT_MAP(tw::where(v > 0, -tw::inf, v), v > 0 ? -kInf : v);
  EXPECT_MAP(tw::div_rn(v, 3), v / 3);
  EXPECT_MAP(tw::relu(v), std::isnan(v) ? kNan : std::max(v, 0.0f));
#undef EXPECT_MAP
  CHECK(map<std::uint32_t, std::int32_t>({0, 1, 0x80000000u, 0xff00u}, [](tw::U32 v) {
          return tw::popcount(v) + tw::clz(v) * 100 + tw::ffs(v) * 10000;
        }) == std::vector<std::int32_t>{3200, 13101, 320001, 91608, 3200, 3200, 3200, 3200});
  CHECK(map<std::uint8_t>({0x01, 0xd0}, [](tw::U8 v) { return tw::reverse_bits(v); }) ==
        std::vector<std::uint8_t>{0x80, 0x0b, 0, 0, 0, 0, 0, 0});
  CHECK(map<std::uint32_t>({0xffffffffu}, [](tw::U32 v) { return tw::umulhi(v, 0x80000000u); })[0] == 0x7fffffffu);
}

TEST_CASE("element-wise: functions of floats are near those of libm") {
  const std::vector<float> x{0.1f, 0.5f, 1.0f, 1.7f, 2.5f, 4.0f, 0.01f, 9.0f};
  const auto near = [&](const char* name, auto ours, auto theirs) {
    const auto r = map<float>(x, ours);
    for (int i = 0; i < 8; ++i) {
      INFO(name << " of " << x[i]);
      CHECK(r[i] == doctest::Approx(theirs(double(x[i]))).epsilon(1e-6));
    }
  };
#define NEAR(NAME) near(#NAME, [](tw::F32 v) { return tw::NAME(v); }, [](double v) { return std::NAME(v); })
  NEAR(sqrt), NEAR(exp), NEAR(exp2), NEAR(log), NEAR(log2), NEAR(sin), NEAR(cos), NEAR(tan), NEAR(tanh), NEAR(erf);
  NEAR(expm1), NEAR(log10), NEAR(log1p), NEAR(atan), NEAR(sinh), NEAR(cosh), NEAR(cbrt);
#undef NEAR
  near("asin", [](tw::F32 v) { return tw::asin(v * 0.0625f); }, [](double v) { return std::asin(v * 0.0625); });
  near("acos", [](tw::F32 v) { return tw::acos(v * -0.0625f); }, [](double v) { return std::acos(v * -0.0625); });
  near("exp10", [](tw::F32 v) { return tw::exp10(v); }, [](double v) { return std::pow(10, v); });
  near("atan2", [](tw::F32 v) { return tw::atan2(v, -2.0f); }, [](double v) { return std::atan2(v, -2.0); });
  near("hypot", [](tw::F32 v) { return tw::hypot(3, v); }, [](double v) { return std::hypot(3, v); });
  near("rsqrt", [](tw::F32 v) { return tw::rsqrt(v); }, [](double v) { return 1 / std::sqrt(v); });
  near("pow", [](tw::F32 v) { return tw::pow(v, 2.5); }, [](double v) { return std::pow(v, 2.5); });
  near("sigmoid", [](tw::F32 v) { return tw::sigmoid(v); }, [](double v) { return 1 / (1 + std::exp(-v)); });
  near("silu", [](tw::F32 v) { return tw::silu(v); }, [](double v) { return v / (1 + std::exp(-v)); });
  near("gelu", [](tw::F32 v) { return tw::gelu(v); }, [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  near(
      "gelu_tanh", [](tw::F32 v) { return tw::gelu_tanh(v); },
      [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); });
}

TEST_CASE("activations: 16-bit floats are computed in 32 bits and rounded once") {
  for (float x : {-3.0f, -0.7f, 0.3f, 2.2f}) {
    const double v = float(tw::f16(x));
    CHECK(map<tw::f16>({tw::f16(x)}, [](tw::F16 t) { return tw::gelu(t); })[0] == tw::f16(v / 2 * (1 + std::erf(v / std::sqrt(2.0)))));
  }
}

TEST_CASE("casts: values, bits and fp8") {
  CHECK(map<float, std::int32_t>({2.9f, -2.9f, 1e20f, kNan}, [](tw::F32 v) { return v.to<int>(); }) ==
        std::vector<std::int32_t>{2, -2, std::numeric_limits<int>::max(), 0, 0, 0, 0, 0});
  CHECK(map<float, std::uint32_t>({1.0f}, [](tw::F32 v) { return v.bitcast<std::uint32_t>(); })[0] == 0x3f800000u);
  CHECK(float(map<float, tw::f8e4m3>({0.3f}, [](tw::F32 v) { return tw::cast<tw::f8e4m3>(v); })[0]) == float(tw::f8e4m3(0.3f)));
  CHECK(map<tw::f8e5m2, float>({tw::f8e5m2(96)}, [](auto v) { return v.template to<float>(); })[0] == 96);
}

TEST_CASE("reduce: named reductions along axes and over all") {
  const auto x = matrix();
  const auto rows = [&](auto f) {
    std::vector<float> r;
    for (int i = 0; i < 4; ++i) r.push_back(f(std::vector<float>(x.begin() + i * 8, x.begin() + i * 8 + 8)));
    return r;
  };
  CHECK(on_matrix<float>(x, 4, [](tw::F32 t) { return tw::sum(t, 1); }) ==
        rows([](auto r) { return std::accumulate(r.begin(), r.end(), 0.0f); }));
  CHECK(on_matrix<float>(x, 4, [](tw::F32 t) { return tw::max(t, -1, true); }) ==
        rows([](auto r) { return *std::max_element(r.begin(), r.end()); }));
  CHECK(on_matrix<float>(x, 4, [](tw::F32 t) { return tw::min(t, -1); }) ==
        rows([](auto r) { return *std::min_element(r.begin(), r.end()); }));
  CHECK(on_matrix<float>(x, 1, [](tw::F32 t) { return tw::sum(t); })[0] == std::accumulate(x.begin(), x.end(), 0.0f));
  CHECK(on_matrix<float>(x, 8, [](tw::F32 t) { return tw::max(t, 0); })[3] == std::max({x[3], x[11], x[19], x[27]}));
  CHECK(map<float>({1, 2, 3, 4, 1, 1, 1, 1}, [](tw::F32 t) { return tw::prod(t) + t * 0; })[0] == 24);
  CHECK(map<std::int32_t>({1, 6, 4, 9}, [](tw::I32 t) { return tw::xor_sum(t) + t * 0; })[0] == (1 ^ 6 ^ 4 ^ 9));
  CHECK(on_matrix<std::int32_t>(x, 1, [](tw::F32 t) { return tw::any(t > 9).to<int>() * 2 + tw::all(t > 9).to<int>(); })[0] == 2);
}

TEST_CASE("reduce: argmax and argmin give the first NaN, else the lowest index") {
  const auto first = [](std::vector<float> row, auto f) {
    row.resize(8, row.back());
    std::vector<float> x;
    for (int i = 0; i < 4; ++i) x.insert(x.end(), row.begin(), row.end());
    return on_matrix<std::int32_t>(x, 4, [&](tw::F32 t) { return f(t); })[2];
  };
  const auto most = [](tw::F32 t) { return tw::argmax(t, 1); };
  const auto least = [](tw::F32 t) { return tw::argmin(t, 1); };
  CHECK(first({1, 5, 5, 2}, most) == 1);
  CHECK(first({5, 1, 1, 2}, least) == 1);
  CHECK(first({1, kNan, 9, kNan}, most) == 1);
  CHECK(first({1, 9, kNan, kNan}, least) == 2);
  CHECK(first({-0.0f, 0.0f, -1}, most) == 0);
  CHECK(first({0.0f, -0.0f, 1}, least) == 0);
  CHECK(on_matrix<std::int32_t>(matrix(), 1, [](tw::F32 t) { return tw::argmax(t); })[0] == [] {
    const auto x = matrix();
    return int(std::max_element(x.begin(), x.end()) - x.begin());
  }());
  CHECK(map<std::uint8_t, std::int32_t>({3, 200, 7}, [](tw::U8 v) { return tw::argmax(v) + v.to<int>() * 0; })[0] == 1);
}

TEST_CASE("reduce: 16-bit floats accumulate in 32 bits, small integers wrap") {
  std::vector<tw::f16> x(8, tw::f16(0)), out(1);
  x = {tw::f16(2048), tw::f16(1), tw::f16(1), tw::f16(1), tw::f16(1), tw::f16(0), tw::f16(0), tw::f16(0)};
  run([](tw::Ptr<const tw::f16> x, tw::Ptr<tw::f16> out) { tw::store(out, tw::sum(tw::load(x + tw::arange(0, 8)), 0)); }, x, out);
  CHECK(float(out[0]) == 2052);
  CHECK(map<std::int8_t>(std::vector<std::int8_t>(8, 100), [](tw::I8 v) { return tw::sum(v) + v * 0; })[0] == std::int8_t(800));
}

TEST_CASE("reduce: by functions over one tile and over tuples, in order") {
  // Affine maps compose, but do not commute.
  std::vector<float> a{2, 3, 0.5f, 1, 4, -1, 2, 1}, b{1, -1, 2, 0, 3, 5, -2, 1}, out(3);
  run(
      [](tw::Ptr<const float> pa, tw::Ptr<const float> pb, tw::Ptr<float> out) {
        auto i = tw::arange(0, 8);
        auto [gate, state] = tw::reduce(std::tuple{tw::load(pa + i), tw::load(pb + i)}, 0,
                                        [](std::tuple<tw::F32, tw::F32> x, std::tuple<tw::F32, tw::F32> y) {
                                          auto [xa, xb] = x;
                                          auto [ya, yb] = y;
                                          return std::tuple{xa * ya, xb * ya + yb};
                                        });
        tw::store(out, gate), tw::store(out + 1, state);
        tw::store(out + 2, tw::reduce(tw::load(pa + i), 0, [](auto, auto later) { return later; }));
      },
      a, b, out);
  float gate = a[0], state = b[0];
  for (int i = 1; i < 8; ++i) state = state * a[i] + b[i], gate *= a[i];
  CHECK(out == std::vector<float>{gate, state, 1});
}

TEST_CASE("dot: with and without accumulator, batches, i8") {
  std::vector<float> out(16);
  run(
      [](tw::Ptr<float> out) {
        auto i = tw::column(tw::arange(0, 4)), k = tw::row(tw::arange(0, 4));
        auto a = (i * 4 + k).to<float>(), b = (i - k).to<float>();
        auto once = tw::dot(a, b);
        auto batched = tw::dot(tw::expand_dims(a, 0), tw::expand_dims(b, 0), tw::expand_dims(once, 0), tw::Precision::ieee);
        tw::store(out + i * 4 + k, tw::squeeze(batched, 0));
      },
      out);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      float want = 0;
      for (int k = 0; k < 4; ++k) want += float(i * 4 + k) * float(k - j);
      CHECK(out[i * 4 + j] == 2 * want);
    }
  std::vector<std::int32_t> sums(1);
  run(
      [](tw::Ptr<int> out) {
        tw::store(out, tw::max(tw::max(tw::dot(tw::full<std::int8_t>({2, 4}, 127), tw::full<std::int8_t>({4, 2}, 127)), 0)));
      },
      sums);
  CHECK(sums[0] == 4 * 127 * 127);
}

TEST_CASE("memory: masks, other and options") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, out(8, -1);
  run(
      [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::I32 n) {
        auto i = tw::arange(0, 8);
        auto v = tw::load(x + i, i < n, -tw::inf, {.cache = tw::Cache::streaming, .evict = tw::Evict::first});
        tw::store(out + i, tw::where(v == -tw::inf, 100, v) + tw::load(x + i, i < 2), i < 7, {.is_volatile = true});
      },
      x, out, 4);
  CHECK(out == std::vector<float>{2, 4, 3, 4, 100, 100, 100, -1});
  const std::string s = tw::ir::print(traced::trace([](tw::Ptr<float> p, tw::Bool b) {
    tw::store(p, tw::load(p, b, 1, {.cache = tw::Cache::global, .evict = tw::Evict::last, .is_volatile = true}), {},
              {.cache = tw::Cache::write_back});
  }));
  CHECK(s.find("cache = global, evict = last, is_volatile") != std::string::npos);
  CHECK(s.find("{cache = write_back}") != std::string::npos);
}

TEST_CASE("memory: a scalar mask and value spread over the pointer's lanes") {
  std::vector<std::int32_t> out(4, 7);
  run([](tw::Ptr<int> out,
         tw::I32 n) { tw::store(out + tw::arange(0, 4), n, n > 2), tw::store(out, 1, false), tw::store(out + 1, 2, true); },
      out, 3);
  CHECK(out == std::vector{3, 2, 3, 3});
}

TEST_CASE("views: outside of the extents loads give other and stores are dropped") {
  std::vector<float> x(15), out(15, -1);
  std::iota(x.begin(), x.end(), 0.0f);
  run(
      [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::I64 rows, tw::I64 cols, tw::I64 stride, tw::I32 at) {
        const std::array<tw::I64, 2> extents{rows, cols}, strides{stride, tw::I64(1)};
        const std::array<tw::detail::Offset, 2> offsets{at, -1};
        const auto here = tw::Here::current();
        auto t = tw::detail::view_load<float>(x, extents, strides, offsets, {4, 4}, 100, here);
        tw::detail::view_store<float>(out, extents, strides, offsets, t + 1, here);
      },
      x, out, std::int64_t{3}, std::int64_t{4}, std::int64_t{5}, 1);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) CHECK(out[i * 5 + j] == (i >= 1 && j < 3 ? x[i * 5 + j] + 1 : -1));
}

TEST_CASE("library: softmax and log_softmax along either axis, f16 too") {
  const auto x = matrix();
  const auto soft = on_matrix<float>(x, 32, [](tw::F32 t) { return tw::softmax(t, 0); });
  const auto logs = on_matrix<float>(x, 32, [](tw::F32 t) { return tw::log_softmax(t, 1); });
  for (int j = 0; j < 8; ++j) {
    double total = 0;
    for (int i = 0; i < 4; ++i) total += std::exp(double(x[i * 8 + j]));
    for (int i = 0; i < 4; ++i) CHECK(soft[i * 8 + j] == doctest::Approx(std::exp(double(x[i * 8 + j])) / total).epsilon(1e-6));
  }
  for (int i = 0; i < 4; ++i) {
    double total = 0;
    for (int j = 0; j < 8; ++j) total += std::exp(double(x[i * 8 + j]));
    for (int j = 0; j < 8; ++j) CHECK(logs[i * 8 + j] == doctest::Approx(x[i * 8 + j] - std::log(total)).epsilon(1e-5));
  }
  CHECK(float(map<tw::f16>(std::vector<tw::f16>(8, tw::f16(1)), [](tw::F16 t) { return tw::softmax(t, 0); })[0]) == 0.125f);
}

TEST_CASE("library: cdiv and next_power_of_two agree between tiles and the host") {
  const std::vector<std::int32_t> x{-9, -8, -1, 0, 1, 8, 9, std::numeric_limits<int>::max()};
  for (int d : {1, 3, 8, -4}) {
    const auto r = map<std::int32_t>(x, [&](tw::I32 v) { return tw::cdiv(v, d); });
    for (int i = 0; i < 8; ++i) {
      CHECK(r[i] == tw::cdiv(x[i], d));
      CHECK(tw::cdiv(std::int64_t{x[i]}, d) == std::int64_t(std::ceil(double(x[i]) / d)));
    }
  }
  const std::vector<std::int32_t> p{-5, 0, 1, 2, 3, 781, 1 << 30, 1025};
  const auto r = map<std::int32_t>(p, [](tw::I32 v) { return tw::next_power_of_two(v); });
  for (int i = 0; i < 8; ++i) CHECK(r[i] == tw::next_power_of_two(p[i]));
  CHECK(r[5] == 1024);
  CHECK(map<std::uint8_t>({128, 5}, [](tw::U8 v) { return tw::next_power_of_two(v); })[0] == 128);
  static_assert(tw::cdiv(10, 4) == 3 && tw::next_power_of_two(781) == 1024 && tw::next_power_of_two(1) == 1);
}

TEST_CASE("library: grouped_order visits every tile once") {
  for (const auto& [m, n, group] : {std::array{5, 3, 2}, {4, 4, 8}, {8, 2, 4}, {1, 1, 1}}) {
    std::vector<std::int32_t> seen(m * n);
    traced::run_grid(
        {m * n, 1, 1},
        [&, group = group](tw::Ptr<int> seen, tw::I32 m, tw::I32 n) {
          auto [pm, pn] = tw::grouped_order(tw::program_id(0), m, n.to<std::int64_t>(), group);
          auto at = seen + pm * n + pn;
          tw::store(at, tw::load(at) + 1);
        },
        seen, m, n);
    CHECK(seen == std::vector<std::int32_t>(m * n, 1));
  }
}

TEST_CASE("program: ids and extents of the grid") {
  std::vector<std::int32_t> out(6);
  traced::run_grid(
      {3, 2, 1},
      [](tw::Ptr<int> out) { tw::store(out + tw::program_id(0) * 2 + tw::program_id(1), tw::num_programs(0) * 10 + tw::num_programs(1)); },
      out);
  CHECK(out == std::vector<std::int32_t>(6, 32));
}

// Element types, casts, broadcasting and bits, as users write them.
#include <algorithm>
#include <bit>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

template <class T>
std::vector<T> integers(int count, int least, int most, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i)
    values.push_back(static_cast<T>(static_cast<int>(engine() % static_cast<unsigned>(most - least + 1)) + least));
  return values;
}

template <class T>
std::vector<T> narrowed(const std::vector<float>& x) {
  std::vector<T> y;
  for (float v : x) y.push_back(T(v));
  return y;
}

/// Row-major a [m, k] times b [k, n].
template <class A, class B>
Numbers product(const std::vector<A>& a, const std::vector<B>& b, int m, int k, int n) {
  Numbers c(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c[i * n + j] += number_of(a[i * k + l]) * number_of(b[l * n + j]);
  return c;
}

}  // namespace

TEST_CASE("graph programs: products of every element type") {
  const int m = 20, k = 33, n = 27;
  const auto fa = normal(m * k, 1), fb = normal(k * n, 2);
  const auto run = [&]<class T>(T, double tolerance) {
    const auto ha = narrowed<T>(fa), hb = narrowed<T>(fb);
    Program p;
    auto a = p.input("a", {m, k}, ha), b = p.input("b", {k, n}, hb);
    p.output("own", tw::matmul(a, b), product(ha, hb, m, k, n), tolerance);
    if constexpr (sizeof(T) < 4) {
      p.output("float", tw::matmul<float>(a, b), product(ha, hb, m, k, n), 1e-5);
      p.output(
          "einsum", tw::einsum<float>("ij,jk->ki", a, b),
          [&] {
            const Numbers c = product(ha, hb, m, k, n);
            Numbers t;
            for (int j = 0; j < n; ++j)
              for (int i = 0; i < m; ++i) t.push_back(c[i * n + j]);
            return t;
          }(),
          1e-5);
    }
    p.check_on_all();
  };
  run(double(), 1e-12);
  run(float(), 2e-3);
  run(tw::f16(), 1e-3);
  run(tw::bf16(), 6e-3);
  run(tw::f8e4m3(), 4e-2);
  run(tw::f8e5m2(), 8e-2);
}

TEST_CASE("graph programs: products of integers") {
  const int m = 13, k = 70, n = 19;
  const auto run = [&]<class T>(T, int least, int most) {
    const auto ha = integers<T>(m * k, least, most, 1), hb = integers<T>(k * n, least, most, 2);
    Program p;
    auto a = p.input("a", {m, k}, ha), b = p.input("b", {k, n}, hb);
    const Numbers want = product(ha, hb, m, k, n);
    p.output("c", tw::matmul(a, b), want, 0);
    Numbers diagonal;
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double(ha[i * k + l]) * double(ha[i * k + l]);
      diagonal.push_back(sum);
    }
    p.output("squares", tw::einsum("ij,ij->i", a, a), diagonal, 0);
    p.check_on_all();
  };
  run(int8_t(), -128, 127);
  run(uint8_t(), 0, 255);
  run(int32_t(), -5000, 5000);
  run(int64_t(), -90000, 90000);
}

// The product of two of the operands is no operand of their type: 100 * 100 is no byte, and 300 * 300 no f16.
TEST_CASE("graph programs: products of three narrow operands") {
  const int m = 13, k = 20, n = 17;
  const auto run = [&]<class T>(T, const std::vector<T>& ha, const std::vector<T>& hb, double tolerance) {
    Numbers squares(m * n), chain(m * n), weighted(m * k), left(m * m);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int l = 0; l < k; ++l) squares[i * n + j] += double(ha[i * k + l]) * double(ha[i * k + l]) * double(hb[l * n + j]);
    for (int i = 0; i < m; ++i)
      for (int h = 0; h < m; ++h)
        for (int l = 0; l < k; ++l) left[i * m + h] += double(ha[i * k + l]) * double(ha[h * k + l]);
    for (int i = 0; i < m; ++i)
      for (int l = 0; l < k; ++l)
        for (int h = 0; h < m; ++h) weighted[i * k + l] += left[i * m + h] * double(ha[h * k + l]);
    Program p;
    auto a = p.input("a", {m, k}, ha), b = p.input("b", {k, n}, hb);
    if constexpr (std::is_integral_v<T>) {
      p.output("squares", tw::einsum("ij,ij,jk->ik", a, a, b), squares, tolerance);
      p.output("chain", tw::einsum("ij,kj,kl->il", a, a, a), weighted, tolerance);
    } else {
      p.output("squares", tw::einsum<float>("ij,ij,jk->ik", a, a, b), squares, tolerance);
      p.output("chain", tw::einsum<float>("ij,kj,kl->il", a, a, a), weighted, tolerance);
    }
    p.check_on_all();
  };
  run(int8_t(), integers<int8_t>(m * k, -128, 127, 1), integers<int8_t>(k * n, -128, 127, 2), 0);
  run(uint8_t(), integers<uint8_t>(m * k, 0, 150, 1), integers<uint8_t>(k * n, 0, 255, 2), 0);
  run(tw::f16(), narrowed<tw::f16>(normal(m * k, 1, 300)), narrowed<tw::f16>(normal(k * n, 2)), 2e-3);
  run(tw::bf16(), narrowed<tw::bf16>(normal(m * k, 1)), narrowed<tw::bf16>(normal(k * n, 2)), 2e-3);
}

// A factor of the inner sum has the axis of the outer one, which no accumulator has: the factor is computed after the loop, for all of them.
TEST_CASE("graph programs: a sum inside of a sum, times bytes of the outer one") {
  for (const int rows : {1, 33, 64}) {
    CAPTURE(rows);
    const int columns = 4, inner = 8;
    const auto hx = integers<std::int8_t>(rows * columns, -100, 100, 1), hw = integers<std::int8_t>(columns * inner, -9, 9, 2);
    const auto byte = [](double v) { return double(static_cast<std::int8_t>(static_cast<std::uint8_t>(static_cast<std::int64_t>(v)))); };
    Numbers most(columns, -128), sums(columns), want(columns);
    for (int i = 0; i < rows * columns; ++i) most[i % columns] = std::max(most[i % columns], double(hx[i])), sums[i % columns] += hx[i];
    for (int k = 0; k < inner; ++k) {
      double p = 0;
      for (int c = 0; c < columns; ++c) p += most[c] * hw[c * inner + k];
      p = byte(p);
      for (int c = 0; c < columns; ++c) want[c] += p * byte(p * sums[c]);
    }
    Program program;
    const tw::Dim n = program.graph.dim("n");
    program.set_number("n", rows);
    const auto x = program.input("x", {n, columns}, hx), w = program.input("w", {columns, inner}, hw);
    const auto p = tw::matmul(tw::broadcast_to(tw::max(x, {0}, true), {n, columns}), w).to<std::int8_t>();
    const auto g = tw::einsum("ia,ib->ab", p, x).to<std::int8_t>();
    Numbers of_rows;
    for (int r = 0; r < rows; ++r) of_rows.insert(of_rows.end(), want.begin(), want.end());
    program.output("y", tw::matmul(p, g), of_rows, 0);
    program.check_on_all();
  }
}

TEST_CASE("graph programs: integers wrap, divide, shift, compare and widen") {
  const int n = 200;
  const auto ha = integers<int32_t>(n, -1000, 1000, 1), hb = integers<int32_t>(n, 1, 30, 2);
  const auto h8 = integers<int8_t>(n, -128, 127, 3);
  const auto hu = integers<uint32_t>(n, 0, 2000000000, 4);
  const auto each = [&](auto&& f) {
    Numbers all;
    for (int i = 0; i < n; ++i) all.push_back(static_cast<double>(f(i)));
    return all;
  };
  Program p;
  auto a = p.input("a", {n}, ha), b = p.input("b", {n}, hb);
  auto c = p.input("c", {n}, h8);
  auto u = p.input("u", {n}, hu);
  p.output("quotient", a / b, each([&](int i) { return ha[i] / hb[i]; }), 0);
  p.output("remainder", a % b, each([&](int i) { return ha[i] % hb[i]; }), 0);
  p.output("shifted", (a << 3) >> 1, each([&](int i) { return (ha[i] << 3) >> 1; }), 0);
  p.output("bits", (a & 0xff) ^ (b | 64), each([&](int i) { return (ha[i] & 0xff) ^ (hb[i] | 64); }), 0);
  p.output("narrow", c + c, each([&](int i) { return static_cast<int8_t>(h8[i] + h8[i]); }), 0);
  p.output("product", c * c, each([&](int i) { return static_cast<int8_t>(h8[i] * h8[i]); }), 0);
  p.output("widened", c + a, each([&](int i) { return h8[i] + ha[i]; }), 0);
  p.output("wrapped", u * u, each([&](int i) { return hu[i] * hu[i]; }), 0);
  p.output("least", tw::minimum(a, b), each([&](int i) { return std::min(ha[i], hb[i]); }), 0);
  p.output("greatest", tw::maximum(u, 1000000000u), each([&](int i) { return std::max(hu[i], 1000000000u); }), 0);
  p.output("clamped", tw::clamp(a, -10, 20), each([&](int i) { return std::clamp(ha[i], -10, 20); }), 0);
  p.output("chosen", tw::where(a > b && b != 7, a, -b), each([&](int i) { return ha[i] > hb[i] && hb[i] != 7 ? ha[i] : -hb[i]; }), 0);
  p.output("ones", tw::popcount(u), each([&](int i) { return std::popcount(hu[i]); }), 0);
  p.output("magnitude", tw::abs(a), each([&](int i) { return std::abs(ha[i]); }), 0);
  p.output("sum of narrow", tw::sum(c), {double(static_cast<int8_t>([&] {
             int s = 0;
             for (int8_t v : h8) s += v;
             return s;
           }()))},
           0);
  p.output("sum of wide", tw::sum(c.to<int64_t>()), {[&] {
             double s = 0;
             for (int8_t v : h8) s += v;
             return s;
           }()},
           0);
  p.output("constants", tw::where(a > b, 1000000007, 16777217), each([&](int i) { return ha[i] > hb[i] ? 1000000007 : 16777217; }), 0);
  p.output("or zero", tw::where(a > b, 1000000007, 0), each([&](int i) { return ha[i] > hb[i] ? 1000000007 : 0; }), 0);
  p.output("count", tw::sum((a > b).to<int32_t>() * 20000001), {[&] {
             double s = 0;
             for (int i = 0; i < n; ++i) s += ha[i] > hb[i];
             return s * 20000001 - (s > 107 ? 4294967296.0 : 0);
           }()},
           0);
  p.output("power", tw::prod(tw::full<int64_t>(p.graph, {30}, 3)), {205891132094649.0}, 0);
  p.output("padded", tw::pad(tw::slice(a, 0, 0, 2), 0, 1, 1, 16777217), {16777217, double(ha[0]), double(ha[1]), 16777217}, 0);
  p.output("summed", tw::einsum("i->", c), {[&] {
             double s = 0;
             for (int8_t v : h8) s += v;
             return s;
           }()},
           0);
  p.output("extreme", tw::max(u), {double(*std::max_element(hu.begin(), hu.end()))}, 0);
  p.output("smallest", tw::min(u), {double(*std::min_element(hu.begin(), hu.end()))}, 0);
  p.check();
}

TEST_CASE("graph programs: casts between all kinds of elements") {
  const int n = 64;
  std::vector<float> hx = normal(n, 1, 100);
  hx[0] = 1e10f, hx[1] = -1e10f, hx[2] = NAN, hx[3] = 0.5f, hx[4] = -0.5f, hx[5] = 300;
  const auto each = [&](auto&& f) {
    Numbers all;
    for (int i = 0; i < n; ++i) all.push_back(static_cast<double>(f(hx[i])));
    return all;
  };
  const auto saturated = [](float v, double least, double most) {
    return std::isnan(v) ? 0 : std::clamp(std::trunc(double(v)), least, most);
  };
  Program p;
  auto x = p.input("x", {n}, hx);
  p.output("i32", x.to<int32_t>(), each([&](float v) { return saturated(v, INT32_MIN, INT32_MAX); }), 0);
  p.output("i8", tw::cast<int8_t>(x), each([&](float v) { return saturated(v, -128, 127); }), 0);
  p.output("u8", x.to<uint8_t>(), each([&](float v) { return saturated(v, 0, 255); }), 0);
  p.output("bool", x.to<bool>(), each([&](float v) { return v != 0; }), 0);
  p.output("back", x.to<bool>().to<float>() + (x > 0.0f).to<float>(), each([&](float v) { return (v != 0) + (v > 0); }), 0);
  p.output("negative", -(x > 0.0f).to<float>(), each([&](float v) { return -double(v > 0); }), 0);
  p.output("f16", x.to<tw::f16>(), each([&](float v) { return float(tw::f16(v)); }), 0);
  p.output("bf16", x.to<tw::bf16>(), each([&](float v) { return float(tw::bf16(v)); }), 0);
  auto small = tw::where(tw::isnan(x), 0.0f, tw::clamp(x, -200.0f, 200.0f));
  const auto clamped = [](float v) { return std::isnan(v) ? 0 : std::clamp(v, -200.0f, 200.0f); };
  p.output("fp8", small.to<tw::f8e4m3>(), each([&](float v) { return float(tw::f8e4m3(clamped(v))); }), 0);
  p.output("fp8 and back", small.to<tw::f8e4m3>().to<float>() * 2.0f, each([&](float v) { return 2 * float(tw::f8e4m3(clamped(v))); }), 0);
  p.output("f64", x.to<double>() * 1e-3, each([&](float v) { return v * 1e-3; }), 1e-12);
  p.output("bits", x.bitcast<uint32_t>() >> 23, each([&](float v) { return std::bit_cast<uint32_t>(v) >> 23; }), 0);
  p.output("f16 bits", small.to<tw::f16>().bitcast<uint16_t>(),
           each([&](float v) { return std::bit_cast<uint16_t>(tw::f16(clamped(v)).bits); }), 0);
  p.output(
      "from f16 bits", tw::iota<int16_t>(p.graph, {n}, 0).bitcast<tw::f16>() * 1024.0f,
      [&] {
        Numbers all;
        for (int i = 0; i < n; ++i) all.push_back(i * 0x1p-24 * 1024);
        return all;
      }(),
      0);
  p.check();
}

TEST_CASE("graph programs: f16 and bf16 meet in f32, weights of a norm may be wider") {
  const int rows = 5, n = 48;
  const auto ha = narrowed<tw::f16>(normal(rows * n, 1)), hg16 = narrowed<tw::f16>(normal(n, 3));
  const auto hb = narrowed<tw::bf16>(normal(rows * n, 2));
  const auto hg = normal(n, 4);
  Numbers sums, norms;
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int i = 0; i < n; ++i) squares += number_of(ha[r * n + i]) * number_of(ha[r * n + i]) / n;
    for (int i = 0; i < n; ++i) {
      sums.push_back(number_of(ha[r * n + i]) + number_of(hb[r * n + i]));
      norms.push_back(number_of(ha[r * n + i]) / std::sqrt(squares + 1e-6) * double(hg[i]));
    }
  }
  Program p;
  auto a = p.input("a", {rows, n}, ha);
  auto b = p.input("b", {rows, n}, hb);
  p.output("sum", a + b, sums, 1e-6);
  p.output("norm", tw::rms_norm(a, p.input("gamma", {n}, hg)), norms, 1e-3);
  p.check();
}

TEST_CASE("graph programs: masked integers wrap, and are greater or less, in their own type") {
  const auto run = [&]<class T>(T) {
    const int rows = 3, n = 70;
    std::mt19937_64 engine(3);
    std::vector<T> x, y;
    std::vector<bool> is_kept;
    for (int i = 0; i < rows * n; ++i) {
      x.push_back(static_cast<T>(engine())), y.push_back(static_cast<T>(engine()));
      is_kept.push_back(engine() % 4 != 0);
    }
    std::vector<int32_t> kept(is_kept.begin(), is_kept.end());
    Numbers least, order, as_float, as_double;
    for (int r = 0; r < rows; ++r) {
      // Sums of integers wrap.
      std::uint64_t masked_bits = 0, bits = 0;
      for (int i = 0; i < n; ++i) {
        masked_bits += static_cast<std::uint64_t>(is_kept[r * n + i] ? x[r * n + i] : T(0));
        bits += static_cast<std::uint64_t>(y[r * n + i]);
      }
      const T masked_sum = static_cast<T>(masked_bits), sum = static_cast<T>(bits);
      least.push_back(number_of(std::min(masked_sum, sum)));
      order.push_back(masked_sum < sum);
      for (int i = r * n; i < (r + 1) * n; ++i) {
        const T choice = is_kept[i] ? x[i] : T(3);
        as_float.push_back(number_of(static_cast<float>(choice)));
        as_double.push_back(number_of(static_cast<double>(std::max(choice, y[i]))));
      }
    }
    Program p;
    auto a = p.input("x", {rows, n}, x), b = p.input("y", {rows, n}, y);
    auto keep = p.input("keep", {rows, n}, kept) != 0;
    const auto masked = tw::sum(tw::where(keep, a, T(0)), {1}), plain = tw::sum(b, {1});
    p.output("least", tw::minimum(masked, plain), least, 0);
    p.output("order", (masked < plain).template to<int32_t>(), order, 0);
    const auto choice = tw::where(keep, a, T(3));
    p.output("float", choice.template to<float>(), as_float, 1e-7);
    p.output("double", tw::maximum(choice, b).template to<double>(), as_double, 0);
    p.check();
  };
  run(int8_t()), run(uint8_t()), run(int16_t()), run(int32_t()), run(uint32_t()), run(int64_t()), run(uint64_t());
}

// The value of an extent in a formula: by operators, and as a tensor for functions.
template <class T>
void check_values_of_extents(std::size_t rows) {
  CAPTURE(rows);
  constexpr std::size_t kColumns = 3;
  const auto r = static_cast<double>(rows);
  Program p;
  const tw::Dim n = p.graph.dim("n", {.min = 0}), m = kColumns;
  std::vector<T> elements;
  for (std::size_t i = 0; i < kColumns * rows; ++i) elements.push_back(static_cast<T>(i % 7 + 1));
  auto x = p.input("x", {n, m}, elements);
  const auto each = [&](auto f) {
    Numbers want;
    for (T v : elements) want.push_back(number_of(static_cast<T>(f(v))));
    return want;
  };
  p.output("product", (2 * n + 1) * x, each([&](T v) { return static_cast<T>(2 * r + 1) * v; }));
  p.output("quotient", x / (n + m), each([&](T v) { return v / static_cast<T>(r + kColumns); }));
  p.output("compared", tw::cast<std::int32_t>(x < n), each([&](T v) { return v < static_cast<T>(r); }));
  p.output("least", tw::minimum(x, tw::extent<T>(p.graph, n)), each([&](T v) { return std::min(v, static_cast<T>(r)); }));
  p.output("alone", tw::extent<T>(p.graph, n * n), {r * r});
  x += n;
  p.output("sum", x, each([&](T v) { return v + static_cast<T>(r); }));
  p.check();
}

TEST_CASE("graph programs: extents as numbers") {
  for (const std::size_t rows : {1u, 5u, 300u}) {
    check_values_of_extents<float>(rows);
    check_values_of_extents<double>(rows);
    check_values_of_extents<std::int32_t>(rows);
    check_values_of_extents<std::int64_t>(rows);
  }
}

TEST_CASE("graph programs: a sum that is divided by its extent is the mean") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {4, n});
  graph.output("y", tw::sum(x, 1) / n);
  tw::Graph means;
  auto same = means.input<float>("x", {4, means.dim("n")});
  means.output("y", tw::mean(same, 1));
  for (const char* target : {"cpu", "sm_80"}) {
    const auto kernels = graph.compile(target).kernels(), expected = means.compile(target).kernels();
    REQUIRE(kernels.size() == expected.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) CHECK(kernels[i].tile_ir == expected[i].tile_ir);
  }
}

TEST_CASE("graph programs: doubles, and fractions of symbols") {
  const auto run = [&]<class T>(T, double tolerance) {
    for (const int n : {2, 61}) {
      const int rows = 4;
      const auto h = rounded_to<T>(normal(rows * n, 7, 2));
      Numbers centred, normed, powers;
      for (int r = 0; r < rows; ++r) {
        double total = 0, mean = 0, square = 0;
        for (int i = 0; i < n; ++i) total += std::exp(number_of(h[r * n + i])), mean += number_of(h[r * n + i]) / n;
        for (int i = 0; i < n; ++i) square += (number_of(h[r * n + i]) - mean) * (number_of(h[r * n + i]) - mean) / n;
        for (int i = 0; i < n; ++i) {
          centred.push_back(std::exp(number_of(h[r * n + i])) / total - 1.0 / n);
          normed.push_back((number_of(h[r * n + i]) - mean) / std::sqrt(square + 1e-3));
          powers.push_back(std::exp2(number_of(h[r * n + i])) + std::pow(10, square / 9) - std::log10(square + 1) * std::log2(square + 2));
        }
      }
      Program p;
      const tw::Dim symbol = p.graph.dim("n");
      auto x = p.input("x", {rows, symbol}, h);
      const auto weights = tw::softmax(x, -1);
      p.output("centred", weights - tw::mean(weights, {1}, true), centred, tolerance);
      const auto differences = x - tw::mean(x, {1}, true);
      const auto variance = tw::mean(differences * differences, {1}, true);
      p.output("normed", differences / tw::sqrt(variance + T(1e-3)), normed, tolerance);
      p.output("powers", tw::exp2(x) + tw::exp10(variance / T(9)) - tw::log10(variance + T(1)) * tw::log2(variance + T(2)), powers,
               tolerance);
      p.check();
    }
  };
  run(float(), 1e-5), run(double(), 1e-13);
}

TEST_CASE("graph programs: broadcasting of ranks 0 to 6") {
  const int e[] = {2, 3, 2, 2, 3, 5};
  const auto hx = normal(2 * 3 * 2 * 2 * 3 * 5, 1), hrow = normal(5, 2), hmid = normal(2 * 3, 3), houter = normal(3 * 2, 4);
  Numbers want, sums(2 * 2 * 3);
  int at = 0;
  for (int a = 0; a < e[0]; ++a)
    for (int b = 0; b < e[1]; ++b)
      for (int c = 0; c < e[2]; ++c)
        for (int d = 0; d < e[3]; ++d)
          for (int f = 0; f < e[4]; ++f)
            for (int g = 0; g < e[5]; ++g, ++at) {
              want.push_back(double(hx[at]) * 2.5 + double(hrow[g]) - double(hmid[d * 3 + f]) * double(houter[b * 2 + c]));
              sums[(a * 2 + c) * 3 + f] += want.back();
            }
  Program p;
  auto x = p.input("x", {2, 3, 2, 2, 3, 5}, hx);
  auto row = p.input("row", {5}, hrow), mid = p.input("mid", {2, 3, 1}, hmid), outer = p.input("outer", {3, 2, 1, 1, 1}, houter);
  auto scalar = p.graph.scalar<float>("scalar");
  p.set_number("scalar", 2.5f);
  auto y = x * scalar + row - mid * outer;
  p.output("y", y, want, 1e-5);
  p.output("sums", tw::sum(y, {1, 3, 5}), sums, 1e-5);
  p.output("axes", tw::permute(tw::broadcast_to(row, {2, 1, 3, 1, 2, 5}), {5, 0, 3, 1, 2, 4}), [&] {
    Numbers all;
    for (int g = 0; g < 5; ++g) all.insert(all.end(), 12, double(hrow[g]));
    return all;
  }());
  p.check();
}

TEST_CASE("graph programs: numbers and tensors of no axes") {
  Program p;
  auto a = p.graph.scalar<float>("a");
  auto k = p.graph.scalar<int32_t>("k");
  p.set_number("a", 3.0f), p.set_number("k", 5);
  auto c = p.graph.constant(std::vector<float>{2}, {});
  p.output("sum", a * c + k.to<float>(), {11});
  p.output("itself", a, {3});
  p.output("constant", c, {2});
  p.output("filled", tw::full<float>(p.graph, {3}, 1.5f) * a, {4.5, 4.5, 4.5});
  p.output("counted", tw::iota<int32_t>(p.graph, {2, 3}, 1) * k, {0, 5, 10, 0, 5, 10}, 0);
  p.output("squeezed", tw::squeeze(tw::expand_dims(a, 0), 0), {3});
  p.output("one", tw::sum(tw::full<float>(p.graph, {1, 1}, 4.0f)), {4});
  p.check();
}

}  // namespace graph_program

// The meaning of each function on tensors: the interpreter against plain loops.
#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/unit/frontend/graph/graph_run.h"
#include "tileir/graph/philox.h"

namespace graph_run {
namespace {

using Numbers = std::vector<double>;

/// A graph with a [2, 3, 4] tensor x of random numbers.
struct Fixture {
  Fixture() : x(graph.input<float>("x", {2, 3, 4})), data(normal(24)) { values.set("x", data); }
  double at(int i, int j, int k) const { return data[static_cast<std::size_t>((i * 3 + j) * 4 + k)]; }
  tw::Graph graph;
  tw::Tensor<float> x;
  std::vector<float> data;
  Values values;
};

/// f(i, j, k) for each index of a shape, row-major.
Numbers each(int a, int b, int c, const std::function<double(int, int, int)>& f) {
  Numbers result;
  for (int i = 0; i < a; ++i)
    for (int j = 0; j < b; ++j)
      for (int k = 0; k < c; ++k) result.push_back(f(i, j, k));
  return result;
}

TEST_CASE("graph ops: shape") {
  const Fixture f;
  const auto check = [&](const tw::Tensor<float>& t, const std::string& shape, const Numbers& expected) {
    CAPTURE(shape);
    CHECK(shape_of(t.shape()) == shape);
    CHECK(numbers(t, f.values) == expected);
  };
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  check(tw::reshape(f.x, {6, 4}), "[6, 4]", each(2, 3, 4, x));
  check(tw::permute(f.x, {2, 0, 1}), "[4, 2, 3]", each(4, 2, 3, [&](int k, int i, int j) { return x(i, j, k); }));
  check(tw::permute(f.x, {-1, -2, 0}), "[4, 3, 2]", each(4, 3, 2, [&](int k, int j, int i) { return x(i, j, k); }));
  check(tw::transpose(f.x), "[2, 4, 3]", each(2, 4, 3, [&](int i, int k, int j) { return x(i, j, k); }));
  check(tw::expand_dims(f.x, -1), "[2, 3, 4, 1]", each(2, 3, 4, x));
  check(tw::squeeze(tw::expand_dims(f.x, 1), 1), "[2, 3, 4]", each(2, 3, 4, x));
  check(tw::broadcast_to(tw::slice(f.x, 1, 1, 2), {2, 3, 4}), "[2, 3, 4]", each(2, 3, 4, [&](int i, int, int k) { return x(i, 1, k); }));
  check(tw::slice(f.x, -1, 1, 4, 2), "[2, 3, 2]", each(2, 3, 2, [&](int i, int j, int k) { return x(i, j, 1 + 2 * k); }));
  check(tw::concat({f.x, tw::slice(f.x, 1, 0, 1)}, 1), "[2, 4, 4]", each(2, 4, 4, [&](int i, int j, int k) { return x(i, j % 3, k); }));
  check(tw::pad(f.x, 1, 1, 2, -5.0f), "[2, 6, 4]",
        each(2, 6, 4, [&](int i, int j, int k) { return j >= 1 && j < 4 ? x(i, j - 1, k) : -5; }));
  check(tw::pad(f.x, 1, 1, 0), "[2, 4, 4]", each(2, 4, 4, [&](int i, int j, int k) { return j >= 1 ? x(i, j - 1, k) : 0; }));
  check(tw::flip(f.x, 2), "[2, 3, 4]", each(2, 3, 4, [&](int i, int j, int k) { return x(i, j, 3 - k); }));
  for (const int offset : {0, 1, -1, 2, 4, 5, -9, 1000003})
    check(tw::rotate(f.x, -1, offset), "[2, 3, 4]",
          each(2, 3, 4, [&](int i, int j, int k) { return x(i, j, ((k - offset) % 4 + 4) % 4); }));
  check(tw::rotate(tw::slice(f.x, 1, 2, 3), 1, -7), "[2, 1, 4]", each(2, 1, 4, [&](int i, int, int k) { return x(i, 2, k); }));
  check(tw::rotate(tw::slice(f.x, 1, 2, 2), 1, 3), "[2, 0, 4]", {});
  check(tw::materialize(tw::flip(f.x, 0)), "[2, 3, 4]", each(2, 3, 4, [&](int i, int j, int k) { return x(1 - i, j, k); }));
  check(tw::window(f.x, 2, 2), "[2, 3, 3, 2]", each(6, 3, 2, [&](int i, int k, int j) { return x(0, i, k + j); }));
  check(tw::window(f.x, 1, 2), "[2, 2, 4, 2]", each(4, 4, 2, [&](int i, int k, int j) { return x(i / 2, i % 2 + j, k); }));
  check(tw::window(f.x, -1, 2, 2), "[2, 3, 2, 2]", each(6, 2, 2, [&](int i, int k, int j) { return x(0, i, 2 * k + j); }));
  check(tw::window(f.x, -1, 2, 1, 3), "[2, 3, 1, 2]", each(6, 1, 2, [&](int i, int, int j) { return x(0, i, 3 * j); }));
  check(tw::window(f.x, -1, 1, 3), "[2, 3, 2, 1]", each(6, 2, 1, [&](int i, int k, int) { return x(0, i, 3 * k); }));
  check(tw::window(f.x, -1, 3, 2), "[2, 3, 1, 3]", each(6, 1, 3, [&](int i, int, int j) { return x(0, i, j); }));  // the last is left out
  check(tw::window(tw::window(f.x, 1, 2), 2, 3, 1), "[2, 2, 2, 2, 3]",
        each(4, 4, 3, [&](int i, int kj, int l) { return x(i / 2, i % 2 + kj % 2, kj / 2 + l); }));
  check(tw::window(tw::slice(f.x, 0, 0, 0), 1, 2), "[0, 2, 4, 2]", {});
}

TEST_CASE("graph ops: rotate moves towards the end of the axis, as numpy.roll") {
  tw::Graph graph;
  const auto numbers_from_0 = tw::iota<int32_t>(graph, {5}, 0);
  CHECK(numbers(tw::rotate(numbers_from_0, 0, 2)) == Numbers{3, 4, 0, 1, 2});
  CHECK(numbers(tw::rotate(numbers_from_0, 0, -2)) == Numbers{2, 3, 4, 0, 1});
}

TEST_CASE("graph ops: pieces of axes, convolutions and pools") {
  Fixture f;
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  const std::vector<tw::Tensor<float>> pieces = tw::split(f.x, {1, 0, 3}, 2);
  CHECK(numbers(pieces[0], f.values) == each(2, 3, 1, [&](int i, int j, int) { return x(i, j, 0); }));
  CHECK(shape_of(pieces[1].shape()) == "[2, 3, 0]");
  CHECK(numbers(pieces[2], f.values) == each(2, 3, 3, [&](int i, int j, int k) { return x(i, j, k + 1); }));
  // x as an image of 2 x 3 with 4 channels; the filter counts 1, 2, ...
  std::vector<float> w(2 * 2 * 4 * 2);
  std::iota(w.begin(), w.end(), 1.0f);
  const auto filter = tw::iota<float>(f.graph, {32}, 0);
  const auto sum = [&](int i, int j, int o) {
    double all = 0;
    for (int u = 0; u < 2; ++u)
      for (int v = 0; v < 2; ++v)
        for (int c = 0; c < 4; ++c)
          if (i + u < 2 && j + v < 3) all += x(i + u, j + v, c) * double(w[static_cast<std::size_t>(((u * 2 + v) * 4 + c) * 2 + o)]);
    return all;
  };
  const auto taps = tw::reshape(filter + 1.0f, {2, 2, 4, 2});
  CHECK(shape_of(tw::conv(f.x, taps).shape()) == "[1, 2, 2]");
  check_close(numbers(tw::conv(f.x, taps), f.values), each(1, 2, 2, sum), 1e-4);
  CHECK(shape_of(tw::conv(f.x, taps, {.stride = 2, .pad = 1}).shape()) == "[2, 2, 2]");
  check_close(numbers(tw::slice(tw::slice(tw::conv(f.x, taps, {.pad = 1}), 0, 1, 3), 1, 1, 4), f.values), each(2, 3, 2, sum), 1e-4);
  CHECK(numbers(tw::max_pool(f.x, 2), f.values) ==
        each(1, 1, 4, [&](int, int, int k) { return std::max({x(0, 0, k), x(0, 1, k), x(1, 0, k), x(1, 1, k)}); }));
  check_close(numbers(tw::avg_pool(f.x, 2, {.stride = 1}), f.values),
              each(1, 2, 4, [&](int, int j, int k) { return (x(0, j, k) + x(0, j + 1, k) + x(1, j, k) + x(1, j + 1, k)) / 4; }), 1e-6);
}

TEST_CASE("graph ops: leaves") {
  tw::Graph graph;
  CHECK(numbers(tw::iota<int32_t>(graph, {2, 3}, 1)) == Numbers{0, 1, 2, 0, 1, 2});
  CHECK(numbers(tw::iota<tw::f16>(graph, {2, 2}, -2)) == Numbers{0, 0, 1, 1});
  CHECK(numbers(tw::full<int8_t>(graph, {3}, -7)) == Numbers{-7, -7, -7});
  CHECK(numbers(graph.constant(std::vector<double>{0.1, 2}, {2, 1})) == Numbers{0.1, 2});
  CHECK(numbers(graph.constant(std::vector<bool>{true, false}, {2})) == Numbers{1, 0});
  auto strided = graph.input<float>("strided", {2, 3}, {1, 2});
  auto scale = graph.scalar<tw::bf16>("scale");
  Values values;
  values.set("strided", std::vector<float>{0, 1, 2, 3, 4, 5, 6}).set("scale", std::vector<tw::bf16>{tw::bf16(2.5)});
  CHECK(numbers(strided, values) == Numbers{0, 2, 4, 1, 3, 5});
  CHECK(numbers(scale, values) == Numbers{2.5});
  // Random123's test vector of Philox4x32-10 for zeros.
  CHECK(tw::graph::philox(0, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  auto random = tw::rand(graph, 0, {2, 50});
  const Numbers drawn = numbers(random);
  CHECK(drawn[0] == (0x6627e8d5 >> 8) * 0x1p-24);
  CHECK(drawn[7] == (tw::graph::philox(0, 7)[0] >> 8) * 0x1p-24);
  CHECK(*std::max_element(drawn.begin(), drawn.end()) < 1);
  CHECK(numbers(tw::rand(graph, 1, {2, 50})) != drawn);
}

TEST_CASE("graph ops: element-wise functions broadcast, and have the types of tiles") {
  Fixture f;
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  auto row = f.graph.constant(std::vector<float>{1, 2, 3, 4}, {4});
  auto column = f.graph.constant(std::vector<float>{10, 20, 30}, {3, 1});
  CHECK(shape_of((row + column).shape()) == "[3, 4]");
  CHECK(numbers(row + column) == Numbers{11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34});
  CHECK(numbers(2 - row) == Numbers{1, 0, -1, -2});
  check_close(numbers(f.x * column, f.values), each(2, 3, 4, [&](int i, int j, int k) { return x(i, j, k) * 10 * (j + 1); }), 1e-6);
  check_close(numbers(tw::exp(-f.x) / 2.0f, f.values), each(2, 3, 4, [&](int i, int j, int k) { return std::exp(-x(i, j, k)) / 2; }), 1e-6);
  CHECK(numbers(tw::where(f.x > 0.0f, f.x, -f.x), f.values) == numbers(tw::abs(f.x), f.values));
  CHECK(numbers(tw::where(row > 2.0f, 1, -1)) == Numbers{-1, -1, 1, 1});
  CHECK(numbers(tw::clamp(row, 2, 3.5f)) == Numbers{2, 2, 3, 3.5});
  CHECK(numbers(tw::fma(row, 2.0f, row)) == Numbers{3, 6, 9, 12});
  CHECK(numbers(tw::minimum(row, 2.5f)) == Numbers{1, 2, 2.5, 2.5});
  CHECK(numbers(tw::pow(row, 2.0f)) == Numbers{1, 4, 9, 16});
  auto integers = row.to<int32_t>();
  CHECK(numbers(integers / 2 + integers % 2) == Numbers{1, 1, 2, 2});
  CHECK(numbers((integers << 2) | 1) == Numbers{5, 9, 13, 17});
  CHECK(numbers(~integers) == Numbers{-2, -3, -4, -5});
  CHECK(numbers(!(row < 2.5f) || row == 1.0f) == Numbers{1, 0, 1, 1});
  CHECK(numbers(row.bitcast<uint32_t>() >> 23) == Numbers{127, 128, 128, 129});
  auto sum = row;
  sum += 1;
  sum *= row;
  CHECK(numbers(sum) == Numbers{2, 6, 12, 20});
  CHECK(numbers(row) == Numbers{1, 2, 3, 4});

  static_assert(std::is_same_v<decltype(row.to<tw::f16>() + row), tw::Tensor<float>>);
  static_assert(std::is_same_v<decltype(row.to<tw::f16>() + row.to<tw::bf16>()), tw::Tensor<float>>);
  static_assert(std::is_same_v<decltype(row.to<int8_t>() + integers), tw::Tensor<int32_t>>);
  static_assert(std::is_same_v<decltype(tw::clz(integers.to<int64_t>())), tw::Tensor<int32_t>>);
  static_assert(std::is_same_v<decltype(tw::isnan(row)), tw::Tensor<bool>>);
  // 1 + 2^-11 is a tie in f16: as f32 it is kept, as f16 it rounds to even.
  auto one = f.graph.constant(std::vector<float>{1}, {1}), small = one * 0x1p-11f;
  CHECK(numbers(one.to<tw::f16>() + small.to<tw::f16>()) == Numbers{1});
  CHECK(numbers(one.to<tw::f16>() + small) == Numbers{1 + 0x1p-11});
}

TEST_CASE("graph ops: in double precision nothing is rounded, but casts to integers are") {
  tw::Graph graph;
  auto x = graph.constant(std::vector<float>{1, 3}, {2}).to<tw::f16>();
  auto third = x / 3.0f;
  CHECK(numbers(third, {}, Rounding::as_typed)[0] == double(float(tw::f16(1.0 / 3))));
  CHECK(numbers(third, {}, Rounding::double_precision)[0] == 1.0 / 3);
  CHECK(numbers((third * 3.7f).to<int32_t>(), {}, Rounding::double_precision) == Numbers{1, 3});
  CHECK(numbers(third > 0.5f, {}, Rounding::double_precision) == Numbers{0, 1});
  // The bits are those of the tensor's type.
  CHECK(numbers(x.bitcast<uint16_t>(), {}, Rounding::double_precision) == Numbers{0x3c00, 0x4200});
  CHECK(numbers(x.bitcast<uint16_t>().bitcast<tw::f16>(), {}, Rounding::double_precision) == Numbers{1, 3});
}

TEST_CASE("graph ops: reductions along one axis, several and all") {
  const Fixture f;
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  const auto total = [&](int i, int k) { return x(i, 0, k) + x(i, 1, k) + x(i, 2, k); };
  const auto check = [&](const tw::detail::tensor::Handle& t, const std::string& shape, const Numbers& expected) {
    CHECK(shape_of(tw::Tensor<float>(t).shape()) == shape);
    check_close(numbers(t, f.values), expected, 1e-5);
    check_close(numbers(t, f.values, Rounding::double_precision), expected, 1e-12);
  };
  check(tw::sum(f.x, 1), "[2, 4]", each(2, 4, 1, [&](int i, int k, int) { return total(i, k); }));
  check(tw::sum(f.x, 1, true), "[2, 1, 4]", each(2, 4, 1, [&](int i, int k, int) { return total(i, k); }));
  check(tw::sum(f.x, {0, -2}), "[4]", each(4, 1, 1, [&](int k, int, int) { return total(0, k) + total(1, k); }));
  check(tw::mean(f.x, {2, 0}, true), "[1, 3, 1]", each(3, 1, 1, [&](int j, int, int) {
          double sum = 0;
          for (int i = 0; i < 2; ++i)
            for (int k = 0; k < 4; ++k) sum += x(i, j, k);
          return sum / 8;
        }));
  const double all = std::accumulate(f.data.begin(), f.data.end(), 0.0);
  check(tw::sum(f.x, std::vector<int>()), "[2, 3, 4]", each(2, 3, 4, [&](int i, int j, int k) { return f.at(i, j, k); }));  // no axis
  check(tw::sum(f.x), "[]", {all});
  check(tw::mean(f.x), "[]", {all / 24});
  check(tw::prod(f.x, 1), "[2, 4]", each(2, 4, 1, [&](int i, int k, int) { return x(i, 0, k) * x(i, 1, k) * x(i, 2, k); }));
  check(tw::max(f.x, 0), "[3, 4]", each(3, 4, 1, [&](int j, int k, int) { return std::max(x(0, j, k), x(1, j, k)); }));
  check(tw::min(f.x), "[]", {double(*std::min_element(f.data.begin(), f.data.end()))});
  check(tw::argmax(f.x, 0), "[3, 4]", each(3, 4, 1, [&](int j, int k, int) { return x(1, j, k) > x(0, j, k) ? 1 : 0; }));
  check(tw::argmin(f.x), "[]", {double(std::min_element(f.data.begin(), f.data.end()) - f.data.begin())});
  check(tw::any(f.x > 0.0f, 2), "[2, 3]",
        each(2, 3, 1, [&](int i, int j, int) { return std::max({x(i, j, 0), x(i, j, 1), x(i, j, 2), x(i, j, 3)}) > 0; }));
  check(tw::all(f.x > 0.0f, 2), "[2, 3]",
        each(2, 3, 1, [&](int i, int j, int) { return std::min({x(i, j, 0), x(i, j, 1), x(i, j, 2), x(i, j, 3)}) > 0; }));
  check(tw::logsumexp(f.x, 1), "[2, 4]",
        each(2, 4, 1, [&](int i, int k, int) { return std::log(std::exp(x(i, 0, k)) + std::exp(x(i, 1, k)) + std::exp(x(i, 2, k))); }));
  check(tw::logsumexp(f.x, {0, 1}, true), "[1, 1, 4]", each(4, 1, 1, [&](int k, int, int) {
          double sum = 0;
          for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j) sum += std::exp(x(i, j, k));
          return std::log(sum);
        }));
}

TEST_CASE("graph ops: special values of reductions") {
  tw::Graph graph;
  const float inf = HUGE_VALF, nan = NAN;
  auto t = graph.constant(std::vector<float>{-inf, -inf, 1, -inf, inf, 2, nan, 3, 0, -0.0f, 5, 5}, {6, 2});
  const Numbers logs = numbers(tw::logsumexp(t, 1));
  CHECK(logs[0] == -HUGE_VAL);
  CHECK(logs[1] == 1);
  CHECK(logs[2] == HUGE_VAL);
  CHECK(std::isnan(logs[3]));
  CHECK(logs[4] == doctest::Approx(std::log(2.0)));
  const Numbers softmax = numbers(tw::softmax(t, 1));
  CHECK(std::isnan(softmax[0]));
  CHECK(softmax[2] == 1);
  CHECK(softmax[3] == 0);
  CHECK(numbers(tw::argmax(t, 1)) == Numbers{0, 0, 0, 0, 0, 0});
  CHECK(numbers(tw::argmin(t, 1)) == Numbers{0, 1, 1, 0, 0, 0});
  CHECK(std::isnan(numbers(tw::max(t, 1))[3]));
  // Sums of 8- and 16-bit floats round once: 2048 + 1 is 2048 in f16 at each step.
  std::vector<tw::f16> steps(101, tw::f16(1));
  steps[0] = tw::f16(2048);
  auto narrow = graph.constant(steps, {101});
  CHECK(numbers(tw::sum(narrow)) == Numbers{2148});
  CHECK(numbers(tw::mean(narrow)) == Numbers{double(float(tw::f16(2148.0 / 101)))});
  CHECK(numbers(tw::cumsum(narrow, 0)).back() == 2148);
  CHECK(numbers(tw::sum(graph.constant(std::vector<tw::f8e4m3>(20, tw::f8e4m3(1)), {20}))) == Numbers{20});
  static_assert(std::is_same_v<decltype(tw::sum(narrow)), tw::Tensor<tw::f16>>);
  CHECK(numbers(tw::sum(graph.constant(std::vector<int8_t>{100, 100}, {2}))) == Numbers{-56});
}

TEST_CASE("graph ops: reduce() by a function") {
  Fixture f;
  const auto kind = [&](const tw::Tensor<float>& t) { return t.nodes()->node({t.node()}).kind; };
  using tw::graph::Combine;
  // A single op is the named reduction.
  CHECK(kind(tw::reduce(f.x, 1, 0.0f, [](auto a, auto b) { return a + b; })) == Combine::sum);
  CHECK(kind(tw::reduce(f.x, 1, 1, [](auto a, auto b) { return b * a; })) == Combine::prod);
  CHECK(kind(tw::reduce(f.x, 1, -tw::inf, [](auto a, auto b) { return tw::maximum(a, b); })) == Combine::max);
  CHECK(kind(tw::reduce(f.x, 1, tw::inf, [](auto a, auto b) { return tw::minimum(a, b); })) == Combine::min);
  CHECK(kind(tw::reduce(f.x, 1, 0.0f, [](auto a, auto) { return a + a; })) == Combine::combine);
  CHECK(kind(tw::reduce(f.x, 1, -tw::inf, [](auto a, auto b) { return tw::fmax(a, b); })) == Combine::combine);
  CHECK(numbers(tw::reduce(f.x, 1, 0.0f, [](auto a, auto b) { return a + b; }), f.values) == numbers(tw::sum(f.x, 1), f.values));
  // Affine maps x -> p x + q, as pairs in one number of base 100: associative, and not commutative.
  auto digits = f.graph.constant(std::vector<int64_t>{203, 501, 304, 102}, {4});
  auto composed = tw::reduce(digits, 0, 100, [](auto a, auto b) {
    auto p = a / 100, q = a % 100, r = b / 100, s = b % 100;
    return p * r % 100 * 100 + (r * q + s) % 100;
  });
  std::int64_t p = 1, q = 0;
  for (std::int64_t digit : {203, 501, 304, 102}) q = (digit / 100 * q + digit % 100) % 100, p = p * (digit / 100) % 100;
  CHECK(numbers(composed) == Numbers{double(p * 100 + q)});
  auto log_add = tw::reduce(f.x, 2, -tw::inf, [](auto a, auto b) {
    auto m = tw::maximum(a, b);
    return m + tw::log(tw::exp(a - m) + tw::exp(b - m));
  });
  check_close(numbers(log_add, f.values), numbers(tw::logsumexp(f.x, 2), f.values), 1e-5);
  auto root = tw::reduce(f.x, -1, 0.0f, [](auto a, auto b) { return tw::sqrt(a * a + b * b); });
  check_close(numbers(root, f.values), numbers(tw::sqrt(tw::sum(f.x * f.x, -1)), f.values), 1e-5);
}

TEST_CASE("graph ops: scans") {
  const Fixture f;
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  check_close(numbers(tw::cumsum(f.x, 1), f.values),
              each(2, 3, 4,
                   [&](int i, int j, int k) {
                     double sum = 0;
                     for (int l = 0; l <= j; ++l) sum += x(i, l, k);
                     return sum;
                   }),
              1e-5);
  check_close(numbers(tw::cumprod(f.x, -1, true), f.values),
              each(2, 3, 4,
                   [&](int i, int j, int k) {
                     double product = 1;
                     for (int l = k; l < 4; ++l) product *= x(i, j, l);
                     return product;
                   }),
              1e-5);
  CHECK(numbers(tw::cummax(f.x, 0), f.values) ==
        each(2, 3, 4, [&](int i, int j, int k) { return i == 0 ? x(0, j, k) : std::max(x(0, j, k), x(1, j, k)); }));
  CHECK(numbers(tw::cummin(f.x, 0, true), f.values) ==
        each(2, 3, 4, [&](int i, int j, int k) { return i == 1 ? x(1, j, k) : std::min(x(0, j, k), x(1, j, k)); }));
}

TEST_CASE("graph ops: matrix products broadcast their batches") {
  const Fixture f;
  tw::Graph& graph = const_cast<tw::Graph&>(f.graph);
  auto w = graph.input<float>("w", {5, 1, 4, 6});
  Values values = f.values;
  const std::vector<float> hw = normal(5 * 4 * 6);
  values.set("w", hw);
  auto y = tw::matmul(f.x, w);
  CHECK(shape_of(y.shape()) == "[5, 2, 3, 6]");
  Numbers expected;
  for (int b = 0; b < 5; ++b)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int n = 0; n < 6; ++n) {
          double sum = 0;
          for (int k = 0; k < 4; ++k) sum += f.at(i, j, k) * double(hw[static_cast<std::size_t>((b * 4 + k) * 6 + n)]);
          expected.push_back(sum);
        }
  check_close(numbers(y, values), expected, 1e-5);
  check_close(numbers(y, values, Rounding::double_precision), expected, 1e-12);
}

TEST_CASE("graph ops: element types of products") {
  tw::Graph graph;
  auto bytes = graph.constant(std::vector<int8_t>{127, 127, 127, 127}, {2, 2});
  static_assert(std::is_same_v<decltype(tw::matmul(bytes, bytes)), tw::Tensor<int32_t>>);
  CHECK(numbers(tw::matmul(bytes, bytes)) == Numbers(4, 2 * 127 * 127));
  auto unsigned_bytes = graph.constant(std::vector<uint8_t>{255, 255}, {1, 2});
  CHECK(numbers(tw::einsum("ij,kj->ik", unsigned_bytes, unsigned_bytes)) == Numbers{2 * 255 * 255});
  auto half = graph.constant(std::vector<tw::f16>{tw::f16(1), tw::f16(0x1p-11)}, {1, 2});
  auto ones = graph.constant(std::vector<tw::f16>{tw::f16(1), tw::f16(1)}, {2, 1});
  static_assert(std::is_same_v<decltype(tw::matmul(half, ones)), tw::Tensor<tw::f16>>);
  static_assert(std::is_same_v<decltype(tw::matmul<float>(half, ones)), tw::Tensor<float>>);
  static_assert(std::is_same_v<decltype(tw::matmul(half, ones.to<float>())), tw::Tensor<float>>);
  static_assert(std::is_same_v<decltype(tw::matmul(half.to<double>(), ones)), tw::Tensor<double>>);
  CHECK(numbers(tw::matmul(half, ones)) == Numbers{1});
  CHECK(numbers(tw::matmul<float>(half, ones)) == Numbers{1 + 0x1p-11});
  auto eighth = half.to<tw::f8e4m3>();
  static_assert(std::is_same_v<decltype(tw::matmul(eighth, tw::transpose(eighth))), tw::Tensor<tw::f8e4m3>>);
  auto wide = graph.constant(std::vector<int64_t>{INT64_MAX, 2}, {2});
  CHECK(interpret(*wide.nodes(), tw::graph::NodeId{tw::einsum("i,i->", wide, wide).node()}, Values(), Rounding::as_typed).bits[0] == 1 + 4);
  auto precise = tw::matmul(ones.to<float>(), half.to<float>(), tw::Precision::ieee);
  CHECK(precise.nodes()->node({precise.node()}).precision == tw::graph::ProductPrecision::ieee);
}

TEST_CASE("graph ops: einsum against plain loops") {
  tw::Graph graph;
  auto a = graph.input<float>("a", {2, 3, 4}), b = graph.input<float>("b", {3, 4, 5}), c = graph.input<float>("c", {5}),
       square = graph.input<float>("square", {3, 3}), one = graph.input<float>("one", {1, 3});
  const auto ha = normal(24), hb = normal(60), hc = normal(5), hs = normal(9), ho = normal(3);
  Values values;
  values.set("a", ha).set("b", hb).set("c", hc).set("square", hs).set("one", ho);
  const auto A = [&](int i, int j, int k) { return double(ha[static_cast<std::size_t>((i * 3 + j) * 4 + k)]); };
  const auto B = [&](int j, int k, int l) { return double(hb[static_cast<std::size_t>((j * 4 + k) * 5 + l)]); };
  const auto sum = [](int n, const std::function<double(int)>& f) {
    double total = 0;
    for (int i = 0; i < n; ++i) total += f(i);
    return total;
  };
  const auto check = [&](const tw::Tensor<float>& t, const std::string& shape, const Numbers& expected) {
    CAPTURE(shape);
    CHECK(shape_of(t.shape()) == shape);
    check_close(numbers(t, values), expected, 1e-4);
    check_close(numbers(t, values, Rounding::double_precision), expected, 1e-12);
  };
  check(tw::einsum("ijk,jkl->il", a, b), "[2, 5]",
        each(2, 5, 1, [&](int i, int l, int) { return sum(12, [&](int m) { return A(i, m / 4, m % 4) * B(m / 4, m % 4, l); }); }));
  check(tw::einsum("ijk, jkl, l -> ki", a, b, c), "[4, 2]", each(4, 2, 1, [&](int k, int i, int) {
          return sum(15, [&](int m) { return A(i, m / 5, k) * B(m / 5, k, m % 5) * double(hc[static_cast<std::size_t>(m % 5)]); });
        }));
  check(tw::einsum("ijk->kj", a), "[4, 3]", each(4, 3, 1, [&](int k, int j, int) { return A(0, j, k) + A(1, j, k); }));
  check(tw::einsum("ii->", square), "[]", {double(hs[0]) + double(hs[4]) + double(hs[8])});
  check(tw::einsum("ii->i", square), "[3]", {double(hs[0]), double(hs[4]), double(hs[8])});
  check(tw::einsum("i,j->ji", c, tw::squeeze(one, 0)), "[3, 5]", each(3, 5, 1, [&](int j, int i, int) {
          return double(hc[static_cast<std::size_t>(i)]) * double(ho[static_cast<std::size_t>(j)]);
        }));
  // An extent of 1 broadcasts, and is kept where it is alone.
  check(tw::einsum("ij,ij->ij", square, one), "[3, 3]", each(3, 3, 1, [&](int i, int j, int) {
          return double(hs[static_cast<std::size_t>(i * 3 + j)]) * double(ho[static_cast<std::size_t>(j)]);
        }));
  check(tw::einsum("xj->x", one), "[1]", {double(ho[0]) + double(ho[1]) + double(ho[2])});
  check(tw::einsum("...k->...", a), "[2, 3]", each(2, 3, 1, [&](int i, int j, int) { return sum(4, [&](int k) { return A(i, j, k); }); }));
  check(tw::einsum("...ij,...jk->...ik", a, tw::transpose(a)), "[2, 3, 3]",
        each(2, 3, 3, [&](int i, int j, int l) { return sum(4, [&](int k) { return A(i, j, k) * A(i, l, k); }); }));
}

TEST_CASE("graph ops: indexed") {
  Fixture f;
  const auto x = [&](int i, int j, int k) { return f.at(i, j, k); };
  const std::vector<int32_t> picked = {2, 0, 1, 1};
  auto index = f.graph.constant(picked, {2, 2});
  auto embedded = tw::gather(f.x, index, 1);
  CHECK(shape_of(embedded.shape()) == "[2, 2, 2, 4]");
  Numbers expected;
  for (int i = 0; i < 2; ++i)
    for (int m = 0; m < 4; ++m)
      for (int k = 0; k < 4; ++k) expected.push_back(x(i, picked[static_cast<std::size_t>(m)], k));
  CHECK(numbers(embedded, f.values) == expected);
  CHECK(numbers(tw::gather(f.x, f.graph.constant(std::vector<int64_t>{1}, {})), f.values) ==
        each(3, 4, 1, [&](int j, int k, int) { return x(1, j, k); }));
  auto along = f.graph.constant(std::vector<uint8_t>{0, 3, 1, 1, 2, 0, 3, 3, 1, 0, 0, 2}, {2, 3, 2});
  const std::vector<int> columns = {0, 3, 1, 1, 2, 0, 3, 3, 1, 0, 0, 2};
  CHECK(numbers(tw::take_along(f.x, along, -1), f.values) ==
        each(2, 3, 2, [&](int i, int j, int k) { return x(i, j, columns[static_cast<std::size_t>((i * 3 + j) * 2 + k)]); }));
  auto updates = f.graph.input<float>("updates", {2, 2, 2, 4});
  const auto hu = normal(32);
  f.values.set("updates", hu);
  Numbers sums(f.data.begin(), f.data.end());
  for (int i = 0; i < 2; ++i)
    for (int m = 0; m < 4; ++m)
      for (int k = 0; k < 4; ++k)
        sums[static_cast<std::size_t>((i * 3 + picked[static_cast<std::size_t>(m)]) * 4 + k)] +=
            double(hu[static_cast<std::size_t>((i * 4 + m) * 4 + k)]);
  check_close(numbers(tw::scatter_add(f.x, index, updates, 1), f.values), sums, 1e-5);
  // Updates of f16 that meet are summed in f32.
  auto zeros = tw::full<tw::f16>(f.graph, {2}, 2048.0f), ones = tw::full<tw::f16>(f.graph, {4}, 1);
  CHECK(numbers(tw::scatter_add(zeros, f.graph.constant(std::vector<int32_t>{1, 1, 1, 1}, {4}), ones)) == Numbers{2048, 2052});
}

TEST_CASE("graph ops: activations, norms and dropout against their formulas") {
  Fixture f;
  const auto check = [&](const tw::Tensor<float>& t, const std::function<double(double)>& g) {
    Numbers expected;
    for (float v : f.data) expected.push_back(g(double(v)));
    check_close(numbers(t, f.values, Rounding::as_typed), expected, 1e-5);
    check_close(numbers(t, f.values, Rounding::double_precision), expected, 1e-6);  // constants are of f32
  };
  check(tw::sigmoid(f.x), [](double v) { return 1 / (1 + std::exp(-v)); });
  check(tw::silu(f.x), [](double v) { return v / (1 + std::exp(-v)); });
  check(tw::gelu(f.x), [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  check(tw::gelu_tanh(f.x), [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v))); });
  check(tw::relu(f.x), [](double v) { return std::max(v, 0.0); });

  auto gamma = f.graph.input<float>("gamma", {4}), beta = f.graph.input<float>("beta", {4});
  const auto hg = normal(4), hb = normal(4);
  f.values.set("gamma", hg).set("beta", hb);
  Numbers normed, soft, log_soft;
  for (std::size_t row = 0; row < 24; row += 4) {
    double mean = 0, variance = 0, total = 0;
    for (std::size_t k = 0; k < 4; ++k) mean += double(f.data[row + k]) / 4, total += std::exp(double(f.data[row + k]));
    for (std::size_t k = 0; k < 4; ++k) variance += std::pow(double(f.data[row + k]) - mean, 2) / 4;
    for (std::size_t k = 0; k < 4; ++k) {
      normed.push_back((double(f.data[row + k]) - mean) / std::sqrt(variance + 0.5) * double(hg[k]) + double(hb[k]));
      soft.push_back(std::exp(double(f.data[row + k])) / total);
      log_soft.push_back(double(f.data[row + k]) - std::log(total));
    }
  }
  check_close(numbers(tw::layer_norm(f.x, gamma, beta, 0.5), f.values), normed, 1e-5);
  Numbers batch_normed;  // beta as mean, the squares of gamma as variance
  for (std::size_t i = 0; i < 24; ++i)
    batch_normed.push_back((double(f.data[i]) - double(hb[i % 4])) / std::sqrt(double(hg[i % 4]) * double(hg[i % 4]) + 0.5) *
                               double(hg[i % 4]) +
                           double(hb[i % 4]));
  check_close(numbers(tw::batch_norm(f.x, beta, gamma * gamma, gamma, beta, 0.5), f.values), batch_normed, 1e-5);
  CHECK(numbers(tw::batch_norm(f.x.to<tw::f16>(), beta, gamma * gamma, gamma, beta), f.values) ==
        numbers(tw::batch_norm(f.x.to<tw::f16>().to<float>(), beta, gamma * gamma, gamma, beta).to<tw::f16>(), f.values));
  check_close(numbers(tw::softmax(f.x, 2), f.values), soft, 1e-5);
  check_close(numbers(tw::log_softmax(f.x, 2), f.values), log_soft, 1e-5);
  // f16 is computed in f32 and rounded once.
  auto narrow = tw::softmax(f.x.to<tw::f16>(), 2);
  static_assert(std::is_same_v<decltype(narrow), tw::Tensor<tw::f16>>);
  const Numbers once = numbers(tw::softmax(f.x.to<tw::f16>().to<float>(), 2).to<tw::f16>(), f.values);
  CHECK(numbers(narrow, f.values) == once);
  CHECK(numbers(tw::rms_norm(f.x.to<tw::bf16>(), gamma), f.values) ==
        numbers(tw::rms_norm(f.x.to<tw::bf16>().to<float>(), gamma).to<tw::bf16>(), f.values));

  const Numbers random = numbers(tw::rand(f.graph, 77, {2, 3, 4})), dropped = numbers(tw::dropout(f.x, 0.25, 77), f.values);
  for (std::size_t i = 0; i < 24; ++i) CHECK(dropped[i] == (random[i] >= 0.25 ? double(f.data[i] / 0.75f) : 0));
  CHECK(numbers(tw::dropout(f.x, 1, 77), f.values) == Numbers(24, 0.0));
}

TEST_CASE("graph ops: rope rotates pairs by position") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {2, 3, 6});
  const auto hx = normal(36);
  Values values;
  values.set("x", hx);
  const auto expected = [&](const std::function<int(int, int)>& position) {
    Numbers y(36);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k) {
          const double angle = position(i, j) * std::pow(100.0, -2.0 * k / 6);
          const std::size_t first = static_cast<std::size_t>((i * 3 + j) * 6 + k), second = first + 3;
          y[first] = double(hx[first]) * std::cos(angle) - double(hx[second]) * std::sin(angle);
          y[second] = double(hx[second]) * std::cos(angle) + double(hx[first]) * std::sin(angle);
        }
    return y;
  };
  auto along = graph.constant(std::vector<int32_t>{5, 0, 11}, {3});
  const int positions[] = {5, 0, 11};
  check_close(numbers(tw::rope(x, along, 100), values), expected([&](int, int j) { return positions[j]; }), 1e-5);
  auto rows = graph.constant(std::vector<int32_t>{7, 2}, {2, 1});
  check_close(numbers(tw::rope(x, rows, 100), values), expected([](int i, int) { return i == 0 ? 7 : 2; }), 1e-5);
  auto one = graph.constant(std::vector<int64_t>{4}, {});
  check_close(numbers(tw::rope(x, one, 100), values), expected([](int, int) { return 4; }), 1e-5);
  // The last extent may also be a symbol.
  const tw::Dim d = graph.dim("d", {.multiple_of = 2});
  auto symbolic = graph.input<float>("symbolic", {2, 3, d});
  values.set("symbolic", hx).symbol("d", 6);
  auto y = tw::rope(symbolic, along, 100);
  CHECK(shape_of(y.shape()) == "[2, 3, d]");
  check_close(numbers(y, values), expected([&](int, int j) { return positions[j]; }), 1e-5);
}

TEST_CASE("graph ops: symbols in shapes") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n"), m = graph.dim("m");
  auto x = graph.input<float>("x", {n, m});
  CHECK(shape_of(tw::reshape(x, {n * m}).shape()) == "[n m]");
  CHECK(shape_of(tw::reshape(tw::concat({x, x}, 0), {n, 2, m}).shape()) == "[n, 2, m]");
  CHECK(shape_of(tw::pad(x, 1, 1, m).shape()) == "[n, 2 m + 1]");
  CHECK(shape_of(tw::slice(x, 0, 0, n, 2).shape()) == "[n / 2, m]");
  CHECK(shape_of(tw::reshape(x, {n / 4, 4, m}).shape()) == "[n / 4, 4, m]");
  CHECK(shape_of((x + tw::full<float>(graph, {m}, 1.0f)).shape()) == "[n, m]");
  auto mean = tw::mean(x, 0);
  for (const int rows : {1, 3, 8}) {
    Values values;
    const auto data = normal(static_cast<std::size_t>(rows) * 2);
    values.symbol("n", rows).symbol("m", 2).set("x", data);
    Numbers expected(2);
    for (std::size_t i = 0; i < data.size(); ++i) expected[i % 2] += double(data[i]) / rows;
    check_close(numbers(mean, values), expected, 1e-5);
    CHECK(numbers(tw::reshape(x, {m, n}), values) == numbers(x, values));
  }
}

TEST_CASE("graph ops: names for reports, and handles") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {2});
  auto y = (x + 1.0f).name("y");
  CHECK(y.nodes()->node({y.node()}).name == "y");
  CHECK(y.rank() == 1);
  CHECK(tw::sum(y).rank() == 0);
  auto copy = y;
  CHECK(copy.node() == y.node());
  tw::Graph moved = std::move(graph);
  CHECK(moved.input<float>("z", {2}).node() > y.node());
  const tw::graph::Node& node = y.nodes()->node({y.node()});
  CHECK(node.where.file.ends_with("graph_ops_test.cpp"));
  CHECK(node.where.line == __LINE__ - 10);
  CHECK(node.composite.has_value() == false);
  auto mean = tw::mean(y);
  CHECK(mean.nodes()->composite(mean.nodes()->node({mean.node()}).composite.value()).name == "mean");
  CHECK(mean.nodes()->composite(mean.nodes()->node({mean.node()}).composite.value()).where.line == __LINE__ - 2);
}

}  // namespace
}  // namespace graph_run

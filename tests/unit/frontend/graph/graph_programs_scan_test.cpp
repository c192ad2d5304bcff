// Programs with running sums and maxima, and with reductions by functions of their own, as users write them.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// The running combination of each row of [rows, columns].
template <class F>
Numbers running(const Numbers& x, int columns, bool reverse, F f) {
  Numbers y = x;
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(columns))
    for (int k = 1; k < columns; ++k) {
      const std::size_t at = row + static_cast<std::size_t>(reverse ? columns - 1 - k : k), before = reverse ? at + 1 : at - 1;
      y[at] = f(y[before], y[at]);
    }
  return y;
}
const auto kAdd = [](double a, double b) { return a + b; };
const auto kMost = [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); };

TEST_CASE("graph programs: running sums and maxima in both directions, of any length") {
  for (const int columns : {1, 77, 3000}) {
    CAPTURE(columns);
    const int rows = 3;
    auto hx = normal(static_cast<std::size_t>(rows * columns), 1);
    if (columns > 50) hx[static_cast<std::size_t>(columns + 40)] = NAN;
    const Numbers x = numbers_of(hx);
    Program p;
    const tw::Dim n = p.graph.dim("n");
    p.set_number("n", columns);
    auto t = p.input("x", {rows, n}, hx);
    p.output("sum", tw::cumsum(t, 1), running(x, columns, false, kAdd));
    p.output("sum from the end", tw::cumsum(t, -1, true), running(x, columns, true, kAdd));
    p.output("max", tw::cummax(t, 1), running(x, columns, false, kMost));
    p.output("max from the end", tw::cummax(t, 1, true), running(x, columns, true, kMost));
    p.check();
  }
}

TEST_CASE("graph programs: sampling from the most probable tokens") {
  const int rows = 5, columns = 61;
  const auto hx = normal(rows * columns, 1, 2);
  Numbers kept, cumulative;
  for (int i = 0; i < rows; ++i) {
    double most = -HUGE_VAL, total = 0, sum = 0;
    for (int j = 0; j < columns; ++j) most = std::max(most, double(hx[i * columns + j]));
    for (int j = 0; j < columns; ++j) total += std::exp(hx[i * columns + j] - most);
    for (int j = 0; j < columns; ++j) {
      const double probability = std::exp(hx[i * columns + j] - most) / total;
      sum += probability;
      cumulative.push_back(sum);
      kept.push_back(probability * (1 - sum));
    }
  }
  Program p;
  auto x = p.input("logits", {rows, columns}, hx);
  auto probability = tw::softmax(x, -1);
  auto c = tw::cumsum(probability, -1);
  p.output("cumulative", c, cumulative);
  p.output("kept", probability * (1.0f - c), kept);
  p.check();
}

TEST_CASE("graph programs: positions in packed sequences, and windows by differences of sums") {
  const int batch = 4, length = 50, width = 7;
  std::vector<int32_t> starts;
  std::vector<float> hx = normal(batch * length, 3);
  for (int i = 0; i < batch * length; ++i) starts.push_back(i % 11 == 3);
  Numbers document, window;
  for (int b = 0; b < batch; ++b) {
    int number = 0;
    for (int i = 0; i < length; ++i) {
      document.push_back(number += starts[b * length + i]);
      if (i < width) continue;
      double sum = 0;
      for (int k = 0; k < width; ++k) sum += hx[b * length + i - k];
      window.push_back(sum / width);
    }
  }
  Program p;
  auto s = p.input("starts", {batch, length}, starts);
  auto x = p.input("x", {batch, length}, hx);
  p.output("document", tw::cumsum(s, 1), document);
  auto c = tw::cumsum(x, 1);
  p.output("moving mean", (tw::slice(c, 1, width, length) - tw::slice(c, 1, 0, length - width)) / float(width), window);
  p.check();
}

TEST_CASE("graph programs: elements of a scan that an index picks along another axis") {
  const int rows = 37, columns = 16, picked = 2;
  const std::vector<float> hx = normal(rows * columns, 3);
  std::vector<int32_t> hi;
  for (int i = 0; i < rows * picked; ++i) hi.push_back(i * 7 % columns);
  Numbers down, across, relu;
  Numbers sums(columns);
  for (int r = 0; r < rows; ++r) {
    Numbers along(columns);
    double sum = 0;
    for (int c = 0; c < columns; ++c) {
      sums[c] += hx[r * columns + c];
      along[c] = sum += hx[r * columns + c];
    }
    for (int k = 0; k < picked; ++k) {
      down.push_back(sums[hi[r * picked + k]]), across.push_back(along[hi[r * picked + k]]);
      relu.push_back(std::max(down.back(), 0.0) * 2);
    }
  }
  Program p;
  auto x = p.input("x", {rows, columns}, hx);
  auto i = p.input("i", {rows, picked}, hi);
  p.output("down", tw::take_along(tw::cumsum(x, 0), i, 1), down);
  p.output("across", tw::take_along(tw::cumsum(x, 1), i, 1), across);
  p.output("relu", tw::take_along(tw::relu(tw::cumsum(x, 0)) * 2.0f, i, 1), relu);
  p.check_on_all();
}

TEST_CASE("graph programs: scans of narrow types along the first axis") {
  const int rows = 130, columns = 5;
  const auto hx = normal(rows * columns, 5);
  const auto hb = rounded_to<tw::bf16>(hx);
  std::vector<int8_t> hi;
  for (int i = 0; i < rows * columns; ++i) hi.push_back(static_cast<int8_t>(i * 37 % 101 - 50));
  Numbers sums(rows * columns), products(rows * columns, 1), wrapped(rows * columns);
  for (int j = 0; j < columns; ++j) {
    double sum = 0, product = 1;
    int8_t integer = 0;
    for (int i = 0; i < rows; ++i) {
      const int at = i * columns + j;
      sums[at] = sum += number_of(hb[at]);
      products[at] = product *= 1 + 0.01 * hx[at];
      wrapped[at] = integer = static_cast<int8_t>(integer + hi[at]);
    }
  }
  Program p;
  p.output("bf16", tw::cumsum(p.input("b", {rows, columns}, hb), 0), sums, 1e-2);
  p.output("products", tw::cumprod(1.0f + 0.01f * p.input("x", {rows, columns}, hx), 0), products);
  p.output("i8", tw::cumsum(p.input("i", {rows, columns}, hi), 0), wrapped, 0);
  p.check();
}

TEST_CASE("graph programs: reductions by functions of the user") {
  const int rows = 6, columns = 300;
  const auto hx = normal(rows * columns, 7);
  std::vector<int32_t> hi;
  for (int i = 0; i < rows * columns; ++i) hi.push_back(i * 7919 % 1000);
  Numbers norms, bits, lengths(columns), softplus;
  for (int i = 0; i < rows; ++i) {
    double squares = 0, sum = 0;
    int together = 0;
    for (int j = 0; j < columns; ++j) {
      const float x = hx[i * columns + j];
      squares += double(x) * x, sum += std::exp(double(x)), together ^= hi[i * columns + j];
      lengths[j] += double(x) * x;
    }
    norms.push_back(std::sqrt(squares)), bits.push_back(together), softplus.push_back(std::log(sum));
  }
  for (double& l : lengths) l = std::sqrt(l);
  Program p;
  auto x = p.input("x", {rows, columns}, hx);
  auto i = p.input("i", {rows, columns}, hi);
  const auto hypotenuse = [](auto a, auto b) { return tw::sqrt(a * a + b * b); };
  p.output("norms", tw::reduce(x, 1, 0.0f, hypotenuse), norms);
  p.output("lengths", tw::reduce(x, 0, 0.0f, hypotenuse), lengths);
  p.output("bits", tw::reduce(i, -1, 0, [](auto a, auto b) { return a ^ b; }), bits, 0);
  p.output("log-sum-exp",
           tw::reduce(x, 1, -tw::inf,
                      [](auto a, auto b) {
                        auto most = tw::maximum(a, b);
                        auto finite = tw::where(most == -tw::inf, 0.0f, most);
                        return finite + tw::log(tw::exp(a - finite) + tw::exp(b - finite));
                      }),
           softplus);
  p.check();
}

TEST_CASE("graph programs: each of several functions of the user combines in order") {
  const auto run = [&]<class T>(T) {
    for (const int columns : {9, 300}) {
      const int rows = 6;
      std::vector<T> hx;
      for (int i = 0; i < rows * columns; ++i) hx.push_back(static_cast<T>(i * 7919 % 23 < 9 ? 0 : i * 7919 % 101 + 1));
      Numbers first, last, both;
      for (int r = 0; r < rows; ++r) {
        const auto begin = hx.begin() + r * columns, end = begin + columns;
        const auto is_some = [](T v) { return v != T(0); };
        first.push_back(number_of(*std::find_if(begin, end, is_some)));
        last.push_back(number_of(*std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), is_some)));
        both.push_back(first.back() - last.back());
      }
      Program p;
      auto x = p.input("x", {rows, columns}, hx);
      const auto earlier = tw::reduce(x, 1, T(0), [](auto a, auto b) { return tw::where(a == T(0), b, a); });
      const auto later = tw::reduce(x, 1, T(0), [](auto a, auto b) { return tw::where(b == T(0), a, b); });
      p.output("first", earlier, first, 0);
      p.output("last", later, last, 0);
      p.output("both", earlier - later, both, 0);
      p.check_on_all();
    }
  };
  run(float()), run(double()), run(int32_t()), run(int64_t());
}

TEST_CASE("graph programs: plans of scans without a device") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {64, 1000});
  graph.output("y", tw::exp(tw::cumsum(x, 1)) + x);
  const tw::Plan plan = graph.compile("sm_90a");
  REQUIRE(plan.kernels().size() == 1);
  CHECK(plan.kernels()[0].covers.size() == 3);
  CHECK(plan.explain().find("cumsum") != std::string::npos);
  CHECK(plan.kernels()[0].ptx.find(".entry") != std::string::npos);
}

}  // namespace
}  // namespace graph_program

// Two concatenations along one axis, whose pieces have axes that are not the same.
#include <numeric>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

template <class T>
constexpr double kTolerance = 1e-5;
template <>
constexpr double kTolerance<double> = 1e-12;
template <>
constexpr double kTolerance<tw::f16> = 2e-3;
template <>
constexpr double kTolerance<tw::bf16> = 2e-2;

std::vector<float> joined(std::vector<float> x, const std::vector<float>& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

template <class Work>
void for_types_and_devices(Work&& work) {
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    work(device, float());
    work(device, double());
    work(device, tw::f16());
    work(device, tw::bf16());
  }
}

/// Outputs that take each element of x beside that of y at the same position.
template <class T>
void add_outputs(Program& p, const tw::Tensor<T>& x, const tw::Tensor<T>& y) {
  p.graph.output("product", x * y);
  p.graph.output("total", tw::sum(tw::exp(x) * y, 0));
  p.graph.output("dot", tw::einsum("i,i->", x, y));
  p.graph.output("log_sum", tw::logsumexp(x + y, 0));
}

template <class T>
void expect_outputs(Program& p, const tw::Tensor<T>& x, const Numbers& a, const Numbers& b) {
  Numbers product;
  double total = 0, log_sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product.push_back(a[i] * b[i]);
    total += std::exp(a[i]) * b[i];
    log_sum += std::exp(a[i] + b[i]);
  }
  const double dot = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  p.expect("product", x, product, kTolerance<T>);
  p.expect("total", x, {total}, 4 * kTolerance<T>);
  p.expect("dot", x, {dot}, std::is_same_v<T, float> ? 4e-3 : 4 * kTolerance<T>);  // a product of floats is in tf32
  p.expect("log_sum", x, {std::log(log_sum)}, kTolerance<T>);
}

}  // namespace

TEST_CASE("graph programs: two concatenations meet whose first pieces are reshaped from [6, 4] and [4, 6]") {
  for_types_and_devices([]<class T>(tw::Device& device, T) {
    Program p;
    const std::vector<T> a = rounded_to<T>(normal(24, 1)), b = rounded_to<T>(normal(24, 2)), c = rounded_to<T>(normal(3, 3)),
                         d = rounded_to<T>(normal(3, 4));
    const auto x = tw::concat<T>({tw::reshape(p.input<T>("a", {6, 4}, a), {24}), p.input<T>("c", {3}, c)}, 0);
    const auto y = tw::concat<T>({tw::reshape(p.input<T>("b", {4, 6}, b), {24}), p.input<T>("d", {3}, d)}, 0);
    Numbers left = numbers_of(a), right = numbers_of(b);
    for (const T& v : c) left.push_back(number_of(v));
    for (const T& v : d) right.push_back(number_of(v));
    add_outputs(p, x, y);
    expect_outputs(p, x, left, right);
    // A part of the sum, with the axes of the first concatenation's piece.
    Numbers part;
    for (std::size_t i = 0; i < 24; ++i) part.push_back(left[i] + right[i]);
    p.output("part", tw::slice(x + y, 0, 0, 24), part, kTolerance<T>);
    p.check_on(device);
  });
}

TEST_CASE("graph programs: two concatenations meet whose pieces are [n, m] and [m, n], also nested in others") {
  for_types_and_devices([]<class T>(tw::Device& device, T) {
    Program p;
    const tw::Dim n = p.graph.dim("n", {.min = 0}), m = p.graph.dim("m", {.min = 0});
    const auto a = p.graph.input<T>("a", {n, m}), b = p.graph.input<T>("b", {m, n});
    const auto c = p.graph.input<T>("c", {3}), d = p.graph.input<T>("d", {3}), e = p.graph.input<T>("e", {5});
    const auto x = tw::concat<T>({tw::concat<T>({tw::reshape(a, {n * m}), c}, 0), e}, 0);
    const auto y = tw::concat<T>({tw::concat<T>({tw::reshape(b, {n * m}), d}, 0), e}, 0);
    add_outputs(p, x, y);
    const tw::Plan plan = p.graph.compile(device);
    for (const auto& [rows, columns] : {std::pair{5, 3}, {1, 7}, {4, 4}, {0, 2}}) {
      CAPTURE(rows);
      const auto count = static_cast<std::size_t>(rows * columns);
      const std::vector<float> c3 = normal(3, 3), d3 = normal(3, 4), e5 = normal(5, 5), an = normal(count, 1), bn = normal(count, 2);
      p.set("a", rounded_to<T>(an)), p.set("b", rounded_to<T>(bn)), p.set("c", rounded_to<T>(c3));
      p.set("d", rounded_to<T>(d3)), p.set("e", rounded_to<T>(e5));
      p.set_number("n", rows), p.set_number("m", columns);  // with no element, they do not follow from the buffers
      const Numbers left = numbers_of(rounded_to<T>(joined(joined(an, c3), e5))),
                    right = numbers_of(rounded_to<T>(joined(joined(bn, d3), e5)));
      expect_outputs(p, x, left, right);
      p.check(device, plan);
    }
  });
}

TEST_CASE("graph programs: two concatenations meet of which one has the pieces of the other in a piece of its own") {
  for_types_and_devices([]<class T>(tw::Device& device, T) {
    Program p;
    const std::vector<float> a = normal(3, 1), b = normal(3, 2), c = normal(4, 3), e = normal(6, 4), f = normal(4, 5);
    const auto in = [&](const char* name, const std::vector<float>& v) {
      return p.input<T>(name, {static_cast<std::int64_t>(v.size())}, rounded_to<T>(v));
    };
    const auto first = in("a", a), second = in("b", b), third = in("c", c), whole = in("e", e), rest = in("f", f);
    const auto x = tw::concat<T>({first, second, third}, 0), y = tw::concat<T>({whole, rest}, 0);
    const Numbers left = numbers_of(rounded_to<T>(joined(joined(a, b), c))), right = numbers_of(rounded_to<T>(joined(e, f)));
    add_outputs(p, x, y);
    expect_outputs(p, x, left, right);
    Numbers last;
    for (std::size_t i = 6; i < 10; ++i) last.push_back(left[i] * right[i] + left[i]);
    p.output("last", tw::slice(y * x, 0, 6, 10) + third, last, kTolerance<T>);
    p.check_on(device);
  });
}

}  // namespace graph_program

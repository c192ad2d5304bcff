// Masks and one-hot rows as operands of matrix products: products as they are written, fused or not.
#include <cmath>
#include <limits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 37, kInner = 70, kColumns = 41;

/// The elements that the formulas are about, in double precision.
struct Data {
  Numbers x, w;  // [kRows, kInner], [kInner, kColumns]
  std::vector<int> index;
  double at_x(int m, int k) const { return x[static_cast<std::size_t>(m) * kInner + static_cast<std::size_t>(k)]; }
  double at_w(int k, int n) const { return w[static_cast<std::size_t>(k) * kColumns + static_cast<std::size_t>(n)]; }
};

template <class T>
struct Case {
  std::string name;
  std::function<tw::Tensor<T>(tw::Tensor<T> x, tw::Tensor<T> w, tw::Tensor<int> index, tw::Tensor<int> row, tw::Tensor<int> k)> formula;
  std::function<double(const Data&, int m, int k, int n)> summand;
};

template <class T>
std::vector<Case<T>> cases() {
  using X = tw::Tensor<T>;
  using I = tw::Tensor<int>;
  const auto is_index = [](I index, I k) { return tw::expand_dims(index, 1) == tw::expand_dims(k, 0); };
  const auto is_seen = [](I row, I k) { return tw::expand_dims(k, 0) <= tw::expand_dims(row, 1); };
  return {
      {"one-hot, cast", [=](X, X w, I index, I, I k) { return tw::matmul(tw::cast<T>(is_index(index, k)), w); },
       [](const Data& d, int m, int k, int n) { return (d.index[static_cast<std::size_t>(m)] == k ? 1 : 0) * d.at_w(k, n); }},
      {"one-hot, where", [=](X, X w, I index, I, I k) { return tw::matmul(tw::where(is_index(index, k), T(1), T(0)), w); },
       [](const Data& d, int m, int k, int n) { return (d.index[static_cast<std::size_t>(m)] == k ? 1 : 0) * d.at_w(k, n); }},
      {"triangle", [=](X, X w, I, I row, I k) { return tw::matmul(tw::cast<T>(is_seen(row, k)), w); },
       [](const Data& d, int m, int k, int n) { return (k <= m ? 1 : 0) * d.at_w(k, n); }},
      {"triangle of data", [=](X x, X w, I, I row, I k) { return tw::matmul(tw::where(is_seen(row, k), x, T(0)), w); },
       [](const Data& d, int m, int k, int n) { return (k <= m ? d.at_x(m, k) : 0) * d.at_w(k, n); }},
      {"two masks", [](X x, X w, I, I, I) { return tw::matmul(tw::cast<T>(x > T(0)), tw::cast<T>(w > T(1))); },
       [](const Data& d, int m, int k, int n) { return (d.at_x(m, k) > 0 ? 1 : 0) * (d.at_w(k, n) > 1 ? 1 : 0); }},
      {"two masked operands", [](X x, X w, I, I, I) { return tw::matmul(tw::where(x > T(0), x, T(0)), tw::where(w > T(1), T(0), w)); },
       [](const Data& d, int m, int k, int n) { return (d.at_x(m, k) > 0 ? d.at_x(m, k) : 0) * (d.at_w(k, n) > 1 ? 0 : d.at_w(k, n)); }},
      {"masks of rows, positions and columns",
       [=](X x, X w, I index, I row, I k) {
         const auto rows = is_seen(row, k) & (x > T(-1)) & tw::expand_dims(index > 20, 1);
         return tw::matmul(tw::where(rows, x, T(0)), tw::where((w > T(-1)) & (tw::expand_dims(k, 1) > 2), w, T(0)));
       },
       [](const Data& d, int m, int k, int n) {
         const bool is_row = k <= m && d.at_x(m, k) > -1 && d.index[static_cast<std::size_t>(m)] > 20;
         return (is_row ? d.at_x(m, k) : 0) * (d.at_w(k, n) > -1 && k > 2 ? d.at_w(k, n) : 0);
       }},
      {"a sum under a mask of both operands",
       [](X x, X w, I, I, I) {
         const auto left = tw::expand_dims(x, 2), right = tw::expand_dims(w, 0);
         return tw::sum(tw::where((left > T(0)) & (right > T(0)), left * right, T(0)), {1});
       },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) > 0 && d.at_w(k, n) > 0 ? d.at_x(m, k) * d.at_w(k, n) : 0; }},
  };
}

/// Small integers, which each type holds: then only a float's last rounding differs from the sum in double precision.
Data data_of_integers() {
  const auto draw = [](std::size_t count, unsigned seed) {
    Numbers all;
    for (float v : normal(count, seed, 2)) all.push_back(std::fmax(-7, std::fmin(7, std::rint(v))));
    return all;
  };
  Data d{draw(kRows * kInner, 1), draw(kInner * kColumns, 2), {}};
  for (int m = 0; m < kRows; ++m) d.index.push_back(m * 29 % kInner);
  return d;
}

template <class T>
Numbers run(tw::Device& device, const Case<T>& c, const Data& d, bool is_symbolic, bool fuse) {
  tw::Graph g;
  const tw::Dim m = is_symbolic ? g.dim("m") : tw::Dim(kRows), k = is_symbolic ? g.dim("k") : tw::Dim(kInner);
  const auto x = g.input<T>("x", {m, k}), w = g.input<T>("w", {k, kColumns});
  const auto index = g.input<int>("index", {m});
  g.output("out", c.formula(x, w, index, tw::iota<int>(g, {m}, 0), tw::iota<int>(g, {k}, 0)));
  const tw::Plan plan = g.compile(device, {.fuse = fuse});
  CHECK(plan.proof().exact);
  const auto as = [](const Numbers& all) {
    std::vector<T> values;
    for (double v : all) values.push_back(T(static_cast<float>(v)));
    return values;
  };
  auto out = device.allocate<T>(kRows * kColumns);
  const auto xs = device.upload(as(d.x)), ws = device.upload(as(d.w));
  const auto indices = device.upload(d.index);
  plan.run({{"x", xs}, {"w", ws}, {"index", indices}, {"out", out}});
  return numbers_of(out.download());
}

Numbers sums(const Data& d, const std::function<double(const Data&, int, int, int)>& summand) {
  Numbers all;
  for (int m = 0; m < kRows; ++m)
    for (int n = 0; n < kColumns; ++n) {
      double sum = 0;
      for (int k = 0; k < kInner; ++k) sum += summand(d, m, k, n);
      all.push_back(sum);
    }
  return all;
}

template <class T>
void check_type(double tolerance) {
  const Data d = data_of_integers();
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    for (const Case<T>& c : cases<T>())
      for (const bool is_symbolic : {false, true}) {
        CAPTURE(c.name);
        CAPTURE(is_symbolic);
        CHECK(relative_error(run(device, c, d, is_symbolic, true), sums(d, c.summand)) <= tolerance);
      }
  }
}

TEST_CASE("graph programs: masks as operands of products of f32") { check_type<float>(1e-6); }
TEST_CASE("graph programs: masks as operands of products of f64") { check_type<double>(1e-14); }
TEST_CASE("graph programs: masks as operands of products of f16") { check_type<tw::f16>(1e-3); }
TEST_CASE("graph programs: masks as operands of products of bf16") { check_type<tw::bf16>(8e-3); }
TEST_CASE("graph programs: masks as operands of products of i32") { check_type<int>(0); }

// 0 times infinity is NaN in a product, also where the 0 is that of a mask.
TEST_CASE("graph programs: a product with a mask is not finite where the other operand is not") {
  Data d = data_of_integers();
  d.w[5 * kColumns + 3] = std::numeric_limits<double>::infinity();
  d.w[9 * kColumns + 7] = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    for (const Case<float>& c : cases<float>()) {
      if (c.name != "one-hot, cast" && c.name != "one-hot, where" && c.name != "triangle of data") continue;
      CAPTURE(c.name);
      const Numbers want = sums(d, c.summand);
      for (const bool fuse : {true, false}) {
        const Numbers got = run(device, c, d, false, fuse);
        for (std::size_t i = 0; i < want.size(); ++i) {
          CAPTURE(i);
          CHECK((std::isfinite(want[i]) ? got[i] == want[i] : !std::isfinite(got[i])));
        }
      }
    }
  }
}

/// Sums of products under masks, as they are written: a mask hides what is inside of its `where`, whichever operand it is computed from.
template <class T>
std::vector<Case<T>> hiding_cases() {
  using X = tw::Tensor<T>;
  using I = tw::Tensor<int>;
  const auto left = [](X x) { return tw::expand_dims(x, 2); };
  const auto right = [](X w) { return tw::expand_dims(w, 0); };
  const auto is_even = [](I k) { return k / 2 * 2 == k; };
  const auto sum = [](tw::Tensor<bool> mask, X value) { return tw::sum(tw::where(mask, value, T(0)), {1}); };
  return {
      {"a mask of the left operand, over the right one", [=](X x, X w, I, I, I) { return sum(left(x) > T(0), right(w)); },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) > 0 ? d.at_w(k, n) : 0; }},
      {"a mask of the right operand, over both", [=](X x, X w, I, I, I) { return sum(right(w) > T(0), left(x) * right(w)); },
       [](const Data& d, int m, int k, int n) { return d.at_w(k, n) > 0 ? d.at_x(m, k) * d.at_w(k, n) : 0; }},
      {"masks of both operands, over both",
       [=](X x, X w, I, I, I) { return sum((left(x) > T(0)) & (right(w) > T(0)), left(x) * right(w)); },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) > 0 && d.at_w(k, n) > 0 ? d.at_x(m, k) * d.at_w(k, n) : 0; }},
      {"three factors", [=](X x, X w, I, I, I) { return sum(left(x) > T(0), left(x) * right(w) * right(w)); },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) > 0 ? d.at_x(m, k) * d.at_w(k, n) * d.at_w(k, n) : 0; }},
      {"squares of differences", [=](X x, X w, I, I, I) { return sum(left(x) > T(0), (right(w) - left(x)) * (right(w) - left(x))); },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) > 0 ? std::pow(d.at_w(k, n) - d.at_x(m, k), 2) : 0; }},
      {"sums of segments",
       [=](X, X w, I, I row, I k) { return sum(tw::expand_dims(tw::expand_dims(row, 1) == tw::expand_dims(k / 2, 0), 2), right(w)); },
       [](const Data& d, int m, int k, int n) { return k / 2 == m ? d.at_w(k, n) : 0; }},
      {"a mask along the sum, over the right operand",
       [=](X x, X w, I, I, I k) { return tw::matmul(x, tw::where(tw::expand_dims(is_even(k), 1), w, T(0))); },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) * (k % 2 == 0 ? d.at_w(k, n) : 0); }},
      {"a mask along the sum, over the left operand",
       [=](X x, X w, I, I, I k) { return tw::matmul(tw::where(tw::expand_dims(is_even(k), 0), x, T(0)), w); },
       [](const Data& d, int m, int k, int n) { return (k % 2 == 0 ? d.at_x(m, k) : 0) * d.at_w(k, n); }},
      {"a mask along the sum, over both operands apart",
       [=](X x, X w, I, I, I k) {
         return tw::matmul(tw::where(tw::expand_dims(is_even(k), 0), x, T(0)), tw::where(tw::expand_dims(is_even(k), 1), w, T(0)));
       },
       [](const Data& d, int m, int k, int n) { return k % 2 == 0 ? d.at_x(m, k) * d.at_w(k, n) : 0; }},
      {"a mask along the sum, over the product",
       [=](X x, X w, I, I, I k) { return sum(tw::expand_dims(tw::expand_dims(is_even(k), 0), 2), left(x) * right(w)); },
       [](const Data& d, int m, int k, int n) { return k % 2 == 0 ? d.at_x(m, k) * d.at_w(k, n) : 0; }},
      {"padded rows",
       [=](X x, X w, I, I, I k) {
         const X rows = tw::pad(tw::slice(w, 0, 0, kInner - 1), 0, 1, 0);
         return tw::matmul(x, tw::where(tw::expand_dims(is_even(k), 1), rows, T(0)));
       },
       [](const Data& d, int m, int k, int n) { return d.at_x(m, k) * (k % 2 == 0 && k > 0 ? d.at_w(k - 1, n) : 0); }},
  };
}

// What is finite as written is finite, and what is not is not.
template <class T>
void check_hidden(double tolerance) {
  Data d = data_of_integers();
  const double infinity = std::numeric_limits<double>::infinity();
  for (int m = 0; m < kRows; ++m)
    for (const int k : {5, 8, 9}) d.x[static_cast<std::size_t>(m * kInner + k)] = m % 3 - 1;
  d.w[5 * kColumns + 3] = infinity;
  d.w[9 * kColumns + 7] = std::numeric_limits<double>::quiet_NaN();
  d.w[8 * kColumns + 9] = -infinity;
  d.x[4 * kInner + 11] = infinity;
  d.x[6 * kInner + 12] = -infinity;
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    for (const Case<T>& c : hiding_cases<T>()) {
      CAPTURE(c.name);
      const Numbers want = sums(d, c.summand), got = run(device, c, d, false, true);
      CHECK(std::any_of(want.begin(), want.end(), [](double v) { return !std::isfinite(v); }));
      for (std::size_t i = 0; i < want.size(); ++i) {
        CAPTURE(i);
        CHECK(std::isfinite(got[i]) == std::isfinite(want[i]));
        if (std::isfinite(want[i])) CHECK(std::fabs(got[i] - want[i]) <= tolerance * (1 + std::fabs(want[i])));
      }
    }
  }
}

TEST_CASE("graph programs: masks hide what is not finite in sums of products of f32") { check_hidden<float>(1e-5); }
TEST_CASE("graph programs: masks hide what is not finite in sums of products of f64") { check_hidden<double>(1e-13); }
TEST_CASE("graph programs: masks hide what is not finite in sums of products of f16") { check_hidden<tw::f16>(2e-2); }

}  // namespace
}  // namespace graph_program

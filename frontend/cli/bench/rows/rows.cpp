// Kernels over the rows of a matrix: softmax, norms, cross_entropy, top_k.
#include <algorithm>
#include <cmath>
#include <functional>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/cross_entropy.h"
#include "tilewright/kernels/normalization.h"
#include "tilewright/kernels/softmax.h"
#include "tilewright/kernels/top_k.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

constexpr double kEpsilon = 1e-5;

struct RowSums {
  double largest = -INFINITY, exponentials = 0, mean = 0, squares = 0, variance = 0;
};

/// The sums of row `row` of x, which has n columns.
RowSums sums_of(const Reader& x, std::int64_t row, std::int64_t n) {
  RowSums s;
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = x[row * n + i];
    s.largest = std::max(s.largest, value);
    s.mean += value / static_cast<double>(n);
    s.squares += value * value / static_cast<double>(n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = x[row * n + i];
    s.exponentials += std::exp(value - s.largest);
    s.variance += (value - s.mean) * (value - s.mean) / static_cast<double>(n);
  }
  return s;
}

/// The arrays and the reference of a kernel whose result y has the shape of x. An element is computed from its value, the sums of its row,
/// and its column. `weights` have one element for each column.
template <class T>
Problem over_rows(const Shape& s, std::vector<std::string> weights,
                  std::function<double(const Values&, double x, const RowSums&, std::int64_t column)> element) {
  Problem p;
  p.tensors = {random_input<T>("x", s)};
  for (std::string& name : weights) p.tensors.push_back(random_input<T>(std::move(name), {s[1]}));
  p.tensors.push_back(result<T>("y", s));
  const std::int64_t n = s[1];
  p.references = {{.tensor = "y",
                   .rows = s[0],
                   .columns = n,
                   .operations_a_row = static_cast<double>(4 * n),
                   .row = [n, element](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader x = v.at("x");
                     const RowSums sums = sums_of(x, row, n);
                     for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = element(v, x[row * n + i], sums, i);
                   }}};
  return p;
}

constexpr auto softmax = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p =
      over_rows<T>(s, {}, [](const Values&, double x, const RowSums& r, std::int64_t) { return std::exp(x - r.largest) / r.exponentials; });
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::softmax(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  return p;
};

constexpr auto log_softmax = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p =
      over_rows<T>(s, {}, [](const Values&, double x, const RowSums& r, std::int64_t) { return x - r.largest - std::log(r.exponentials); });
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::log_softmax(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  return p;
};

constexpr auto layer_norm = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p = over_rows<T>(s, {"gamma", "beta"}, [](const Values& v, double x, const RowSums& r, std::int64_t i) {
    return (x - r.mean) / std::sqrt(r.variance + kEpsilon) * v.at("gamma")[i] + v.at("beta")[i];
  });
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::layer_norm(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<const T, 1>("beta"), t.view<T, 2>("y"), kEpsilon, {},
                        {}, o);
  };
  return p;
};

constexpr auto rms_norm = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p = over_rows<T>(s, {"gamma"}, [](const Values& v, double x, const RowSums& r, std::int64_t i) {
    return x / std::sqrt(r.squares + kEpsilon) * v.at("gamma")[i];
  });
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::rms_norm(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<T, 2>("y"), kEpsilon, {}, o);
  };
  return p;
};

constexpr auto cross_entropy = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[1];
  Problem p;
  p.tensors = {random_input<T>("logits", s), random_below<std::int32_t>("targets", {s[0]}, n), result<T>("losses", {s[0]})};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::cross_entropy(t.view<const T, 2>("logits"), t.view<const std::int32_t, 1>("targets"), t.view<T, 1>("losses"), {}, o);
  };
  p.references = {{.tensor = "losses",
                   .rows = s[0],
                   .operations_a_row = static_cast<double>(4 * n),
                   .row = [n](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader logits = v.at("logits");
                     const RowSums r = sums_of(logits, row, n);
                     to[0] = r.largest + std::log(r.exponentials) - logits[row * n + static_cast<std::int64_t>(v.at("targets")[row])];
                   }}};
  return p;
};

/// Accepts an index if x has the value beside it there, and if no other index of the row is the same. Equal values may come in any order.
void check_indices(const Values& v, std::int64_t row, std::int64_t n, std::span<double> to) {
  const Reader x = v.at("x"), values = v.at("values"), indices = v.at("indices");
  const auto k = static_cast<std::int64_t>(to.size());
  std::vector<bool> taken(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < k; ++i) {
    const double index = indices[row * k + i];
    const bool is_right = index >= 0 && index < static_cast<double>(n) && !taken[static_cast<std::size_t>(index)] &&
                          x[row * n + static_cast<std::int64_t>(index)] == values[row * k + i];
    if (is_right) taken[static_cast<std::size_t>(index)] = true;
    to[static_cast<std::size_t>(i)] = is_right ? index : NAN;
  }
}

constexpr auto top_k = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t rows = s[0], n = s[1], k = s[2];
  Problem p;
  p.tensors = {random_input<T>("x", {rows, n}), result<T>("values", {rows, k}), result<std::int32_t>("indices", {rows, k})};
  p.launch = [k](DeviceTensors& t, const Options& o) {
    kernels::top_k(t.view<const T, 2>("x"), k, t.view<T, 2>("values"), t.view<std::int32_t, 2>("indices"), o);
  };
  const auto largest = [n](const Values& v, std::int64_t row, std::span<double> to) {
    const Reader x = v.at("x");
    std::vector<double> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(x[row * n + i]);
    std::partial_sort_copy(all.begin(), all.end(), to.begin(), to.end(), std::greater<>());
  };
  const auto indices_of_row = [n](const Values& v, std::int64_t row, std::span<double> to) { check_indices(v, row, n, to); };
  const double operations = static_cast<double>(4 * n);
  p.references = {exactly({.tensor = "values", .rows = rows, .columns = k, .operations_a_row = operations, .row = largest}),
                  exactly({.tensor = "indices", .rows = rows, .columns = k, .operations_a_row = operations, .row = indices_of_row})};
  return p;
};

}  // namespace

void add_rows(KernelRows& rows) {
  const DefaultShapes shapes{.emulator = {{16, 256}, {8, 1000}},
                             .cpu = {{4096, 256}, {1024, 4096}, {4096, 1000}},
                             .gpu = {{65536, 1024}, {16384, 4096}, {4096, 16384}, {67041, 1001}}};
  const std::vector<std::string> axes = {"ROWS", "N"};
  rows.push_back({"softmax", "y = softmax(x), along the last axis", axes, shapes, problems(Floats(), softmax)});
  rows.push_back({"log_softmax", "y = log(softmax(x)), along the last axis", axes, shapes, problems(Floats(), log_softmax)});
  rows.push_back({"layer_norm", "y = (x - mean) / sqrt(variance + eps) * gamma + beta", axes, shapes, problems(Floats(), layer_norm)});
  rows.push_back({"rms_norm", "y = x / sqrt(mean(x^2) + eps) * gamma", axes, shapes, problems(Floats(), rms_norm)});
  rows.push_back({"cross_entropy", "losses = log(sum(exp(logits))) - logits[target]", axes, shapes, problems(Floats(), cross_entropy),
                  "targets uniform over N"});
  rows.push_back({"top_k",
                  "the K largest of each row, and their indices",
                  {"ROWS", "N", "K"},
                  {.emulator = {{4, 300, 5}}, .cpu = {{512, 32768, 64}, {4096, 1000, 8}}, .gpu = {{4096, 32768, 64}, {65536, 1000, 8}}},
                  problems(Floats(), top_k),
                  {},
                  [](const Shape& s) { return s[2] <= std::min<std::int64_t>(s[1], 4096) ? "" : "K is at most N, and at most 4096"; }});
}

}  // namespace tilewright::cli::bench

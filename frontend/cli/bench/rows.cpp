// Kernels over the rows of a matrix: softmax, log_softmax, layer_norm, rms_norm, cross_entropy.
#include <cmath>

#include "frontend/cli/bench/kernel_row.h"
#include "tilewright/kernels/cross_entropy.h"
#include "tilewright/kernels/normalization.h"
#include "tilewright/kernels/softmax.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

constexpr double kEpsilon = 1e-5;

struct RowSums {
  double largest = -INFINITY, exponentials = 0, mean = 0, squares = 0, variance = 0;
};

/// Of row `row` of x, which has n columns.
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

/// A problem whose result y has the shape of x, given how an element follows from its value, the sums of its row, and its column.
Problem over_rows(const Shape& s, ir::Element e, std::vector<std::string> weights,
                  std::function<double(const Values&, double x, const RowSums&, std::int64_t column)> element) {
  Problem p;
  p.tensors = {random_input("x", e, s)};
  for (std::string& name : weights) p.tensors.push_back(random_input(std::move(name), e, {s[1]}));
  p.tensors.push_back(result("y", e, s));
  const std::int64_t n = s[1];
  p.reference = {"y", n, static_cast<double>(4 * n), [n, element](const Values& v, std::int64_t row, std::span<double> to) {
                   const Reader x = v.at("x");
                   const RowSums sums = sums_of(x, row, n);
                   for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = element(v, x[row * n + i], sums, i);
                 }};
  return p;
}

Problem softmax(const Shape& s, ir::Element e) {
  Problem p =
      over_rows(s, e, {}, [](const Values&, double x, const RowSums& r, std::int64_t) { return std::exp(x - r.largest) / r.exponentials; });
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) { kernels::softmax(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  });
  return p;
}

Problem log_softmax(const Shape& s, ir::Element e) {
  Problem p =
      over_rows(s, e, {}, [](const Values&, double x, const RowSums& r, std::int64_t) { return x - r.largest - std::log(r.exponentials); });
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) { kernels::log_softmax(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  });
  return p;
}

Problem layer_norm(const Shape& s, ir::Element e) {
  Problem p = over_rows(s, e, {"gamma", "beta"}, [](const Values& v, double x, const RowSums& r, std::int64_t i) {
    return (x - r.mean) / std::sqrt(r.variance + kEpsilon) * v.at("gamma")[i] + v.at("beta")[i];
  });
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::layer_norm(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<const T, 1>("beta"), t.view<T, 2>("y"), kEpsilon, {},
                          {}, o);
    };
  });
  return p;
}

Problem rms_norm(const Shape& s, ir::Element e) {
  Problem p = over_rows(s, e, {"gamma"}, [](const Values& v, double x, const RowSums& r, std::int64_t i) {
    return x / std::sqrt(r.squares + kEpsilon) * v.at("gamma")[i];
  });
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::rms_norm(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<T, 2>("y"), kEpsilon, {}, o);
    };
  });
  return p;
}

Problem cross_entropy(const Shape& s, ir::Element e) {
  const std::int64_t n = s[1];
  Problem p;
  p.tensors = {random_input("logits", e, s), integer_input("targets", {s[0]}, [n](std::int64_t row) { return row * 7919 % n; }),
               result("losses", e, {s[0]})};
  p.reference = {"losses", 1, static_cast<double>(4 * n), [n](const Values& v, std::int64_t row, std::span<double> to) {
                   const Reader logits = v.at("logits");
                   const RowSums r = sums_of(logits, row, n);
                   to[0] = r.largest + std::log(r.exponentials) - logits[row * n + static_cast<std::int64_t>(v.at("targets")[row])];
                 }};
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::cross_entropy(t.view<const T, 2>("logits"), t.view<const std::int32_t, 1>("targets"), t.view<T, 1>("losses"), {}, o);
    };
  });
  return p;
}

}  // namespace

void add_rows(KernelRows& rows) {
  const DefaultShapes shapes{.emulator = {{16, 256}, {8, 1000}},
                             .cpu = {{4096, 256}, {1024, 4096}, {4096, 1000}},
                             .gpu = {{65536, 1024}, {16384, 4096}, {4096, 16384}, {67041, 1001}}};
  const std::vector<std::string> axes = {"ROWS", "N"};
  rows.push_back({"softmax", "y = softmax(x), along the last axis", axes, kFloatTypes, shapes, softmax});
  rows.push_back({"log_softmax", "y = log(softmax(x)), along the last axis", axes, kFloatTypes, shapes, log_softmax});
  rows.push_back({"layer_norm", "y = (x - mean) / sqrt(variance + eps) * gamma + beta", axes, kFloatTypes, shapes, layer_norm});
  rows.push_back({"rms_norm", "y = x / sqrt(mean(x^2) + eps) * gamma", axes, kFloatTypes, shapes, rms_norm});
  rows.push_back({"cross_entropy", "losses = log(sum(exp(logits))) - logits[target]", axes, kFloatTypes, shapes, cross_entropy});
}

}  // namespace tilewright::cli::bench

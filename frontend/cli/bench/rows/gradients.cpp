// Gradients of softmax, norms, cross_entropy and attention.
#include <algorithm>
#include <cmath>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/attention.h"
#include "tilewright/kernels/attention_backward.h"
#include "tilewright/kernels/cross_entropy.h"
#include "tilewright/kernels/normalization.h"
#include "tilewright/kernels/softmax.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Accumulator;
using kernels::Options;

constexpr double kEpsilon = 1e-5;

constexpr auto softmax_backward = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[1];
  const auto probability = [n, seed = seed_of("y")](std::int64_t i) {
    return static_cast<double>(scrambled(seed + static_cast<std::uint64_t>(i)) >> 11) * 0x1p-52 / static_cast<double>(n);
  };
  Problem p;
  p.tensors = {input<T>("y", s, probability), random_input<T>("dy", s), result<T>("dx", s)};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::softmax_backward(t.view<const T, 2>("y"), t.view<const T, 2>("dy"), t.view<T, 2>("dx"), o);
  };
  p.references = {{.tensor = "dx",
                   .rows = s[0],
                   .columns = n,
                   .operations_a_row = static_cast<double>(4 * n),
                   .row = [n](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader y = v.at("y"), dy = v.at("dy");
                     double sum = 0;
                     for (std::int64_t i = 0; i < n; ++i) sum += y[row * n + i] * dy[row * n + i];
                     for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = y[row * n + i] * (dy[row * n + i] - sum);
                   }}};
  return p;
};

/// A row of a matrix, normalized by its deviation or its root mean square, and the gradient of the result.
struct NormRow {
  NormRow(const Values& v, std::int64_t row_, std::int64_t n_, bool centered)
      : x(v.at("x")), dy(v.at("dy")), row(row_), n(n_), mean(centered ? v.at("mean")[row_] : 0), rstd(v.at("rstd")[row_]) {}
  double normalized(std::int64_t i) const { return (x[row * n + i] - mean) * rstd; }
  double gradient(std::int64_t i) const { return dy[row * n + i]; }

  Reader x, dy;
  std::int64_t row, n;
  double mean, rstd;
};

void norm_dx(const Values& v, std::int64_t row, std::span<double> to, bool centered) {
  const auto n = static_cast<std::int64_t>(to.size());
  const NormRow r(v, row, n, centered);
  const Reader gamma = v.at("gamma");
  double mean = 0, product = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = r.gradient(i) * gamma[i] / static_cast<double>(n);
    mean += centered ? g : 0;
    product += g * r.normalized(i);
  }
  for (std::int64_t i = 0; i < n; ++i)
    to[static_cast<std::size_t>(i)] = r.rstd * (r.gradient(i) * gamma[i] - mean - r.normalized(i) * product);
}

/// The arrays and references of the gradient of layer_norm, or of rms_norm.
template <class T>
Problem norm_backward(const Shape& s, bool centered) {
  using S = Accumulator<T>;
  const std::int64_t rows = s[0], n = s[1];
  Problem p;
  p.tensors = {random_input<T>("x", s), random_input<T>("gamma", {n}), prepared<S>("rstd", {rows}), random_input<T>("dy", s),
               result<T>("dx", s),      result<T>("dgamma", {n})};
  if (centered) p.tensors.push_back(prepared<S>("mean", {rows})), p.tensors.push_back(result<T>("dbeta", {n}));
  p.references = {{.tensor = "dx",
                   .rows = rows,
                   .columns = n,
                   .operations_a_row = static_cast<double>(4 * n),
                   .row = [=](const Values& v, std::int64_t row, std::span<double> to) { norm_dx(v, row, to, centered); }}};
  const auto of_weights = [&](const char* name, bool normalized) {
    p.references.push_back({.tensor = name,
                            .rows = n,
                            .operations_a_row = static_cast<double>(4 * rows),
                            .row = [=](const Values& v, std::int64_t column, std::span<double> to) {
                              to[0] = 0;
                              for (std::int64_t row = 0; row < rows; ++row) {
                                const NormRow r(v, row, n, centered);
                                to[0] += r.gradient(column) * (normalized ? r.normalized(column) : 1);
                              }
                            }});
  };
  of_weights("dgamma", true);
  if (centered) of_weights("dbeta", false);
  return p;
}

constexpr auto layer_norm_backward = []<class T>(std::type_identity<T>, const Shape& s) {
  using S = Accumulator<T>;
  Problem p = norm_backward<T>(s, true);
  p.prepare = [](const Device&, DeviceTensors& t) {
    const auto gamma = t.view<const T, 1>("gamma");
    kernels::layer_norm(t.view<const T, 2>("x"), gamma, gamma, t.view<T, 2>("dx"), kEpsilon, t.view<S, 1>("mean"), t.view<S, 1>("rstd"));
  };
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::layer_norm_backward(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<const S, 1>("mean"),
                                 t.view<const S, 1>("rstd"), t.view<const T, 2>("dy"), t.view<T, 2>("dx"), t.view<T, 1>("dgamma"),
                                 t.view<T, 1>("dbeta"), o);
  };
  return p;
};

constexpr auto rms_norm_backward = []<class T>(std::type_identity<T>, const Shape& s) {
  using S = Accumulator<T>;
  Problem p = norm_backward<T>(s, false);
  p.prepare = [](const Device&, DeviceTensors& t) {
    kernels::rms_norm(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<T, 2>("dx"), kEpsilon, t.view<S, 1>("rstd"));
  };
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::rms_norm_backward(t.view<const T, 2>("x"), t.view<const T, 1>("gamma"), t.view<const S, 1>("rstd"), t.view<const T, 2>("dy"),
                               t.view<T, 2>("dx"), t.view<T, 1>("dgamma"), o);
  };
  return p;
};

constexpr auto cross_entropy_backward = []<class T>(std::type_identity<T>, const Shape& s) {
  using S = Accumulator<T>;
  const std::int64_t rows = s[0], n = s[1];
  Problem p;
  p.tensors = {random_input<T>("logits", s), random_below<std::int32_t>("targets", {rows}, n), prepared<S>("lse", {rows}),
               random_input<T>("dlosses", {rows}), result<T>("dlogits", s)};
  p.prepare = [rows](const Device& device, DeviceTensors& t) {
    Buffer<T> losses = device.allocate<T>(rows);
    kernels::cross_entropy(t.view<const T, 2>("logits"), t.view<const std::int32_t, 1>("targets"), losses, t.view<S, 1>("lse"));
    device.synchronize();
  };
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::cross_entropy_backward(t.view<const T, 2>("logits"), t.view<const std::int32_t, 1>("targets"), t.view<const S, 1>("lse"),
                                    t.view<const T, 1>("dlosses"), t.view<T, 2>("dlogits"), o);
  };
  p.references = {{.tensor = "dlogits",
                   .rows = rows,
                   .columns = n,
                   .operations_a_row = static_cast<double>(10 * n),
                   .row = [n](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader logits = v.at("logits");
                     const double lse = v.at("lse")[row], scale = v.at("dlosses")[row];
                     for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = std::exp(logits[row * n + i] - lse) * scale;
                     to[static_cast<std::size_t>(v.at("targets")[row])] -= scale;
                   }}};
  return p;
};

/// The weight of a key for a query of one head, and the gradient of their scaled score.
struct Pair {
  Pair(const Values& v, std::int64_t query, std::int64_t key, std::int64_t d) {
    const Reader q = v.at("q"), k = v.at("k"), values = v.at("v"), out = v.at("out"), dout = v.at("dout");
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    double score = 0, gradient = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      score += q[query * d + i] * k[key * d + i];
      gradient += dout[query * d + i] * (values[key * d + i] - out[query * d + i]);
    }
    weight = std::exp(score * scale - v.at("lse")[query]);
    score_gradient = weight * gradient * scale;
  }
  double weight, score_gradient;
};

constexpr auto attention_backward = []<class T>(std::type_identity<T>, const Shape& s) {
  using S = Accumulator<T>;
  const std::int64_t length = s[2], d = s[3];
  Problem p;
  for (const char* name : {"q", "k", "v", "dout"}) p.tensors.push_back(random_input<T>(name, s));
  p.tensors.push_back(prepared<T>("out", s));
  p.tensors.push_back(prepared<S>("lse", {s[0], s[1], length}));
  for (const char* name : {"dq", "dk", "dv"}) p.tensors.push_back(result<T>(name, s));
  p.flops = 10.0 * static_cast<double>(elements_of(s)) * static_cast<double>(length);
  p.multiplies = true;
  p.prepare = [](const Device&, DeviceTensors& t) {
    kernels::attention(t.view<const T, 4>("q"), t.view<const T, 4>("k"), t.view<const T, 4>("v"), t.view<T, 4>("out"),
                       {.lse = t.view<S, 3>("lse")});
  };
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::attention_backward(t.view<const T, 4>("q"), t.view<const T, 4>("k"), t.view<const T, 4>("v"), t.view<const T, 4>("out"),
                                t.view<const S, 3>("lse"), t.view<const T, 4>("dout"), t.view<T, 4>("dq"), t.view<T, 4>("dk"),
                                t.view<T, 4>("dv"), {}, o);
  };
  // A row of dq is a sum over keys; a row of dk or dv is a sum over queries.
  const auto reference = [&](const char* name, auto add) {
    p.references.push_back({.tensor = name,
                            .rows = elements_of(s) / d,
                            .columns = d,
                            .operations_a_row = static_cast<double>(4 * length * d),
                            .row = [=](const Values& v, std::int64_t row, std::span<double> to) {
                              std::fill(to.begin(), to.end(), 0.0);
                              for (std::int64_t i = 0; i < length; ++i) add(v, row, row / length * length + i, d, to);
                            }});
  };
  const auto add_row = [](double factor, const Reader& from, std::int64_t row, std::span<double> to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] += factor * from[row * static_cast<std::int64_t>(to.size()) + static_cast<std::int64_t>(i)];
  };
  reference("dq", [=](const Values& v, std::int64_t query, std::int64_t key, std::int64_t depth, std::span<double> to) {
    add_row(Pair(v, query, key, depth).score_gradient, v.at("k"), key, to);
  });
  reference("dk", [=](const Values& v, std::int64_t key, std::int64_t query, std::int64_t depth, std::span<double> to) {
    add_row(Pair(v, query, key, depth).score_gradient, v.at("q"), query, to);
  });
  reference("dv", [=](const Values& v, std::int64_t key, std::int64_t query, std::int64_t depth, std::span<double> to) {
    add_row(Pair(v, query, key, depth).weight, v.at("dout"), query, to);
  });
  return p;
};

}  // namespace

void add_gradients(KernelRows& rows) {
  const DefaultShapes shapes{
      .emulator = {{16, 256}}, .cpu = {{1024, 4096}, {4096, 1000}}, .gpu = {{65536, 1024}, {16384, 4096}, {67041, 1001}}};
  const std::vector<std::string> axes = {"ROWS", "N"};
  rows.push_back(
      {"softmax_backward", "dx = y * (dy - sum(y * dy))", axes, shapes, problems(Floats(), softmax_backward), "y uniform in [0, 2 / N)"});
  rows.push_back(
      {"layer_norm_backward", "dx, dgamma and dbeta of layer_norm, from dy", axes, shapes, problems(Floats(), layer_norm_backward)});
  rows.push_back({"rms_norm_backward", "dx and dgamma of rms_norm, from dy", axes, shapes, problems(Floats(), rms_norm_backward)});
  rows.push_back({"cross_entropy_backward", "dlogits = (softmax(logits) - one at the target) * dlosses", axes, shapes,
                  problems(Floats(), cross_entropy_backward), "targets uniform over N"});
  rows.push_back(
      {"attention_backward",
       "dq, dk and dv of attention, from dout",
       {"BATCH", "HEADS", "LENGTH", "D"},
       {.emulator = {{1, 1, 64, 32}}, .cpu = {{1, 8, 256, 64}, {1, 8, 1024, 64}}, .gpu = {{4, 32, 1024, 64}, {4, 32, 2048, 128}}},
       problems(Floats(), attention_backward),
       {},
       [](const Shape& s) { return s[3] <= 256 ? "" : "D is at most 256"; }});
}

}  // namespace tilewright::cli::bench

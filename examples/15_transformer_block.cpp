// A transformer block: norm, rotary causal attention with grouped heads, a gated product, residual sums. The ideas: norms, rotations and
// gates join the products beside them, so that few kernels remain; one plan serves sequences of every length; and the same graph node by
// node (.fuse = false) is a second opinion.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "example.h"

namespace tw = tilewright;

namespace {

struct Sizes {
  int model = 512, heads = 8, groups = 2, depth = 64, hidden = 1536;  // groups: heads of keys and values
};

struct Weights {
  std::vector<float> norm1, wq, wk, wv, wo, norm2, wg, wu, wd;

  explicit Weights(const Sizes& s) {
    unsigned seed = 100;
    const auto matrix = [&](int rows, int columns) {
      return example::normal(std::size_t(rows) * columns, ++seed, 1 / std::sqrt(static_cast<float>(rows)));
    };
    norm1 = example::normal(s.model, 1), norm2 = example::normal(s.model, 2);
    wq = matrix(s.model, s.heads * s.depth), wk = matrix(s.model, s.groups * s.depth), wv = matrix(s.model, s.groups * s.depth);
    wo = matrix(s.heads * s.depth, s.model);
    wg = matrix(s.model, s.hidden), wu = matrix(s.model, s.hidden), wd = matrix(s.hidden, s.model);
  }
};

// ---- as formulas -------------------------------------------------------------------------------------------------------

void block(tw::Graph& graph, const Sizes& s) {
  const tw::Dim length = graph.dim("length", {.max = 8192});
  const auto weight = [&](const char* name, int rows, int columns) { return graph.parameter<float>(name, {rows, columns}); };
  auto x = graph.input<float>("x", {length, s.model});
  auto position = tw::iota<int>(graph, {length}, 0);

  auto n = tw::rms_norm(x, graph.parameter<float>("norm1", {s.model}));
  // [length, heads * depth] -> [groups, heads of a group, length, depth]
  const auto split = [&](auto t, int heads) { return tw::permute(tw::reshape(t, {length, s.groups, heads, s.depth}), {1, 2, 0, 3}); };
  auto q = tw::rope(split(tw::matmul(n, weight("wq", s.model, s.heads * s.depth)), s.heads / s.groups), position);
  auto k = tw::rope(split(tw::matmul(n, weight("wk", s.model, s.groups * s.depth)), 1), position);
  auto v = split(tw::matmul(n, weight("wv", s.model, s.groups * s.depth)), 1);
  auto scores = tw::matmul(q, tw::transpose(k)) / std::sqrt(static_cast<float>(s.depth));
  auto seen = tw::expand_dims(position, 0) <= tw::expand_dims(position, 1);
  auto attended = tw::matmul(tw::softmax(tw::where(seen, scores, -tw::inf), -1), v);
  auto merged = tw::reshape(tw::permute(attended, {2, 0, 1, 3}), {length, s.heads * s.depth});
  auto h = (x + tw::matmul(merged, weight("wo", s.heads * s.depth, s.model))).name("h");

  auto m = tw::rms_norm(h, graph.parameter<float>("norm2", {s.model}));
  auto gated = tw::silu(tw::matmul(m, weight("wg", s.model, s.hidden))) * tw::matmul(m, weight("wu", s.model, s.hidden));
  graph.output("y", h + tw::matmul(gated, weight("wd", s.hidden, s.model)));
}

// ---- in plain C++ ------------------------------------------------------------------------------------------------------

template <class Real>
using Matrix = std::vector<Real>;  // row-major

template <class Real>
Matrix<Real> product(const Matrix<Real>& a, const std::vector<float>& b, int inner) {
  const int rows = static_cast<int>(a.size()) / inner, columns = static_cast<int>(b.size()) / inner;
  Matrix<Real> c(std::size_t(rows) * columns);
  example::parallel(rows, 4, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      for (int k = 0; k < inner; ++k)
        for (int j = 0; j < columns; ++j)
          c[std::size_t(i) * columns + j] += a[std::size_t(i) * inner + k] * Real(b[std::size_t(k) * columns + j]);
  });
  return c;
}

template <class Real>
Matrix<Real> rms_norm(const Matrix<Real>& x, const std::vector<float>& gamma) {
  Matrix<Real> y = x;
  for (std::size_t i = 0; i < x.size(); i += gamma.size()) {
    Real squares = 0;
    for (std::size_t c = 0; c < gamma.size(); ++c) squares += x[i + c] * x[i + c];
    for (std::size_t c = 0; c < gamma.size(); ++c) y[i + c] *= Real(gamma[c]) / std::sqrt(squares / Real(gamma.size()) + Real(1e-6));
  }
  return y;
}

/// x: [length, heads * depth]; the pairs are i and i + depth / 2.
template <class Real>
void rope(Matrix<Real>& x, int heads, int depth) {
  for (std::size_t row = 0; row < x.size() / depth; ++row)
    for (int i = 0; i < depth / 2; ++i) {
      const double angle = static_cast<double>(row / heads) * std::pow(10000.0, -2.0 * i / depth);
      Real &a = x[row * depth + i], &b = x[row * depth + i + depth / 2];
      const Real turned = a * Real(std::cos(angle)) - b * Real(std::sin(angle));
      b = b * Real(std::cos(angle)) + a * Real(std::sin(angle)), a = turned;
    }
}

template <class Real>
Matrix<Real> attention(const Matrix<Real>& q, const Matrix<Real>& k, const Matrix<Real>& v, int length, const Sizes& s) {
  Matrix<Real> out(q.size());
  example::parallel(length * s.heads, 1, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {  // position, then head
      const int keys = row / s.heads + 1, group = row % s.heads / (s.heads / s.groups);
      std::vector<Real> p(keys);
      for (int j = 0; j < keys; ++j) {
        for (int c = 0; c < s.depth; ++c) p[j] += q[std::size_t(row) * s.depth + c] * k[(std::size_t(j) * s.groups + group) * s.depth + c];
        p[j] /= std::sqrt(Real(s.depth));
      }
      const Real biggest = *std::max_element(p.begin(), p.end());
      Real total = 0;
      for (Real& value : p) total += value = std::exp(value - biggest);
      for (int j = 0; j < keys; ++j)
        for (int c = 0; c < s.depth; ++c)
          out[std::size_t(row) * s.depth + c] += p[j] / total * v[(std::size_t(j) * s.groups + group) * s.depth + c];
    }
  });
  return out;
}

template <class Real>
Matrix<Real> plain_block(const std::vector<float>& input, const Weights& w, const Sizes& s) {
  const Matrix<Real> x(input.begin(), input.end()), n = rms_norm(x, w.norm1);
  Matrix<Real> q = product(n, w.wq, s.model), k = product(n, w.wk, s.model);
  rope(q, s.heads, s.depth), rope(k, s.groups, s.depth);
  const int length = static_cast<int>(x.size()) / s.model;
  Matrix<Real> h = product(attention(q, k, product(n, w.wv, s.model), length, s), w.wo, s.heads * s.depth);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] += x[i];
  const Matrix<Real> m = rms_norm(h, w.norm2), up = product(m, w.wu, s.model);
  Matrix<Real> gate = product(m, w.wg, s.model);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  Matrix<Real> y = product(gate, w.wd, s.hidden);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += h[i];
  return y;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::isfinite(a[i]) && std::isfinite(b[i]) ? std::max<double>(largest, std::fabs(a[i] - b[i])) : HUGE_VAL;
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const Sizes s = options.quick ? Sizes{64, 4, 2, 16, 96} : Sizes{};
  const int length = options.quick ? 50 : 256, longer = length + 17;
  tw::Device device = options.open();
  tw::Graph graph;
  block(graph, s);
  tw::Plan plan = graph.compile(device);
  if (options.plan) {
    std::printf("%s\n", plan.explain().c_str());
    return 0;
  }

  const Weights w(s);
  const auto xs = example::normal(std::size_t(longer) * s.model, 3);
  tw::Plan node_by_node = graph.compile(device, {.fuse = false});
  std::vector<std::pair<const char*, tw::Buffer<float>>> parameters;
  for (const auto& [name, values] : {std::pair("norm1", &w.norm1),
                                     {"wq", &w.wq},
                                     {"wk", &w.wk},
                                     {"wv", &w.wv},
                                     {"wo", &w.wo},
                                     {"norm2", &w.norm2},
                                     {"wg", &w.wg},
                                     {"wu", &w.wu},
                                     {"wd", &w.wd}})
    parameters.emplace_back(name, device.upload(*values));
  auto x = device.upload(std::vector<float>(xs.begin(), xs.begin() + std::ptrdiff_t(length) * s.model)), longer_x = device.upload(xs);
  auto y = device.upload(std::vector<float>(x.size(), NAN)), other_y = device.upload(std::vector<float>(x.size(), NAN));
  auto longer_y = device.upload(std::vector<float>(xs.size(), NAN));

  // A first run gives the parameters; later ones may leave them out.
  const auto first_run = [&](tw::Plan& p, tw::Buffer<float>& in, tw::Buffer<float>& out) {
    std::vector<tw::RunArgument> arguments{{"x", in}, {"y", out}};
    for (auto& [name, buffer] : parameters) arguments.emplace_back(name, buffer);
    p.run(arguments);
  };
  first_run(plan, longer_x, longer_y), first_run(node_by_node, x, other_y);
  plan.run({{"x", x}, {"y", y}});  // another length, and nothing is compiled again
  std::printf("%s\n", plan.explain().c_str());

  // A causal block gives the same rows whatever stands behind them.
  const std::vector<float> rows = y.download(), longer_rows = longer_y.download();
  if (largest_difference(rows, other_y.download()) > 0.05 ||
      largest_difference(rows, std::vector<float>(longer_rows.begin(), longer_rows.begin() + std::ptrdiff_t(rows.size()))) > 0.05 ||
      plan.compilations() != 0) {
    std::printf("WRONG: node by node or in a longer sequence the block gives other results, or it was compiled again\n");
    return 1;
  }

  const std::vector<float> in(xs.begin(), xs.begin() + std::ptrdiff_t(length) * s.model);
  std::vector<float> plain_y(in.size());
  const double products = s.model * (2.0 * s.heads * s.depth + 2.0 * s.groups * s.depth + 3.0 * s.hidden);
  return example::report(options, device,
                         {.kernel = "block",
                          .size = std::to_string(length) + " x " + std::to_string(s.model) + ", " + std::to_string(s.heads) + "/" +
                                  std::to_string(s.groups) + " heads",
                          .flops = 2 * length * products + 2.0 * s.heads * s.depth * length * (length + 1.0),
                          .tolerance = 3e-3,  // a device that multiplies in tf32 reaches this
                          .tile =
                              [&] {
                                plan.run({{"x", x}, {"y", y}});
                                device.synchronize();
                              },
                          .plain = [&] { plain_y = plain_block<float>(in, w, s); },
                          .tile_result = [&] { return y.download(); },
                          .plain_result = [&] { return plain_y; },
                          .want = plain_block<double>(in, w, s)});
}

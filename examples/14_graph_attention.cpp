// out = softmax(Q K^T * scale) V again, but as formulas over whole tensors: causal, and with fewer heads of keys and values than of
// queries. The ideas: a graph, from which the compiler derives one kernel that never holds the scores; and a symbol, an extent that is
// known when the plan runs.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "example.h"

namespace tw = tilewright;

namespace {

constexpr int kDepth = 64, kHeads = 8, kGroups = 2, kShared = kHeads / kGroups;  // heads that share keys and values
const float kScale = 1.0f / std::sqrt(static_cast<float>(kDepth));

// q and out: [heads, length, depth]; k and v: [groups, length, depth].
void attention(tw::Graph& graph) {
  const tw::Dim length = graph.dim("length");
  auto q = graph.input<float>("q", {kHeads, length, kDepth});
  auto k = graph.input<float>("k", {kGroups, length, kDepth}), v = graph.input<float>("v", {kGroups, length, kDepth});

  auto queries = tw::reshape(q, {kGroups, kShared, length, kDepth});
  auto keys = tw::expand_dims(k, 1), values = tw::expand_dims(v, 1);  // broadcast over the heads of a group
  auto scores = tw::matmul(queries, tw::transpose(keys)) * kScale;
  auto position = tw::iota<int>(graph, {length}, 0);
  auto seen = tw::expand_dims(position, 0) <= tw::expand_dims(position, 1);  // [queries, keys]
  auto weights = tw::softmax(tw::where(seen, scores, -tw::inf), -1);
  graph.output("out", tw::reshape(tw::matmul(weights, values), {kHeads, length, kDepth}));
}

/// A row of queries [row / length, row % length] in plain C++.
template <class Real>
void attend(int row, int length, const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
            std::vector<Real>& out) {
  const std::size_t query = std::size_t(row) * kDepth, group = std::size_t(row / length / kShared) * length * kDepth;
  const int keys = row % length + 1;
  std::vector<Real> p(keys), sum(kDepth);
  for (int j = 0; j < keys; ++j) {
    Real dot = 0;
    for (int c = 0; c < kDepth; ++c) dot += Real(q[query + c]) * Real(k[group + std::size_t(j) * kDepth + c]);
    p[j] = dot * Real(kScale);
  }
  const Real biggest = *std::max_element(p.begin(), p.end());
  Real total = 0;
  for (int j = 0; j < keys; ++j) {
    const Real weight = std::exp(p[j] - biggest);
    total += weight;
    for (int c = 0; c < kDepth; ++c) sum[c] += weight * Real(v[group + std::size_t(j) * kDepth + c]);
  }
  for (int c = 0; c < kDepth; ++c) out[query + c] = sum[c] / total;
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int length = options.quick ? 150 : 1024, rows = kHeads * length;
  const std::size_t count = std::size_t(rows) * kDepth, shared = std::size_t(kGroups) * length * kDepth;
  tw::Device device = options.open();
  tw::Graph graph;
  attention(graph);
  tw::Plan plan = graph.compile(device);
  if (options.plan) {
    std::printf("%s\n", plan.explain().c_str());
    return 0;
  }

  const auto qs = example::normal(count, 1), ks = example::normal(shared, 2), vs = example::normal(shared, 3);
  std::vector<double> want(count);
  std::vector<float> plain_out(count);
  const auto attend_all = [&](auto& out) {
    example::parallel(rows, 1, [&](int begin, int end) {
      for (int row = begin; row < end; ++row) attend(row, length, qs, ks, vs, out);
    });
  };
  attend_all(want);

  auto q = device.upload(qs), k = device.upload(ks), v = device.upload(vs);
  auto out = device.upload(std::vector<float>(count, NAN));
  const auto run = [&] {
    plan.run({{"q", q}, {"k", k}, {"v", v}, {"out", out}});  // `length` follows from the sizes of the buffers
    device.synchronize();
  };
  run();
  std::printf("%s\n", plan.explain().c_str());
  if (plan.kernels().size() != 1 || plan.intermediate_bytes() != 0) {
    std::printf("WRONG: attention did not become one kernel\n");
    return 1;
  }

  return example::report(options, device,
                         {.kernel = "graph attention",
                          .size = std::to_string(kHeads) + "/" + std::to_string(kGroups) + " x " + std::to_string(length) + " x " +
                                  std::to_string(kDepth) + " causal",
                          .flops = 2.0 * kHeads * length * (length + 1.0) * kDepth,
                          .tolerance = 1e-3,  // a device that multiplies in tf32 reaches this
                          .tile = run,
                          .plain = [&] { attend_all(plain_out); },
                          .tile_result = [&] { return out.download(); },
                          .plain_result = [&] { return plain_out; },
                          .want = want});
}

// Formulas of models as users write them, for benchmarks: attention, a transformer block, a model of many layers.
#pragma once
#include <tilewright/tilewright.h>

#include <map>
#include <string>

namespace bench::graphs {

namespace tw = tilewright;

inline void attention(tw::Graph& graph) {
  constexpr int kHeads = 16, kSeq = 1024, kDim = 64;
  auto q = graph.input<float>("q", {kHeads, kSeq, kDim}), k = graph.input<float>("k", {kHeads, kSeq, kDim}),
       v = graph.input<float>("v", {kHeads, kSeq, kDim});
  graph.output("out", tw::matmul(tw::softmax(tw::matmul(q, tw::transpose(k)) * 0.125f, -1), v));
}

/// The sizes of the weights of a layer below, by name.
inline const std::map<std::string, std::size_t>& transformer_weights() {
  static const std::map<std::string, std::size_t> sizes{{"gamma1", 1024},    {"wq", 1024 * 1024}, {"wk", 1024 * 256},
                                                        {"wv", 1024 * 256},  {"wo", 1024 * 1024}, {"gamma2", 1024},
                                                        {"wg", 1024 * 2816}, {"wu", 1024 * 2816}, {"wd", 2816 * 1024}};
  return sizes;
}

/// Layers of RMS norm, rotary causal attention with grouped heads, and a gated MLP, with residuals, on `seq` rows; finish(y) is called with their
/// result.
template <class Finish>
void transformer(tw::Graph& graph, int layers, tw::Dim seq, Finish&& finish) {
  constexpr int kModel = 1024, kHeads = 16, kKv = 4, kDim = 64, kHidden = 2816;
  auto x = graph.input<float>("x", {seq, kModel});
  auto position = tw::iota<std::int32_t>(graph, {seq}, 0);
  auto causal = tw::expand_dims(position, 1) >= tw::expand_dims(position, 0);
  for (int layer = 0; layer < layers; ++layer) {
    const auto weight = [&](const char* name, const std::vector<tw::Dim>& shape) {
      return graph.parameter<float>(name + std::to_string(layer) + "_", shape);
    };
    auto n = tw::rms_norm(x, weight("gamma1", {kModel}));
    const auto heads = [&](auto t, int each) { return tw::permute(tw::reshape(t, {seq, kKv, each, kDim}), {1, 2, 0, 3}); };
    auto q = tw::rope(heads(tw::matmul(n, weight("wq", {kModel, kHeads * kDim})), kHeads / kKv), position);
    auto k = tw::rope(heads(tw::matmul(n, weight("wk", {kModel, kKv * kDim})), 1), position);
    auto v = heads(tw::matmul(n, weight("wv", {kModel, kKv * kDim})), 1);
    auto scores = tw::matmul(q, tw::transpose(k)) * 0.125f;
    auto attended = tw::matmul(tw::softmax(tw::where(causal, scores, -tw::inf), -1), v);
    auto flat = tw::reshape(tw::permute(attended, {2, 0, 1, 3}), {seq, kHeads * kDim});
    auto h = x + tw::matmul(flat, weight("wo", {kHeads * kDim, kModel}));
    auto m = tw::rms_norm(h, weight("gamma2", {kModel}));
    auto gate = tw::silu(tw::matmul(m, weight("wg", {kModel, kHidden})));
    x = h + tw::matmul(gate * tw::matmul(m, weight("wu", {kModel, kHidden})), weight("wd", {kHidden, kModel}));
  }
  finish(x);
}
inline void transformer(tw::Graph& graph, int layers, tw::Dim seq) {
  transformer(graph, layers, seq, [&](const auto& y) { graph.output("y", y); });
}
/// The transformer on a number of rows that is a symbol.
inline void transformer(tw::Graph& graph, int layers) { transformer(graph, layers, graph.dim("seq", {.max = 4096})); }

}  // namespace bench::graphs

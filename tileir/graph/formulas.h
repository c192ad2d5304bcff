// Functions that are formulas of tensor ops. Writing the formula by hand gives the same graph, except for the name in reports. Elements of
// 8 and 16 bits are computed in f32 and rounded once.
#pragma once
#include "tileir/graph/graph_builder.h"

namespace tilewright::graph {

/// 1 / (1 + exp(-x)).
NodeId sigmoid(GraphBuilder&, NodeId x);
/// x / (1 + exp(-x)).
NodeId silu(GraphBuilder&, NodeId x);
/// x / 2 (1 + erf(x / sqrt 2)).
NodeId gelu(GraphBuilder&, NodeId x);
/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
NodeId gelu_tanh(GraphBuilder&, NodeId x);
/// maximum(x, 0).
NodeId relu(GraphBuilder&, NodeId x);
/// minimum(maximum(x, lo), hi).
NodeId clamp(GraphBuilder&, NodeId x, NodeId lo, NodeId hi);

/// exp(t - max t) / sum exp(t - max t) along an axis.
NodeId softmax(GraphBuilder&, NodeId t, std::int64_t axis);
/// t - max t - log sum exp(t - max t) along an axis.
NodeId log_softmax(GraphBuilder&, NodeId t, std::int64_t axis);
/// m + log sum exp(t - m), where m is max t clamped to finite numbers: the result is -inf if all elements are -inf, and inf if one is inf.
NodeId logsumexp(GraphBuilder&, NodeId t, const GivenAxes&, bool keep_dims);

/// (x - mean x) rsqrt(mean (x - mean x)^2 + eps) gamma + beta over the last axis.
NodeId layer_norm(GraphBuilder&, NodeId x, NodeId gamma, NodeId beta, double eps);
/// x rsqrt(mean x^2 + eps) gamma over the last axis.
NodeId rms_norm(GraphBuilder&, NodeId x, NodeId gamma, double eps);
/// (x - mean) rsqrt(variance + eps) gamma + beta over the last axis, with statistics that are given.
NodeId batch_norm(GraphBuilder&, NodeId x, NodeId mean, NodeId variance, NodeId gamma, NodeId beta, double eps);
/// logsumexp(logits) - logits[target] of each row. logits: [..., V]; targets: [...], integers.
NodeId cross_entropy(GraphBuilder&, NodeId logits, NodeId targets);
/// Rotates the pairs i, i + d / 2 of the last axis by the angle position base^(-2 i / d). positions: integers that broadcast to the other
/// axes.
NodeId rope(GraphBuilder&, NodeId x, NodeId positions, double base);
/// where(rand(seed, shape) >= p, x / (1 - p), 0). Throws Error unless 0 <= p < 1.
NodeId dropout(GraphBuilder&, NodeId x, double p, std::uint64_t seed);

/// Slices one after the other along an axis, whose sizes add up to its extent.
std::vector<NodeId> split(GraphBuilder&, NodeId t, const std::vector<Dim>& sizes, std::int64_t axis);
/// How windows move over the axes of an image: the distance between positions, and how many elements its border has on both sides.
struct Movement {
  std::int64_t stride = 1, pad = 0, dilation = 1;
};
/// The sum of products over windows, with zeros as border. x: [..., positions..., c], one to three axes of positions; w: [sizes..., c / groups,
/// o]; the result [..., positions..., o] has elements of type `result`. Group g of the channels of x gives group g of the o channels.
NodeId conv(GraphBuilder&, NodeId x, NodeId w, const Movement&, std::int64_t groups, ir::Element result);
/// The maxima of windows of size x size over the two axes before the last. The border counts nothing.
NodeId max_pool(GraphBuilder&, NodeId x, std::int64_t size, const Movement&);
/// The sums of such windows over size^2. The border counts as 0.
NodeId avg_pool(GraphBuilder&, NodeId x, std::int64_t size, const Movement&);

}  // namespace tilewright::graph

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
/// logsumexp(logits) - logits[target] of each row. logits: [..., V]; targets: [...], integers.
NodeId cross_entropy(GraphBuilder&, NodeId logits, NodeId targets);
/// Rotates the pairs i, i + d / 2 of the last axis by the angle position base^(-2 i / d). positions: integers that broadcast to the other
/// axes.
NodeId rope(GraphBuilder&, NodeId x, NodeId positions, double base);
/// where(rand(seed, shape) >= p, x / (1 - p), 0). Throws Error unless 0 <= p < 1.
NodeId dropout(GraphBuilder&, NodeId x, double p, std::uint64_t seed);

}  // namespace tilewright::graph

// The formulas of composite functions.
#include "tileir/graph/formulas.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tileir/graph/graph_op_info.h"

namespace tilewright::graph {

namespace {

using ir::OpKind;

/// Arithmetic on nodes, with numbers of the element of a node.
class Formula {
 public:
  explicit Formula(GraphBuilder& b) : b_(b) { b.begin_composite(); }

  NodeId number(NodeId like, double value) { return b_.number(b_.element(like), value); }
  NodeId apply(OpKind f, NodeId x) { return b_.map(f, {x}); }
  NodeId apply(OpKind f, NodeId a, NodeId b) { return b_.map(f, {a, b}); }
  NodeId add(NodeId a, NodeId b) { return apply(OpKind::add_, a, b); }
  NodeId sub(NodeId a, NodeId b) { return apply(OpKind::sub_, a, b); }
  NodeId mul(NodeId a, NodeId b) { return apply(OpKind::mul_, a, b); }
  NodeId div(NodeId a, NodeId b) { return apply(OpKind::div_, a, b); }
  NodeId add(NodeId a, double b) { return add(a, number(a, b)); }
  NodeId mul(double a, NodeId b) { return mul(number(b, a), b); }
  NodeId exp(NodeId x) { return apply(OpKind::exp_, x); }
  NodeId keep(Combine kind, NodeId x, const GivenAxes& axes) { return b_.reduce(kind, x, axes, true); }

  /// 1 + exp(-x).
  NodeId logistic_denominator(NodeId x) { return add(exp(apply(OpKind::neg_, x)), 1); }

 private:
  GraphBuilder& b_;
};

/// The element type in which a formula on these elements computes.
ir::Element wide(ir::Element e) { return ir::bits(e) <= 16 ? ir::Element::f32 : e; }

/// compute(x in the wide element), rounded to the element of x.
template <class F>
NodeId rounded_once(GraphBuilder& b, NodeId x, F&& compute) {
  const ir::Element e = b.element(x);
  return b.cast(compute(b.cast(x, wide(e))), e);
}

void expect_last_axis(const GraphBuilder& b, NodeId x, std::string_view name) {
  if (b.rank(x) == 0) b.fail(fmt::format("'{}' is a scalar; it must have an axis", name), {x, std::string(name)});
}

/// Throws Error unless the operand broadcasts to the shape of x.
void expect_broadcasts(const GraphBuilder& b, NodeId operand, std::string_view name, NodeId x) {
  if (broadcasts(b.shape(operand), b.shape(x))) return;
  const Party parties[] = {{operand, std::string(name)}, {x, "x"}};
  b.fail(fmt::format("'{}' is {} and does not broadcast to the shape of 'x', which is {}", name, shape_text(b.shape(operand)),
                     shape_text(b.shape(x))),
         parties);
}

double greatest(ir::Element e) { return e == ir::Element::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max(); }

}  // namespace

// ---- activations -----------------------------------------------------------------------------------------------------

NodeId sigmoid(GraphBuilder& b, NodeId t) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) { return f.div(f.number(x, 1), f.logistic_denominator(x)); });
}

NodeId silu(GraphBuilder& b, NodeId t) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) { return f.div(x, f.logistic_denominator(x)); });
}

NodeId gelu(GraphBuilder& b, NodeId t) {
  Formula f(b);
  return rounded_once(b, t,
                      [&](NodeId x) { return f.mul(f.mul(0.5, x), f.add(f.apply(OpKind::erf_, f.mul(1 / std::numbers::sqrt2, x)), 1)); });
}

NodeId gelu_tanh(GraphBuilder& b, NodeId t) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const NodeId cube = f.mul(f.mul(x, x), x);
    const NodeId inner = f.mul(std::sqrt(2 / std::numbers::pi), f.add(x, f.mul(0.044715, cube)));
    return f.mul(f.mul(0.5, x), f.add(f.apply(OpKind::tanh_, inner), 1));
  });
}

NodeId relu(GraphBuilder& b, NodeId x) {
  Formula f(b);
  return f.apply(OpKind::maximum_, x, f.number(x, 0));
}

NodeId clamp(GraphBuilder& b, NodeId x, NodeId lo, NodeId hi) {
  Formula f(b);
  return f.apply(OpKind::minimum_, f.apply(OpKind::maximum_, x, lo), hi);
}

// ---- softmax ---------------------------------------------------------------------------------------------------------

NodeId softmax(GraphBuilder& b, NodeId t, std::int64_t axis) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const GivenAxes axes{{axis}};
    const NodeId power = f.exp(f.sub(x, f.keep(Combine::max, x, axes)));
    return f.div(power, f.keep(Combine::sum, power, axes));
  });
}

NodeId log_softmax(GraphBuilder& b, NodeId t, std::int64_t axis) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const GivenAxes axes{{axis}};
    const NodeId shifted = f.sub(x, f.keep(Combine::max, x, axes));
    return f.sub(shifted, f.apply(OpKind::log_, f.keep(Combine::sum, f.exp(shifted), axes)));
  });
}

namespace {

/// logsumexp = reference + log_sum; the reduced axes stay with extent 1.
struct ReferredSum {
  NodeId reference;  // the maximum, or a finite number if the maximum is infinite
  NodeId log_sum;    // log(sum(exp(x - reference)))
};

ReferredSum referred_sum(GraphBuilder& b, Formula& f, NodeId x, const GivenAxes& axes) {
  const double limit = greatest(b.element(x));
  const NodeId finite = clamp(b, f.keep(Combine::max, x, axes), f.number(x, -limit), f.number(x, limit));
  return {finite, f.apply(OpKind::log_, f.keep(Combine::sum, f.exp(f.sub(x, finite)), axes))};
}

}  // namespace

NodeId logsumexp(GraphBuilder& b, NodeId t, const GivenAxes& given, bool keep_dims) {
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const ReferredSum total = referred_sum(b, f, x, given);
    const NodeId result = f.add(total.reference, total.log_sum);
    if (keep_dims) return result;
    TensorShape left;  // the axes that are not reduced
    std::vector<bool> is_reduced(b.shape(x).size(), !given);
    for (std::int64_t a : given.value_or(std::vector<std::int64_t>()))
      is_reduced[static_cast<std::size_t>(b.axis(a, b.rank(x), {x, "t"}))] = true;
    for (std::size_t i = 0; i < is_reduced.size(); ++i)
      if (!is_reduced[i]) left.push_back(b.shape(x)[i]);
    return b.reshape(result, left);
  });
}

NodeId cross_entropy(GraphBuilder& b, NodeId logits, NodeId targets) {
  expect_last_axis(b, logits, "logits");
  const TensorShape rows(b.shape(logits).begin(), b.shape(logits).end() - 1);
  if (b.shape(targets) != rows) {
    const Party parties[] = {{logits, "logits"}, {targets, "targets"}};
    b.fail(fmt::format("'targets' is {}; with 'logits', which is {}, it must be {}", shape_text(b.shape(targets)),
                       shape_text(b.shape(logits)), shape_text(rows)),
           parties);
  }
  Formula f(b);
  return rounded_once(b, logits, [&](NodeId x) {
    // logsumexp - logit, with the reference subtracted from both: without that, a difference of numbers far from 0 would keep few
    // digits.
    const ReferredSum total = referred_sum(b, f, x, GivenAxes{{-1}});
    const NodeId logit = b.squeeze(b.take_along(x, b.expand_dims(targets, -1), -1), -1);
    return f.sub(b.squeeze(total.log_sum, -1), f.sub(logit, b.squeeze(total.reference, -1)));
  });
}

// ---- norms -----------------------------------------------------------------------------------------------------------

namespace {

/// x rsqrt(mean x^2 + eps) over the last axis.
NodeId over_root_mean_square(GraphBuilder& b, Formula& f, NodeId x, double eps) {
  const NodeId squares = b.mean(f.mul(x, x), GivenAxes{{-1}}, true);
  return f.mul(x, f.apply(OpKind::rsqrt_, f.add(squares, eps)));
}

}  // namespace

NodeId layer_norm(GraphBuilder& b, NodeId t, NodeId gamma, NodeId beta, double eps) {
  expect_last_axis(b, t, "x");
  expect_broadcasts(b, gamma, "gamma", t);
  expect_broadcasts(b, beta, "beta", t);
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const NodeId centred = f.sub(x, b.mean(x, GivenAxes{{-1}}, true)), scaled = over_root_mean_square(b, f, centred, eps);
    return f.add(f.mul(scaled, b.cast(gamma, b.element(x))), b.cast(beta, b.element(x)));
  });
}

NodeId rms_norm(GraphBuilder& b, NodeId t, NodeId gamma, double eps) {
  expect_last_axis(b, t, "x");
  expect_broadcasts(b, gamma, "gamma", t);
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) { return f.mul(over_root_mean_square(b, f, x, eps), b.cast(gamma, b.element(x))); });
}

NodeId batch_norm(GraphBuilder& b, NodeId t, NodeId mean, NodeId variance, NodeId gamma, NodeId beta, double eps) {
  expect_last_axis(b, t, "x");
  expect_broadcasts(b, mean, "mean", t);
  expect_broadcasts(b, variance, "variance", t);
  expect_broadcasts(b, gamma, "gamma", t);
  expect_broadcasts(b, beta, "beta", t);
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const auto widened = [&](NodeId weight) { return b.cast(weight, b.element(x)); };
    const NodeId scale = f.apply(OpKind::rsqrt_, f.add(widened(variance), eps));
    return f.add(f.mul(f.mul(f.sub(x, widened(mean)), scale), widened(gamma)), widened(beta));
  });
}

// ---- rotary embedding and dropout ------------------------------------------------------------------------------------

NodeId rope(GraphBuilder& b, NodeId t, NodeId positions, double base) {
  expect_last_axis(b, t, "x");
  if (!(base > 0) || !std::isfinite(base)) b.fail(fmt::format("base {} must be a positive number", base));
  const Dim d = b.shape(t).back();
  if (d.is_constant() && d.value() % 2 != 0)
    b.fail(fmt::format("the last extent of 'x', which is {}, must be even", shape_text(b.shape(t))), {t, "x"});
  const TensorShape others(b.shape(t).begin(), b.shape(t).end() - 1);
  if (!broadcasts(b.shape(positions), others)) {
    const Party parties[] = {{positions, "positions"}, {t, "x"}};
    b.fail(fmt::format("'positions' is {} and does not broadcast to {}, the shape of 'x' without its last axis",
                       shape_text(b.shape(positions)), shape_text(others)),
           parties);
  }
  Formula f(b);
  return rounded_once(b, t, [&](NodeId x) {
    const ir::Element e = b.element(x);
    const Dim half = d / 2;
    // base^(-2 i / d) = exp2(i (-2 log2(base) / d))
    const NodeId step = d.is_constant() ? b.number(e, -2 * std::log2(base) / static_cast<double>(d.value()))
                                        : f.div(b.number(e, -2 * std::log2(base)), b.extent(e, d));
    const NodeId frequency = f.apply(OpKind::exp2_, f.mul(b.iota(e, {half}, 0), step));
    const NodeId angle = f.mul(b.cast(b.expand_dims(positions, -1), e), frequency);
    const NodeId cos = f.apply(OpKind::cos_, angle), sin = f.apply(OpKind::sin_, angle);
    const NodeId first = b.slice(x, -1, 0, half, 1), second = b.slice(x, -1, half, d, 1);
    return b.concat({f.sub(f.mul(first, cos), f.mul(second, sin)), f.add(f.mul(second, cos), f.mul(first, sin))}, -1);
  });
}

NodeId dropout(GraphBuilder& b, NodeId x, double p, std::uint64_t seed) {
  if (!(p >= 0 && p <= 1)) b.fail(fmt::format("p = {} must be from 0 to 1", p));
  Formula f(b);
  const NodeId random = b.rand(seed, b.shape(x));
  const NodeId is_kept = f.apply(OpKind::ge_, random, f.number(random, p));
  // For p = 1 no element is kept, and 1 - p is not divided by.
  return b.map(OpKind::select_, {is_kept, p < 1 ? f.div(x, f.number(x, 1 - p)) : x, f.number(x, 0)});
}

}  // namespace tilewright::graph

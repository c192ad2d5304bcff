// Rewrites graphs node by node.
#include "tests/unit/passes/fusion/rewrite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tileir/builder.h"

namespace tilewright::passes::fusion::test {

namespace {

using graph::Combine;
using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

class Rewriter {
 public:
  Rewriter(const graph::Graph& from, graph::Graph& to, Variants& v, std::optional<graph::ProductPrecision> precision)
      : from_(from), to_(to), v_(v), precision_(precision) {}

  void run() {
    for (const graph::Output& o : from_.outputs()) builder(to_).output(o.name, value(o.node).id);
  }

 private:
  Formula value(NodeId n) {
    const Op op = from_.node(n).op;
    const bool is_leaf = op == Op::input || op == Op::iota || op == Op::constant;
    // Sometimes the same value again.
    if (known_.count(n) == 0 || (!is_leaf && v_.chance(0.1))) {
      std::vector<Formula> x;
      for (NodeId operand : from_.node(n).operands) x.push_back(value(operand));
      known_[n] = is_leaf ? copied(from_.node(n), x) : disguised(from_.node(n), rewritten(from_.node(n), x));
    }
    return known_.at(n);
  }

  Formula copied(Node n, const std::vector<Formula>& x) {
    n.operands.clear();
    for (const Formula& f : x) n.operands.push_back(f.id);
    n.composite.reset();
    n.precision = precision_of(n);
    return {&to_, builder(to_).add(std::move(n))};
  }

  static std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& p) {
    std::vector<std::int64_t> back(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) back[static_cast<std::size_t>(p[i])] = static_cast<std::int64_t>(i);
    return back;
  }
  std::vector<std::int64_t> random_order(std::size_t n) {
    std::vector<std::int64_t> p(n);
    std::iota(p.begin(), p.end(), 0);
    std::shuffle(p.begin(), p.end(), v_.engine());
    return p;
  }

  // Ops that change nothing around a value.
  Formula disguised(const Node& n, Formula x) {
    const std::size_t rank = x.shape().size();
    if (rank > 1 && v_.chance(0.1)) {
      const std::vector<std::int64_t> p = random_order(rank);
      x = permute(permute(x, p), inverse(p));
    }
    if (rank > 1 && v_.chance(0.05)) {
      graph::TensorShape shape = x.shape(), merged = shape;
      const auto i = static_cast<std::size_t>(v_.choose(static_cast<int>(rank) - 1));
      merged[i] = merged[i] * merged[i + 1];
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      x = reshape(reshape(x, merged), shape);
    }
    if (ir::is_float(n.element) && !may_be_infinite(n)) {
      if (v_.chance(0.04)) x = -(-x);
      if (v_.chance(0.02)) x = v_.choose(2) == 0 ? (x + x) * 0.5 : (x * 3.0 + x) * 0.25;
    }
    return x;
  }

  // Values that hold -inf where a mask does not: of these, differences are NaN.
  bool may_be_infinite(const Node& n) const {
    if (n.op == Op::constant && ir::is_float(n.element)) return std::isinf(ir::float_value(n.element, n.data->bits[0]));
    if (n.op == Op::reduce || n.op == Op::einsum) return false;
    if (n.op == Op::map && n.function == OpKind::exp_) return false;
    return std::any_of(n.operands.begin(), n.operands.end(), [&](NodeId x) { return may_be_infinite(from_.node(x)); });
  }
  bool is_infinite_operand(const Node& n) const {
    return std::any_of(n.operands.begin(), n.operands.end(), [&](NodeId x) { return may_be_infinite(from_.node(x)); });
  }

  Formula rewritten(const Node& n, std::vector<Formula> x) {
    if (!v_.chance(0.6)) return copied(n, x);
    switch (n.op) {
      case Op::map: return map_rewritten(n, x);
      case Op::reduce: return reduce_rewritten(n, x[0]);
      case Op::einsum: return einsum_rewritten(n, x);
      default: return copied(n, x);
    }
  }

  Formula map_rewritten(const Node& n, const std::vector<Formula>& x) {
    const bool is_float = ir::is_float(n.element) && ir::is_float(from_.node(n.operands[0]).element);
    switch (n.function) {
      case OpKind::add_:
        if (is_float && !is_infinite_operand(n) && v_.chance(0.4)) return x[0] - (-x[1]);
        return x[1] + x[0];
      case OpKind::mul_:
        if (is_float && v_.chance(0.3)) return x[0] / (1.0 / x[1]);
        return x[1] * x[0];
      case OpKind::sub_: return is_float && !is_infinite_operand(n) && v_.chance(0.5) ? -(x[1] - x[0]) : x[0] + (-x[1]);
      case OpKind::div_: return is_float ? x[0] * (1.0 / x[1]) : copied(n, x);
      case OpKind::neg_: return is_float ? x[0] * -1.0 : copied(n, x);
      case OpKind::sqrt_: return 1.0 / rsqrt(x[0]);
      case OpKind::rsqrt_: return v_.chance(0.5) ? 1.0 / sqrt(x[0]) : sqrt(1.0 / x[0]);
      case OpKind::ge_: return test::map(OpKind::le_, {x[1], x[0]});
      case OpKind::le_: return test::map(OpKind::ge_, {x[1], x[0]});
      case OpKind::lt_: return test::map(OpKind::gt_, {x[1], x[0]});
      case OpKind::maximum_:
      case OpKind::eq_:
      case OpKind::bit_and_: return test::map(n.function, {x[1], x[0]});
      default: return copied(n, x);
    }
  }

  Formula reduce_rewritten(const Node& n, Formula x) {
    const std::vector<std::int64_t> axes(n.axes.begin(), n.axes.end());
    if (n.kind == Combine::max && ir::is_float(n.element) && v_.chance(0.2) && !may_be_infinite(from_.node(n.operands[0])))
      return -reduce(Combine::min, -x, axes, n.keep_dims);
    if (n.kind == Combine::sum && v_.chance(0.2)) return reduce(Combine::sum, x * 2.0, axes, n.keep_dims) / 2.0;
    if (x.shape().size() > 1 && v_.chance(0.5)) {
      const std::vector<std::int64_t> p = random_order(x.shape().size()), back = inverse(p);
      std::vector<std::int64_t> moved;
      for (std::int64_t a : axes) moved.push_back(back[static_cast<std::size_t>(a)]);
      Formula y = permute(reduce(n.kind, permute(x, p), moved, true), back);
      return n.keep_dims ? y : reshape(y, n.shape);
    }
    if (axes.size() > 1) {
      Formula y = reduce(n.kind, reduce(n.kind, x, {axes[0]}, true), {axes.begin() + 1, axes.end()}, true);
      return n.keep_dims ? y : reshape(y, n.shape);
    }
    return copied(n, {x});
  }

  Formula einsum_rewritten(const Node& n, std::vector<Formula> x) {
    const std::size_t arrow = n.text.find("->");
    std::string result = n.text.substr(arrow + 2);
    std::vector<std::string> labels(1);
    for (char c : n.text.substr(0, arrow))
      if (c == ',')
        labels.emplace_back();
      else
        labels.back() += c;
    if (v_.chance(0.3)) {
      const auto i = static_cast<std::size_t>(v_.choose(static_cast<int>(x.size())));
      x[i] = x[i] * 4.0;
      return einsum_of(n, labels, result, x) * 0.25;
    }
    if (v_.chance(0.4)) {
      std::reverse(x.begin(), x.end());
      std::reverse(labels.begin(), labels.end());
    }
    if (v_.chance(0.4)) {
      const std::vector<std::int64_t> p = random_order(labels[0].size());
      std::string permuted;
      for (std::int64_t a : p) permuted += labels[0][static_cast<std::size_t>(a)];
      x[0] = permute(x[0], p);
      labels[0] = permuted;
    }
    if (v_.chance(0.3) && is_multiplied_as_elements(n)) return as_sum(labels, result, x);
    return einsum_of(n, labels, result, x);
  }

  Formula einsum_of(const Node& n, const std::vector<std::string>& labels, const std::string& result, const std::vector<Formula>& x) {
    std::string equation;
    std::vector<NodeId> ids;
    for (std::size_t i = 0; i < x.size(); ++i) equation += (i == 0 ? "" : ",") + labels[i], ids.push_back(x[i].id);
    return {&to_, builder(to_).einsum(equation + "->" + result, ids, n.element, precision_of(n))};
  }

  graph::ProductPrecision precision_of(const Node& n) const {
    return n.op == Op::einsum && n.element == ir::Element::f32 ? precision_.value_or(n.precision) : n.precision;
  }
  // A sum of products that is written as such multiplies f32 in its own precision.
  bool is_multiplied_as_elements(const Node& n) const {
    return n.element != ir::Element::f32 || precision_of(n) == graph::ProductPrecision::ieee;
  }

  // A broadcast product, then a sum.
  Formula as_sum(const std::vector<std::string>& labels, const std::string& result, const std::vector<Formula>& x) {
    std::string all = result;
    for (const std::string& l : labels)
      for (char c : l)
        if (all.find(c) == std::string::npos) all += c;
    std::optional<Formula> product;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<std::int64_t> order;
      graph::TensorShape shape;
      for (char c : all) {
        const std::size_t at = labels[i].find(c);
        if (at != std::string::npos) order.push_back(static_cast<std::int64_t>(at));
        shape.push_back(at == std::string::npos ? Dim(1) : x[i].shape()[at]);
      }
      const Formula spread = reshape(permute(x[i], order), shape);
      product = product ? *product * spread : spread;
    }
    std::vector<std::int64_t> axes;
    for (std::size_t i = result.size(); i < all.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    return axes.empty() ? *product : sum(*product, axes, false);
  }

  const graph::Graph& from_;
  graph::Graph& to_;
  Variants& v_;
  std::optional<graph::ProductPrecision> precision_;
  std::map<NodeId, Formula> known_;
};

}  // namespace

void rewrite(const graph::Graph& from, graph::Graph& to, Variants& v, std::optional<graph::ProductPrecision> precision) {
  Rewriter(from, to, v, precision).run();
}

}  // namespace tilewright::passes::fusion::test

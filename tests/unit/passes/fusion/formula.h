// Formulas over whole tensors for tests of the fusion passes: handles with operators over GraphBuilder.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "tileir/graph/graph_builder.h"

namespace tilewright::passes::fusion::test {

/// The extents of the tensors of formulas.
struct Sizes {
  Dim batch = 2, heads = 4, queries = 9, keys = 53, head = 8, value_head = 6;  // extents of attention
  Dim latent = 16, rotary = 4;                                                 // extents of attention with keys that are values
  Dim rows = 5, inner = 53, columns = 7, vocabulary = 61;                      // extents of products
};

/// Chooses between equivalent ways to write a formula; without a seed always the first.
class Variants {
 public:
  void seed(std::uint64_t s) { engine_.seed(s), is_on_ = true; }
  int choose(int count) { return is_on_ ? static_cast<int>(engine_() % static_cast<std::uint64_t>(count)) : 0; }
  bool chance(double p) { return is_on_ && std::uniform_real_distribution<double>()(engine_) < p; }
  std::mt19937_64& engine() { return engine_; }

  Sizes at;

 private:
  std::mt19937_64 engine_;
  bool is_on_ = false;
};

struct Formula {
  graph::Graph* graph = nullptr;
  graph::NodeId id;
  const graph::TensorShape& shape() const { return graph->node(id).shape; }
};

inline graph::GraphBuilder builder(graph::Graph& g) {
  return graph::GraphBuilder(g, "test", {"test.cpp", static_cast<int>(g.size()) + 1, 0});
}

inline Formula number(graph::Graph& g, double v, ir::Element e = ir::Element::f32) { return {&g, builder(g).number(e, v)}; }

inline Formula map(ir::OpKind op, std::initializer_list<Formula> x) {
  std::vector<graph::NodeId> operands;
  for (const Formula& f : x) operands.push_back(f.id);
  graph::Graph& g = *x.begin()->graph;
  return {&g, builder(g).map(op, operands)};
}
/// A number of the element type of x.
inline Formula like(const Formula& x, double v) { return number(*x.graph, v, x.graph->node(x.id).element); }

inline Formula operator+(Formula a, Formula b) { return map(ir::OpKind::add_, {a, b}); }
inline Formula operator-(Formula a, Formula b) { return map(ir::OpKind::sub_, {a, b}); }
inline Formula operator*(Formula a, Formula b) { return map(ir::OpKind::mul_, {a, b}); }
inline Formula operator/(Formula a, Formula b) { return map(ir::OpKind::div_, {a, b}); }
inline Formula operator-(Formula a) { return map(ir::OpKind::neg_, {a}); }
inline Formula operator+(Formula a, double b) { return a + like(a, b); }
inline Formula operator*(Formula a, double b) { return a * like(a, b); }
inline Formula operator/(Formula a, double b) { return a / like(a, b); }
inline Formula operator+(double a, Formula b) { return like(b, a) + b; }
inline Formula operator/(double a, Formula b) { return like(b, a) / b; }
inline Formula exp(Formula x) { return map(ir::OpKind::exp_, {x}); }
inline Formula log(Formula x) { return map(ir::OpKind::log_, {x}); }
inline Formula sqrt(Formula x) { return map(ir::OpKind::sqrt_, {x}); }
inline Formula rsqrt(Formula x) { return map(ir::OpKind::rsqrt_, {x}); }
inline Formula tanh(Formula x) { return map(ir::OpKind::tanh_, {x}); }
inline Formula abs(Formula x) { return map(ir::OpKind::abs_, {x}); }
inline Formula rint(Formula x) { return map(ir::OpKind::rint_, {x}); }
inline Formula maximum(Formula a, Formula b) { return map(ir::OpKind::maximum_, {a, b}); }
inline Formula greater_equal(Formula a, Formula b) { return map(ir::OpKind::ge_, {a, b}); }
inline Formula less(Formula a, Formula b) { return map(ir::OpKind::lt_, {a, b}); }
inline Formula equal(Formula a, Formula b) { return map(ir::OpKind::eq_, {a, b}); }
inline Formula both(Formula a, Formula b) { return map(ir::OpKind::bit_and_, {a, b}); }
inline Formula where(Formula c, Formula a, Formula b) { return map(ir::OpKind::select_, {c, a, b}); }
inline Formula square(Formula x) { return x * x; }
inline Formula cast(Formula x, ir::Element e) { return {x.graph, builder(*x.graph).cast(x.id, e)}; }

inline Formula reshape(Formula x, graph::TensorShape shape) { return {x.graph, builder(*x.graph).reshape(x.id, std::move(shape))}; }
inline Formula permute(Formula x, const std::vector<std::int64_t>& axes) { return {x.graph, builder(*x.graph).permute(x.id, axes)}; }
inline Formula expand(Formula x, std::int64_t axis) { return {x.graph, builder(*x.graph).expand_dims(x.id, axis)}; }
inline Formula squeeze(Formula x) { return {x.graph, builder(*x.graph).squeeze(x.id, -1)}; }
inline Formula broadcast_to(Formula x, graph::TensorShape shape) { return {x.graph, builder(*x.graph).broadcast(x.id, std::move(shape))}; }
inline Formula slice(Formula x, std::int64_t axis, const Dim& begin, const Dim& end) {
  return {x.graph, builder(*x.graph).slice(x.id, axis, begin, end, 1)};
}
inline Formula concat(const std::vector<Formula>& all, std::int64_t axis) {
  std::vector<graph::NodeId> ids;
  for (const Formula& f : all) ids.push_back(f.id);
  graph::Graph& g = *all[0].graph;
  return {&g, builder(g).concat(ids, axis)};
}
inline Formula pad(Formula x, std::int64_t axis, const Dim& before, const Dim& after, double value = 0) {
  return {x.graph, builder(*x.graph).pad(x.id, axis, before, after, like(x, value).id)};
}
inline Formula reduce(graph::Combine kind, Formula x, std::vector<std::int64_t> axes, bool keep) {
  return {x.graph, builder(*x.graph).reduce(kind, x.id, axes, keep)};
}
inline Formula sum(Formula x, std::vector<std::int64_t> axes = {-1}, bool keep = true) {
  return reduce(graph::Combine::sum, x, std::move(axes), keep);
}
inline Formula max(Formula x, std::vector<std::int64_t> axes = {-1}, bool keep = true) {
  return reduce(graph::Combine::max, x, std::move(axes), keep);
}
inline Formula einsum(const std::string& equation, std::initializer_list<Formula> all) {
  std::vector<graph::NodeId> ids;
  for (const Formula& f : all) ids.push_back(f.id);
  graph::Graph& g = *all.begin()->graph;
  return {&g, builder(g).einsum(equation, ids, g.node(ids[0]).element)};
}
inline Formula take_along(Formula x, Formula index, std::int64_t axis) {
  return {x.graph, builder(*x.graph).take_along(x.id, index.id, axis)};
}
inline Formula iota(graph::Graph& g, const graph::TensorShape& shape, std::int64_t axis) {
  return {&g, builder(g).iota(ir::Element::i32, shape, axis)};
}
inline Formula input(graph::Graph& g, const std::string& name, graph::TensorShape shape, ir::Element e = ir::Element::f32) {
  return {&g, builder(g).input(name, e, std::move(shape))};
}

}  // namespace tilewright::passes::fusion::test

// The comparison with the graph as written: formulas and plans pass it, mutants of the translation and of the normal form do not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "passes/fusion/check/field_eval.h"
#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/graph/checked_indices.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/sequence/check_buffers.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/text/graph_text.h"
#include "tilewright/compiler_bug.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::OpKind;

std::vector<NodeId> nodes_of_outputs(const Graph& g) {
  std::vector<NodeId> nodes;
  for (const graph::Output& o : g.outputs()) nodes.push_back(o.node);
  return nodes;
}

/// The values of the outputs against a graph: that of the translation, or one that another graph was made of.
ProofResult check(const Graph& written, Derived& d, const std::vector<KernelOutput>& outputs) {
  const AxisAnalysis axes(*d.graph, nodes_of_outputs(*d.graph), {});
  std::vector<CheckedValue> values;
  for (std::size_t i = 0; i < outputs.size(); ++i) values.push_back({d.graph->outputs()[i].node, outputs[i].value, outputs[i].index});
  return InstanceCheck(written).run(axes, *d.pool, values);
}

/// One graph with the tensor ops that no other workload has.
void every_op(Graph& g, Variants&) {
  const Formula x = input(g, "x", {6, 20}), y = input(g, "y", {4, 20}), t = input(g, "t", {6, 20}),
                i = input(g, "i", {5}, ir::Element::i32), j = input(g, "j", {6, 3}, ir::Element::i32),
                k = input(g, "k", {6, 20}, ir::Element::boolean);
  const auto scan = [](Combine kind, Formula t, bool reverse) { return Formula{t.graph, builder(*t.graph).scan(kind, t.id, 1, reverse)}; };
  const auto arg = [](Combine kind, Formula t) { return reduce(kind, t, {1}, false); };
  builder(g).output("joined", (sum(concat({x, tanh(x), y}, 0), {0}) + slice(t, 0, 2, 3)).id);
  builder(g).output("padded", exp(Formula{&g, builder(g).pad(x.id, 1, 2, 1, builder(g).number(ir::Element::f32, 0.5))}).id);
  builder(g).output("flipped", (Formula{&g, builder(g).flip(x.id, 1)} * x).id);
  builder(g).output("rotated", (Formula{&g, builder(g).rotate(x.id, 1, 7)} * x + Formula{&g, builder(g).rotate(t.id, 0, -2)}).id);
  const Formula windows{&g, builder(g).window(x.id, 1, 3, 7, 2)};
  builder(g).output("windows", sum(windows * windows, {1}).id);
  builder(g).output("placed apart", (Formula{&g, builder(g).materialize(tanh(x).id)} * x).id);
  builder(g).output("folded", (reshape(permute(reshape(x, {3, 40}), {1, 0}), {6, 20}) - x).id);
  builder(g).output("running", (scan(Combine::sum, x, false) + scan(Combine::max, x, true)).id);
  builder(g).output("scanned", scan(Combine::prod, tanh(x), true).id);
  builder(g).output("gathered", sum(Formula{&g, builder(g).gather(t.id, i.id, 0)}).id);
  builder(g).output("along", take_along(exp(x), j, 1).id);
  builder(g).output("placed", (cast(arg(Combine::argmax, x), ir::Element::f32) - cast(arg(Combine::argmin, x), ir::Element::f32)).id);
  builder(g).output("chosen", where(both(k, less(x, like(x, 1.5))), x / (abs(x) + 1.0), rsqrt(square(x) + 0.25)).id);
  builder(g).output("any", cast(reduce(Combine::any, k, {1}, false), ir::Element::f32).id);
  builder(g).output("least", reduce(Combine::min, x * 2.0, {0, 1}, false).id);
  builder(g).output("random", (Formula{&g, builder(g).rand(7, {6, 20})} + x).id);
  builder(g).output("counted", cast(iota(g, {6, 20}, 1) * iota(g, {6, 20}, 0), ir::Element::f32).id);
  Node length;  // GraphBuilder::extent makes a constant of a constant extent
  length.op = Op::extent;
  length.element = ir::Element::f32;
  length.lengths = {20};
  builder(g).output("scaled", (x / Formula{&g, builder(g).add(length)} + Formula{&g, builder(g).scalar("bias", ir::Element::f32)}).id);
  const Formula a{&g, builder(g).argument(ir::Element::f32, 0)}, b{&g, builder(g).argument(ir::Element::f32, 1)}, f = a + b + a * b;
  builder(g).output("combined", builder(g).reduce_by((tanh(x) / 20.0).id, std::vector<std::int64_t>{1}, 0, f.id));
}

std::vector<Workload> all_formulas() {
  std::vector<Workload> all = workloads();
  all.push_back({"every_op", every_op});
  return all;
}

TEST_CASE("instance check: every op of the table that is translated is in a formula of these tests") {
  std::set<Op> seen;
  for (const Workload& w : all_formulas()) {
    Graph g;
    Variants plain;
    w.build(g, plain);
    for (std::uint32_t i = 0; i < g.size(); ++i) seen.insert(g.node({i}).op);
  }
  for (Op op : graph::all_ops())
    CHECK_MESSAGE((has_own_kernels(op) || seen.contains(op)),
                  "add '" << graph::text(op) << "' to every_op, and a mistake of it to node_mistakes");
}

TEST_CASE("instance check: every translation passes, at both instances") {
  for (const Workload& w : all_formulas()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    const ProofResult proof = check(*d.graph, d, d.outputs);
    CAPTURE(proof.text);
    CHECK(proof.exact);
    CHECK(proof.rounds == 2);
  }
}

TEST_CASE("instance check: every plan passes, fused and node by node, and the proof says what was compared") {
  for (const Workload& w : all_formulas())
    for (const bool fuse : {true, false}) {
      CAPTURE(w.name);
      CAPTURE(fuse);
      Graph g;
      Variants plain;
      w.build(g, plain);
      FusionOptions options;
      options.fuse = fuse;
      const KernelSequence p = build_sequence(g, options, {});
      CHECK(p.proof.exact);
      CHECK(p.proof.rounds >= 2);
      CHECK(p.proof.text.find("the graph as written agree at") != std::string::npos);
    }
}

// The exponential of a large sum is beyond the numbers of the check, unless the data are small.
TEST_CASE("instance check: a result that is too large to be compared is compared at small numbers, else it is named") {
  for (const bool fuse : {true, false})
    for (const int rows : {1, 6})
      for (const auto& [scale, offset, is_small] : {std::tuple(1.0, 0.0, true), {1000.0, 0.0, true}, {1.0, 1e6, false}}) {
        const bool is_compared = is_small || !fuse;  // node by node, the exponential is of any sum
        CAPTURE(fuse);
        CAPTURE(rows);
        CAPTURE(scale);
        CAPTURE(offset);
        Graph g;
        const Formula x = input(g, "x", {rows, 64}), total = sum(square(x) * (scale * 0.25), {1}, false);
        builder(g).output("y", exp(total + offset).id);
        builder(g).output("mean", (sum(x, {1}, false) / 64.0).id);
        FusionOptions options;
        options.fuse = fuse;
        const KernelSequence p = build_sequence(g, options, {});
        CAPTURE(p.proof.text);
        CHECK(p.proof.exact);
        CHECK(p.proof.is_partial() == !is_compared);
        CHECK(p.proof.text.starts_with("no element of the value at test.cpp:") == !is_compared);
      }
  Graph g;
  builder(g).output("y", exp(sum(square(input(g, "x", {64})), {0}, false) + 1e6).id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(!p.proof.exact);
  CHECK(p.proof.text.ends_with("; the kernels were not compared with the graph as written"));
}

TEST_CASE("instance check: extents of 0 leave nothing open") {
  for (const bool fuse : {true, false})
    for (const bool has_symbol : {false, true}) {
      CAPTURE(fuse);
      CAPTURE(has_symbol);
      Graph g;
      const Dim rows = has_symbol ? builder(g).dim("n", {.min = 0}) : Dim(5);
      const Formula x = input(g, "x", {rows, 0}), y = input(g, "y", {rows, 8});
      builder(g).output("none", exp(x).id);
      FusionOptions options;
      options.fuse = fuse;
      const KernelSequence none = build_sequence(g, options, {});
      CAPTURE(none.proof.text);
      CHECK(none.proof.exact);
      CHECK(!none.proof.is_partial());
      CHECK(none.proof.text == "no output has elements");
      builder(g).output("sum", sum(square(x), {1}, false).id);
      builder(g).output("joined", (exp(concat({x, y}, 1)) / sum(exp(y), {1}, true)).id);
      const KernelSequence p = build_sequence(g, options, {});
      CAPTURE(p.proof.text);
      CHECK(p.proof.exact);
      CHECK(!p.proof.is_partial());
      CHECK(p.proof.text.starts_with("the kernels and the graph as written agree at "));
    }
}

TEST_CASE("instance check: a kernel without elements leaves nothing open") {
  const Graph g = with_checked_indices(graph::parse(R"(graph {
  %x = input : f32[3, 0, 0]
  %i = input : i32[0]
  %zero = constant {data = [0.0]} : f32
  %t = broadcast %zero : f32[3, 5, 0]
  %y = scatter_add %t, %i, %x {axes = [1]} : f32[3, 5, 0]
  output "y" %y
})",
                                                    "checked"));
  const KernelSequence p = build_sequence(g, {}, {});
  CAPTURE(p.proof.text);
  CHECK(p.kernels.size() == 1);
  CHECK(p.proof.exact);
}

// ---- mutants of the translation: a node that means something else ----

/// The graph with one node changed; none if the node cannot be changed so.
std::optional<Graph> changed(const Graph& g, std::uint32_t target, const std::function<bool(Node&)>& change) {
  Graph h;
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    Node n = g.node({i});
    n.composite.reset();
    if (i == target && !change(n)) return std::nullopt;
    try {
      if (builder(h).add(n) != NodeId{i} || h.node({i}).shape != g.node({i}).shape || h.node({i}).element != g.node({i}).element)
        return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  for (const graph::Output& o : g.outputs()) builder(h).output(o.name, o.node);
  return h;
}

std::vector<std::function<bool(Node&)>> node_mistakes() {
  const auto function = [](OpKind from, OpKind to) {
    return [from, to](Node& n) { return n.op == Op::map && n.function == from && (n.function = to, true); };
  };
  const auto kind = [](Combine from, Combine to) {
    return [from, to](Node& n) { return (n.op == Op::reduce || n.op == Op::scan) && n.kind == from && (n.kind = to, true); };
  };
  std::vector<std::function<bool(Node&)>> all = {
      function(OpKind::add_, OpKind::sub_),
      function(OpKind::sub_, OpKind::add_),
      function(OpKind::mul_, OpKind::div_),
      function(OpKind::div_, OpKind::mul_),
      function(OpKind::exp_, OpKind::exp2_),
      function(OpKind::log_, OpKind::log2_),
      function(OpKind::sqrt_, OpKind::abs_),
      function(OpKind::rsqrt_, OpKind::sqrt_),
      function(OpKind::tanh_, OpKind::erf_),
      function(OpKind::abs_, OpKind::neg_),
      function(OpKind::neg_, OpKind::abs_),
      function(OpKind::ge_, OpKind::lt_),
      function(OpKind::lt_, OpKind::ge_),
      function(OpKind::le_, OpKind::ge_),
      function(OpKind::eq_, OpKind::ne_),
      function(OpKind::bit_and_, OpKind::bit_or_),
      function(OpKind::maximum_, OpKind::minimum_),
      function(OpKind::ge_, OpKind::gt_),
      kind(Combine::sum, Combine::max),
      kind(Combine::max, Combine::sum),
      kind(Combine::max, Combine::min),
      kind(Combine::prod, Combine::sum),
      kind(Combine::any, Combine::all),
      kind(Combine::argmax, Combine::argmin),
  };
  all.push_back([](Node& n) {
    return n.operands.size() == 2 && (n.op == Op::map || n.op == Op::concat) && (std::swap(n.operands[0], n.operands[1]), true);
  });
  all.push_back([](Node& n) { return n.op == Op::map && n.operands.size() == 3 && (std::swap(n.operands[1], n.operands[2]), true); });
  all.push_back([](Node& n) { return n.op == Op::scan && (n.reverse = !n.reverse, true); });
  all.push_back([](Node& n) { return n.op == Op::pad && (std::swap(n.lengths[0], n.lengths[1]), true); });
  all.push_back([](Node& n) { return n.op == Op::slice && (n.lengths[0] = n.lengths[0] - 1, n.lengths[1] = n.lengths[1] - 1, true); });
  all.push_back([](Node& n) { return n.op == Op::slice && (n.lengths[0] = n.lengths[0] + 1, n.lengths[1] = n.lengths[1] + 1, true); });
  all.push_back([](Node& n) { return n.op == Op::rotate && (n.lengths[0] = n.lengths[0] + 1, true); });
  all.push_back([](Node& n) { return n.op == Op::rotate && (n.lengths[0] = Dim(0) - n.lengths[0], true); });
  for (const std::size_t step_or_dilation : {1, 2})
    all.push_back([=](Node& n) { return n.op == Op::window && (n.lengths[step_or_dilation] = n.lengths[step_or_dilation] - 1, true); });
  all.push_back([](Node& n) { return n.op == Op::rand && (++n.seed, true); });
  all.push_back([](Node& n) { return n.op == Op::extent && (n.lengths[0] = n.lengths[0] + 1, true); });
  all.push_back([](Node& n) { return (n.op == Op::iota || n.op == Op::flip) && n.shape.size() == 2 && (n.axes[0] = 1 - n.axes[0], true); });
  all.push_back([](Node& n) {
    if (n.op != Op::constant || !ir::is_float(n.element) || n.data->bits.size() != 1) return false;
    const double value = ir::float_value(n.element, n.data->bits[0]);
    n.data = std::make_shared<graph::ConstantData>(graph::ConstantData{{ir::element_bits(n.element, value * 2 + 0.25)}});
    return std::isfinite(value);
  });
  return all;
}

/// Whether two graphs give different values, by the interpreter of graphs.
bool differ(const Graph& g, const Graph& h) {
  const graph::Arguments arguments = random_arguments(g, {}, 3);
  const auto a = graph::interpret(g, arguments, graph::Rounding::double_precision);
  const auto b = graph::interpret(h, arguments, graph::Rounding::double_precision);
  for (const auto& [name, x] : a)
    for (std::size_t i = 0; i < x.bits.size(); ++i)
      if (std::fabs(x.number(i) - b.at(name).number(i)) > 1e-6 * (1 + std::fabs(x.number(i)))) return true;
  return false;
}

TEST_CASE("instance check: every mutant of the translation is found") {
  int count = 0;
  for (const Workload& w : all_formulas()) {
    CAPTURE(w.name);
    Graph g;
    Variants plain;
    w.build(g, plain);
    for (std::uint32_t i = 0; i < g.size(); ++i)
      for (const auto& mistake : node_mistakes()) {
        std::optional<Graph> h = changed(g, i, mistake);
        if (!h || !differ(g, *h)) continue;
        ++count;
        Derived d;
        *d.graph = std::move(*h);
        translate_outputs(d);
        CAPTURE(i);
        CAPTURE(graph::print(*d.graph));
        CHECK_FALSE(check(g, d, d.outputs).exact);
      }
  }
  MESSAGE(count << " mutants");
  CHECK(count >= 500);
}

// ---- mutants of rules: a part of a formula that another rule would have made ----

std::vector<Expr> parts_of(const std::vector<KernelOutput>& outputs) {
  ExprSet seen;
  std::vector<Expr> parts;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (!seen.insert(e).second) return;
    parts.push_back(e);
    for (Expr x : children(e)) visit(x);
  };
  for (const KernelOutput& o : outputs) visit(o.value);
  return parts;
}

std::vector<Expr> mutants_of(ExprBuilder& b, Expr e) {
  std::vector<Expr> all;
  switch (e->kind) {
    case ExprKind::add:
      for (std::size_t i = 0; i < e->terms.size(); ++i)
        for (const Rational& c : {Rational(-1), Rational(2), Rational(0), Rational(1, 2)}) {
          if (ir::is_integer(e->element) && !c.is_integer()) continue;
          std::vector<Term> terms = e->terms;
          terms[i].coefficient = terms[i].coefficient * c;
          all.push_back(b.add_terms(terms));
        }
      break;
    case ExprKind::mul:
      if (ir::is_float(e->element)) all.push_back(b.scale(-1, e)), all.push_back(b.scale(2, e));
      for (std::size_t i = 0; i < e->factors.size(); ++i)
        for (const Rational& more : {Rational(1), Rational(-1)}) {
          std::vector<Factor> factors = e->factors;
          factors[i].exponent = factors[i].exponent + more;
          if (ir::is_float(e->element)) all.push_back(b.multiply(e->number, factors));
        }
      break;
    case ExprKind::exp: return {b.exp(b.scale(2, e->operands[0])), b.exp(b.scale(-1, e->operands[0])), b.product({e, e})};
    case ExprKind::log: return {b.log(b.scale(2, e->operands[0])), b.scale(2, e), b.log(b.power(e->operands[0], 2))};
    case ExprKind::number: return ir::is_float(e->element) ? std::vector<Expr>{b.add({e, b.one()})} : std::vector<Expr>{};
    case ExprKind::extent: return {b.product({e, e}), b.scale(2, e), b.add({e, b.one()})};
    case ExprKind::select: return {b.select(e->operands[0], e->operands[2], e->operands[1], e->element), e->operands[1]};
    case ExprKind::indicator: return {b.indicator(b.negation(e->operands[0])), b.one()};
    case ExprKind::at_least_zero: return {b.negation(e), b.truth(true), b.at_least_zero(b.add({e->operands[0], b.number(-1)}))};
    case ExprKind::equal: return {b.negation(e), b.truth(true)};
    case ExprKind::conjunction: return {e->operands[0], b.negation(e)};
    case ExprKind::reduce:
      if (!ir::is_float(e->element) || e->combine == Combine::combine) break;
      all = {b.scale(3, e), b.scale(-1, e)};
      all.push_back(b.reduce(e->combine == Combine::sum ? Combine::max : Combine::sum, e->bound, e->operands[0]));
      break;
    case ExprKind::scan: return {b.scan(e->combine, *e->bound.begin(), e->bits == 0, e->operands[0], e->operands[1], e->element)};
    case ExprKind::load:
      for (std::size_t i = 0; i < e->operands.size(); ++i) {
        std::vector<Expr> index = e->operands;
        index[i] = b.add({index[i], b.one()});
        if (e->tensor->shape[i] != Dim(1)) all.push_back(b.load(e->tensor, index));
      }
      break;
    case ExprKind::function:
      if (ir::is_float(e->element) && e->operands.size() == 1) all = {b.scale(-1, e), e->operands[0], b.scale(3, e)};
      break;
    default: break;
  }
  return all;
}

/// Parts of which nothing depends: maxima that serve as references, and keys of argmax, whose order alone counts.
bool is_free(const std::optional<LoopPlan>& plan, Expr part) {
  const auto is_bitcast = [](Expr e) { return e->is(ExprKind::function) && e->function == OpKind::bitcast_; };
  if (ir::is_integer(part->element) && any_of(part, is_bitcast)) return true;
  if (!plan || !part->is(ExprKind::reduce) || part->combine != Combine::max) return false;
  const bool is_output = std::any_of(plan->outputs.begin(), plan->outputs.end(), [&](const KernelOutput& o) { return o.value == part; });
  const auto subtracts = [&](Expr e) {
    if (e->is(ExprKind::exp))
      for (const Term& t : e->operands[0]->terms)
        if (t.value == part) return true;
    return false;
  };
  return !is_output &&
         std::any_of(plan->outputs.begin(), plan->outputs.end(), [&](const KernelOutput& o) { return any_of(o.value, subtracts); });
}

/// Whether two formulas differ in the field: a maximum that a softmax subtracts may be anything.
bool differ(Expr a, Expr b, const AxisSet& axes) {
  const auto nothing = [](Expr, const Point&, const Modulus&) -> std::optional<std::uint64_t> { return std::nullopt; };
  FieldEvaluator one(7, nullptr, nothing), other(7, nullptr, nothing);
  for (const Point& p : points(axes, nullptr))
    if (one.value(a, p, Modulus::values()) != other.value(b, p, Modulus::values())) return true;
  return false;
}

TEST_CASE("instance check: every mutant of a rule is found") {
  // A third of the mutants: all of them take some seconds.
  constexpr int kEach = 3;
  int made = 0, count = 0, missed = 0;
  for (const Workload& w : all_formulas()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    ExprBuilder& b = *d.exprs;
    const bool has_references = w.name != "every_op";
    const std::optional<LoopPlan> plan = has_references ? std::optional(plan_of(d)) : std::nullopt;
    for (Expr part : parts_of(d.outputs))
      for (Expr mutant : mutants_of(b, part)) {
        std::vector<KernelOutput> outputs = d.outputs;
        bool is_changed = false;
        for (KernelOutput& o : outputs) {
          AxisSet axes = o.value->axes;
          const Expr before = o.value;
          o.value = b.substitute(o.value, {{part, mutant}});
          axes.insert(o.value->axes);
          is_changed = is_changed || (o.value != before && differ(before, o.value, axes));
        }
        if (!is_changed || is_free(plan, part) || ++made % kEach != 0) continue;
        ++count;
        const bool is_found = !check(*d.graph, d, outputs).exact;
        missed += !is_found;
        CAPTURE(text(part));
        CAPTURE(text(mutant));
        CHECK(is_found);
      }
  }
  MESSAGE(count << " mutants, " << missed << " missed");
  CHECK(count >= 500);
}

// ---- buffers ----

TEST_CASE("program check: a kernel reads what was written, and each output is written") {
  Graph g;
  const Formula x = input(g, "x", {6, 33}), w = input(g, "w", {33, 33});
  const Formula h = x + einsum("rk,kn->rn", {x, w});
  builder(g).output("y", (h + einsum("rk,kn->rn", {h, w})).id);
  FusionOptions options;
  options.fuse = false;
  const KernelSequence p = build_sequence(g, options, {});
  REQUIRE(p.kernels.size() > 2);
  check_buffers(p);
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    KernelSequence without = p, late = p;
    without.kernels.erase(without.kernels.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_THROWS_AS(check_buffers(without), CompilerBug);
    if (i + 1 == p.kernels.size()) continue;
    std::swap(late.kernels[i], late.kernels[i + 1]);
    CHECK_THROWS_AS(check_buffers(late), CompilerBug);
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test

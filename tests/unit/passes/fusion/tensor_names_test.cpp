// Names of tensors: the user's, and those that follow from functions.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "passes/fusion/sequence/build_sequence.h"
#include "passes/fusion/tensor_names.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/formulas.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion::test {
namespace {

using Names = std::vector<std::string>;

Formula softmax(Formula x) {
  graph::GraphBuilder b(*x.graph, "softmax", {"test.cpp", 1, 1});
  return {x.graph, graph::softmax(b, x.id, -1)};
}
Formula matmul(Formula x, Formula y) { return {x.graph, graph::GraphBuilder(*x.graph, "matmul", {}).matmul(x.id, y.id, ir::Element::f32)}; }
Formula named(Formula x, const std::string& name) {
  x.graph->set_name(x.id, name);
  return x;
}

Names of_all(const graph::Graph& g) {
  const TensorNames names(g);
  Names all;
  for (std::uint32_t i = 0; i < g.size(); ++i) all.push_back(names.of({i}));
  return all;
}

/// Layers that store what they add to.
void layers(graph::Graph& g, const Names& weights, graph::TensorShape shape = {8, 16}) {
  Formula x = input(g, "x", std::move(shape));
  for (const std::string& w : weights) x = x + matmul(softmax(x), input(g, w, {16, 16}));
  builder(g).output("y", x.id);
}

Names buffers_between(const KernelSequence& p) {
  Names names;
  for (const SequenceBuffer& b : p.buffers)
    if (b.kind == BufferKind::intermediate) names.push_back(b.name);
  return names;
}

/// Each parameter of a kernel that is a buffer has the buffer's name, and the function that of the kernel.
void check_parameters(const KernelSequence& p) {
  for (const SequenceKernel& k : p.kernels) {
    CAPTURE(k.name);
    CHECK(k.function.name == k.name);
    for (std::size_t i = 0; i < k.arguments.size(); ++i)
      if (k.arguments[i].kind == KernelArgument::Kind::buffer)
        CHECK(k.function.params[i].name == identifier(p.buffers[static_cast<std::size_t>(k.arguments[i].buffer)].name));
  }
}

}  // namespace

TEST_CASE("tensor names: a view inside of a function is called after what it shows") {
  graph::Graph g;
  const Formula logits = input(g, "logits", {4, 3, 50}), targets = input(g, "targets", {4, 3}, ir::Element::i32);
  graph::GraphBuilder b(g, "cross_entropy", {"test.cpp", 1, 1});
  builder(g).output("loss", graph::cross_entropy(b, logits.id, targets.id));
  const TensorNames names(g);
  std::set<std::string> views;
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    if (!n.composite) continue;
    CHECK(names.of({i}).starts_with("cross_entropy"));
    if (graph::is_view(n.op)) views.insert(names.of({i}));
  }
  CHECK(views.contains("cross_entropy_targets"));       // its axis of one element
  CHECK(views.contains("cross_entropy_take_along_2"));  // without that axis
  for (const std::string& name : views) CHECK_MESSAGE(name.find("reshape") == std::string::npos, name);
}

TEST_CASE("tensor names: the user's names stand as they are, functions name the rest, and numbers follow") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16}), w = input(g, "matmul", {16, 16});
  const Formula a = matmul(x, w);
  const Formula b = named(matmul(x, w), "hidden state");
  const Formula c = named(a * b, "exp_2"), d = exp(c), e = named(exp(d), "exp_2");
  (void)exp(e);  // no output needs it
  const Formula f = exp(e);
  builder(g).output("y", f.id);
  const TensorNames names(g);
  CHECK(names.of(x.id) == "x");
  CHECK(names.of(w.id) == "matmul");
  CHECK(names.of(a.id) == "matmul_2");
  CHECK(names.of(b.id) == "hidden state");
  CHECK(names.of(c.id) == "exp_2");
  CHECK(names.of(d.id) == "exp");
  CHECK(names.of(e.id) == "exp_2_2");
  CHECK(names.of(f.id) == "exp_3");
}

TEST_CASE("tensor names: a call names its result, and values inside of it by both functions") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16}), first = softmax(x), second = softmax(first);
  builder(g).output("y", second.id);
  const Names names = of_all(g);
  const TensorNames of(g);
  CHECK(of.of(first.id) == "softmax");
  CHECK(of.of(second.id) == "softmax_2");
  for (const char* inside : {"softmax_max", "softmax_sum", "softmax_max_2"}) CHECK(std::count(names.begin(), names.end(), inside) == 1);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("tensor names: identifiers") {
  CHECK(identifier("scores") == "scores");
  CHECK(identifier("out y") == "out_y");
  CHECK(identifier("7th") == "_7th");
  CHECK(identifier("\xCE\xB3") == "_");  // gamma: one character
  CHECK(identifier("") == "_");
  NameSet names;
  names.take("a b");
  CHECK(names.add("a_b") == "a_b_2");
  CHECK(names.add("c") == "c");
  CHECK(names.add("c") == "c_2");
  CHECK(names.add("c") == "c_3");
}

TEST_CASE("tensor names: the same whether or not kernels are fused, in kernels as in reports, and for equal graphs") {
  graph::Graph g;
  layers(g, {"w0", "w1", "w2"});
  const KernelSequence fused = build_sequence(g, {}, {});
  check_parameters(fused);
  Names between = buffers_between(fused);
  CHECK(std::set<std::string>(between.begin(), between.end()).size() == between.size());
  for (const char* stored : {"add", "add_2"}) CHECK(std::count(between.begin(), between.end(), stored) == 1);
  FusionOptions node_by_node;
  node_by_node.fuse = false;
  const KernelSequence unfused = build_sequence(g, node_by_node, {});
  check_parameters(unfused);
  for (const SequenceBuffer& b : unfused.buffers)
    for (const SequenceBuffer& c : fused.buffers)
      if (b.kind == BufferKind::intermediate && c.kind == BufferKind::intermediate && b.node.valid() && b.node == c.node)
        CHECK(b.name == c.name);
  graph::Graph again;
  layers(again, {"w0", "w1", "w2"});
  CHECK(buffers_between(build_sequence(again, {}, {})) == between);
}

TEST_CASE("tensor names: kernels that share their code have the names of their own tensors") {
  graph::Graph g;
  layers(g, {"w0", "w1", "w2"});
  const KernelSequence p = build_sequence(g, {}, {});
  const auto repeated = std::find_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like >= 0; });
  REQUIRE(repeated != p.kernels.end());
  const SequenceKernel& first = p.kernels[static_cast<std::size_t>(repeated->like)];
  CHECK(repeated->name != first.name);
  CHECK(repeated->reason == "the same formulas as in kernel " + first.name + ", which has the same code");
  for (const ir::Param& q : repeated->function.params) CHECK(q.name != "w0");
}

// Tensors that are stored between kernels have names in pools of expressions, t3: a user's name may be the same.
TEST_CASE("tensor names: a user's tensor is not taken for one of the compiler's of the same name") {
  for (const bool fuse : {true, false}) {
    graph::Graph g;
    const Dim n = builder(g).dim("n", {}), k = builder(g).dim("k", {});  // long enough in estimates that products are stored
    Formula x = input(g, "x", {n, k});
    for (int i = 5; i >= 0; --i) {
      const Formula w = input(g, "t" + std::to_string(i), {k, k});
      x = x + matmul(tanh(matmul(matmul(x, w) * 0.01, w)), w);
    }
    builder(g).output("y", x.id);
    FusionOptions options;
    options.fuse = fuse;
    const KernelSequence p = build_sequence(g, options, {});
    CHECK(p.kernels.size() > 12);
    check_parameters(p);
    Names all;
    for (const SequenceBuffer& b : p.buffers) all.push_back(b.name);
    CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {{"n", 8}, {"k", 16}}, 3))) CHECK(error < 1e-4);
  }
}

}  // namespace tilewright::passes::fusion::test

// Graphs become labelled terms and graphs again: every graph of the tests, and random ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "passes/fusion/check/instance_check.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "tests/unit/passes/fusion/families.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tests/unit/passes/search/agree.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::search {
namespace {

using fusion::AxisAnalysis;
using fusion::InstanceCheck;
using graph::Graph;
using graph::NodeId;

struct TestGraph {
  std::string name;
  Graph graph;
};

/// The graphs of tests/files: one file may have several.
std::vector<TestGraph> graphs_of_files() {
  const std::filesystem::path root = std::filesystem::path(TW_RULES).parent_path().parent_path().parent_path();
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tests/files/graphs"))
    if (entry.path().extension() == ".graph") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<TestGraph> all;
  for (const auto& path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string cases = text.str(), line = "// -----\n";
    for (std::size_t at = 0; at < cases.size();) {
      const std::size_t end = std::min(cases.find(line, at), cases.size());
      all.push_back({path.stem().string(), graph::parse(cases.substr(at, end - at), path.filename().string())});
      at = end + line.size();
    }
  }
  return all;
}

Graph round_trip(const Graph& g) {
  const GraphTerms all = graph_to_terms(g);
  const PlainTerms source(all.terms);
  return terms_to_graph(g, all, {source});
}

/// Whether the outputs of both graphs are equal in the interpreter.
void check_interpreted(const Graph& written, const Graph& rewritten, std::uint64_t seed) {
  const graph::Arguments arguments = fusion::test::random_arguments(written, {}, seed);
  const auto want = graph::interpret(written, arguments, graph::Rounding::double_precision);
  const auto got = graph::interpret(rewritten, arguments, graph::Rounding::double_precision);
  REQUIRE(want.size() == got.size());
  for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name), 1e-12), name);
}

/// Compares the value of each node with that of its term at small instances.
fusion::ProofResult compare_instances(const Graph& written, const GraphTerms& all, const Choice& choice) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < written.size(); ++i)
    if (all.values[i]) nodes.push_back({i});
  Graph both = written;
  const std::vector<NodeId> values = append_values(both, all, choice, nodes);
  std::vector<fusion::RewrittenValue> pairs;
  for (std::size_t i = 0; i < values.size(); ++i) pairs.push_back({nodes[i], values[i]});
  nodes.insert(nodes.end(), values.begin(), values.end());
  return InstanceCheck(both).run(AxisAnalysis(both, nodes, {}), pairs);
}

/// Returns how many values rounding leaves open.
std::size_t check_instances(const Graph& written) {
  const GraphTerms all = graph_to_terms(written);
  const fusion::ProofResult result = compare_instances(written, all, {PlainTerms(all.terms)});
  CHECK_MESSAGE(!result.is_refuted, result.text);
  return result.left_open.size();
}

/// Terms of which one says something else.
class MutatedTerms : public PlainTerms {
 public:
  MutatedTerms(const TermTable& terms, int term, const Node& node) : PlainTerms(terms), term_(term), mutant_{{node, terms.slots(term)}} {}
  const std::vector<Member>& members(int term) const override { return term == term_ ? mutant_ : PlainTerms::members(term); }

 private:
  int term_;
  std::vector<Member> mutant_;
};

/// Other nodes of the same axes.
std::vector<Node> mutants(const GraphTerms& all, int term) {
  const Node n = all.terms.node(term);
  std::vector<Node> found;
  const auto add = [&](const auto& change) {
    Node m = n;
    change(m);
    found.push_back(m);
  };
  const LabelSet second = n.in[1] ? n.in[1].labels.set() : 0;
  if (n.op == Op::add) add([](Node& m) { m.op = Op::product; });
  if (n.op == Op::product && (n.in[0].labels.set() | second) == n.kept) add([](Node& m) { m.op = Op::add; });
  if (n.op == Op::reduce && n.attribute == static_cast<int>(graph::Combine::max))
    add([](Node& m) { m.attribute = static_cast<int>(graph::Combine::min); });
  if (n.op == Op::function && n.attribute == static_cast<int>(ir::OpKind::exp_))
    add([](Node& m) { m.attribute = static_cast<int>(ir::OpKind::tanh_); });
  if (is_binary(n.op) && n.op == Op::cat && all.terms.cut(n.attribute).first == all.terms.cut(n.attribute).second)
    add([](Node& m) { std::swap(m.in[0], m.in[1]); });
  if (n.op == Op::part0 && all.terms.cut(n.attribute).first == all.terms.cut(n.attribute).second) add([](Node& m) { m.op = Op::part1; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(n)); ++i)
    for (int s = 1; s < n.in[i].labels.size() && n.op != Op::variable; ++s)
      if (all.terms.extent(n.in[i].term, s) == all.terms.extent(n.in[i].term, 0) &&
          contains(n.kept, n.in[i].labels[0]) == contains(n.kept, n.in[i].labels[s]))
        add([&](Node& m) { std::swap(m.in[i].labels[0], m.in[i].labels[s]); });
  return found;
}

/// Inputs, outputs and symbols are the same, and the text can be read.
void check_surface(const Graph& written, const Graph& rewritten) {
  for (std::uint32_t i = 0; i < written.size(); ++i) {
    const graph::Node& n = written.node({i});
    if (n.op != graph::Op::input && n.op != graph::Op::scalar) continue;
    const auto other = rewritten.find_input(n.text);
    REQUIRE(other);
    CHECK(rewritten.node(*other).shape == n.shape);
    CHECK(rewritten.node(*other).element == n.element);
    CHECK(rewritten.node(*other).is_parameter == n.is_parameter);
  }
  REQUIRE(rewritten.outputs().size() == written.outputs().size());
  for (std::size_t i = 0; i < written.outputs().size(); ++i) {
    const graph::Output &a = written.outputs()[i], &b = rewritten.outputs()[i];
    CHECK(a.name == b.name);
    CHECK(written.node(a.node).shape == rewritten.node(b.node).shape);
    CHECK(written.node(a.node).element == rewritten.node(b.node).element);
  }
  for (std::uint32_t i = 0; i < rewritten.size(); ++i)
    if (rewritten.node({i}).op == graph::Op::call) return;  // kernels of the user have no text
  const std::string text = graph::print(rewritten);
  CHECK(graph::print(graph::parse(text, "rewritten")) == text);
}

/// Values that scatter_add places, and what is made of them, are not computed at small instances.
bool has_open_values(const Graph& g) {
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).op == graph::Op::scatter_add) return true;
  return false;
}

TEST_CASE("round trip: every graph of the test files comes back equal") {
  std::size_t count = 0, open = 0;
  for (const TestGraph& t : graphs_of_files()) {
    CAPTURE(t.name);
    check_surface(t.graph, round_trip(t.graph));
    const std::size_t own = check_instances(t.graph);
    if (!has_open_values(t.graph)) open += own;
    ++count;
  }
  CHECK(count > 90);
  CHECK(open <= 2);
}

TEST_CASE("round trip: the comparison at small instances refutes terms that say something else") {
  // A product of a tensor with itself, and a sum over both axes, are equal to themselves transposed.
  // -inf times 1 is -inf plus 1, in two graphs of padded tensors with two such values each.
  const std::set<std::string> equal = {"one_tensor_twice", "whole_sum_of_elements", "padded_tensors"};
  int tried = 0, refuted = 0;
  for (const TestGraph& t : graphs_of_files()) {
    const GraphTerms all = graph_to_terms(t.graph);
    if (all.terms.size() > 60 || has_open_values(t.graph)) continue;
    for (int term = 0; term < all.terms.size(); ++term)
      for (const Node& mutant : mutants(all, term)) {
        ++tried;
        const MutatedTerms source(all.terms, term, mutant);
        const fusion::ProofResult result = compare_instances(t.graph, all, {source});
        if (result.is_refuted)
          ++refuted;
        else
          CHECK_MESSAGE(equal.contains(t.name), t.name << " t" << term);
      }
  }
  CHECK(refuted > 400);
  CHECK(tried - refuted <= 6);
}

TEST_CASE("round trip: workloads in many spellings come back equal") {
  for (const fusion::test::Workload& w : fusion::test::workloads()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(w.name);
      CAPTURE(seed);
      Graph g;
      fusion::test::Variants variants;
      if (seed > 0) variants.seed(seed);
      w.build(g, variants);
      const Graph rewritten = round_trip(g);
      check_surface(g, rewritten);
      check_interpreted(g, rewritten, seed);
      if (seed == 0) check_instances(g);
    }
  }
}

TEST_CASE("round trip: random graphs come back equal") {
  std::size_t open = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    const Graph rewritten = round_trip(g);
    check_surface(g, rewritten);
    check_interpreted(g, rewritten, seed);
    if (seed % 10 == 0) open += check_instances(g);
  }
  CHECK(open < 150);
}

// Sums that only the accumulator holds, broadcasts that a sum or a product counts, axes that meet in no common parts, extents of 1 and 0.
constexpr const char* kUnusual = R"(
graph {
  symbol n {min = 2}
  %a = input : i8[6, 20]
  %b = input : i8[5, 6]
  %c = input : f16[6, 20]
  %d = input : i1[1, 4]
  %e = input : f32[4, 6]
  %f = input : f32[1, 6]
  %g = input {lengths = [1, 4]} : f32[4, 4]
  %i = input : i32[3]
  %s = scalar : f32
  %t = input : f32[0, 6]
  %u = input : f64[n, 6]
  %0 = einsum %a, %b {text = "ij,ki->k"} : i32[5]
  %1 = einsum %a {text = "ij->"} : i32
  %2 = einsum %c, %c, %c {text = "ij,ik,lk->jl"} : f16[20, 6]
  %3 = broadcast %d : i1[3, 4]
  %4 = concat %3, %d {axes = [0]} : i1[4, 4]
  %5 = broadcast %f : f32[4, 6]
  %6 = reduce %5 {kind = prod, axes = [0]} : f32[6]
  %7 = reduce %5 {kind = sum, axes = [0, 1], keep_dims} : f32[1, 1]
  %8 = einsum %5, %e {text = "ij,kj->k"} : f32[4]
  %9 = einsum %g {text = "ii->i"} : f32[4]
  %10 = reshape %e : f32[6, 4]
  %11 = permute %10 {axes = [1, 0]} : f32[4, 6]
  %12 = add %11, %e : f32[4, 6]
  %13 = slice %12 {axes = [1], lengths = [2, 3, 1]} : f32[4, 1]
  %14 = mul %13, %12 : f32[4, 6]
  %15 = slice %14 {axes = [1], lengths = [1, 6, 2]} : f32[4, 3]
  %16 = reduce %t {kind = sum, axes = [0]} : f32[6]
  %17 = add %16, %s : f32[6]
  %18 = gather %12, %i {axes = [1]} : f32[4, 3]
  %19 = sub %18, %15 : f32[4, 3]
  %20 = concat %19, %13 {axes = [1]} : f32[4, 4]
  %21 = flip %f {axes = [0]} : f32[1, 6]
  %22 = pad %21, %s {axes = [0], lengths = [2, 1]} : f32[4, 6]
  %23 = reshape %u : f64["6 n"]
  %24 = constant {data = [0.0]} : f64
  %25 = pad %23, %24 {axes = [0], lengths = [n, 0]} : f64["7 n"]
  %26 = slice %25 {axes = [0], lengths = [n, "3 n", 1]} : f64["2 n"]
  output "i8" %0
  output "i8 alone" %1
  output "f16" %2
  output "i1" %4
  output "product" %6
  output "sum" %7
  output "counted" %8
  output "diagonal" %9
  output "no common parts" %12
  output "extent of 1" %20
  output "extent of 0" %17
  output "pad" %22
  output "symbols" %26
}
)";

TEST_CASE("round trip: unusual axes and types come back equal, in their types, too") {
  const Graph g = graph::parse(kUnusual, "unusual");
  const Graph rewritten = round_trip(g);
  check_surface(g, rewritten);
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const graph::Rounding rounding : {graph::Rounding::double_precision, graph::Rounding::as_typed}) {
      graph::Arguments arguments = fusion::test::full_range_arguments(g, {{"n", 3}}, seed);
      arguments.arrays["i"] = {5, 0, 3};
      const auto want = graph::interpret(g, arguments, rounding), got = graph::interpret(rewritten, arguments, rounding);
      for (const auto& [name, value] : want)
        if (rounding == graph::Rounding::double_precision || !ir::is_float(value.element))
          CHECK_MESSAGE(agree(value, got.at(name), 1e-12), name);
    }
}

// Concatenations inside of concatenations and ranges of them, which the terms say in other ways: a sum visits the same elements in each.
constexpr const char* kRanges = R"(
graph {
  symbol n {min = 1}
  %x = input : f32[5, 64]
  %b = input : f32[5, 16]
  %d = input : f32[5, 24]
  %v = input : f32[5, 1]
  %y = input : f32[5, n]
  %w = input : f32[7, 104]
  %zero = constant {data = [0.0]} : f32
  %one = constant {data = [1.0]} : f32
  %0 = concat %x, %b {axes = [1]} : f32[5, 80]
  %1 = concat %0, %d {axes = [1]} : f32[5, 104]
  %2 = reduce %1 {kind = sum, axes = [1]} : f32[5]
  %3 = concat %v, %1 {axes = [1]} : f32[5, 105]
  %4 = concat %d, %3 {axes = [1]} : f32[5, 129]
  %5 = reduce %4 {kind = max, axes = [1]} : f32[5]
  %6 = einsum %1, %w {text = "ik,jk->ij"} : f32[5, 7]
  %7 = slice %4 {axes = [1], lengths = [7, 111, 1]} : f32[5, 104]
  %8 = einsum %7, %w {text = "ik,jk->ij"} : f32[5, 7]
  %9 = slice %x {axes = [1], lengths = [0, 10, 1]} : f32[5, 10]
  %10 = slice %x {axes = [1], lengths = [10, 64, 1]} : f32[5, 54]
  %11 = concat %9, %10 {axes = [1]} : f32[5, 64]
  %12 = reduce %11 {kind = sum, axes = [1]} : f32[5]
  %13 = pad %0, %zero {axes = [1], lengths = [3, 21]} : f32[5, 104]
  %14 = einsum %13, %w {text = "ik,jk->ij"} : f32[5, 7]
  %15 = pad %11, %one {axes = [1], lengths = [2, 5]} : f32[5, 71]
  %16 = reduce %15 {kind = prod, axes = [1]} : f32[5]
  %17 = concat %y, %x, %y {axes = [1]} : f32[5, "2 n + 64"]
  %18 = concat %17, %0 {axes = [1]} : f32[5, "2 n + 144"]
  %19 = reduce %18 {kind = sum, axes = [1]} : f32[5]
  %20 = concat %1, %x {axes = [1]} : f32[5, 168]
  %21 = add %20, %20 : f32[5, 168]
  %22 = slice %21 {axes = [1], lengths = [70, 168, 1]} : f32[5, 98]
  %23 = reduce %22 {kind = sum, axes = [1]} : f32[5]
  output "sum" %2
  output "max" %5
  output "product" %6
  output "product of a slice" %8
  output "halves" %12
  output "padded" %14
  output "prod" %16
  output "symbols" %19
  output "slice of a map" %23
}
)";

TEST_CASE("round trip: sums over concatenations of concatenations, and of slices and pads") {
  const Graph g = graph::parse(kRanges, "ranges");
  const Graph rewritten = round_trip(g);
  check_surface(g, rewritten);
  CHECK(check_instances(g) == 0);
  for (const std::int64_t n : {1, 2, 40})
    for (const auto& [name, value] :
         graph::interpret(g, fusion::test::random_arguments(g, {{"n", n}}, 1), graph::Rounding::double_precision))
      CHECK_MESSAGE(
          agree(value,
                graph::interpret(rewritten, fusion::test::random_arguments(g, {{"n", n}}, 1), graph::Rounding::double_precision).at(name),
                1e-12),
          name);
}

TEST_CASE("round trip: terms of large graphs are as many as nodes, and deep graphs need no deep stack") {
  for (const fusion::test::Family& family : fusion::test::families()) {
    CAPTURE(family.name);
    Graph g;
    fusion::test::build_family(family, g, 10000);
    const Graph rewritten = round_trip(g);
    check_surface(g, rewritten);
    CHECK(rewritten.size() < 3 * g.size());
  }
}

}  // namespace
}  // namespace tilewright::passes::search

// The textual form of graphs: round trips of every op, errors with line and column; and the verifier.
#include "tileir/graph/text/graph_text.h"

#include <doctest/doctest.h>

#include "tileir/graph/formulas.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/verifier.h"

namespace tilewright::graph {
namespace {

const char* const kEveryOp = R"(graph {
  symbol n {min = 2, max = 4096, multiple_of = 2}
  symbol m
  symbol "batch size"
  composite 0 "softmax"
  %q = input : f32[2, n, 64]
  %w = input {lengths = [1, n], is_parameter} : f16[n, 64]
  %s = scalar : f32
  %3 = constant {data = [1.5]} : f32
  %4 = constant {data = [0, 1, 5]} : i32[3]
  %5 = iota {axes = [1]} : i32["2 n", "m - 1"]
  %6 = extent {lengths = [n]} : f32
  %7 = rand {seed = 18446744073709551615} : f32[n, "('batch size' + 1) / 2"]
  %8 = argument {position = 0} : f32
  %9 = argument {position = 1} : f32
  %10 = fma %8, %9, %3 : f32
  %scores = mul %q, %s {composite = 0} : f32[2, n, 64]
  %12 = cast %w : f32[n, 64]
  %13 = ge %12, %3 : i1[n, 64]
  %14 = select %13, %12, %3 {label = "not a word"} : f32[n, 64]
  %15 = reshape %q : f32[2, "n / 2", 2, 64]
  %16 = permute %q {axes = [1, 0, 2]} : f32[n, 2, 64]
  %17 = broadcast %s : f32["cdiv(n, 64) + 1", 3]
  %18 = slice %q {lengths = [0, n, 2], axes = [1]} : f32[2, "n / 2", 64]
  %19 = concat %q, %q {axes = [1]} : f32[2, "2 n", 64]
  %20 = pad %q, %3 {lengths = [1, m], axes = [1]} : f32[2, "n + m + 1", 64]
  %21 = flip %q {axes = [0]} : f32[2, n, 64]
  %22 = reduce %q {kind = max, axes = [0, 2], keep_dims} : f32[1, n, 1]
  %23 = reduce %q {kind = argmin, axes = [1]} : i32[2, 64]
  %24 = reduce %q {kind = combine, identity = -inf, combiner = %10, axes = [0]} : f32[n, 64]
  %25 = scan %q {kind = sum, axes = [1], reverse} : f32[2, n, 64]
  %26 = einsum %q, %q {text = "bqd,bkd->bqk", precision = ieee} : f32[2, n, n]
  %27 = einsum %w, %w {text = "ij,kj->ik"} : f32[n, n]
  %28 = gather %q, %4 {axes = [1]} : f32[2, 3, 64]
  %29 = take_along %4, %4 {axes = [0]} : i32[3]
  %30 = scatter_add %q, %4, %28 {axes = [1]} : f32[2, n, 64]
  %31 = rotate %q {axes = [1], lengths = ["m - n"]} : f32[2, n, 64]
  %32 = window %q {axes = [1], lengths = [2, m, 1]} : f32[2, "((n - 2) / m) + 1", 64, 2]
  %33 = materialize %scores : f32[2, n, 64]
  output "y" %scores
  output "and z" %30
}
)";

std::string error_of(const std::string& text) {
  try {
    parse(text, "a.graph");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// The text with one piece replaced.
std::string with(std::string text, const std::string& piece, const std::string& other) {
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), other);
}

TEST_CASE("graph text: every op of the table reads and prints as it was") {
  const std::string text = with(with(kEveryOp, "lengths = [0, n, 2], axes", "axes"), "axes = [1]} : f32[2, \"n / 2\", 64]",
                                "axes = [1], lengths = [0, n, 2]} : f32[2, \"n / 2\", 64]");
  const Graph graph = parse(text, "a.graph");
  const std::string printed = print(graph);
  CHECK(print(parse(printed, "b.graph")) == printed);
  std::vector<bool> seen(all_ops().size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) seen[static_cast<std::size_t>(graph.node({i}).op)] = true;
  for (Op op : all_ops())
    if (op != Op::call) CHECK_MESSAGE(seen[static_cast<std::size_t>(op)], "no text of '" << tilewright::graph::text(op) << "'");
  CHECK(graph.node({11}).name == "scores");
  CHECK(graph.composite(graph.node({11}).composite.value()).name == "softmax");
  CHECK(graph.node({14}).name == "not a word");
  CHECK(graph.node({0}).text == "q");
  CHECK(graph.node({0}).name.empty());
  CHECK(graph.node({1}).is_parameter);
  CHECK(graph.node({24}).identity == 0xff800000u);
  CHECK(graph.node({24}).combiner == NodeId{10});
  CHECK(graph.node({7}).seed == UINT64_MAX);
  CHECK(graph.outputs()[1].name == "and z");
  CHECK(verify(graph).empty());
}

TEST_CASE("graph text: what is printed, line by line") {
  const std::string printed = print(parse(kEveryOp, "a.graph"));
  for (const char* line : {"  symbol n {min = 2, max = 4096, multiple_of = 2}\n", "  symbol m\n", "  symbol \"batch size\"\n",
                           "  %w = input {lengths = [1, n], is_parameter} : f16[n, 64]\n", "  %4 = constant {data = [0, 1, 5]} : i32[3]\n",
                           "  %7 = rand {seed = 18446744073709551615} : f32[n, \"('batch size' + 1) / 2\"]\n",
                           "  %scores = mul %q, %s {composite = 0} : f32[2, n, 64]\n",
                           "  %18 = slice %q {axes = [1], lengths = [0, n, 2]} : f32[2, \"n / 2\", 64]\n",
                           "  %24 = reduce %q {kind = combine, identity = -inf, combiner = %10, axes = [0]} : f32[n, 64]\n",
                           "  %25 = scan %q {kind = sum, axes = [1], reverse} : f32[2, n, 64]\n",
                           "  %26 = einsum %q, %q {text = \"bqd,bkd->bqk\", precision = ieee} : f32[2, n, n]\n", "  output \"and z\" %30\n",
                           "  %31 = rotate %q {axes = [1], lengths = [\"-n + m\"]} : f32[2, n, 64]\n",
                           "  %32 = window %q {axes = [1], lengths = [2, m, 1]} : f32[2, \"((n - 2) / m) + 1\", 64, 2]\n"}) {
    CAPTURE(printed);
    CAPTURE(line);
    CHECK(printed.find(line) != std::string::npos);
  }
}

TEST_CASE("graph text: names that are taken, and inputs with a name for reports") {
  Graph graph;
  GraphBuilder b(graph, "f", {"model.cpp", 7, 3});
  const NodeId x = b.input("x", ir::Element::f32, {4}), y = b.map(ir::OpKind::exp_, {x}), z = b.map(ir::OpKind::exp_, {y});
  const NodeId odd = b.input("not a word", ir::Element::f32, {4});
  graph.set_name(x, "x0"), graph.set_name(y, "e"), graph.set_name(z, "e");
  b.output("z", z);
  const std::string text = print(graph);
  CHECK(text == R"(graph {
  %x0 = input {name = "x"} : f32[4]
  %e = exp %x0 : f32[4]
  %2 = exp %e {label = "e"} : f32[4]
  %3 = input {name = "not a word"} : f32[4]
  output "z" %2
}
)");
  const Graph again = parse(text, "a.graph");
  CHECK(print(again) == text);
  CHECK(again.node(x).name == "x0");
  CHECK(again.node(x).text == "x");
  CHECK(again.node(z).name == "e");
  CHECK(again.node(odd).text == "not a word");
}

TEST_CASE("graph text: locations are optional and exact") {
  Graph graph;
  GraphBuilder b(graph, "softmax", {"my model.cpp", 7, 3});
  b.dim("n", {});
  b.output("y", softmax(b, b.input("x", ir::Element::f32, {4}), 0));
  CHECK(print(graph).find("model.cpp") == std::string::npos);
  const std::string text = print(graph, {.locations = true});
  CHECK(text.find("  %x = input : f32[4] @ \"my model.cpp\":7:3\n") != std::string::npos);
  CHECK(text.find("  composite 0 \"softmax\" @ \"my model.cpp\":7:3\n") != std::string::npos);
  CHECK(print(parse(text, "a.graph"), {.locations = true}) == text);
  // Without locations in the text, nodes get their lines in the text.
  CHECK(parse(print(graph), "a.graph").node({0}).where.line == 4);
}

TEST_CASE("graph text: errors name line and column") {
  CHECK(error_of("") == "a.graph:1:1: error: expected 'graph', not the end of the text");
  CHECK(error_of("graph {\n  %0 = exp %1 : f32\n}") == "a.graph:2:12: error: '%1' is not defined");
  CHECK(error_of("graph {\n  %0 = inptu : f32\n}") == "a.graph:2:8: error: unknown op 'inptu' (did you mean 'input'?)");
  CHECK(error_of("graph {\n  %x = input : f31\n}") == "a.graph:2:16: error: unknown element type 'f31'");
  CHECK(error_of("graph {\n  %x = input : f32[k]\n}") == "a.graph:2:20: error: extent 'k': there is no symbol 'k'");
  CHECK(error_of("graph {\n  %x = input : f32[\"2 +\"]\n}") == "a.graph:2:20: error: extent '2 +': expected a number or a symbol");
  CHECK(error_of("graph {\n  %x = input : f32[\"(2\"]\n}") == "a.graph:2:20: error: extent '(2': a ')' is missing");
  CHECK(error_of("graph {\n  %x = input : f32[\"7 / 2\"]\n}") == "a.graph:2:20: error: extent '7 / 2': extent 7 / 2 is not an integer");
  CHECK(error_of("graph {\n  %x = input : f32[2]\n  %y = exp %x : f32[3]\n}") ==
        "a.graph:3:8: error: exp: the type is f32 [3]; its operands give f32 [2]");
  CHECK(error_of("graph {\n  %x = input : i32[2]\n  %y = exp %x : i32[2]\n}") ==
        "a.graph:3:8: error: exp: 'x' is i32; expected f16, bf16, f32 or f64");
  CHECK(error_of("graph {\n  %x = input {axes = [0]} : f32\n}") == "a.graph:2:15: error: 'axes' is not an attribute of input");
  CHECK(error_of("graph {\n  %x = input : f32\n  %x = input : f32\n}") == "a.graph:3:3: error: '%x' is defined twice");
  CHECK(error_of("graph {\n  %x = input : f32\n  output \"x\" %x\n}") == "a.graph:3:3: error: the name 'x' is given twice");
  CHECK(error_of("graph {\n  symbol n {min = 5, max = 3}\n}") == "a.graph:2:12: error: no value of 'n' is within its bounds");
  CHECK(error_of("graph {\n  symbol n\n  symbol n\n}") == "a.graph:3:10: error: symbol 'n' is defined twice");
  CHECK(error_of("graph {\n  symbol n {least = 5}\n}") ==
        "a.graph:2:13: error: 'least' is not a bound of a symbol: min, max or multiple_of");
  CHECK(error_of("graph {\n  %x = constant {data = [300]} : i8\n}") == "a.graph:2:26: error: 300 does not fit i8");
  CHECK(error_of("graph {\n  %x = constant {data = [1, 2]} : i8[3]\n}") ==
        "a.graph:2:8: error: constant: 2 elements for shape [3], which has 3");
  CHECK(error_of("graph {\n  %x = exp : f32\n}") == "a.graph:2:8: error: exp: 0 operands; expected 1");
  CHECK(error_of("graph {\n  %x = call : f32\n}") == "a.graph:2:8: error: a kernel of the user has no text");
  CHECK(error_of("graph {\n} graph") == "a.graph:2:3: error: expected the end of the text");
  CHECK(error_of("graph {\n  composite 1 \"f\"\n}") == "a.graph:2:13: error: composites count up; this is 0");
  CHECK(error_of("graph {\n  %x = iota {axes = [10]} : i32[2]\n}") == "a.graph:2:22: error: axis 10 is out of range");
  CHECK(error_of("graph {\n  %x = input : f32[2]\n  %y = reduce %x {kind = most, axes = [0]} : f32\n}") ==
        "a.graph:3:26: error: unknown reduction 'most'");
}

TEST_CASE("graph text: no text crashes the parser") {
  const std::string text = kEveryOp;
  for (std::size_t i = 0; i < text.size(); ++i) {
    error_of(text.substr(0, i));
    error_of(text.substr(0, i) + text.substr(i + 1));
  }
  error_of("graph { %x = input : f32[\"" + std::string(100000, '(') + "\"] }");
}

TEST_CASE("graph verifier: what no text and no builder makes") {
  const auto problems = [](auto&& change) {
    Graph graph;
    GraphBuilder b(graph, "f", {"model.cpp", 7, 3});
    const NodeId x = b.input("x", ir::Element::f32, {4});
    const NodeId argument = b.argument(ir::Element::f32, 0);
    change(graph, b, x, argument);
    std::string text;
    for (const GraphProblem& problem : verify(graph)) text += problem.message + "\n";
    return text;
  };
  Node exp;
  exp.op = Op::map, exp.function = ir::OpKind::exp_, exp.element = ir::Element::f32;
  CHECK(problems([](Graph&, GraphBuilder&, NodeId, NodeId) {}).empty());
  CHECK(problems([&](Graph& g, GraphBuilder&, NodeId x, NodeId) {
          Node n = exp;
          n.operands = {x}, n.shape = {5};
          g.append(n);
        }) == "map: the type is f32 [5]; its operands give f32 [4]\n");
  CHECK(problems([&](Graph& g, GraphBuilder&, NodeId x, NodeId) {
          Node n = exp;
          n.operands = {x}, n.shape = {4}, n.composite = 3;
          g.append(n);
        }) == "map: a composite that the graph lacks\n");
  CHECK(problems([&](Graph& g, GraphBuilder&, NodeId, NodeId) {
          Graph other;
          Node n;
          n.op = Op::input, n.text = "y", n.shape = {other.symbols()->add("m", {}, {})};
          g.append(n);
        }) == "input: extent 'm' has symbols of another graph\n");
  CHECK(problems([&](Graph&, GraphBuilder& b, NodeId, NodeId argument) { b.output("y", b.map(ir::OpKind::exp_, {argument})); }) ==
        "output 'y' is computed from an argument of a combining function\n");
  CHECK(problems([&](Graph&, GraphBuilder& b, NodeId x, NodeId argument) { b.map(ir::OpKind::add_, {x, argument}); }) ==
        "map: an argument of a combining function meets scalars only, element by element\n");
  CHECK(problems([&](Graph&, GraphBuilder& b, NodeId x, NodeId) {
          Node n;
          n.op = Op::reduce, n.kind = Combine::combine, n.axes = {0}, n.operands = {x}, n.identity = 0;
          n.combiner = b.reduce(Combine::sum, x, std::nullopt, false);
          b.add(n);
        }) == "reduce: its function computes with 'input'\nreduce: its function computes with 'reduce'\n");
}

TEST_CASE("graph ops: an op takes an index if its second operand is called so; reductions, scans and products combine elements") {
  for (const Op op : all_ops()) {
    CAPTURE(text(op));
    const auto& operands = info(op).operands;
    CHECK(takes_index(op) == (operands.size() > 1 && operands[1] == "index"));
    CHECK(combines_elements(op) == (op == Op::reduce || op == Op::scan || op == Op::einsum));
  }
}

}  // namespace
}  // namespace tilewright::graph

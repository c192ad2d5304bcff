// The verifier of graphs.
#include "tileir/graph/verifier.h"

#include <fmt/format.h>

#include <set>

#include "tileir/graph/function_nodes.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shape_rules.h"

namespace tilewright::graph {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), needs_argument_(graph.size()) {}

  std::vector<GraphProblem> run() {
    for (std::uint32_t i = 0; i < graph_.symbols()->size(); ++i) expect_new((*graph_.symbols())[i].name, (*graph_.symbols())[i].where);
    for (std::uint32_t i = 0; i < graph_.size(); ++i) check({i});
    for (const Output& output : graph_.outputs()) {
      expect_new(output.name, output.where);
      if (output.node.index >= graph_.size())
        report(output.where, fmt::format("output '{}' is not a node of the graph", output.name));
      else if (needs_argument_[output.node.index])
        report(output.where, fmt::format("output '{}' is computed from an argument of a combining function", output.name));
    }
    return std::move(found_);
  }

 private:
  void report(const Location& where, std::string message) { found_.push_back({where, std::move(message)}); }

  void expect_new(const std::string& name, const Location& where) {
    if (!names_.insert(name).second) report(where, fmt::format("the name '{}' is given twice", name));
  }

  void check(NodeId id) {
    const Node& n = graph_.node(id);
    const auto fail = [&](const std::string& message) { report(n.where, fmt::format("{}: {}", text(n.op), message)); };
    if (n.op == Op::input || n.op == Op::scalar) expect_new(n.text, n.where);
    if (n.composite && *n.composite >= graph_.composites()) fail("a composite that the graph lacks");
    for (const auto* extents : {&n.shape, &n.lengths})
      if (const std::string problem = problem_of_symbols(graph_, *extents); !problem.empty()) return fail(problem);
    for (NodeId operand : n.operands) {
      if (operand.index >= id.index) return fail("an operand that is defined later");
      if (needs_argument_[operand.index]) needs_argument_[id.index] = true;
    }
    if (n.op == Op::argument) needs_argument_[id.index] = true;
    if (needs_argument_[id.index] && ((n.op != Op::map && n.op != Op::argument) || !n.shape.empty()))
      fail("an argument of a combining function meets scalars only, element by element");
    if (n.combiner.valid()) {
      if (n.combiner.index >= id.index) return fail("a function that is defined later");
      check_combiner(n);
    }
    const Inferred inferred = infer(graph_, n);
    if (!inferred.ok()) return fail(inferred.error);
    if (inferred.element != n.element || inferred.shape != n.shape)
      fail(fmt::format("the type is {} {}; its operands give {} {}", ir::text(n.element), shape_text(n.shape), ir::text(inferred.element),
                       shape_text(inferred.shape)));
  }

  /// A combining function may use constants, and arguments of the element type that is reduced.
  void check_combiner(const Node& reduce) {
    for (NodeId id : function_nodes(graph_, reduce.combiner)) {
      const Node& n = graph_.node(id);
      if (n.op == Op::argument && n.element != reduce.element)
        report(n.where,
               fmt::format("reduce: an argument of its function is {}; it must be {}", ir::text(n.element), ir::text(reduce.element)));
      if (n.op != Op::map && n.op != Op::argument && n.op != Op::constant)
        report(n.where, fmt::format("reduce: its function computes with '{}'", text(n.op)));
    }
  }

  const Graph& graph_;
  std::vector<bool> needs_argument_;
  std::set<std::string> names_;
  std::vector<GraphProblem> found_;
};

}  // namespace

std::vector<GraphProblem> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace tilewright::graph

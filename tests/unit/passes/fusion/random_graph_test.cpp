// The random graphs themselves: an infinity that f32 makes and double does not would say nothing of a plan.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion::test {
namespace {

// Nodes that compute with the arguments of a combining function do not have values of their own.
std::vector<bool> inside_of_functions(const graph::Graph& g) {
  std::vector<bool> inside(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    inside[i] = n.op == graph::Op::argument;
    for (graph::NodeId x : n.operands) inside[i] = inside[i] || inside[x.index];
  }
  return inside;
}

TEST_CASE("fusion random graphs: no value comes near to the greatest f32") {
  constexpr double kMost = 1e9;
  for (const std::int64_t signed_seed : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 26647, 50822, 68689, -1, -2, -3, -4, -5, -6, -7, -8, -9}) {
    const auto seed = static_cast<std::uint64_t>(std::abs(signed_seed));
    CAPTURE(signed_seed);
    graph::Graph g;
    if (signed_seed < 0)
      random_graph_of_multiples(g, seed);
    else
      random_graph(g, seed);
    const std::vector<bool> inside = inside_of_functions(g);
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (!inside[i] && ir::is_float(g.node({i}).element)) builder(g).output("node " + std::to_string(i), {i});
    for (const auto& [name, value] : graph::interpret(g, random_arguments(g, {}, 5), graph::Rounding::double_precision)) {
      CAPTURE(name);
      double most = 0;
      for (std::size_t i = 0; i < value.bits.size(); ++i)
        most = std::isnan(value.number(i)) ? HUGE_VAL : std::max(most, std::fabs(value.number(i)));
      CHECK(most < kMost);
    }
  }
}

TEST_CASE("fusion random graphs: every shape op of the table is drawn") {
  std::set<graph::Op> drawn;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    graph::Graph g;
    random_graph(g, seed);
    for (std::uint32_t i = 0; i < g.size(); ++i) drawn.insert(g.node({i}).op);
  }
  for (graph::Op op : graph::all_ops())
    if (graph::info(op).family == graph::Family::shape)
      CHECK_MESSAGE(drawn.contains(op), "add '" << graph::text(op) << "' to random_graph.cpp");
}

}  // namespace
}  // namespace tilewright::passes::fusion::test

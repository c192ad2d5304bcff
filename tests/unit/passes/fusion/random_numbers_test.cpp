// Random graphs over all element types compute what they say.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Graph;
using ir::Element;

bool holds_f32(const Graph& g) {
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).element == Element::f32) return true;
  return false;
}

}  // namespace

// TILEWRIGHT_RANDOM_GRAPHS: how many, beside the default. TILEWRIGHT_RANDOM_GRAPH: the seed of one, which runs alone.
TEST_CASE("fusion numbers: random graphs of all types compute what they say") {
  const char* wanted = std::getenv("TILEWRIGHT_RANDOM_GRAPHS");
  const char* only = std::getenv("TILEWRIGHT_RANDOM_GRAPH");
  const int first = only ? std::atoi(only) : 0, last = only ? first + 1 : wanted ? std::atoi(wanted) : 200;
  for (int seed = first; seed < last; ++seed) {
    CAPTURE(seed);
    Graph g;
    random_graph_of_all_types(g, static_cast<std::uint64_t>(seed));
    const std::string text = graph::print(g);
    CAPTURE(text);
    FusionOptions options;
    options.fuse = seed % 3 != 0;
    const KernelSequence p = build_sequence(g, options, {});
    std::string plans;
    for (const SequenceKernel& k : p.kernels) plans += k.plan_text + "\n";
    CAPTURE(plans);
    CHECK(p.proof.exact);
    static constexpr std::int64_t kExtents[] = {1, 2, 7, 64, 131, 0};  // 0 for an odd seed
    for (const auto& [name, error] : errors_of(g, p, full_range_arguments(g, {{"n", kExtents[seed % 6]}}, 5))) {
      CAPTURE(name);
      CHECK(error <= (holds_f32(g) ? 1e-3 : 1e-10));
    }
  }
}

}  // namespace tilewright::passes::fusion::test

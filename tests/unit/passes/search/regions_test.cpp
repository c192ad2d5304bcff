// Regions: what a graph is divided into, and that it is the same graph when they are joined.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "passes/search/regions/divide.h"
#include "passes/search/regions/join.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/graph/verifier.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::NodeId;

/// Layers that add to what they read: x + tanh(x w) v.
Graph layers(int count, bool has_same_widths) {
  std::string text = "graph {\n  %x0 = input : f32[5, 8]\n  %m = input : f32[8]\n  %mask = tanh %m : f32[8]\n";
  for (int i = 0; i < count; ++i) {
    const int width = has_same_widths ? 6 : 6 + i;
    text += fmt::format("  %w{0} = input {{is_parameter}} : f32[8, {1}]\n  %v{0} = input {{is_parameter}} : f32[{1}, 8]\n", i, width);
    text +=
        fmt::format("  %a{0} = einsum %x{0}, %w{0} {{text = \"ij,jk->ik\"}} : f32[5, {1}]\n  %b{0} = tanh %a{0} : f32[5, {1}]\n", i, width);
    text += fmt::format("  %c{0} = einsum %b{0}, %v{0} {{text = \"ij,jk->ik\"}} : f32[5, 8]\n  %d{0} = mul %c{0}, %mask : f32[5, 8]\n", i);
    text += fmt::format("  %x{1} = add %x{0}, %d{0} : f32[5, 8]\n", i, i + 1);
  }
  return graph::parse(text + fmt::format("  output \"o\" %x{}\n}}", count), "layers");
}

/// Every second region is replaced by its terms written as a graph.
Graph joined_again(const Graph& g, std::size_t most) {
  const std::vector<Region> regions = divide(g, most);
  std::vector<Graph> made(regions.size());
  std::vector<const Graph*> replacements(regions.size());
  for (std::size_t i = 0; i < regions.size(); i += 2) {
    const GraphTerms all = graph_to_terms(regions[i].graph);
    made[i] = terms_to_graph(regions[i].graph, all, {PlainTerms(all.terms)});
    replacements[i] = &made[i];
  }
  return join(g, regions, replacements);
}

TEST_CASE("regions: a small graph is one, and equal layers of a large one are equal") {
  CHECK(divide(layers(2, true)).size() == 1);
  const std::vector<Region> regions = divide(layers(30, true));
  REQUIRE(regions.size() == 31);
  std::set<std::string> structures;
  for (const Region& r : regions) structures.insert(r.structure);
  // The mask is a region of its own.
  CHECK(structures.size() == 2);
  CHECK(regions[0].results.size() == 1);
  for (std::size_t i = 1; i < regions.size(); ++i) {
    CHECK(regions[i].results.size() == 1);
    CHECK(regions[i].inputs.size() == 4);
  }
}

// Layers of three branches that read a normalised sum, in one of them with a mask, and that add to what they read.
Graph layers_of_branches(int count) {
  std::string text = "graph {\n  %x0 = input : f32[8, 8]\n  %i = iota {axes = [0]} : i32[8]\n  %r = reshape %i : i32[8, 1]\n";
  text += "  %m = ge %r, %i : i1[8, 8]\n  %zero = constant {data = [0.0]} : f32\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "  %s{0} = mul %x{0}, %x{0} : f32[8, 8]\n  %t{0} = reduce %s{0} {{kind = sum, axes = [1], keep_dims}} : f32[8, 1]\n", i);
    text += fmt::format("  %u{0} = rsqrt %t{0} : f32[8, 1]\n  %n{0} = mul %x{0}, %u{0} : f32[8, 8]\n", i);
    for (char branch : {'a', 'b', 'c'}) {
      const std::string name = fmt::format("{}{}_", branch, i);
      text += fmt::format("  %w{0} = input {{is_parameter}} : f32[8, 8]\n", name);
      text += fmt::format("  %{0}0 = einsum %n{1}, %w{0} {{text = \"ij,jk->ik\"}} : f32[8, 8]\n", name, i);
      for (int k = 1; k < 12; ++k) text += fmt::format("  %{0}{1} = tanh %{0}{2} : f32[8, 8]\n", name, k, k - 1);
      if (branch == 'c')
        text += fmt::format("  %{0}12 = select %m, %{0}11, %zero : f32[8, 8]\n", name);
      else
        text += fmt::format("  %{0}12 = tanh %{0}11 : f32[8, 8]\n", name);
    }
    text += fmt::format("  %p{0} = add %a{0}_12, %b{0}_12 : f32[8, 8]\n  %q{0} = add %p{0}, %c{0}_12 : f32[8, 8]\n", i);
    text += fmt::format("  %x{1} = add %x{0}, %q{0} : f32[8, 8]\n", i, i + 1);
  }
  return graph::parse(text + fmt::format("  output \"o\" %x{}\n}}", count), "branches");
}

TEST_CASE("regions: a layer that reads an input is divided like those that read the value of a layer, and a mask of all is a region") {
  std::size_t structures = 0;
  for (int count : {3, 6}) {
    std::map<std::string, int> times;
    for (const Region& r : divide(layers_of_branches(count))) ++times[r.structure];
    const auto is_of_each_layer = [&](const auto& t) { return t.second % count == 0; };
    CHECK(std::ranges::count_if(times, is_of_each_layer) + 1 == static_cast<std::ptrdiff_t>(times.size()));
    CHECK((structures == 0 || structures == times.size()));
    structures = times.size();
  }
}

TEST_CASE("regions: values of a region of its own are made before the region that reads them is replaced") {
  const Graph g = layers_of_branches(3);
  const graph::Arguments arguments = fusion::test::random_arguments(g, {}, 1);
  const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
  for (std::size_t most : {5u, 40u})
    CHECK(agree(want.at("o"), graph::interpret(joined_again(g, most), arguments, graph::Rounding::double_precision).at("o"), 1e-12));
}

TEST_CASE("regions: every computed node that an output needs is in exactly one, and none is too large") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    for (std::size_t most : {3u, 8u, 64u}) {
      const std::vector<bool> needed = g.needed_nodes();
      std::set<NodeId> seen;
      for (const Region& r : divide(g, most)) {
        std::size_t computed = 0;
        const std::vector<bool> own = r.graph.needed_nodes();
        for (std::uint32_t i = 0; i < r.graph.size(); ++i) {
          if (graph::is_leaf(r.graph.node({i}).op) || !own[i]) continue;
          ++computed;
          CHECK(seen.insert(r.origins[i]).second);
        }
        CHECK(computed <= most);
        CHECK(graph::verify(r.graph).empty());
      }
      std::size_t count = 0;
      for (std::uint32_t i = 0; i < g.size(); ++i) count += needed[i] && !graph::is_leaf(g.node({i}).op) ? 1 : 0;
      CHECK(seen.size() == count);
    }
  }
}

TEST_CASE("regions: joined again, with regions replaced, a graph computes the same") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    const graph::Arguments arguments = fusion::test::random_arguments(g, {}, seed);
    const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
    for (std::size_t most : {2u, 5u, 64u}) {
      const auto got = graph::interpret(joined_again(g, most), arguments, graph::Rounding::double_precision);
      for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name), 1e-12), name);
    }
  }
  const Graph g = layers(30, false);
  const graph::Arguments arguments = fusion::test::random_arguments(g, {}, 1);
  const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
  const Graph again = joined_again(g, 64);
  CHECK(agree(want.at("o"), graph::interpret(again, arguments, graph::Rounding::double_precision).at("o"), 1e-12));
  CHECK(again.node(again.outputs()[0].node).name == "x30");
}

}  // namespace
}  // namespace tilewright::passes::search

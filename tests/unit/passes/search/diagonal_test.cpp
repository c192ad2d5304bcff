// Sums that pick a diagonal: of a product they are one product; what is no such sum has no other term.
#include "passes/search/saturate/diagonals.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tests/unit/passes/search/judge_by_fusion.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::NodeId;

struct Picked {
  std::string of = "%p", axes = "[0, 1]", result = "f64", otherwise = "0", positions = "i32", kind = "sum";
};

/// The sum over `axes` of the elements of `of` that are on its diagonal, and `otherwise` elsewhere.
Graph sum_of_diagonal(const Picked& p) {
  return graph::parse(fmt::format(R"(graph {{
  %a = input : f64[40, 24]
  %b = input : f64[24, 40]
  %x = input : f64[40, 40]
  %r = input : f64[1, 40]
  %p = einsum %a, %b {{text = "ik,kj->ij"}} : f64[40, 40]
  %e = exp %p : f64[40, 40]
  %s = add %e, %r : f64[40, 40]
  %y = add %p, %x : f64[40, 40]
  %c = broadcast %r : f64[40, 40]
  %i = iota {{axes = [0]}} : {positions}[40, 40]
  %j = iota {{axes = [1]}} : {positions}[40, 40]
  %m = eq %j, %i : i1[40, 40]
  %z = constant {{data = [{otherwise}]}} : f64
  %w = select %m, {of}, %z : f64[40, 40]
  %t = reduce %w {{kind = {kind}, axes = {axes}}} : {result}
  output "t" %t
}})",
                                  fmt::arg("of", p.of), fmt::arg("axes", p.axes), fmt::arg("result", p.result),
                                  fmt::arg("otherwise", p.otherwise), fmt::arg("positions", p.positions), fmt::arg("kind", p.kind)),
                      "diagonal");
}

/// How many other terms the sums of a graph have. All of these are equal to the sums.
std::size_t other_terms(const Picked& p) {
  Graph g = sum_of_diagonal(p);
  const graph::Arguments arguments = fusion::test::random_arguments(g, {}, 1);
  GraphTerms all = graph_to_terms(g);
  const auto found = sums_of_diagonals(all);
  for (const Saturation::Application& f : found) {
    const PlainTerms plain(all.terms);
    const std::array<Ref, 2> sides = {f.before, f.after};
    const std::vector<NodeId> values = append_terms(g, all, {plain}, sides);
    const auto value = [&](NodeId n) { return graph::interpret(g, n, arguments, graph::Rounding::double_precision); };
    CHECK(agree(value(values[0]), value(values[1]), 1e-12));
  }
  return found.size();
}

TEST_CASE("search: a sum that picks the diagonal of a product is a sum of products") {
  CHECK(other_terms({}) == 1);
  CHECK(other_terms({.positions = "i64"}) == 1);
  CHECK(other_terms({.axes = "[1]", .result = "f64[40]"}) == 1);
  CHECK(other_terms({.axes = "[0]", .result = "f64[40]"}) == 1);
  CHECK(other_terms({.of = "%s"}) == 1);
  CHECK(other_terms({.of = "%c"}) == 1);
  CHECK(other_terms({.of = "%c", .axes = "[1]", .result = "f64[40]"}) == 1);
}

TEST_CASE("search: what is no sum of a diagonal, or has no other term, stays as it is written") {
  CHECK(other_terms({.of = "%x"}) == 0);
  CHECK(other_terms({.of = "%y"}) == 0);
  CHECK(other_terms({.otherwise = "1"}) == 0);
  CHECK(other_terms({.otherwise = "-0"}) == 0);
  CHECK(other_terms({.kind = "max"}) == 0);
  // Positions that wrap or are rounded may be equal where the indices differ.
  CHECK(other_terms({.positions = "i8"}) == 0);
  CHECK(other_terms({.positions = "f32"}) == 0);
}

TEST_CASE("search_graph: the trace of a product is a sum of products") {
  const Graph g = graph::parse(R"(graph {
  %a = input : f32[512, 512]
  %b = input : f32[512, 512]
  %p = einsum %a, %b {text = "ik,kj->ij"} : f32[512, 512]
  %i = iota {axes = [0]} : i32[512, 1]
  %j = iota {axes = [1]} : i32[1, 512]
  %m = eq %i, %j : i1[512, 512]
  %z = constant {data = [0]} : f32
  %w = select %m, %p, %z : f32[512, 512]
  %t = reduce %w {kind = sum, axes = [0, 1]} : f32
  output "t" %t
})",
                               "trace");
  const SearchResult r = search_graph(g, {}, {}, judge_by_fusion());
  REQUIRE(r.graph);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].rule == "diagonal, sum_of_product");
  CHECK(r.rewritings[0].after == "a b");
  CHECK(graph::print(*r.graph).find("select") == std::string::npos);
}

}  // namespace
}  // namespace tilewright::passes::search

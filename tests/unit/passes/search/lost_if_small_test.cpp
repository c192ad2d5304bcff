// What a graph may lose at the least values of symbols, to be chosen for what it gains at typical ones.
#include <doctest/doctest.h>

#include "passes/search/choose/search_graph.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;

const char* const kProducts = R"(graph {
  %q = input : f32[2048, 64]
  %k = input : f32[2048, 64]
  %v = input : f32[2048, 64]
  %scores = einsum %q, %k {text = "id,jd->ij"} : f32[2048, 2048]
  %0 = einsum %scores, %v {text = "ij,je->ie"} : f32[2048, 64]
  output "o" %0
})";

TEST_CASE("search_graph: at the least values of symbols a graph may lose 1/400 of what it gains at typical ones") {
  const Graph g = graph::parse(kProducts, "products");
  // A graph without the scores gains 1 ms. Two launches are less than what it loses.
  const auto is_taken = [&](double lost_if_small, double lost_if_large) {
    const auto estimate = [&](const Graph& x) -> std::optional<SearchEstimate> {
      if (graph::print(x).find("f32[2048, 2048]") != std::string::npos) return SearchEstimate{2e-3, 0, 0};
      return SearchEstimate{1e-3, lost_if_small, lost_if_large};
    };
    const auto is_equal = [](const Graph&, std::span<const EqualValues>) -> std::optional<std::string> { return std::nullopt; };
    return search_graph(g, {.launch_seconds = 1e-8}, {}, {.estimate = estimate, .difference = is_equal, .measure = {}}).graph.has_value();
  };
  CHECK(is_taken(0, 0));
  CHECK(is_taken(2.4e-6, 0));
  CHECK_FALSE(is_taken(2.6e-6, 0));
  CHECK_FALSE(is_taken(0, 2.4e-6));
}

}  // namespace
}  // namespace tilewright::passes::search

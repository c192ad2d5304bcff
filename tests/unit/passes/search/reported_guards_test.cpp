// What reports say of graphs that guards leave as they are written.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "passes/search/choose/search_graph.h"
#include "tests/unit/passes/search/judge_by_fusion.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

TEST_CASE("search_graph: a report says which guard leaves a graph as it is written, and what an option would gain") {
  const auto searched = [](std::string text, std::string_view element, const SearchOptions& options = {}) {
    for (std::size_t at; (at = text.find("T[")) != std::string::npos;) text.replace(at, 1, element);
    return search_graph(graph::parse("graph {\n" + text + "}", "guards"), options, {}, judge_by_fusion());
  };
  const std::string chain = R"(
  %q = input : T[2048, 64]
  %k = input : T[2048, 64]
  %v = input : T[2048, 64]
  %0 = einsum %q, %k {text = "id,jd->ij"} : T[2048, 2048]
  %1 = einsum %0, %v {text = "ij,je->ie"} : T[2048, 64]
  output "o" %1
)";
  CHECK(searched(chain, "f32").not_done.empty());
  SearchResult r = searched(chain, "f16");
  CHECK(!r.graph);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0].starts_with("order  (q k) v  ->  q (k v): "));
  CHECK(r.not_done[0].ends_with(" times as fast by the costs of operations, but what is formed may overflow in f16"));
  CHECK(searched(chain, "bf16").graph);
  r = searched(chain, "bf16", {.move_rounding = false});
  CHECK(!r.graph);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0].ends_with(", but move_rounding is false"));

  // The differences of all pairs of rows, multiplied.
  const std::string pairs = R"(
  %h = input : T[256, 64]
  %w = input : T[64, 64]
  %a = reshape %h : T[256, 1, 64]
  %b = reshape %h : T[1, 256, 64]
  %d = sub %a, %b : T[256, 256, 64]
  %y = einsum %d, %w {text = "ijc,ce->ije"} : T[256, 256, 64]
  output "o" %y
)";
  r = searched(pairs, "f32");
  CHECK(!r.graph);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0].starts_with("distribute, order  (h - h) w  ->  h w - h w: "));
  CHECK(r.not_done[0].ends_with(", but loses digits where what is subtracted is close; expand_differences allows it"));
  CHECK(searched(pairs, "f32", {.expand_differences = true}).graph);

  // The best order has others, and a single product has none.
  const std::string best = R"(
  %q = input : f32[2048, 64]
  %k = input : f32[2048, 64]
  %v = input : f32[2048, 64]
  %0 = einsum %k, %v {text = "jd,je->de"} : f32[64, 64]
  %1 = einsum %q, %0 {text = "id,de->ie"} : f32[2048, 64]
  output "o" %1
)";
  r = searched(best, "f32");
  CHECK(r.not_done.empty());
  CHECK(r.unchanged == std::vector<std::string>{"einsum: no equal graph costs less by the costs of its operations"});
  r = searched("  %x = input : f32[8, 8]\n  %y = einsum %x, %x {text = \"ik,kj->ij\"} : f32[8, 8]\n  output \"o\" %y\n", "f32");
  CHECK(r.not_done.empty());
  CHECK(r.unchanged.empty());
}

}  // namespace
}  // namespace tilewright::passes::search

// Saturation of graphs: which formulas become equal, and that everything which does is equal.
#include "passes/search/saturate/saturate.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "passes/search/rules/search_rules.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tests/unit/passes/search/equations.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::NodeId;

/// Graphs of which the outputs a and b are equal.
struct Pair {
  std::string name, text;
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all = {
      {"linear attention", R"(graph {
  %q = input : f32[9, 4]
  %k = input : f32[8, 4]
  %v = input : f32[8, 3]
  %0 = einsum %q, %k {text = "qd,kd->qk"} : f32[9, 8]
  %1 = einsum %0, %v {text = "qk,ke->qe"} : f32[9, 3]
  %2 = einsum %k, %v {text = "kd,ke->de"} : f32[4, 3]
  %3 = einsum %q, %2 {text = "qd,de->qe"} : f32[9, 3]
  output "a" %1
  output "b" %3
})"},
      {"mean of rows", R"(graph {
  %x = input : f32[9, 4]
  %w = input {is_parameter} : f32[4, 3]
  %0 = einsum %x, %w {text = "ij,jk->ik"} : f32[9, 3]
  %1 = reduce %0 {kind = sum, axes = [0]} : f32[3]
  %2 = constant {data = [9.0]} : f32
  %3 = div %1, %2 : f32[3]
  %4 = reduce %x {kind = sum, axes = [0]} : f32[4]
  %5 = div %4, %2 : f32[4]
  %6 = einsum %5, %w {text = "j,jk->k"} : f32[3]
  output "a" %3
  output "b" %6
})"},
      {"trace of a product", R"(graph {
  %x = input : f32[5, 4]
  %y = input : f32[4, 3]
  %z = input : f32[3, 5]
  %0 = einsum %x, %y {text = "ij,jk->ik"} : f32[5, 3]
  %1 = einsum %0, %z {text = "ik,ki->"} : f32
  %2 = einsum %y, %z {text = "jk,ki->ij"} : f32[5, 4]
  %3 = mul %x, %2 : f32[5, 4]
  %4 = reduce %3 {kind = sum, axes = [0, 1]} : f32
  output "a" %1
  output "b" %4
})"},
      {"pairs of rows", R"(graph {
  %h = input : f32[5, 4]
  %w = input : f32[4, 3]
  %0 = reshape %h : f32[5, 1, 4]
  %1 = add %0, %h : f32[5, 5, 4]
  %2 = einsum %1, %w {text = "ijc,cd->ijd"} : f32[5, 5, 3]
  %3 = einsum %h, %w {text = "ic,cd->id"} : f32[5, 3]
  %4 = reshape %3 : f32[5, 1, 3]
  %5 = add %4, %3 : f32[5, 5, 3]
  output "a" %2
  output "b" %5
})"},
      {"branches that are concatenated", R"(graph {
  %x = input : f32[5, 4]
  %v = input {is_parameter} : f32[4, 3]
  %w = input {is_parameter} : f32[4, 2]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : f32[5, 3]
  %1 = einsum %x, %w {text = "ij,jk->ik"} : f32[5, 2]
  %2 = tanh %0 : f32[5, 3]
  %3 = tanh %1 : f32[5, 2]
  %4 = concat %2, %3 {axes = [1]} : f32[5, 5]
  %5 = concat %v, %w {axes = [1]} : f32[4, 5]
  %6 = einsum %x, %5 {text = "ij,jk->ik"} : f32[5, 5]
  %7 = tanh %6 : f32[5, 5]
  output "a" %4
  output "b" %7
})"},
      {"product of parameters", R"(graph {
  %x = input : f32[5, 4]
  %v = input {is_parameter} : f32[4, 3]
  %w = input {is_parameter} : f32[3, 6]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : f32[5, 3]
  %1 = einsum %0, %w {text = "ij,jk->ik"} : f32[5, 6]
  %2 = einsum %v, %w {text = "ij,jk->ik"} : f32[4, 6]
  %3 = einsum %x, %2 {text = "ij,jk->ik"} : f32[5, 6]
  output "a" %1
  output "b" %3
})"},
      {"sum of products with one factor", R"(graph {
  %x = input : f32[5, 4]
  %v = input {is_parameter} : f32[4, 3]
  %w = input {is_parameter} : f32[4, 3]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : f32[5, 3]
  %1 = einsum %x, %w {text = "ij,jk->ik"} : f32[5, 3]
  %2 = add %0, %1 : f32[5, 3]
  %3 = add %v, %w : f32[4, 3]
  %4 = einsum %x, %3 {text = "ij,jk->ik"} : f32[5, 3]
  output "a" %2
  output "b" %4
})"},
      {"adapter of low rank, extents with symbols", R"(graph {
  symbol n
  %x = input : f32[n, 4]
  %w = input : f32[4, 6]
  %p = input : f32[4, 2]
  %r = input : f32[2, 6]
  %0 = einsum %p, %r {text = "ij,jk->ik"} : f32[4, 6]
  %1 = add %w, %0 : f32[4, 6]
  %2 = einsum %x, %1 {text = "ij,jk->ik"} : f32[n, 6]
  %3 = einsum %x, %w {text = "ij,jk->ik"} : f32[n, 6]
  %4 = einsum %x, %p {text = "ij,jk->ik"} : f32[n, 2]
  %5 = einsum %4, %r {text = "ij,jk->ik"} : f32[n, 6]
  %6 = add %3, %5 : f32[n, 6]
  output "a" %2
  output "b" %6
})"},
      {"heads", R"(graph {
  %x = input : f32[5, 8]
  %w = input : f32[8, 12]
  %k = input : f32[6, 3, 4]
  %0 = einsum %x, %w {text = "ij,jk->ik"} : f32[5, 12]
  %1 = reshape %0 : f32[5, 3, 4]
  %2 = einsum %1, %k {text = "qhd,khd->hqk"} : f32[3, 5, 6]
  %3 = reshape %w : f32[8, 3, 4]
  %4 = einsum %3, %k {text = "chd,khd->hck"} : f32[3, 8, 6]
  %5 = einsum %x, %4 {text = "qc,hck->hqk"} : f32[3, 5, 6]
  output "a" %2
  output "b" %5
})"},
      {"sum of a padded product", R"(graph {
  %x = input : f32[5, 4]
  %w = input : f32[4, 3]
  %0 = einsum %x, %w {text = "ij,jk->ik"} : f32[5, 3]
  %1 = constant {data = [0.0]} : f32
  %2 = pad %0, %1 {axes = [0], lengths = [1, 1]} : f32[7, 3]
  %3 = slice %2 {axes = [0], lengths = [0, 7, 2]} : f32[4, 3]
  %4 = pad %x, %1 {axes = [0], lengths = [1, 1]} : f32[7, 4]
  %5 = slice %4 {axes = [0], lengths = [0, 7, 2]} : f32[4, 4]
  %6 = einsum %5, %w {text = "ij,jk->ik"} : f32[4, 3]
  output "a" %3
  output "b" %6
})"},
      {"integers that wrap", R"(graph {
  %x = input : i32[5, 4]
  %v = input : i32[4, 3]
  %w = input : i32[3, 6]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : i32[5, 3]
  %1 = einsum %0, %w {text = "ij,jk->ik"} : i32[5, 6]
  %2 = einsum %v, %w {text = "ij,jk->ik"} : i32[4, 6]
  %3 = einsum %x, %2 {text = "ij,jk->ik"} : i32[5, 6]
  output "a" %1
  output "b" %3
})"},
  };
  return all;
}

/// Compares each term with the one that stands for its class, in the interpreter. Returns the number of terms.
int check_terms(const Graph& written, const GraphTerms& all, const EGraph& classes, const std::map<std::string, std::int64_t>& symbols) {
  Graph g = written;
  std::vector<Ref> terms, roots;
  for (int term = 0; term < classes.added_terms(); ++term) {
    Ref own{term, all.terms.slots(term)};
    for (int s = 0; s < own.labels.size(); ++s) own.labels[s] = static_cast<Label>(s);
    terms.push_back(own);
    roots.push_back(classes.find(own));
  }
  const PlainTerms source(all.terms);
  const std::vector<NodeId> values = append_terms(g, all, {source}, terms), expected = append_terms(g, all, {source}, roots);
  Graph outputs = g;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    outputs.add_output({fmt::format("term {}", i), values[i], {}});
    outputs.add_output({fmt::format("root {}", i), expected[i], {}});
  }
  const auto results = graph::interpret(outputs, fusion::test::random_arguments(written, symbols, 3), graph::Rounding::double_precision);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CAPTURE(i);
    CHECK(agree(results.at(fmt::format("root {}", i)), results.at(fmt::format("term {}", i))));
  }
  return static_cast<int>(terms.size());
}

TEST_CASE("saturate: the rules are those that are derived") {
  const std::vector<ProvedRule>& derived = derived_rules().rules;
  REQUIRE(search_rules().size() == derived.size());
  for (const Rule& r : search_rules()) {
    const auto same = std::find_if(derived.begin(), derived.end(), [&](const ProvedRule& d) { return d.rule.name == r.name; });
    REQUIRE_MESSAGE(same != derived.end(), r.name);
    CHECK(text(r.equation) == text(same->rule.equation));
    for (const AxisUse& use : possible_axes(r.equation))
      CHECK(r.conditions().allows(use.role, use.fate, use.variables) == same->rule.conditions().allows(use.role, use.fate, use.variables));
  }
}

TEST_CASE("saturate: both ways to write a formula are found to be one, and all that is added is equal") {
  for (const Pair& p : pairs()) {
    CAPTURE(p.name);
    const Graph g = graph::parse(p.text, p.name);
    GraphTerms all = graph_to_terms(g);
    const auto ref = [&](const char* name) {
      for (const graph::Output& o : g.outputs())
        if (o.name == name) return all.values[o.node.index]->ref;
      return Ref{};
    };
    const SaturatedGraph saturated(g, all);
    CHECK(saturated.is_complete());
    CHECK(saturated.classes().are_equal(ref("a"), ref("b")));
    CHECK(saturated.classes().nodes() < 20);
    check_terms(g, all, saturated.classes(), {{"n", 3}});
  }
}

/// Multiples m v and n v of a product v, added as they are written, and as v (m + n).
std::string sum_of_multiples(const char* type, const char* m, const char* n, const char* op) {
  return fmt::format(R"(graph {{
  %x = input : {0}[9, 4]
  %w = input : {0}[4, 3]
  %v = einsum %x, %w {{text = "ij,jk->ik"}} : {0}[9, 3]
  %m = constant {{data = [{1}]}} : {0}[3]
  %n = constant {{data = [{2}]}} : {0}[3]
  %0 = mul %v, %m : {0}[9, 3]
  %1 = mul %v, %n : {0}[9, 3]
  %2 = {3} %0, %1 : {0}[9, 3]
  %3 = {3} %m, %n : {0}[3]
  %4 = mul %v, %3 : {0}[9, 3]
  output "a" %2
  output "b" %4
}})",
                     type, m, n, op);
}

TEST_CASE("saturate: opposite multiples of a value are only added where it is finite: 2 v - v is NaN for an infinite v") {
  struct Case {
    const char *type, *m, *n, *op;
    bool are_added;
  };
  const Case cases[] = {{"f32", "2.0", "1.5", "add", true},
                        {"f64", "-2.0", "-1.5", "add", true},
                        {"f32", "2.0", "1.5", "sub", false},
                        {"f64", "2.0", "-1.5", "add", false},
                        {"f32", "2.0", "-1.5", "sub", true},
                        {"f32", "2.0", "0.0", "add", false},
                        {"f32", "2.0, 1.0, 3.0", "1.0, 0.5, 1.0", "sub", false},
                        {"f32", "2.0, 1.0, 3.0", "1.0, 0.5, 1.0", "add", true},
                        {"f32", "2.0, -1.0, 3.0", "1.0, 0.5, 1.0", "add", false},
                        {"i32", "2", "1", "sub", true}};
  for (const bool has_all_moves : {false, true})
    for (const Case& c : cases) {
      CAPTURE(has_all_moves);
      const std::string text = sum_of_multiples(c.type, c.m, c.n, c.op);
      CAPTURE(text);
      const Graph g = graph::parse(text, "multiples");
      GraphTerms all = graph_to_terms(g);
      const SaturatedGraph saturated(g, all, {.nodes = 2000, .expand_differences = has_all_moves, .neutral_moves = has_all_moves});
      CHECK(saturated.is_complete());
      const auto class_of = [&](std::size_t output) { return all.values[g.outputs()[output].node.index]->ref; };
      // v (-1 n) is no other product than -1 (v n) to fusion.
      const bool is_neutral = std::string_view(c.op) == "sub" && !has_all_moves;
      CHECK(saturated.classes().are_equal(class_of(0), class_of(1)) == (c.are_added && !is_neutral));
    }
}

/// Four factors of which two scale the others, under one sum.
constexpr const char* kScaled = R"(graph {
  %x = input : f32[9, 8]
  %r = input : f32[9, 1]
  %s = input : f32[8]
  %w = input : f32[8, 7]
  %0 = mul %x, %r : f32[9, 8]
  %1 = mul %0, %s : f32[9, 8]
  %2 = einsum %1, %w {text = "ij,jk->ik"} : f32[9, 7]
  %3 = add %2, %2 : f32[9, 7]
  output "o" %3
})";

TEST_CASE("saturate: moves of which fusion makes the same kernels are not made") {
  const Graph g = graph::parse(kScaled, "scaled");
  GraphTerms few = graph_to_terms(g), many = graph_to_terms(g);
  const SaturatedGraph guarded(g, few), all(g, many, {.neutral_moves = true});
  CHECK(guarded.is_complete());
  CHECK(all.is_complete());
  CHECK(guarded.classes().nodes() <= 20);
  CHECK(all.classes().nodes() > 2 * guarded.classes().nodes());
}

TEST_CASE("saturate: what is computed element by element from leaves is not searched") {
  // Steps of a wave equation, whose sums of rotated values could be written in thousands of ways. Then a product of them.
  std::string text = "graph {\n  %u0 = input : f32[8]\n  %v0 = input : f32[8]\n  %w = input : f32[8, 3]\n";
  for (int i = 0; i < 8; ++i) {
    text += fmt::format("  %a{0} = rotate %u{0} {{axes = [0], lengths = [1]}} : f32[8]\n", i);
    text += fmt::format("  %b{0} = rotate %u{0} {{axes = [0], lengths = [-1]}} : f32[8]\n", i);
    text += fmt::format("  %c{0} = add %a{0}, %b{0} : f32[8]\n  %v{1} = add %v{0}, %c{0} : f32[8]\n", i, i + 1);
    text += fmt::format("  %u{1} = add %u{0}, %v{1} : f32[8]\n", i, i + 1);
  }
  for (const bool has_product : {false, true}) {
    const char* const end =
        has_product ? "  %p = einsum %u8, %w {text = \"i,ij->j\"} : f32[3]\n  output \"o\" %p\n}" : "  output \"o\" %u8\n}";
    const Graph g = graph::parse(text + end, "waves");
    GraphTerms all = graph_to_terms(g);
    const int written = all.terms.size();
    const SaturatedGraph saturated(g, all, {.nodes = 500});
    CHECK((saturated.is_complete() || has_product));
    CHECK((all.terms.size() > written) == has_product);
  }
}

TEST_CASE("saturate: all that is added to random graphs is equal, and limits are counts") {
  int terms = 0, complete = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Graph g;
    if (seed % 2 == 0)
      fusion::test::random_graph(g, seed);
    else
      fusion::test::random_graph_of_multiples(g, seed);
    GraphTerms all = graph_to_terms(g);
    const SaturatedGraph saturated(g, all, {.nodes = 300, .rounds = 4, .expand_differences = seed % 4 < 2, .neutral_moves = true});
    terms += check_terms(g, all, saturated.classes(), {});
    complete += saturated.is_complete() ? 1 : 0;
    GraphTerms again = graph_to_terms(g);
    const SaturatedGraph same(g, again, {.nodes = 300, .rounds = 4, .expand_differences = seed % 4 < 2, .neutral_moves = true});
    CHECK(text(again, g) == text(all, g));
  }
  CHECK(terms > 60000);
  CHECK(complete > 150);
}

TEST_CASE("saturate: what is matched again only where classes have changed has all that matching everything finds") {
  const std::vector<Direction> directions = search_directions(search_rules());
  std::size_t complete = 0, matches = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    GraphTerms all = graph_to_terms(g);
    Saturation saturation(all.terms, search_rules(), directions);
    const RuleGuards guards(all, saturation.graph(), {.neutral_moves = seed % 2 == 0});
    const auto is_searched = [&](const Direction& d, int root) { return guards.may_apply(d, all.terms.node(root).element); };
    const auto is_used = [&](const Direction& d, const Match& m) { return guards.may_use(d, m); };
    saturation.search_where(is_searched);
    saturation.use_if(is_used);
    if (saturation.run({.nodes = 400, .rounds = 12}, [] { return false; }) != Saturation::Outcome::complete) continue;
    ++complete;
    std::vector<Saturation::Application> found;
    for (const Direction& d : directions) {
      const Rule& rule = search_rules()[static_cast<std::size_t>(d.rule)];
      Matcher matcher(saturation.graph(), all.terms, rule, d.side);
      for (int root = 0; root < saturation.graph().added_terms(); ++root) {
        if (!saturation.graph().is_root(root) || !is_searched(d, root)) continue;
        Ref whole{root, all.terms.slots(root)};
        for (int s = 0; s < whole.labels.size(); ++s) whole.labels[s] = static_cast<Label>(s);
        matcher.at(whole, [&](const Match& m) {
          if (!is_used(d, m)) return;
          if (const Ref other = instantiate(all.terms, rule.equation.side(1 - d.side), m.binding))
            found.push_back({m.found, other, d.rule});
        });
      }
    }
    saturation.add({});
    // A class may equal itself with its slots in another order, which it does not say.
    for (const Saturation::Application& f : found) CHECK(saturation.graph().find(f.before).term == saturation.graph().find(f.after).term);
    matches += found.size();
  }
  CHECK(complete > 60);
  CHECK(matches > 1000);
}

}  // namespace
}  // namespace tilewright::passes::search

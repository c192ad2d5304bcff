// The e-graph: permutations on unions, congruence, reasons.
#include "passes/search/egraph.h"

#include <doctest/doctest.h>

#include "passes/search/generate/explanation.h"

namespace tilewright::passes::search {
namespace {

constexpr Extent kPlain2[] = {Extent::plain, Extent::plain};

Ref matrix(TermTable& terms, int index, Label row, Label column) {
  Ref r = terms.variable(index, kPlain2);
  r.labels[0] = row, r.labels[1] = column;
  return r;
}

TEST_CASE("egraph: a union of transposed terms makes what is built of them equal, axis by axis") {
  TermTable terms;
  EGraph g(terms);
  const Ref a = matrix(terms, 0, 0, 1), b = matrix(terms, 1, 1, 0);  // b' = a
  const Ref of_a = terms.function(terms.view(a, 0)), of_b = terms.function(terms.view(b, 0)), wrong = terms.function(terms.view(b, 1));
  g.add_terms();
  CHECK_FALSE(g.are_equal(of_a, of_b));
  CHECK(g.unite(a, b, 0));
  CHECK_FALSE(g.unite(a, b, 0));
  g.rebuild();
  CHECK(g.are_equal(of_a, of_b));
  CHECK_FALSE(g.are_equal(of_a, wrong));
  CHECK(g.nodes() == 6);  // a, b, and along either axis a view and a function
}

TEST_CASE("egraph: chains of unions compose their permutations") {
  TermTable terms;
  EGraph g(terms);
  const Ref x = matrix(terms, 0, 0, 1), y = matrix(terms, 1, 1, 0), z = matrix(terms, 2, 1, 0), w = matrix(terms, 3, 0, 1);
  g.add_terms();
  g.unite(x, y, 0), g.unite(z, w, 1), g.unite(y, w, 2);
  g.rebuild();
  for (const Ref& r : {y, z, w}) CHECK(g.are_equal(x, r));
  CHECK_FALSE(g.are_equal(x, matrix(terms, 3, 1, 0)));
}

TEST_CASE("egraph: a term that is added later finds its class") {
  TermTable terms;
  EGraph g(terms);
  const Ref a = matrix(terms, 0, 0, 1), b = matrix(terms, 1, 0, 1);
  const Ref fa = terms.function(a);
  g.add_terms();
  g.unite(a, b, 0);
  g.rebuild();
  const std::size_t nodes = g.nodes();
  const Ref fb = terms.function(b);
  g.add_terms();
  CHECK(g.are_equal(fa, fb));
  CHECK(g.nodes() == nodes);
}

TEST_CASE("egraph: the path between two terms names the unions that it needs") {
  TermTable terms;
  EGraph g(terms);
  const Ref a = matrix(terms, 0, 0, 1), b = matrix(terms, 1, 1, 0), c = matrix(terms, 2, 0, 1), d = matrix(terms, 3, 0, 1);
  const Ref left = terms.add(terms.function(a), d), right = terms.add(d, terms.function(c));
  g.add_terms();
  g.unite(a, b, 7), g.unite(d, matrix(terms, 3, 0, 1), 9), g.unite(c, b, 8);
  g.rebuild();
  REQUIRE(g.are_equal(left, right));
  const auto steps = Explainer(g, terms).explain(left, right);
  REQUIRE(steps);
  REQUIRE(steps->size() == 2);
  CHECK((*steps)[0].rule == 7);
  CHECK((*steps)[0].term == terms.add(terms.function(b), d));
  CHECK((*steps)[1].rule == 8);
  CHECK((*steps)[1].term == right);
}

}  // namespace
}  // namespace tilewright::passes::search

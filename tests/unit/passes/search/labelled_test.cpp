// Labelled terms: canonical form, axes that do not fit, values.
#include "passes/search/labelled.h"

#include <doctest/doctest.h>

#include <initializer_list>

#include "passes/search/residues.h"

namespace tilewright::passes::search {
namespace {

Ref variable(TermTable& terms, int index, std::initializer_list<Label> labels, Extent e = Extent::plain) {
  const std::vector<Extent> extents(labels.size(), e);
  Ref r = terms.variable(index, extents);
  std::copy(labels.begin(), labels.end(), r.labels.begin());
  return r;
}

constexpr LabelSet kI = 1, kJ = 2, kK = 4;

TEST_CASE("labelled terms: a product is one term under any order of its operands and any names of its axes") {
  TermTable terms;
  const Ref p = terms.product(variable(terms, 0, {0, 2}), variable(terms, 1, {2, 1}), kI | kJ);
  const Ref q = terms.product(variable(terms, 1, {7, 5}), variable(terms, 0, {3, 7}), 1u << 3 | 1u << 5);
  REQUIRE(p.term == q.term);
  CHECK(p.labels.slot_of(0) == q.labels.slot_of(3));
  CHECK(p.labels.slot_of(1) == q.labels.slot_of(5));
  CHECK(terms.product(variable(terms, 0, {0, 2}), variable(terms, 1, {2, 1}), kI | kJ | kK).term != p.term);
  CHECK(terms.add(variable(terms, 0, {0, 1}), variable(terms, 0, {1, 0})).term !=
        terms.add(variable(terms, 0, {0, 1}), variable(terms, 0, {0, 1})).term);
}

TEST_CASE("labelled terms: a transposed product has the transposed values") {
  TermTable terms;
  const Ref p = terms.product(variable(terms, 0, {0, 2}), variable(terms, 1, {2, 1}, Extent::plain), kI | kJ);
  const Ref q = terms.product(variable(terms, 1, {2, 0}), variable(terms, 0, {1, 2}), kI | kJ);
  Residues values(terms, {3, 1, 1, 4});
  const auto a = values.of(p), b = values.of(q);
  REQUIRE(a.size() == 9);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(a[i * 3 + j] == b[j * 3 + i]);
  CHECK(a != b);
}

TEST_CASE("labelled terms: a product first sums what only one operand has") {
  TermTable terms;
  const Ref p = terms.product(variable(terms, 0, {0, 2}), variable(terms, 1, {1}), kI | kJ);
  const Node& n = terms.node(p.term);
  CHECK(n.op == Op::product);
  CHECK((terms.node(n.in[0].term).op == Op::sum) != (terms.node(n.in[1].term).op == Op::sum));
  CHECK(p.labels.set() == (kI | kJ));
  CHECK(terms.sum(p, kI | kJ) == p);
}

TEST_CASE("labelled terms: axes that do not fit make no term") {
  TermTable terms;
  const Ref whole = variable(terms, 0, {0}, Extent::whole), first = variable(terms, 1, {0}, Extent::first),
            second = variable(terms, 2, {0}, Extent::second), plain = variable(terms, 3, {0}), wide = variable(terms, 4, {0, 1});
  CHECK_FALSE(terms.add(whole, first));
  CHECK_FALSE(terms.product(whole, second, 0));
  CHECK_FALSE(terms.cat(second, first, 0));
  CHECK_FALSE(terms.cat(first, plain, 0));
  CHECK_FALSE(terms.cat(first, wide, 0));
  CHECK_FALSE(terms.part(Op::part0, plain, 0));
  CHECK_FALSE(terms.view(whole, 0));
  CHECK_FALSE(terms.view(plain, 3));
  CHECK_FALSE(terms.function(terms.add(whole, first)));
  const Ref all = terms.cat(first, second, 0);
  REQUIRE(all);
  CHECK(terms.extent(all, 0) == Extent::whole);
  CHECK(terms.extent(terms.part(Op::part1, all, 0), 0) == Extent::second);
  Residues values(terms, {2, 1, 2, 3});
  CHECK(values.of(terms.part(Op::part1, all, 0)) == values.of(second));
  CHECK(values.of(terms.part(Op::part0, all, 0)) == values.of(first));
}

TEST_CASE("labelled terms: a copy in another table has the same values") {
  TermTable terms, other;
  variable(other, 5, {0});
  const Ref x = variable(terms, 0, {0, 1}), y = variable(terms, 1, {1, 2});
  const Ref r = terms.function(terms.view(terms.add(terms.product(x, y, kI | kK), variable(terms, 2, {2, 0})), 2));
  const Ref c = copy(terms, r, other);
  Residues a(terms, {3, 1, 1, 6}), b(other, {3, 1, 1, 6});
  CHECK(a.of(r) == b.of(c));
}

}  // namespace
}  // namespace tilewright::passes::search

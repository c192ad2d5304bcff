// Walks visit each expression once, in the order that they promise, however deep a formula is.
#include "passes/fusion/expr/expr_walk.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {
namespace {

struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis k = pool.axis("k", 53);

  Expr data(const char* name) {
    TensorInfo info;
    info.name = name;
    info.element = ir::Element::f32;
    info.shape = {k->extent};
    info.strides = {1};
    return b.load(pool.add_tensor(std::move(info)), {b.index(k)});
  }
  Expr function(ir::OpKind op, std::vector<Expr> operands) { return b.function(op, std::move(operands), ir::Element::f32); }
  Expr sine(Expr x) { return function(ir::OpKind::sin_, {x}); }
  Expr x = data("x"), y = data("y");
  Expr index = b.index(k), inner = sine(x), first = function(ir::OpKind::atan2_, {inner, y}),
       root = function(ir::OpKind::atan2_, {first, inner});
};

TEST_CASE_FIXTURE(Fixture, "walk: operands first, each once") {
  std::vector<Expr> visited;
  ExprSet seen;
  const auto note = [&](Expr e) { visited.push_back(e); };
  walk(root, seen, note);
  CHECK(visited == std::vector<Expr>{index, x, inner, y, first, root});
  visited.clear();
  walk(sine(root), seen, note);
  CHECK(visited == std::vector<Expr>{sine(root)});
}

TEST_CASE_FIXTURE(Fixture, "walk: what is not entered is not visited, and neither are its parts") {
  std::vector<Expr> visited;
  ExprSet seen;
  walk(root, [&](Expr e) { return e != inner && seen.insert(e).second; }, [&](Expr e) { visited.push_back(e); });
  CHECK(visited == std::vector<Expr>{index, y, first, root});
  CHECK(!seen.contains(inner));
  std::vector<Expr> again, inwards;
  ExprSet seen_again, seen_inwards;
  const auto may_enter = [&](Expr e) { return e != inner; };
  walk(root, seen_again, may_enter, [&](Expr e) { again.push_back(e); });
  CHECK(again == visited);
  CHECK(seen_again == seen);
  walk_inwards(root, seen_inwards, may_enter, [&](Expr e) {
    inwards.push_back(e);
    return e != y;
  });
  CHECK(inwards == std::vector<Expr>{root, first, y});
  int visited_twice = 0;
  walk_inwards(root, seen_inwards, may_enter, [&](Expr) { return ++visited_twice > 0; });
  CHECK(visited_twice == 0);
}

TEST_CASE_FIXTURE(Fixture, "walk: from the outside in, and from left to right") {
  std::vector<Expr> visited;
  ExprSet seen;
  walk_inwards(root, seen, [&](Expr e) {
    visited.push_back(e);
    return e != inner;
  });
  CHECK(visited == std::vector<Expr>{root, first, inner, y, index});
  CHECK(collect(root, ExprKind::load) == std::vector<Expr>{x, y});
  CHECK(collect(root, ExprKind::reduce).empty());
  CHECK(find_first(root, [](Expr e) { return e->is(ExprKind::load); }) == x);
  CHECK(find_first(root, [](Expr e) { return e->is(ExprKind::load); }, [&](Expr e) { return e != inner; }) == y);
}

TEST_CASE_FIXTURE(Fixture, "walk: searches end where the answer is known") {
  int tests = 0;
  const auto is_inner = [&](Expr e) { return ++tests, e == inner; };
  CHECK(any_of(root, is_inner));
  CHECK(tests == 3);
  CHECK(!any_of(root, is_inner, [&](Expr e) { return e != first && e != root; }));
  CHECK(contains(root, y));
  CHECK(!contains(inner, y));
  CHECK(!all_hold(root, [&](Expr e, std::vector<Expr>& parts) {
    parts.insert(parts.end(), children(e).begin(), children(e).end());
    return e != y;
  }));
  CHECK(all_hold(root, [&](Expr e, std::vector<Expr>& parts) {
    if (e == root) parts.push_back(inner);
    return e != y;
  }));
}

TEST_CASE_FIXTURE(Fixture, "walk: a fact is derived once, of those about the children") {
  std::unordered_map<Expr, int, ExprHash> loads;
  int derived = 0;
  const auto decide = [](Expr e) { return e->is(ExprKind::load) ? std::optional(1) : std::nullopt; };
  const auto sum = [&](Expr e) {
    ++derived;
    int all = 0;
    for (Expr part : children(e)) all += loads.at(part);
    return all;
  };
  CHECK(known_fact(root, loads, decide, sum) == 3);  // x counts for each use of its sine
  CHECK(derived == 3);
  CHECK(known_fact(first, loads, decide, sum) == 2);
  CHECK(derived == 3);
}

TEST_CASE_FIXTURE(Fixture, "walk: a sum's terms and a product's factors are children") {
  const Expr sum = b.add({b.scale(2, inner), y}), product = b.multiply(3, {{inner, 2}, {y, -1}});
  for (Expr e : {sum, product}) {
    const Children all = children(e);
    CHECK(all.size() == 2);
    CHECK(std::count(all.begin(), all.end(), inner) == 1);
    CHECK(std::count(all.begin(), all.end(), y) == 1);
  }
  CHECK(children(index).empty());
}

// With its parts used twice at each level, it has 2^100000 leaves as a tree.
TEST_CASE_FIXTURE(Fixture, "walk: formulas may be deeper than a stack") {
  constexpr int kDepth = 100'000;
  Expr e = x;
  for (int i = 0; i < kDepth; ++i) e = function(ir::OpKind::atan2_, {e, e});
  REQUIRE(e->height > kDepth);
  ExprSet seen, inwards;
  std::size_t visited = 0;
  walk(e, seen, [&](Expr) { ++visited; });
  CHECK(visited == kDepth + 2);
  walk_inwards(e, inwards, [](Expr) { return true; });
  CHECK(inwards.size() == kDepth + 2);
  CHECK(contains(e, x));
  CHECK(!contains(e, y));
  CHECK(collect(e, ExprKind::load) == std::vector<Expr>{x});
  CHECK(!nearest_source(pool, e).valid());
  std::unordered_map<Expr, std::uint32_t, ExprHash> heights;
  const auto highest = [&](Expr part) {
    std::uint32_t most = 0;
    for (Expr inside : children(part)) most = std::max(most, heights.at(inside) + 1);
    return most;
  };
  CHECK(known_fact(e, heights, [](Expr) { return std::optional<std::uint32_t>(); }, highest) == e->height);
}

}  // namespace
}  // namespace tilewright::passes::fusion

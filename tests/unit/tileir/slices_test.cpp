// Slices along definitions and uses, through nested regions; copies of ops with their regions.
#include "tileir/slices.h"

#include <doctest/doctest.h>

#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

namespace tilewright::ir {

namespace {

constexpr std::string_view kLoop = R"(kernel @k(%p: ptr<i32>, %n: i32) {
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %twice = add %n, %n : i32
  %sum = for %zero, %n, %one, %zero : i32 (%i: i32, %s: i32) {
    %product = mul %i, %twice : i32
    %next = add %s, %product : i32
    yield %next
  }
  store %p, %sum
}
)";

Function loop_function() { return parse(std::string(kLoop), "slices.tile").functions[0]; }

OpId find(const Function& f, OpKind k, int n = 0) {
  OpId found;
  f.walk([&](OpId id) {
    if (f.kind(id) == k && n-- == 0) found = id;
  });
  return found;
}

}  // namespace

TEST_CASE("slices: a backward slice holds definers, nearest first, each once") {
  const Function f = loop_function();
  const OpId next = find(f, OpKind::add_, 1), product = find(f, OpKind::mul_), twice = find(f, OpKind::add_);
  CHECK(backward_slice(f, f.op(next).operands, [](OpId) { return true; }) == std::vector{product, twice});
  CHECK(backward_slice(f, f.op(next).operands, [](OpId) { return true; }, 1) == std::vector{product});
  CHECK(backward_slice(f, f.op(next).operands, [&](OpId id) { return id != product; }).empty());
}

TEST_CASE("slices: forward uses follow results, and an interrupted walk says so") {
  const Function f = loop_function();
  const OpId product = find(f, OpKind::mul_), next = find(f, OpKind::add_, 1);
  const ValueId twice = f.result(find(f, OpKind::add_));
  std::vector<OpId> users;
  const auto visit = [&](WalkResult at_product) {
    users.clear();
    return forward_uses(f, twice, [&](OpId user, ValueId) {
      users.push_back(user);
      return user == product ? at_product : WalkResult::skip;
    });
  };
  CHECK(visit(WalkResult::advance));
  CHECK(users == std::vector{product, next});
  CHECK(visit(WalkResult::skip));
  CHECK(users == std::vector{product});
  CHECK_FALSE(visit(WalkResult::interrupt));
}

TEST_CASE("slices: loops, ancestors and values from outside of a region") {
  const Function f = loop_function();
  const OpId loop = find(f, OpKind::for_), product = find(f, OpKind::mul_), twice = find(f, OpKind::add_);
  CHECK(enclosing_loop(f, f.region(loop)) == loop);
  CHECK_FALSE(enclosing_loop(f, f.body()).valid());
  CHECK(parent_op(f, product) == loop);
  CHECK(ancestor_in(f, product, f.body()) == loop);
  CHECK_FALSE(ancestor_in(f, twice, f.region(loop)).valid());
  CHECK(used_from_above(f, f.region(loop)) == std::vector{f.result(twice)});
  CHECK_FALSE(is_defined_in(f, f.result(twice), f.region(loop)));
}

TEST_CASE("builder: a clone of a loop uses its own arguments, and mapped values from outside") {
  Function f = loop_function();
  const OpId loop = find(f, OpKind::for_);
  const ValueId twice = f.result(find(f, OpKind::add_)), n = f.arg(f.body(), 1);
  Builder b(f);
  b.after(loop);
  ValueMap map;
  map.set(twice, n);
  const OpId copy = b.clone(loop, map);
  CHECK(verify(f).empty());
  CHECK(map(f.result(loop)) == f.result(copy));
  CHECK(map(f.arg(f.region(loop), 0)) == f.arg(f.region(copy), 0));
  const OpId product = f.block(f.region(copy)).first;
  CHECK(f.op(product).operands == std::vector{f.arg(f.region(copy), 0), n});
}

}  // namespace tilewright::ir

// The IR of a Function: links and use lists, before and after edits.
#include "tileir/ir.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {
/// f(n): a = n + n, b = a * n, c = a - b.
struct Chain {
  Function f{"chain"};
  ValueId n, a, b, c;
  Chain() {
    n = f.add_param(Type(Element::i32), {"n"});
    Builder at(f);
    a = at.binary(OpKind::add_, n, n);
    b = at.binary(OpKind::mul_, a, n);
    c = at.binary(OpKind::sub_, a, b);
  }
  OpId op(ValueId v) const { return f.value(v).op; }
  std::vector<OpId> order() const {
    std::vector<OpId> ids;
    for (OpId id : f.ops(f.body())) ids.push_back(id);
    return ids;
  }
};

std::ptrdiff_t uses(const Function& f, ValueId v, OpId by) {
  const auto& users = f.value(v).users;
  return std::count(users.begin(), users.end(), by);
}
}  // namespace

TEST_CASE("ir: an op is a user once for each operand that is the value") {
  Chain t;
  CHECK(uses(t.f, t.n, t.op(t.a)) == 2);
  CHECK(uses(t.f, t.n, t.op(t.b)) == 1);
  CHECK(t.f.value(t.n).users.size() == 3);
  CHECK_FALSE(t.f.has_uses(t.c));
}

TEST_CASE("ir: set_operand moves one use") {
  Chain t;
  t.f.set_operand(t.op(t.a), 1, t.n);  // sets the same operand: nothing changes
  CHECK(uses(t.f, t.n, t.op(t.a)) == 2);
  t.f.set_operand(t.op(t.c), 0, t.n);
  CHECK(t.f.operand(t.op(t.c), 0) == t.n);
  CHECK(uses(t.f, t.n, t.op(t.c)) == 1);
  CHECK(uses(t.f, t.a, t.op(t.c)) == 0);
  CHECK(verify(t.f).empty());
}

TEST_CASE("ir: replace_uses takes over every use, several of one op included") {
  Chain t;
  Builder at(t.f);
  at.before(t.op(t.a));
  const ValueId seven = at.constant(Type(Element::i32), 7);
  t.f.replace_uses(t.n, seven);
  CHECK_FALSE(t.f.has_uses(t.n));
  CHECK(uses(t.f, seven, t.op(t.a)) == 2);
  CHECK(uses(t.f, seven, t.op(t.b)) == 1);
  CHECK(verify(t.f).empty());
  t.f.replace_uses(seven, seven);
  CHECK(t.f.value(seven).users.size() == 3);
}

TEST_CASE("ir: erase unlinks an op and gives back its uses") {
  Chain t;
  const OpId c = t.op(t.c);
  t.f.erase(c);
  CHECK(t.f.erased(c));
  CHECK(t.order() == std::vector{t.op(t.a), t.op(t.b)});
  CHECK(t.f.terminator(t.f.body()) == t.op(t.b));
  CHECK_FALSE(t.f.has_uses(t.b));
  CHECK(verify(t.f).empty());
}

TEST_CASE("ir: erase takes the nested ops with it") {
  Function f("loop");
  const ValueId n = f.add_param(Type(Element::i32), {"n"});
  Builder at(f);
  const ValueId operands[] = {n, n, n};
  const OpId loop = at.create(OpKind::for_, operands);
  const ValueId i = f.add_arg(f.region(loop), Type(Element::i32));
  at.at_end(f.region(loop));
  const ValueId sum = at.binary(OpKind::add_, i, n);
  at.create(OpKind::yield_, {});
  REQUIRE(verify(f).empty());
  f.erase(loop);
  CHECK(f.erased(f.value(sum).op));
  CHECK_FALSE(f.has_uses(n));
  CHECK_FALSE(f.block(f.body()).first.valid());
  CHECK(verify(f).empty());
}

TEST_CASE("ir: move_before and move_to_end keep the list whole") {
  Chain t;
  const OpId a = t.op(t.a), b = t.op(t.b), c = t.op(t.c);
  t.f.move_before(c, a);
  CHECK(t.order() == std::vector{c, a, b});
  t.f.move_before(c, c);
  CHECK(t.order() == std::vector{c, a, b});
  t.f.move_to_end(a, t.f.body());
  CHECK(t.order() == std::vector{c, b, a});
  t.f.move_to_end(a, t.f.body());
  CHECK(t.order() == std::vector{c, b, a});
  t.f.move_before(a, c);
  t.f.move_before(b, c);
  CHECK(t.order() == std::vector{a, b, c});
  CHECK(verify(t.f).empty());
}

TEST_CASE("ir: erasing operands, results and arguments renumbers what follows") {
  Function f("f");
  for (const char* name : {"x", "y", "z"}) f.add_param(Type(Element::i32), {name});
  const std::vector<ValueId> args = f.block(f.body()).args;
  f.erase_arg(f.body(), 1);
  CHECK(f.params.size() == 2);
  CHECK(f.params[1].name == "z");
  CHECK(f.value(args[2]).number == 1);

  Builder at(f);
  const OpId yes = at.create(OpKind::if_, std::vector{at.binary(OpKind::lt_, args[0], args[2])}, {},
                             std::vector{Type(Element::i32), Type(Element::i32)});
  const ValueId second = f.result(yes, 1);
  f.erase_result(yes, 0);
  CHECK(f.result(yes) == second);
  CHECK(f.value(second).number == 0);
  for (BlockId b : f.op(yes).regions) {
    at.at_end(b);
    const OpId end = at.create(OpKind::yield_, std::vector{args[0], args[2]});
    f.erase_operand(end, 0);
    CHECK(f.op(end).operands == std::vector{args[2]});
  }
  CHECK(verify(f).empty());
}

TEST_CASE("ir: a range survives erasing the op it stands on, and walk those nested in it") {
  Chain t;
  std::vector<OpId> seen;
  for (OpId id : t.f.ops(t.f.body())) {
    seen.push_back(id);
    if (id == t.op(t.c)) t.f.erase(id);
  }
  CHECK(seen.size() == 3);
  CHECK(t.order().size() == 2);
}

TEST_CASE("ir: a function copies by value") {
  Chain t;
  const std::string before = print(t.f);
  Function copy = t.f;
  copy.erase(t.op(t.c));
  CHECK(print(t.f) == before);
  CHECK(print(copy) != before);
  CHECK(verify(t.f).empty());
}

TEST_CASE("ir: attributes lie in the order of the row, whatever order they came in") {
  Function f("f");
  Builder at(f);
  const OpId id = at.create(OpKind::arange_, {}, {Attr{AttrName::hi, 8, {}}, Attr{AttrName::lo, 4, {}}});
  REQUIRE(f.op(id).attrs.size() == 2);
  CHECK(f.op(id).attrs[0].name == AttrName::lo);
  CHECK(f.attr(id, AttrName::hi) == 8);
  f.set_attr(id, Attr{AttrName::lo, 0, {}});
  CHECK(f.attr(id, AttrName::lo) == 0);
  CHECK(f.op(id).attrs.size() == 2);
  CHECK(f.attr(id, AttrName::axis) == 0);
  CHECK_FALSE(f.has_attr(id, AttrName::axis));
}

TEST_CASE("ir: encloses follows regions outwards") {
  Function f("f");
  const ValueId c = f.add_param(Type(Element::boolean), {"c"});
  Builder at(f);
  const OpId outer = at.create(OpKind::if_, std::vector{c});
  at.at_end(f.region(outer, 0));
  const OpId inner = at.create(OpKind::if_, std::vector{c});
  CHECK(f.encloses(f.body(), f.region(inner, 1)));
  CHECK(f.encloses(f.region(outer, 0), f.region(inner, 0)));
  CHECK(f.encloses(f.region(outer, 0), f.region(outer, 0)));
  CHECK_FALSE(f.encloses(f.region(outer, 1), f.region(inner, 0)));
  CHECK_FALSE(f.encloses(f.region(inner, 0), f.region(outer, 0)));
  CHECK(f.defining_block(c) == f.body());
}

TEST_CASE("builder: a refused op throws at the current location, with a note at the operand at fault") {
  Function f("f");
  const std::uint32_t file = f.add_file("kernel.cpp");
  CHECK(f.add_file("kernel.cpp") == file);
  Builder at(f);
  at.set_loc({file, 3, 7});
  const ValueId a = at.arange(0, 8);
  at.set_loc({file, 4, 7});
  const ValueId b = at.arange(0, 16);
  at.set_loc({file, 5, 9});
  try {
    at.binary(OpKind::add_, a, b);
    FAIL("nothing was thrown");
  } catch (const Error& e) {
    CHECK(std::string(e.what()) ==
          "kernel.cpp:5:9: error: add: 'b' is [16]; its shape must be [8] as that of 'a'\nkernel.cpp:4:7: note: 'b' defined here");
  }
  CHECK(verify(f).empty());
}

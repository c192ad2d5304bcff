// The verifier on IR that cannot be written as text: broken links and misplaced values. Other cases are in tests/files/verify.
#include "tileir/verifier.h"
#include "tileir/op_kind.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tileir/builder.h"
#include "tileir/text/parser.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

constexpr const char* kSource = R"(kernel @f(%n: i32, %c: i1) {
  %a = add %n, %n : i32
  %b = mul %a, %n : i32
  %s = for %n, %n, %n, %a : i32 (%i: i32, %acc: i32) {
    %x = add %i, %acc : i32
    yield %x
  }
  if %c {
    %y = sub %s, %b : i32
    yield
  } {
    yield
  }
})";

struct Subject {
  Function f = std::move(parse(kSource, "f.tile").functions[0]);
  OpId find(OpKind k, int skip = 0) const {
    OpId found;
    f.walk([&](OpId id) {
      if (f.kind(id) == k && skip-- == 0) found = id;
    });
    return found;
  }
  // The public interface keeps links whole; only a bug inside of it could break them.
  OpData& op(OpId id) { return const_cast<OpData&>(f.op(id)); }
  BlockData& block(BlockId b) { return const_cast<BlockData&>(f.block(b)); }
  ValueData& value(ValueId v) { return const_cast<ValueData&>(f.value(v)); }
  bool reports(const std::string& message) const {
    const std::vector<Problem> problems = verify(f);
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& p) { return p.message.find(message) != std::string::npos; });
  }
};

}  // namespace

TEST_CASE("verifier: a well-formed function has no problems") {
  CHECK(verify(Subject().f).empty());
  CHECK(verify(Function("empty")).empty());
}

TEST_CASE("verifier: broken lists are reported, and end") {
  Subject s;
  const OpId a = s.find(OpKind::add_), b = s.find(OpKind::mul_), loop = s.find(OpKind::for_);
  SUBCASE("a cycle") { s.op(loop).next = a; }
  SUBCASE("a wrong predecessor") { s.op(b).prev = loop; }
  SUBCASE("a wrong last op") { s.block(s.f.body()).last = b; }
  SUBCASE("a wrong parent") { s.op(b).parent = s.f.region(loop); }
  SUBCASE("an op that does not exist") { s.op(s.find(OpKind::if_)).next = OpId{1000}; }
  SUBCASE("a region that does not exist") { s.op(loop).regions[0] = BlockId{1000}; }
  SUBCASE("a region of its own") { s.op(loop).regions[0] = s.f.body(); }
  SUBCASE("a region that names another owner") { s.block(s.f.region(loop)).parent = a; }
  SUBCASE("two owners of a region") { s.op(loop).regions[0] = s.f.region(s.find(OpKind::if_), 1); }
  SUBCASE("an operand that does not exist") { s.op(a).operands[0] = ValueId{1000}; }
  CHECK_FALSE(verify(s.f).empty());
}

TEST_CASE("verifier: values know who owns them") {
  Subject s;
  const OpId a = s.find(OpKind::add_);
  SUBCASE("another op") { s.value(s.f.result(a)).op = s.find(OpKind::mul_); }
  SUBCASE("another number") { s.value(s.f.result(a)).number = 1; }
  SUBCASE("another block") { s.value(s.f.arg(s.f.body(), 0)).block = s.f.region(s.find(OpKind::for_)); }
  CHECK(s.reports("is not linked to it"));
}

TEST_CASE("verifier: use lists hold each use once") {
  Subject s;
  std::vector<OpId>& users = s.value(s.f.arg(s.f.body(), 0)).users;
  SUBCASE("one lost") { users.pop_back(); }
  SUBCASE("one too many") { users.push_back(users[0]); }
  CHECK(s.reports("the uses of a value are not those listed"));
}

TEST_CASE("verifier: a use must come after the definition, in the same region or one around it") {
  Subject s;
  const OpId a = s.find(OpKind::add_), b = s.find(OpKind::mul_), sub = s.find(OpKind::sub_);
  SUBCASE("moved before it") { s.f.move_before(b, a); }
  SUBCASE("defined in a region that has ended") { s.f.set_operand(sub, 1, s.f.result(s.find(OpKind::add_, 1))); }
  SUBCASE("a result used in its own region") { s.f.set_operand(s.find(OpKind::add_, 1), 1, s.f.result(s.find(OpKind::for_))); }
  SUBCASE("in the sibling region") { s.f.move_to_end(sub, s.f.region(s.find(OpKind::if_), 0)), s.f.move_before(sub, a); }
  CHECK(s.reports("is used where it is not defined"));
}

TEST_CASE("verifier: a region without an end, or with too much after it") {
  Subject s;
  const OpId loop = s.find(OpKind::for_);
  SUBCASE("no ops at all") {
    const BlockId empty = s.f.region(s.find(OpKind::if_), 1);
    s.f.erase(s.f.terminator(empty));
    CHECK(s.reports("if: region 2 must end with yield"));
  }
  SUBCASE("no yield") {
    s.f.erase(s.f.terminator(s.f.region(loop)));
    CHECK(s.reports("for: the region must end with yield"));
  }
  SUBCASE("an op after it") {
    s.f.move_to_end(s.find(OpKind::add_, 1), s.f.region(loop));
    CHECK(s.reports("yield: it must be the last op of its region"));
  }
  SUBCASE("a missing region") {
    s.op(s.find(OpKind::if_)).regions.pop_back();
    CHECK(s.reports("if: 1 regions; expected 2"));
  }
}

TEST_CASE("verifier: types of results follow the rules") {
  Subject s;
  const OpId a = s.find(OpKind::add_);
  s.f.set_type(s.f.result(a), Type(Element::f32));
  CHECK(s.reports("add: result is stated as f32; it is i32"));
  CHECK(s.reports("mul: 'b' is i32; it must be f32 as 'a' is"));
  CHECK(s.reports("for: argument 2 of the region is i32; it must be f32"));
  CHECK(s.reports("value 1 is i32; 'for' expects f32 here"));
}

TEST_CASE("verifier: results and parameters that nobody described") {
  Subject s;
  s.f.add_result(s.find(OpKind::if_), Type(Element::i32));
  CHECK(s.reports("yield: 0 values; 'if' expects 1 here"));
  s.f.add_result(s.find(OpKind::add_), Type(Element::i32));
  CHECK(s.reports("add: 2 result types are stated; it has 1"));
  const ValueId n = s.f.arg(s.f.body(), 0), both[] = {n, n};
  s.f.create_op(OpKind::add_, {}, both, {}, {}, s.f.body());
  CHECK(s.reports("add: 0 results; it has 1"));
  s.f.params.pop_back();
  CHECK(s.reports("1 parameters are described; there are 2"));
}

TEST_CASE("verifier: the first problem is thrown, at its location, with the others as notes") {
  const char* source = "kernel @f(%n: i32) {\n  %a = exp %n : i32\n  %b = exp2 %n : i32\n}\n";
  try {
    parse(source, "f.tile");
    FAIL("nothing was thrown");
  } catch (const Error& e) {
    CHECK(std::string(e.what()) ==
          "f.tile:2:8: error: exp: 'x' is i32; expected f16, bf16, f32 or f64\n"
          "f.tile:3:8: note: exp2: 'x' is i32; expected f16, bf16, f32 or f64");
    CHECK(e.where().line == 2);
  }
}

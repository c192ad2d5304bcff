// The printer on functions that are built in C++.
#include "tileir/text/printer.h"
#include "tileir/op_kind.h"

#include <doctest/doctest.h>

#include "tileir/builder.h"
#include "tileir/text/parser.h"

using namespace tilewright::ir;

TEST_CASE("printer: values are numbered in order of definition, parameters keep their names") {
  Function f("f");
  const ValueId n = f.add_param(Type(Element::i32), {"n", 16});
  Builder at(f);
  const ValueId two = at.constant(Type(Element::i32), 2);
  at.binary(OpKind::mul_, n, two);
  CHECK(print(f) ==
        "kernel @f(%n: i32 {divisible_by = 16}) {\n"
        "  %0 = constant {value = 2} : i32\n"
        "  %1 = mul %n, %0 : i32\n"
        "}\n");
  CHECK(print(f, f.value(two).op) == "%0 = constant {value = 2} : i32");
}

TEST_CASE("printer: names that the grammar lacks are replaced, and those that clash") {
  Function f("operator()<int, \"x\">");
  for (const char* name : {"a b", "", "x", "x", "arg0", "0"}) f.add_param(Type(Element::i32), {name});
  const std::string text = print(f);
  CHECK(text == "kernel @\"operator()<int, \\\"x\\\">\"(%arg0: i32, %arg1: i32, %x: i32, %x_: i32, %arg0_: i32, %arg5: i32) {\n}\n");
  CHECK(print(parse(text, "text")) == text);
  CHECK(parse(text, "text").functions[0].name == f.name);
}

TEST_CASE("printer: locations are printed on request") {
  Function f("f");
  Builder at(f);
  at.set_loc({f.add_file("dir\\a \"b\".cpp"), 12, 3});
  at.arange(0, 4);
  at.set_loc({});
  at.arange(0, 8);
  const std::string text = print(f, {.locations = true});
  CHECK(text ==
        "kernel @f() {\n"
        "  %0 = arange {lo = 0, hi = 4} : i32[4] @ \"dir\\\\a \\\"b\\\".cpp\":12:3\n"
        "  %1 = arange {lo = 0, hi = 8} : i32[8]\n"
        "}\n");
  const Function back = parse(text, "text").functions[0];
  CHECK(back.where(back.block(back.body()).first).file == "dir\\a \"b\".cpp");
  CHECK(back.where(back.block(back.body()).first).line == 12);
  CHECK(back.where(back.terminator(back.body())).file == "text");
  CHECK(back.where(back.terminator(back.body())).line == 3);
}

TEST_CASE("printer: attributes that say what their absence says are left out") {
  Function f("f");
  const ValueId p = f.add_param(Type::pointer(Element::f32, true), {"p"});
  Builder at(f);
  const OpId load = at.create(OpKind::load_, std::vector{p}, {Attr{AttrName::cache, 0, {}}, Attr{AttrName::is_volatile, 1, {}}});
  CHECK(print(f, load) == "%0 = load %p {is_volatile} : f32");
}

TEST_CASE("printer: malformed IR is printed too") {
  Function f("f");
  const ValueId n = f.add_param(Type(Element::i32), {"n"});
  Builder at(f);
  const OpId add = at.create(OpKind::add_, std::vector{n, n});
  const OpId constant = f.create_op(OpKind::constant_, {}, {}, {}, {Attr{AttrName::value, -1, {}}}, f.body());
  const OpId load = f.create_op(OpKind::load_, {}, {}, {}, {Attr{AttrName::cache, 99, {}}}, f.body());
  f.set_type(f.result(add), Type(Element::f32));
  const_cast<OpData&>(f.op(add)).operands[1] = ValueId{77};
  CHECK(print(f, add) == "%0 = add %n, %? : f32");
  CHECK(print(f, constant) == "constant {value = 18446744073709551615}");
  CHECK(print(f, load) == "load {cache = ?}");
}

// Each element-wise op of the table, for every combination of element types that its rule accepts, as scalars and as tiles.
#include <doctest/doctest.h>

#include <map>

#include "tests/execution/machines.h"
#include "tests/fuzz/signatures.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

/// One program an op and shape: a result of every signature, each from inputs of its own.
void check_op(OpKind k, std::span<const fuzz::Signature> signatures, const std::vector<std::int64_t>& shape) {
  SequenceBuilder p(std::string(text(k)));
  for (const fuzz::Signature& s : signatures) {
    std::vector<ValueId> operands;
    for (Element e : s.operands) operands.push_back(p.input(Type(e, shape)));
    const Type result(s.result, shape);
    p.output(p.ir().function().result(p.ir().create(k, operands, {}, std::span(&result, 1))));
  }
  check_on_machines(p.take());
}

}  // namespace

TEST_CASE("element-wise ops: every signature, on tiles") {
  for (OpKind k : fuzz::elementwise_ops()) {
    CAPTURE(text(k));
    const auto all = fuzz::signatures(k);
    // cast has hundreds of pairs: a program for each source.
    std::map<Element, std::vector<fuzz::Signature>> by_source;
    for (const auto& s : all) by_source[s.operands.empty() ? Element::i32 : s.operands[0]].push_back(s);
    if (all.size() < 32)
      check_op(k, all, {256});
    else
      for (const auto& [source, signatures] : by_source) check_op(k, signatures, {256});
  }
}

TEST_CASE("element-wise ops: every signature, on scalars and odd shapes") {
  for (OpKind k : fuzz::elementwise_ops()) {
    if (fuzz::signatures(k).size() >= 32) continue;
    CAPTURE(text(k));
    check_op(k, fuzz::signatures(k), {});
    check_op(k, fuzz::signatures(k), {2, 1, 4});
  }
}

TEST_CASE("casts: a condition that was negated as an integer is -1") {
  for (Element e : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
    SequenceBuilder p("signed_bits");
    Builder& b = p.ir();
    const Type words(Element::i32, std::vector<std::int64_t>{64});
    const auto less = [&] { return b.binary(OpKind::lt_, p.input(words), p.input(words)); };
    const ValueId first = less(), either = b.binary(OpKind::bit_or_, first, less());
    p.output(b.cast(b.unary(OpKind::neg_, b.cast(either, Element::i8)), e));
    check_on_machines(p.take());
  }
}

TEST_CASE("pointers: offsets of every integer type are extended by their own sign") {
  for (Element e : {Element::i8, Element::i16, Element::i32, Element::i64, Element::u8, Element::u16, Element::u32, Element::u64}) {
    SequenceBuilder p("offsets");
    Builder& b = p.ir();
    const ValueId base = p.scalar(Type::pointer(Element::f32, false), 0x7000'0000'0000u);
    const ValueId offsets = p.input(Type(e, std::vector<std::int64_t>{64}));
    const ValueId moved = b.add_ptr(b.broadcast(base, std::vector<std::int64_t>{64}), offsets);
    p.output(b.bitcast(moved, Type(Element::u64)));
    check_on_machines(p.take());
  }
}

}  // namespace tilewright::test

// dot_scaled on every machine, bit for bit as the interpreter: each pair of formats, scales of every kind. Sums are exact, since matrix
// instructions add up in an order of their own.
#include <doctest/doctest.h>

#include "tests/execution/machines.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Extents = std::vector<std::int64_t>;

ValueId packed_or_plain(SequenceBuilder& p, Element e, std::int64_t rows, std::int64_t columns, int k_axis) {
  Extents shape{rows, columns};
  if (e == Element::u8) shape[static_cast<std::size_t>(k_axis)] /= 2;
  return e == Element::u8 ? p.input(Type(e, shape)) : p.small_input(Type(e, shape));
}

/// Scales of 2^-2 to 2^2.
ValueId scales(SequenceBuilder& p, std::int64_t rows, std::int64_t blocks) {
  const Type t(Element::u8, Extents{rows, blocks});
  return p.ir().binary(OpKind::add_, p.small_input(t), p.ir().constant(t, 125));
}

void check(Element a, Element b, std::int64_t m, std::int64_t k, std::int64_t n) {
  CAPTURE(text(a));
  CAPTURE(text(b));
  SequenceBuilder p("scaled");
  const ValueId left = packed_or_plain(p, a, m, k, 1), left_scale = scales(p, m, k / 32);
  const ValueId right = packed_or_plain(p, b, k, n, 0), right_scale = scales(p, n, k / 32);
  const ValueId operands[] = {left, left_scale, right, right_scale, p.small_input(Type(Element::f32, Extents{m, n}))};
  p.output(p.ir().function().result(p.ir().create(OpKind::dot_scaled_, operands)));
  check_on_machines(p.take());
}

}  // namespace

TEST_CASE("dot_scaled: every pair of formats") {
  for (Element a : {Element::f8e4m3, Element::f8e5m2, Element::u8})
    for (Element b : {Element::f8e4m3, Element::f8e5m2, Element::u8}) check(a, b, 8, 64, 16);
}

TEST_CASE("dot_scaled: one block, one row, one column") {
  check(Element::u8, Element::u8, 1, 32, 1);
  check(Element::f8e4m3, Element::u8, 1, 32, 8);
  check(Element::u8, Element::f8e5m2, 4, 128, 1);
}

// Random bytes rarely meet: every e2m1 value with every scale that keeps it a number, against 1.
TEST_CASE("dot_scaled: every e2m1 value under every scale") {
  SequenceBuilder p("values");
  Builder& b = p.ir();
  const Extents columns{256, 32}, scales{256, 1};
  // Row r has scale r; column k holds the values k % 16 in turn.
  const ValueId r = b.broadcast(b.reshape(b.arange(0, 256), scales), Extents{256, 1});
  const ValueId k = b.broadcast(b.reshape(b.arange(0, 16), Extents{1, 16}), Extents{256, 16});
  const Type k_type(Element::i32, Extents{256, 16});
  const ValueId low = b.binary(OpKind::bit_and_, k, b.constant(k_type, 15));
  const ValueId a = b.cast(b.binary(OpKind::bit_or_, low, b.binary(OpKind::shl_, low, b.constant(k_type, 4))), Element::u8);
  // b picks one element of K for each column.
  const ValueId row = b.broadcast(b.reshape(b.arange(0, 32), Extents{32, 1}), Extents{32, 32});
  const ValueId column = b.broadcast(b.reshape(b.arange(0, 32), Extents{1, 32}), Extents{32, 32});
  const Type square(Element::f32, Extents{32, 32});
  const ValueId picked =
      b.cast(b.select(b.binary(OpKind::eq_, row, column), b.constant(square, 1), b.constant(square, 0)), Element::f8e4m3);
  const ValueId ones = b.constant(Type(Element::u8, Extents{32, 1}), 127);
  const ValueId operands[] = {a, b.cast(r, Element::u8), picked, ones, b.constant(Type(Element::f32, columns), 0)};
  p.output(p.ir().function().result(b.create(OpKind::dot_scaled_, operands)));
  check_on_machines(p.take());
}

}  // namespace tilewright::test

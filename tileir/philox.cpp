// Emits the rounds of Philox4x32 as ops.
#include "tileir/philox.h"

#include "tileir/op_kind.h"

namespace tilewright::ir {

std::array<ValueId, 4> philox(Builder& b, ValueId key0, ValueId key1, std::array<ValueId, 4> x) {
  const Type t = b.function().type(key0);
  const ValueId m0 = b.constant(t, 0xd2511f53), m1 = b.constant(t, 0xcd9e8d57), w0 = b.constant(t, 0x9e3779b9),
                w1 = b.constant(t, 0xbb67ae85);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0) key0 = b.binary(OpKind::add_, key0, w0), key1 = b.binary(OpKind::add_, key1, w1);
    const ValueId high0 = b.binary(OpKind::umulhi_, x[0], m0), low0 = b.binary(OpKind::mul_, x[0], m0);
    const ValueId high1 = b.binary(OpKind::umulhi_, x[2], m1), low1 = b.binary(OpKind::mul_, x[2], m1);
    x = {b.binary(OpKind::bit_xor_, b.binary(OpKind::bit_xor_, high1, x[1]), key0), low1,
         b.binary(OpKind::bit_xor_, b.binary(OpKind::bit_xor_, high0, x[3]), key1), low0};
  }
  return x;
}

ValueId uniform_from_bits(Builder& b, ValueId word, int first) {
  const Type t = b.function().type(word);
  const ValueId bits = b.binary(OpKind::shr_, word, b.constant(t, 8));
  const ValueId count = b.cast(b.binary(OpKind::add_, bits, b.constant(t, first)), Element::f32);
  return b.binary(OpKind::mul_, count, b.constant_float(b.function().type(count), 0x1p-24));
}

ValueId philox_uniform(Builder& b, std::uint64_t seed, ValueId counter) {
  const ValueId wide = b.cast(counter, Element::u64);
  const Type words = b.function().type(wide).with_element(Element::u32);
  const ValueId low = b.cast(wide, Element::u32);
  const ValueId high = b.cast(b.binary(OpKind::shr_, wide, b.constant(b.function().type(wide), 32)), Element::u32);
  const ValueId zero = b.constant(words, 0);
  const ValueId key0 = b.constant(words, static_cast<std::int64_t>(seed & UINT32_MAX));
  const ValueId key1 = b.constant(words, static_cast<std::int64_t>(seed >> 32));
  return uniform_from_bits(b, philox(b, key0, key1, {low, high, zero, zero})[0], 0);
}

}  // namespace tilewright::ir

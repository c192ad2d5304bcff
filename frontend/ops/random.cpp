// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011) and the distributions that use its
// words.
#include "tilewright/ops/random.h"

#include <fmt/format.h>

#include <numbers>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"
#include "tileir/philox.h"

namespace tilewright::detail {

namespace {

using ir::OpKind;
using ir::ValueId;
using Words = std::array<ValueId, 4>;

const ir::Type kU32(ir::Element::u32);

/// The low and high words of an integer extended to 64 bits.
std::pair<ValueId, ValueId> halves(Emit& e, const Input& x, std::string_view name) {
  if (x.handle == nullptr) {
    const std::uint64_t bits = x.constant.bits;
    return {e.integer(kU32, static_cast<std::uint32_t>(bits)), e.integer(kU32, static_cast<std::uint32_t>(bits >> 32))};
  }
  const ValueId v = e.value(*x.handle, name);
  if (ir::bits(e.type(v).element()) == 32 && !ir::is_signed(e.type(v).element())) return {v, e.integer(e.type(v), 0)};
  const ValueId wide = e.b().cast(v, ir::Element::u64);
  const ValueId high = e.b().binary(OpKind::shr_, wide, e.integer(e.type(wide), 32));
  return {e.b().cast(wide, ir::Element::u32), e.b().cast(high, ir::Element::u32)};
}

Words rounds(Emit& e, ValueId key0, ValueId key1, Words counter) {
  constexpr std::string_view names[] = {"seed", "seed", "c0", "c1", "c2", "c3"};
  ValueId all[] = {key0, key1, counter[0], counter[1], counter[2], counter[3]};
  e.broadcast_all(all, names);
  return ir::philox(e.b(), all[0], all[1], {all[2], all[3], all[4], all[5]});
}

}  // namespace

std::array<Made, 4> philox(const Input& seed, const std::array<Counter, 4>& counters) {
  constexpr std::string_view kNames[] = {"c0", "c1", "c2", "c3"};
  Emit e("philox", seed.at);
  const auto [key0, key1] = halves(e, seed, "seed");
  Words words;
  ValueId carried;  // high word of the previous counter, if that has 64 bits
  for (std::size_t i = 0; i < 4; ++i) {
    const Counter& c = counters[i];
    if (!c.value) {
      words[i] = carried ? carried : e.integer(kU32, 0);
      carried = {};
      continue;
    }
    const auto [low, high] = halves(e, *c.value, kNames[i]);
    words[i] = low;
    if (!c.is_wide) continue;
    const bool has_next = i + 1 < 4 && !counters[i + 1].value;
    if (has_next) {
      carried = high;
      continue;
    }
    const bool fits = c.value->handle == nullptr && c.value->constant.bits >> 32 == 0;
    if (fits) continue;
    const std::string high_word = i + 1 < 4 ? fmt::format("its high word is '{}', which is given as well", kNames[i + 1])
                                            : std::string("there is no counter after it for its high word");
    e.fail(fmt::format("'{}' has 64 bits, and {}; cast it to 32 bits, or give its two words", kNames[i], high_word));
  }
  const Words w = rounds(e, key0, key1, words);
  return {made(w[0]), made(w[1]), made(w[2]), made(w[3])};
}

Made draw(Draw kind, const Input& seed, const Input& counter) {
  constexpr std::string_view kNames[] = {"rand", "randn", "randint"};
  Emit e(kNames[static_cast<int>(kind)], seed.at);
  const auto [key0, key1] = halves(e, seed, "seed");
  const auto [low, high] = halves(e, counter, "counter");
  const ValueId zero = e.integer(kU32, 0);
  const Words w = rounds(e, key0, key1, {low, high, zero, zero});
  if (kind == Draw::randint) return made(w[0]);
  if (kind == Draw::rand) return made(ir::uniform_from_bits(e.b(), w[0], 0));
  // The Box-Muller transform. The argument of the logarithm is in (0, 1].
  ir::Builder& b = e.b();
  const ValueId u = ir::uniform_from_bits(b, w[0], 1), v = ir::uniform_from_bits(b, w[1], 0);
  const ir::Type t = e.type(u);
  const ValueId radius = b.unary(OpKind::sqrt_, b.binary(OpKind::mul_, e.real(t, -2), b.unary(OpKind::log_, u)));
  return made(b.binary(OpKind::mul_, radius, b.unary(OpKind::cos_, b.binary(OpKind::mul_, e.real(t, 2 * std::numbers::pi), v))));
}

}  // namespace tilewright::detail

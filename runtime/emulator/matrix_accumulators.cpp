// Sums into registers: all lanes at once for f32, lane by lane for other types.
#include "runtime/emulator/matrix_accumulators.h"

#include "runtime/emulator/matrix_elements.h"

namespace tilewright::rt::emulator {
namespace {

/// All elements of a lane, the first in the low bits of the first register.
using Elements = std::array<u64, 4>;

Elements elements_before(const Warp& warp, const Accumulators& to, int lane) {
  Elements elements{};
  const int register_bytes = to.bits_of_register() / 8, bytes = register_bytes / to.per_register();
  for (int e = 0; e < to.per_lane(); ++e)
    std::memcpy(&elements[static_cast<std::size_t>(e)],
                warp.registers + to.before[e / to.per_register()] + lane * register_bytes + e % to.per_register() * bytes,
                static_cast<std::size_t>(bytes));
  return elements;
}

void write_elements(Warp& warp, const Accumulators& to, int lane, const Elements& elements) {
  const int register_bytes = to.bits_of_register() / 8, bytes = register_bytes / to.per_register();
  for (int e = 0; e < to.per_lane(); ++e)
    std::memcpy(warp.registers + to.slots[e / to.per_register()] + lane * register_bytes + e % to.per_register() * bytes,
                &elements[static_cast<std::size_t>(e)], static_cast<std::size_t>(bytes));
}

}  // namespace

void accumulate(Warp& warp, const Accumulators& to, const ProductSums& sums, bool saturates, Mask adding, Mask mask) {
  if (to.type == Type::f32 && mask == kAllLanes && (adding == kAllLanes || adding == 0)) {
    std::array<const std::byte*, 4> before;
    std::array<std::byte*, 4> after;
    for (int r = 0; r < to.registers(); ++r) {
      before[static_cast<std::size_t>(r)] = warp.registers + to.before[r];
      after[static_cast<std::size_t>(r)] = warp.registers + to.slots[r];
    }
    return add_sums(sums, static_cast<std::size_t>(to.registers()), adding == 0 ? nullptr : before.data(), after.data());
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane)) continue;
    // All are read before any is written: the registers may be the same in another order.
    Elements elements = elements_before(warp, to, lane);
    for (int e = 0; e < to.per_lane(); ++e) {
      const auto row = static_cast<std::size_t>(lane / 4 + 8 * (e / 2)), column = static_cast<std::size_t>(lane % 4 * 2 + e % 2);
      u64& element = elements[static_cast<std::size_t>(e)];
      const double addend = has_lane(adding, lane) ? number_of(element, to.type) : 0;
      element = bits_of_sum(sums.at[row][place_of(column)] + addend, to.type, saturates);
    }
    write_elements(warp, to, lane, elements);
  }
}

}  // namespace tilewright::rt::emulator

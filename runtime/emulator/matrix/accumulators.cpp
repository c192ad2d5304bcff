// Adds sums to registers: in place for f32, through f32 for other types.
#include "runtime/emulator/matrix/accumulators.h"

#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/simd/lanes.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kMostPerLane = kRows * kColumns / kLanes;

/// Elements of all lanes as f32, in the form that multiply_add() takes.
struct Numbers {
  alignas(64) float at[kMostPerLane][kLanes];
  static constexpr s32 kSlots[kMostPerLane] = {0, 4 * kLanes, 8 * kLanes, 12 * kLanes};

  std::byte* registers() { return reinterpret_cast<std::byte*>(at); }
};

class Elements {
 public:
  Elements(Warp& warp, const Accumulators& to) : warp_(warp), to_(to), bytes_(4 / static_cast<std::size_t>(to.per_register())) {}

  u64 before(std::size_t e, std::size_t lane) const {
    u64 element = 0;
    std::memcpy(&element, address_of(to_.before, e, lane), bytes_);
    return element;
  }
  void write(std::size_t e, std::size_t lane, u64 element) { std::memcpy(address_of(to_.slots, e, lane), &element, bytes_); }

 private:
  std::byte* address_of(const s32* slots, std::size_t e, std::size_t lane) const {
    const auto per_register = static_cast<std::size_t>(to_.per_register());
    return warp_.registers + slots[e / per_register] + lane * 4 + e % per_register * bytes_;
  }

  Warp& warp_;
  const Accumulators& to_;
  std::size_t bytes_;
};

void add(const Accumulators& to, const Product& product, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
         const s32* after) {
  if (to.are_brief)
    multiply_add_briefly(product, blocks, depth, registers, before, after);
  else
    multiply_add({&product, 1}, blocks, depth, registers, before, after);
}

void accumulate_by_lane(Warp& warp, const Accumulators& to, const Product& product, std::size_t depth, Mask adding, Mask mask) {
  const auto count = static_cast<std::size_t>(to.per_lane());
  const bool is_integer = to.type == Type::s32;
  // All are read before any is written: the same registers may occur in another order.
  u64 before[kMostPerLane][kLanes] = {};
  Numbers sums = {};
  Elements elements(warp, to);
  for (std::size_t e = 0; e < count; ++e)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(adding, static_cast<int>(lane))) continue;
      before[e][lane] = elements.before(e, lane);
      if (!is_integer) sums.at[e][lane] = static_cast<float>(number_of(before[e][lane], to.type));
    }
  // Products of integers and their sums are exact in f32, but not together with the previous sum.
  add(to, product, 1, depth, sums.registers(), is_integer ? nullptr : Numbers::kSlots, Numbers::kSlots);
  for (std::size_t e = 0; e < count; ++e)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(mask, static_cast<int>(lane))) continue;
      const double sum = sums.at[e][lane];
      elements.write(e, lane, bits_of_sum(is_integer ? sum + number_of(before[e][lane], to.type) : sum, to.type, to.saturates));
    }
}

/// Whether multiply_add() can add directly to the registers.
bool is_in_place(const Accumulators& to, Mask adding, Mask mask) {
  return mask == kAllLanes && (adding == kAllLanes || adding == 0) && to.rows == kRows && to.type == Type::f32;
}

}  // namespace

void accumulate(Warp& warp, const Accumulators& to, Product product, std::size_t blocks, std::size_t depth, Mask adding, Mask mask) {
  if (is_in_place(to, adding, mask)) return add(to, product, blocks, depth, warp.registers, adding == 0 ? nullptr : to.before, to.slots);
  Accumulators block = to;
  for (; blocks > 0; --blocks, product.b += depth / ColumnsOfB::kSteps, block.slots += to.registers(), block.before += to.registers())
    accumulate_by_lane(warp, block, product, depth, adding, mask);
}

}  // namespace tilewright::rt::emulator

// Products that wait, and how they are added up.
#include "runtime/emulator/matrix/pending_products.h"

#include <algorithm>
#include <utility>

namespace tilewright::rt::emulator {

RowsOfA& PendingProducts::begin(const Target& target, bool adds) {
  const bool is_same = target.depth == target_.depth && std::ranges::equal(target.slots, target_.slots);
  if (!adds || !is_same || count_ == kMost) add_up();
  if (count_ == 0) {
    target_ = target;
    adds_ = adds;
  }
  if (operands_ == nullptr) operands_ = std::make_unique<std::array<Operands, kMost>>();
  return (*operands_)[count_].a;
}

void PendingProducts::add(Columns columns) { (*operands_)[count_++].b = std::move(columns); }

void PendingProducts::add_up_into(std::span<const s32> slots) {
  const auto is_target = [&](s32 slot) { return std::ranges::find(target_.slots, slot) != target_.slots.end(); };
  if (count_ != 0 && std::ranges::any_of(slots, is_target)) add_up();
}

void PendingProducts::add_up() {
  if (count_ == 0) return;
  std::array<Product, kMost> products;
  for (std::size_t n = 0; n < count_; ++n) products[n] = {&(*operands_)[n].a, (*operands_)[n].b.data()};
  const s32* const slots = target_.slots.data();
  multiply_add({products.data(), count_}, target_.slots.size() / kBlockRegisters, target_.depth, target_.registers, adds_ ? slots : nullptr,
               slots);
  for (std::size_t n = 0; n < count_; ++n) (*operands_)[n].b = {};
  count_ = 0;
}

}  // namespace tilewright::rt::emulator

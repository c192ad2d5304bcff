// From each product to the commit that follows it, and what stands in between.
#include "runtime/emulator/matrix/product_chains.h"

#include <algorithm>

#include "runtime/emulator/matrix/registers.h"
#include "runtime/emulator/program/control_flow.h"

namespace tilewright::rt::emulator {
namespace {

bool is_commit(const Kernel& kernel, u32 instruction) { return kernel.opcodes[instruction].starts_with("wgmma.commit_group"); }

/// Whether the next instruction of the text is the next one that the warp executes.
bool goes_on(const Instruction& i) { return i.kind == Kind::plain || i.kind == Kind::collective || i.kind == Kind::waiting; }

class Chains {
 public:
  Chains(std::span<const Mention> mentions, Kernel& kernel)
      : kernel_(kernel), end_(static_cast<u32>(kernel.code.size())), is_accumulator_(kernel.register_bytes / kSlotBytes) {
    mentions_.resize(kernel.code.size());
    for (const Mention& mention : mentions) mentions_[mention.instruction].push_back(mention);
  }

  /// Slots are what counts, and not values: that of an accumulator which nobody reads belongs to others soon.
  bool may_pend(u32 product) {
    mark(product, true);
    u32 at = product + 1;
    while (at < end_ && goes_on(kernel_.code[at]) && !is_commit(kernel_, at) && (is_product(kernel_, at) || !touches_accumulators(at)))
      ++at;
    mark(product, false);
    return at < end_ && is_commit(kernel_, at);
  }

 private:
  // Slots begin at multiples of that.
  static constexpr u32 kSlotBytes = 64;

  void mark(u32 product, bool value) {
    for (const Mention& mention : mentions_[product])
      if (mention.is_write) is_accumulator_[static_cast<u32>(slot_of(kernel_, mention)) / kSlotBytes] = value;
  }
  bool touches_accumulators(u32 instruction) const {
    return std::ranges::any_of(mentions_[instruction], [&](const Mention& mention) {
      return is_accumulator_[static_cast<u32>(slot_of(kernel_, mention)) / kSlotBytes];
    });
  }

  Kernel& kernel_;
  u32 end_;
  std::vector<std::vector<Mention>> mentions_;  // by instruction
  std::vector<bool> is_accumulator_;            // by slot
};

}  // namespace

void find_product_chains(std::span<const Mention> mentions, u32 begin, Kernel& kernel) {
  const auto end = static_cast<u32>(kernel.code.size());
  std::vector<u32> products;
  for (u32 i = begin; i < end; ++i)
    if (is_product(kernel, i)) products.push_back(i);
  if (products.empty()) return;
  Chains chains(mentions, kernel);
  for (const u32 product : products) kernel.code[product].may_pend = chains.may_pend(product);
}

}  // namespace tilewright::rt::emulator

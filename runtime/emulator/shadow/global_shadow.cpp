// Splits sectors, and records reads of global memory.
#include "runtime/emulator/shadow/global_shadow.h"

#include "runtime/emulator/shadow/epoch.h"

namespace tilewright::rt::emulator {

void GlobalShadow::split(GlobalShadowCell& sector, u64 address) const {
  // One worker splits the sector, and the others wait for it.
  u64 write = load(sector.write);
  while (write != kSplit &&
         (write == kSplitting || !std::atomic_ref<u64>(sector.write).compare_exchange_weak(write, kSplitting, std::memory_order_acquire)))
    write = load(sector.write);
  if (write == kSplit) return;
  const int count = static_cast<int>(kSectorBytes) >> shift_;
  GlobalShadowCell* const first = cells_ + ((address / kSectorBytes * kSectorBytes >> shift_) - first_cell_);
  for (int k = 0; k < count; ++k) {
    store(first[k].write, epoch_of_granule(write, k, count));
    for (std::size_t r = 0; r < 2; ++r) store(reads(first[k])[r], epoch_of_granule(load(reads(sector)[r]), k, count));
    store(first[k].write_at, load(sector.write_at));
    store(first[k].read_at, load(sector.read_at));
  }
  std::atomic_ref<u64>(sector.write).store(kSplit, std::memory_order_release);
}

void GlobalShadow::remember_read(GlobalShadowCell& cell, u64 epoch, u32 instruction) const {
  u64* const at = reads(cell);
  const u64 last = load(at[0]);
  if (last == epoch) return;
  const bool same_agent = last != 0 && low_of(last) == low_of(epoch) && agent_of(last) == agent_of(epoch);
  if (last != 0 && !same_agent) store(at[1], last);
  store(at[0], same_agent ? merged(epoch, last) : epoch);
  store(cell.read_at, instruction + 1);
}

}  // namespace tilewright::rt::emulator

// How a sector's cell becomes one for each granule.
#include "runtime/emulator/races/global_cells.h"

#include "runtime/emulator/races/access_stamp.h"

namespace tilewright::rt::emulator {

void GlobalCells::take_apart(GlobalCell& sector, u64 address) const {
  // One worker does, and the others wait for it.
  u64 write = load(sector.write);
  while (write != kApart &&
         (write == kParting || !std::atomic_ref<u64>(sector.write).compare_exchange_weak(write, kParting, std::memory_order_acquire)))
    write = load(sector.write);
  if (write == kApart) return;
  const int count = static_cast<int>(kSectorBytes) >> shift_;
  GlobalCell* const first = cells_ + ((address / kSectorBytes * kSectorBytes >> shift_) - first_cell_);
  for (int k = 0; k < count; ++k) {
    store(first[k].write, of_granule(write, k, count));
    for (std::size_t r = 0; r < 2; ++r) store(reads(first[k])[r], of_granule(load(reads(sector)[r]), k, count));
    store(first[k].write_at, load(sector.write_at));
    store(first[k].read_at, load(sector.read_at));
  }
  std::atomic_ref<u64>(sector.write).store(kApart, std::memory_order_release);
}

}  // namespace tilewright::rt::emulator

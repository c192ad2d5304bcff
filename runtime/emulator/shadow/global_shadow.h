// Shadow memory of global memory: a cell for each granule, which holds the epochs of its last write and of the last two reads since then.
// As long as requests access whole sectors of 32 bytes, one cell represents all granules of a sector. Workers share the cells, so every
// access to them is atomic. If two workers overwrite each other's values at the same moment, one is lost, which may hide a race but never
// invents one.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>

#include "runtime/emulator/shadow/deferred_reads.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The last write of a granule or sector of global memory, as an epoch (shadow/epoch.h); 0: none.
struct GlobalShadowCell {
  u64 write = 0;
  u32 write_at = 0;  // instruction of the write
  u32 read_at = 0;   // 1 + the instruction of the last read since then; 0: there is none
};
/// Its last two reads by different agents. Stored separately: most writes come after no reads, and then access half as much memory.
struct GlobalShadowReads {
  u64 at[2] = {0, 0};
};

/// One allocation and its shadow memory.
struct Range {
  u64 begin = 0, bytes = 0;
  u64 end() const { return begin + bytes; }
  GlobalShadowCell *sectors = nullptr, *cells = nullptr;  // zero until used; null: accesses are not checked
  GlobalShadowReads* reads = nullptr;                     // of the sectors, followed by those of the cells
  int granule = 0;                                        // bytes of a shadow cell
  DeferredReads* deferred = nullptr;                      // of the launch, if it defers reads
  u8* written = nullptr;                                  // one byte for each, if reads of unwritten memory are reported
};

/// The shadow cells of an allocation, by address. The allocation need not begin at a sector or granule boundary.
class GlobalShadow {
 public:
  static constexpr u64 kSectorBytes = 32;
  // Values of a sector's write that are not epochs: its granules have cells of their own; a worker is splitting it.
  static constexpr u64 kSplit = ~u64{0}, kSplitting = ~u64{1};

  explicit GlobalShadow(const Range& range)
      : shift_(std::countr_zero(static_cast<u32>(range.granule))),
        sectors_(range.sectors),
        cells_(range.cells),
        reads_(range.reads),
        first_sector_(range.begin / kSectorBytes),
        first_cell_(range.begin / kSectorBytes * kSectorBytes >> shift_) {}

  GlobalShadowCell& sector(u64 address) const { return sectors_[address / kSectorBytes - first_sector_]; }
  static bool is_split(u64 write) { return write >= kSplitting; }
  /// Calls f(address, bytes) for the part of an access in each sector.
  template <class F>
  static void each_sector(u64 address, u64 bytes, F f) {
    for (const u64 end = address + bytes; address < end;) {
      const u64 next = std::min(end, (address / kSectorBytes + 1) * kSectorBytes);
      f(address, next - address);
      address = next;
    }
  }
  /// Calls f(cell) for each granule of an access, after splitting its sectors.
  template <class F>
  void each_granule(u64 address, u64 bytes, F f) const {
    each_sector(address, bytes, [&](u64 at, u64 size) {
      GlobalShadowCell& sector = this->sector(at);
      if (load(sector.write) != kSplit) split(sector, at);
      const u64 end = (at + size - 1) >> shift_;
      for (u64 granule = at >> shift_; granule <= end; ++granule) f(cells_[granule - first_cell_]);
    });
  }

  /// The reads of a sector or a granule.
  u64* reads(const GlobalShadowCell& cell) const { return reads_[&cell - sectors_].at; }
  static bool has_reads(GlobalShadowCell& cell) { return load(cell.read_at) != 0; }
  void remember_read(GlobalShadowCell&, u64 epoch, u32 instruction) const;
  void remember_write(GlobalShadowCell& cell, u64 epoch, u32 instruction) const {
    if (has_reads(cell)) forget_reads(cell);
    store(cell.write_at, instruction);
    store(cell.write, epoch);
  }

  static u64 load(u64& word) { return std::atomic_ref<u64>(word).load(std::memory_order_relaxed); }
  static void store(u64& word, u64 value) { std::atomic_ref<u64>(word).store(value, std::memory_order_relaxed); }
  static u32 load(u32& word) { return std::atomic_ref<u32>(word).load(std::memory_order_relaxed); }
  static void store(u32& word, u32 value) { std::atomic_ref<u32>(word).store(value, std::memory_order_relaxed); }

 private:
  /// Copies the contents of the sector's cell to the cell of each of its granules.
  void split(GlobalShadowCell& sector, u64 address) const;
  void forget_reads(GlobalShadowCell& cell) const {
    for (std::size_t r = 0; r < 2; ++r) store(reads(cell)[r], u64{0});
    store(cell.read_at, u32{0});
  }

  int shift_;
  GlobalShadowCell *sectors_, *cells_;
  GlobalShadowReads* reads_;
  u64 first_sector_, first_cell_;  // the allocation's first ones, counted from address 0
};

}  // namespace tilewright::rt::emulator

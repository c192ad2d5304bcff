// What is remembered of global memory: a cell for each sector of 32 bytes, which mostly one request covers, and where requests cover parts
// of it one for each granule. Workers share them, so every access to them is atomic.
#pragma once
#include <atomic>
#include <bit>

#include "runtime/emulator/memory/memory.h"

namespace tilewright::rt::emulator {

/// The cells of an allocation, by address. Neither need it begin where a sector or a granule does.
class GlobalCells {
 public:
  static constexpr u64 kSectorBytes = 32;
  // In the place of a write, of a sector: each granule has its own cell; and: is about to get it.
  static constexpr u64 kApart = ~u64{0}, kParting = ~u64{1};

  explicit GlobalCells(const Range& range)
      : shift_(std::countr_zero(static_cast<u32>(range.granule))),
        sectors_(range.sectors),
        cells_(range.cells),
        reads_(range.reads),
        first_sector_(range.begin / kSectorBytes),
        first_cell_(range.begin / kSectorBytes * kSectorBytes >> shift_) {}

  /// The granules of an access that lies in one sector.
  struct Granules {
    GlobalCell *first, *last;
    GlobalCell* begin() const { return first; }
    GlobalCell* end() const { return last + 1; }
  };
  Granules granules(u64 address, u64 bytes) const {
    GlobalCell& sector = this->sector(address);
    if (load(sector.write) != kApart) take_apart(sector, address);
    return {cells_ + ((address >> shift_) - first_cell_), cells_ + (((address + bytes - 1) >> shift_) - first_cell_)};
  }
  /// Of a sector or a granule.
  u64* reads(const GlobalCell& cell) const { return reads_[&cell - sectors_].at; }
  void remember_read(GlobalCell& cell, u64 first, u32 instruction) const {
    store(reads(cell)[0], first);
    store(cell.read_at, instruction + 1);
  }
  void forget_reads(GlobalCell& cell) const {
    for (std::size_t r = 0; r < 2; ++r) store(reads(cell)[r], u64{0});
    store(cell.read_at, u32{0});
  }
  static bool has_reads(GlobalCell& cell) { return load(cell.read_at) != 0; }
  GlobalCell& sector(u64 address) const { return sectors_[address / kSectorBytes - first_sector_]; }

  static u64 load(u64& word) { return std::atomic_ref<u64>(word).load(std::memory_order_relaxed); }
  static void store(u64& word, u64 value) { std::atomic_ref<u64>(word).store(value, std::memory_order_relaxed); }
  static u32 load(u32& word) { return std::atomic_ref<u32>(word).load(std::memory_order_relaxed); }
  static void store(u32& word, u32 value) { std::atomic_ref<u32>(word).store(value, std::memory_order_relaxed); }

 private:
  /// Gives each granule of a sector what the sector's cell holds.
  void take_apart(GlobalCell& sector, u64 address) const;

  int shift_;
  GlobalCell *sectors_, *cells_;
  GlobalReads* reads_;
  u64 first_sector_, first_cell_;  // of the allocation, counted from address 0
};

}  // namespace tilewright::rt::emulator

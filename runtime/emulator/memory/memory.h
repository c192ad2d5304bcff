// The global memory of an emulated device: allocations whose device addresses are the host's own.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The last write of a granule of global memory, as race checks know it. See race_check.h.
struct GlobalCell {
  u64 write = 0;
  u32 write_at = 0;  // the instruction
  u32 read_at = 0;   // 1 + the instruction of the last read since; 0: there is none
};
/// Its last two readers. Apart from it: most writes come after no reads, and touch half as much memory.
struct GlobalReads {
  u64 at[2] = {0, 0};
};

class LateReads;

/// One allocation and what checks remember of it.
struct Range {
  u64 begin = 0, bytes = 0;
  u64 end() const { return begin + bytes; }
  GlobalCell *sectors = nullptr, *cells = nullptr;  // see global_cells.h; zeros until touched
  GlobalReads* reads = nullptr;                     // of the sectors, and of the cells behind them
  int granule = 0;                                  // bytes that races are told apart by
  LateReads* late = nullptr;                        // of the launch, if it checks and has bulk loads
  u8* written = nullptr;                            // a byte each, where reads of unwritten memory are looked for
};

/// Thread-safe, except that nothing may be freed while a kernel that uses it runs.
class Memory {
 public:
  /// With `track_writes`, kernels that read what neither a kernel nor the host wrote are found out.
  explicit Memory(bool track_writes = false) : track_writes_(track_writes) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// 256-byte aligned; 0 bytes give an address of their own too. Throws std::bad_alloc.
  u64 allocate(std::size_t bytes);
  /// Requires: an address that allocate() returned.
  void free(u64 address);
  /// Whether all of [address, address + bytes) lies in one allocation.
  bool contains(u64 address, std::size_t bytes) const;
  /// The allocation that an address lies in; bytes 0 if there is none.
  Range find(u64 address) const;
  /// The host's writes: they count as initialisation. Requires: contains(to, bytes).
  void write(u64 to, const void* from, std::size_t bytes);
  void mark_written(u64 address, std::size_t bytes);
  /// Memory of somebody else that kernels may access too, such as a module's variables: until forget().
  void adopt(u64 address, std::size_t bytes);
  void forget(u64 address);
  std::size_t allocated_bytes() const;

  /// All ranges in order of their addresses, with cells of this granule to check races in.
  std::vector<Range> snapshot(int granule, bool with_cells);
  /// Numbers that no launch before used: `count` of them. After 2^24 they start again, and all cells with them.
  u32 take_tickets(u64 count);
  /// Held by a launch: cells describe one launch at a time.
  std::mutex& launching() { return launching_; }

 private:
  struct Allocation {
    Range range;
    bool is_owned = true;
    std::size_t cell_bytes = 0;
  };
  void release(Allocation&);
  static void release_cells(Allocation&);

  mutable std::mutex mutex_;
  std::mutex launching_;
  std::map<u64, Allocation> allocations_;
  std::size_t total_ = 0;
  u64 next_ticket_ = 1;
  bool track_writes_;
};

}  // namespace tilewright::rt::emulator

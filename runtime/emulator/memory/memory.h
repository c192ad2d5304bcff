// The global memory of an emulated device: allocations whose device addresses are the host's own.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/shadow/global_shadow.h"

namespace tilewright::rt::emulator {

/// Thread-safe, except that nothing may be freed while a kernel that uses it runs.
class Memory {
 public:
  /// With `track_writes`, reads of bytes that neither a kernel nor the host wrote are reported.
  explicit Memory(bool track_writes = false) : track_writes_(track_writes) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// 256-byte aligned; 0 bytes give an address of their own too. Throws std::bad_alloc.
  u64 allocate(std::size_t bytes);
  /// Requires: an address that allocate() returned.
  void free(u64 address);
  /// Whether all of [address, address + bytes) is in one allocation.
  bool contains(u64 address, std::size_t bytes) const;
  /// The allocation that an address is in; bytes 0 if there is none.
  Range find(u64 address) const;
  /// The host's writes: they count as initialisation. Requires: contains(to, bytes).
  void write(u64 to, const void* from, std::size_t bytes);
  void mark_written(u64 address, std::size_t bytes);
  /// Lets kernels access memory that is not allocated here, such as a module's variables, until forget().
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

// The global memory of an emulated device: its device addresses are addresses of the host.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/shadow/global_shadow.h"

namespace tilewright::rt::emulator {

/// Thread-safe, except that memory must not be freed while a kernel that uses it runs.
class Memory {
 public:
  /// With `track_writes`, reads of bytes that neither a kernel nor the host has written are reported.
  explicit Memory(bool track_writes = false) : track_writes_(track_writes) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Allocates memory, 256-byte aligned; 0 bytes also give an address of their own. Throws std::bad_alloc.
  u64 allocate(std::size_t bytes);
  /// Requires: an address that allocate() returned.
  void free(u64 address);
  /// Whether all of [address, address + bytes) is in one allocation.
  bool contains(u64 address, std::size_t bytes) const;
  /// The allocation that contains an address; its bytes are 0 if there is none.
  Range find(u64 address) const;
  /// Writes by the host, which initialise memory. Requires: contains(to, bytes).
  void write(u64 to, const void* from, std::size_t bytes);
  void mark_written(u64 address, std::size_t bytes);
  /// Lets kernels access memory that was not allocated here, such as a module's variables, until forget().
  void adopt(u64 address, std::size_t bytes);
  void forget(u64 address);
  std::size_t allocated_bytes() const;

  /// All ranges in order of their addresses, with shadow cells of this granule if `with_cells`.
  std::vector<Range> snapshot(int granule, bool with_cells);
  /// Returns the first of `count` numbers that no earlier launch has used. After 2^24 they start again, and all cells are reset.
  u32 take_tickets(u64 count);
  /// A launch holds this mutex, since cells describe only one launch at a time.
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

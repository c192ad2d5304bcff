// The rule of data races: an access that conflicts with an earlier one, and is neither ordered after it nor morally strong with it, is
// reported (PTX ISA, "Memory Consistency Model", "Conflict and Data-races").
//
// The rule, for each lane of an access and each shadow cell that it touches (shared_checker.cpp, global_checker.cpp):
//   1. conflicts: every access conflicts with the cell's last write; a write also conflicts with the reads since then.
//   2. Is it ordered? happens_before() looks up the earlier access's epoch in the clocks that the warp has acquired.
//   3. Is it morally strong? Strong accesses whose scopes include each other do not race.
//   4. Reports a conflict that is neither; a second write of the same value is allowed.
//   5. Records the access: a write replaces all earlier accesses, a read is added to the reads since the write.
//
// The rule keeps no state between accesses except shadow memory. checker_fast.h has the fast path: it may only find that an access has
// nothing to report, and leaves shadow memory as the rule would.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "runtime/emulator/races/happens_before.h"
#include "runtime/emulator/races/request.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch_state.h"

namespace tilewright::rt::emulator {

inline constexpr u64 kMbarrierBytes = 8;

/// Checks accesses of one accessor to a block's shared memory.
class SharedChecker {
 public:
  SharedChecker(const Accessor&, Block&);
  /// Checks a lane's read of `bytes` at an offset, and reports bytes that were never written.
  void read(int lane, u64 offset, int bytes);
  /// Checks a lane's write. `value`: the bytes that it writes; null if unknown.
  void write(int lane, u64 offset, int bytes, const std::byte* value);

  /// Steps 1 to 3 for one earlier access.
  bool conflicts(u64 earlier, int lane, bool is_write) const;
  /// Step 5 for a read.
  void remember_read(SharedShadowCell&, int lane);
  u64 epoch(int lane) const { return with_lane(epoch_, static_cast<u32>(lane)); }
  /// The clocks of the proxy fence that this access needs after the earlier one; null if it needs no fence.
  const AcquireClocks* fenced_before(u64 earlier, bool is_write) const;
  u32 number_of(u64 earlier) const { return block.cluster->blocks[rank_of(earlier)]->number; }

  const Accessor& by;
  Block& block;
  const int shift;  // from offsets to granules

 private:
  void check_mbarriers(int lane, u64 offset, int bytes);
  void check_unwritten(int lane, u64 offset, int bytes);
  void check_reads_before(SharedShadowCell&, int lane, u64 granule);
  void report(int lane, u64 granule, u64 earlier, const char* what, const char* kind);

  u64 epoch_;  // epoch of lane 0
};

/// Checks accesses of one accessor to global memory.
class GlobalChecker {
 public:
  explicit GlobalChecker(const Accessor&);
  void read(int lane, const Range&, u64 address, int bytes);
  void write(int lane, const Range&, u64 address, int bytes, const std::byte* value);
  /// Checks a lane's read of all these runs, which are in one range.
  void read(int lane, const Range&, std::span<const GlobalRun>);
  /// Reports bytes that this launch has written. `ld.global.nc` may only read memory "that is read-only for the duration of the kernel":
  /// its cache keeps old values, so an order between the write and the read does not help.
  void expect_unwritten(int lane, const Range&, u64 address, u64 bytes);

  /// See SharedChecker.
  bool conflicts(u64 earlier, int lane, bool is_write) const;
  bool is_atomic_to(u64 earlier) const;
  u64 epoch(u32 lane) const { return with_lane(epoch_, lane); }
  const AcquireClocks* fenced_before(u64 earlier, bool is_write) const;
  /// Whether the access belongs to an earlier launch, or there was no access.
  bool is_of_earlier_launch(u64 earlier) const { return low_of(earlier) < first_ticket_; }
  u32 number_of(u64 earlier) const { return low_of(earlier) - first_ticket_; }

  const Accessor& by;

 private:
  std::string name_of_other(u64 earlier) const;
  void report(int lane, const Range&, u64 address, u64 earlier, u32 at, const char* what, const char* kind);

  u64 epoch_;  // epoch of lane 0
  u32 first_ticket_;
};

inline void check_shared_read(const Accessor& by, Block& block, int lane, u64 offset, int bytes) {
  SharedChecker(by, block).read(lane, offset, bytes);
}
inline void check_shared_write(const Accessor& by, Block& block, int lane, u64 offset, int bytes, const std::byte* value) {
  SharedChecker(by, block).write(lane, offset, bytes, value);
}
inline void check_global_read(const Accessor& by, int lane, const Range& range, u64 address, int bytes) {
  GlobalChecker(by).read(lane, range, address, bytes);
}

/// Checks the accesses of a request before they are executed, if accesses are checked: first by the fast path, then by the rule.
class RequestCheck {
 public:
  RequestCheck(const Accessor& by, const Request& request);
  void read(int lane, int bytes);
  /// `value`: the bytes that the lane writes; null if unknown.
  void write(int lane, int bytes, const std::byte* value);
  /// A read by all lanes.
  void read(int bytes);
  /// A write by all lanes, before any of them is executed; `values` starts with lane 0. Returns false, and does nothing, if two lanes may
  /// write the same bytes: then each lane must write before the next lane is checked.
  bool write_apart(int bytes, const std::byte* values);
  /// See GlobalChecker::expect_unwritten.
  void expect_unwritten(int bytes);

 private:
  const Accessor& by_;
  const Request& request_;
  bool has_fast_;
  std::optional<SharedChecker> shared_;
  std::optional<GlobalChecker> global_;
};

/// Checks a read by a single lane.
inline void check_read(const Accessor& by, const Request& request, int lane, int bytes) { RequestCheck(by, request).read(lane, bytes); }
inline void check_write(const Accessor& by, const Request& request, int lane, int bytes, const std::byte* value) {
  RequestCheck(by, request).write(lane, bytes, value);
}

}  // namespace tilewright::rt::emulator

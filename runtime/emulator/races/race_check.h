// Happens-before races on shared and global memory: each granule remembers who wrote and read it last and when, in the clocks of the
// agents, and an access that does not know of an earlier one that conflicts with it is a race.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "runtime/emulator/races/global_cells.h"
#include "runtime/emulator/races/late_reads.h"
#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct Places;
struct RequestShape;

inline constexpr u64 kMbarrierBytes = 8;

/// Who accesses: an agent of `owner` at an epoch of its own, for an instruction of a warp, knowing what `view` says.
struct Accessor {
  Warp* warp;
  const Instruction* instruction;
  int agent;
  u32 epoch;
  const Block* owner;
  const View* view;             // of the warp
  const AsyncViews* async;      // of the warp, for an access through the asynchronous proxy: all that it may rely on of earlier writes
                                // through the generic one. Null: a generic access
  bool is_on_mbarrier = false;  // an operation on the object that is there
  bool ends_mbarrier = false;   // mbarrier.inval
  // Of a read of a tensor map, which has a proxy of its own: all that it may rely on of earlier writes through the generic one.
  const View* tensor_map = nullptr;
};

inline Accessor accessor_of(Warp& warp, const Instruction& instruction) {
  return {&warp, &instruction, warp.index, warp.epoch, warp.block, &warp.view, nullptr};
}
/// An engine's access at its epoch, as of now.
inline Accessor engine_of(Warp& warp, const Instruction& instruction, const Block& owner, int agent, u32 epoch) {
  return {&warp, &instruction, agent, epoch, &owner, &warp.view, is_async_proxy(agent) ? &warp.async : nullptr};
}

/// Who is known to come before an accessor, or not to, with all accesses of an epoch: mostly a request meets few others, many times.
class KnownAgents {
 public:
  /// `who`: the bits of a stamp that tell agents and their epochs apart.
  bool has(u64 who) const { return at_[place_of(who)] == who; }
  void add(u64 who) { at_[place_of(who)] = who; }

 private:
  static std::size_t place_of(u64 who) { return (who >> 24) % 8; }  // by agent
  std::array<u64, 8> at_{};
};

/// Checks accesses of one accessor to a block's shared memory. Granules side by side mostly have the same history: which earlier accesses
/// are in order is found out once.
class SharedCheck {
 public:
  SharedCheck(const Accessor&, Block&);
  /// A lane's read of `bytes` at an offset; also finds bytes that nobody wrote.
  void read(int lane, u64 offset, int bytes);
  /// A lane's write. `value` is what it writes, null if that is not known: a second write of the same value harms nobody.
  void write(int lane, u64 offset, int bytes, const std::byte* value);
  /// A read by each lane of the places that is in this block.
  void read(const Places&, int bytes);
  /// See RequestCheck::write_apart.
  bool write_apart(const Places&, int bytes, const std::byte* values);
  /// Whether a lane may read what this write left, as a cell holds it, and write to a cell that has no list of readers.
  bool may_read_after(u64 write, int lane);
  bool may_write_after(const SharedCell&, int lane);
  /// Whether a lane's read finds that all is written, and comes after that.
  bool may_read(int lane, u64 offset, int bytes);
  /// Lets the cells of an mbarrier know of its users.
  void settle(Mbarrier&, u64 offset);
  /// What a cell is to remember after a lane's read in which there was nothing to find, and after a lane's write.
  void remember_read(SharedCell&, int lane);
  SharedCell written_by(int lane) const { return {stamp_ | static_cast<u64>(lane) << 34, {}}; }
  /// Whether all lanes may read what all of the writer's did in that epoch.
  bool all_may_read_after(u64 write) const;

 private:
  u32 number_of(u64 stamp) const;
  /// What a write has to be a part of to be seen, if there is such; null if not.
  const View* fenced_before(u64 stamp, bool is_write) const;
  bool is_ordered_after(u64 stamp, int lane, bool is_write) const;
  /// Whether it comes before all lanes' accesses, as far as that can be seen at once: true for almost all that do.
  bool is_seen_before(u64 stamp, bool is_write) const;
  /// Whether it conflicts. Who comes before it for all lanes is added to `good`.
  bool conflicts(u64 stamp, int lane, bool is_write, KnownAgents& good) const;
  bool find_conflict(u64 stamp, int lane, bool is_write, KnownAgents& good) const;
  void read_lane(int lane, u64 offset, int bytes);
  void read_granule(u64 cell, int lane, u64 mine);
  bool read_in_order(const Places&, int bytes);
  void check_unwritten(int lane, u64 offset, int bytes);
  bool are_written(const RequestShape&, const Places&, int bytes) const;
  void check_mbarriers(int lane, u64 offset, int bytes);
  bool may_meet_mbarriers(const Places&, int bytes) const;
  /// Whether all that the cell remembers comes before all lanes' writes, as far as that can be seen at once.
  bool is_all_seen_before(const SharedCell&);
  void check_before_write(SharedCell&, int lane, u64 cell, u64 offset, int bytes, const std::byte* value);
  void check_reads_before(SharedCell&, int lane, u64 cell);
  void write_cells(u64 begin, u64 end, int lane, u64 offset, int bytes, const std::byte* value);
  void remember_read(SharedCell&, int lane, u64 mine);
  bool read_as_before(SharedCell&, u64 mine) const;
  bool read_in_order(SharedCell&, int lane, u64 mine);
  void remember(SharedCell&, int lane, u64 mine);
  void remember_among_many(SharedCell&, int lane, u64 mine);
  bool is_over(u64 read, int lane);
  void report(int lane, u64 cell, u64 stamp, const char* what, const char* earlier);

  const Accessor& by_;
  Block& block_;
  const Clock& clock_;  // what is known of the accessor's own block
  u32 own_rank_;        // of that block
  int shift_;           // of offsets, to cells
  u64 stamp_;           // of lane 0
  KnownAgents good_writes_, good_reads_, concurrent_reads_;
  SharedCell last_before_{};  // of which is_all_seen_before() was true
  // Of a cell without a second read: its first one, and which of the two a read by any lanes becomes.
  struct {
    u64 first = 0;
    std::size_t place = 0;
  } last_read_;
};

/// The same for global memory.
class GlobalCheck {
 public:
  explicit GlobalCheck(const Accessor&);
  void read(int lane, const Range& range, u64 address, int bytes);
  void write(int lane, const Range& range, u64 address, int bytes, const std::byte* value);
  /// A read by each lane of the places.
  void read(const Places&, int bytes);
  /// See RequestCheck::write_apart.
  bool write_apart(const Places&, int bytes, const std::byte* values);
  /// A lane's read of all these runs, which lie in one range.
  void read(int lane, const Range&, std::span<const GlobalRun>);
  /// Reports places that this launch has written. `ld.global.nc` may only read memory "that is read-only for the duration of the kernel":
  /// its cache keeps old values, so that no order between the write and the read helps.
  void expect_unwritten(const Places&, int bytes);

 private:
  void expect_unwritten(int lane, const Range&, u64 address, u64 bytes);
  std::string name_of_other(u64 stamp) const;
  /// What a write through the generic proxy has to be a part of. Requires: the access is not generic.
  const View& fenced() const { return by_.tensor_map != nullptr ? *by_.tensor_map : by_.async->global; }
  const View* fenced_before(u64 stamp, bool is_write) const;
  bool is_ordered_after(u64 stamp, int lane, bool is_write) const;
  bool is_atomic_to(u64 stamp) const;
  /// As of shared memory.
  bool is_seen_before(u64 stamp, bool is_write) const;
  bool conflicts(u64 stamp, int lane, bool is_write, KnownAgents& good) const;
  bool find_conflict(u64 stamp, int lane, bool is_write, KnownAgents& good) const;
  /// Whether an access by the lanes of `mine`, one or a group, comes after that of a sector's stamp, in all granules.
  bool is_in_order(u64 stamp, u64 mine, bool is_write, KnownAgents& good) const;
  bool is_known_good(u64 stamp, u64 mine, bool is_write, KnownAgents& good) const;
  /// Accesses to all of a sector. False, and nothing is done, if its granules have to be looked at.
  bool read_sector(const GlobalCells&, GlobalCell&, u64 mine);
  bool write_sector(const GlobalCells&, GlobalCell&, u64 mine);
  /// `address`: of the access, of which `size` bytes at `at` lie in one sector.
  void read_granules(const GlobalCells&, int lane, const Range&, u64 address, u64 at, u64 size);
  void write_granules(const GlobalCells&, int lane, const Range&, u64 address, int bytes, const std::byte* value, u64 at, u64 size);
  void bring_together(const GlobalCells&, GlobalCell& sector, u64 mine) const;
  /// The ways of write_apart(): by sectors, or some lanes one after the other.
  void write_whole_sectors(const Places&, int bytes, const std::byte* values);
  void write_lanes(const Places&, int bytes, const std::byte* values, u32 first, u32 end);
  bool read_in_order(const Places&, int bytes);
  void check_reads_before(const GlobalCells&, GlobalCell&, int lane, const Range&, u64 address);
  void report(int lane, const Range&, u64 address, u64 stamp, u32 at, const char* what, const char* earlier);

  const Accessor& by_;
  const Clock& clock_;  // what is known of the accessor's own block
  u64 stamp_;           // of lane 0
  u32 first_ticket_, own_ticket_;
  KnownAgents good_writes_, good_reads_;
};

inline void check_shared_read(const Accessor& by, Block& block, int lane, u64 offset, int bytes) {
  SharedCheck(by, block).read(lane, offset, bytes);
}
inline void check_shared_write(const Accessor& by, Block& block, int lane, u64 offset, int bytes, const std::byte* value) {
  SharedCheck(by, block).write(lane, offset, bytes, value);
}
inline void check_global_read(const Accessor& by, int lane, const Range& range, u64 address, int bytes) {
  GlobalCheck(by).read(lane, range, address, bytes);
}

/// Makes what these lanes know of their own block a part of what the warp would tell other blocks.
void learn_own(Warp&, Mask lanes);
/// Lets the warp know what warps of other blocks do.
void take_view(Warp&, const View&, const AsyncViews&);
/// What these lanes of the warp know, for others to take; their later accesses are not covered.
Knowledge publish(Warp&, Mask lanes, bool whole_gpu);
/// Lets the warp know what was released, as far as the scope reaches.
void take_knowledge(Warp&, const Knowledge&, bool whole_gpu);
/// What a strong write of these lanes that is about to be done releases: all that is known, or what was at the last fence.
Knowledge released_by(Warp&, const Instruction&, Mask lanes);
/// Whoever reads the lane's place may take it. A plain store ends what earlier writes released there; atomics add to it.
void release_through(Warp&, const Knowledge&, const Places&, int lane, bool replaces);
/// A strong read of the lane's place is done: takes what was released there, now or at the next fence.
void acquire_through(Warp&, const Instruction&, const Places&, int lane);

}  // namespace tilewright::rt::emulator

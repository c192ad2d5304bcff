// Cells of global memory, which all workers share: every access to them is atomic. What two workers overwrite of each other's at the
// same moment is lost, which may hide a race but never invents one.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/emulator/access_stamp.h"
#include "runtime/emulator/memory_access.h"

namespace tilewright::rt::emulator {
namespace {

// The bits of a stamp that tell agents and their epochs apart, of all blocks of all launches.
constexpr u64 kWho = ~(kLane | kStrong | kWide);

u64 load(u64& word) { return std::atomic_ref<u64>(word).load(std::memory_order_relaxed); }
void store(u64& word, u64 value) { std::atomic_ref<u64>(word).store(value, std::memory_order_relaxed); }
u32 load(u32& word) { return std::atomic_ref<u32>(word).load(std::memory_order_relaxed); }
void store(u32& word, u32 value) { std::atomic_ref<u32>(word).store(value, std::memory_order_relaxed); }

// An allocation need not begin where a granule does.
class Cells {
 public:
  explicit Cells(const Range& range)
      : shift_(std::countr_zero(static_cast<u32>(range.granule))), cells_(range.cells - (range.begin >> shift_)) {}
  GlobalCell* begin(u64 address) const { return cells_ + (address >> shift_); }
  GlobalCell* end(u64 address, int bytes) const { return begin(address + static_cast<u64>(bytes) - 1) + 1; }

 private:
  int shift_;
  GlobalCell* cells_;
};

}  // namespace

GlobalCheck::GlobalCheck(const Accessor& by)
    : by_(by),
      stamp_(make_stamp(by, 0, by.owner->ticket) | (by.instruction->whole_gpu ? kWide : 0)),
      first_ticket_(by.warp->worker->launch->first_ticket) {}

const View* GlobalCheck::fenced_before(u64 stamp, bool is_write) const {
  return needs_proxy_fence(by_, stamp, is_write) ? &by_.async->global : nullptr;
}

bool GlobalCheck::is_ordered_after(u64 stamp, int lane, bool is_write) const {
  return low_of(stamp) < first_ticket_ || is_ordered(by_, lane, stamp, low_of(stamp) - first_ticket_, fenced_before(stamp, is_write));
}

bool GlobalCheck::is_atomic_to(u64 stamp) const {
  return are_atomic(by_, stamp) && (low_of(stamp) == low_of(stamp_) || (stamp & stamp_ & kWide) != 0);
}

bool GlobalCheck::find_conflict(u64 stamp, int lane, bool is_write, KnownAgents& good) const {
  if (stamp == 0 || good.has(stamp & kWho) || is_atomic_to(stamp)) return false;
  if (!is_ordered_after(stamp, lane, is_write)) return true;
  if (low_of(stamp) < first_ticket_ || is_epoch_ordered(by_, stamp, low_of(stamp) - first_ticket_, fenced_before(stamp, is_write)))
    good.add(stamp & kWho);
  return false;
}

inline bool GlobalCheck::conflicts(u64 stamp, int lane, bool is_write, KnownAgents& good) const {
  return !good.is_last(stamp & kWho) && find_conflict(stamp, lane, is_write, good);
}

void GlobalCheck::report(int lane, const Range& range, u64 address, u64 stamp, u32 at, const char* what, const char* earlier) {
  std::string who = agent_name(agent_of(stamp));
  if (low_of(stamp) != by_.warp->block->ticket)
    who += " of another block";
  else if (agent_of(stamp) == by_.warp->index)
    who = "another lane of the same warp";
  const bool needs_only_fence = needs_proxy_fence(by_, stamp, earlier[0] == 'w') && is_ordered_after(stamp, lane, false);
  const char* why = needs_only_fence         ? kNoProxyFence
                    : are_atomic(by_, stamp) ? ", because one of them is atomic to its own block alone"
                                             : "";
  report_race(by_, lane, what, earlier,
              fmt::format("of global memory at byte {} of an allocation of {} bytes", address - range.begin, range.bytes), who, at, why);
}

/// `is_several`: of the request, more than one lane reads this.
inline void GlobalCheck::remember(GlobalCell& cell, u64 mine, bool is_several) const {
  const u64 last = load(cell.reads[0]);
  if (last == mine && !is_several) return;
  // The last two readers that are different agents are kept.
  const bool same_agent = last != 0 && low_of(last) == low_of(mine) && agent_of(last) == by_.agent;
  if (last != 0 && !same_agent) store(cell.reads[1], last);
  store(cell.reads[0], same_agent ? merged(mine, last) : mine);
  store(cell.read_at, by_.instruction->index);
}

void GlobalCheck::read(int lane, const Range& range, u64 address, int bytes) {
  const u64 mine = stamp_ | static_cast<u64>(lane) << 34;
  const Cells cells(range);
  for (GlobalCell *cell = cells.begin(address), *end = cells.end(address, bytes); cell != end; ++cell) {
    const u64 write = load(cell->write);
    if (conflicts(write, lane, true, good_writes_)) report(lane, range, address, write, load(cell->write_at), "the read", "write");
    remember(*cell, mine, false);
  }
}

/// Reads by all lanes that come after all writes. False if there is more to find out, lane by lane; what has been done so far need not be
/// undone then.
bool GlobalCheck::read_in_order(const Places& places, int bytes) {
  if (places.shape == nullptr || bytes < places.one_range->granule) return false;
  const RequestShape& shape = *places.shape;
  const Cells cells(*places.one_range);
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.places); ++k) {
    const int lane = shape.first[k];
    const bool is_several = shape.who[k] == kSeveralLanes;
    const u64 mine = stamp_ | u64{shape.who[k]} << 34, address = places.address[shape.first[k]];
    for (GlobalCell *cell = cells.begin(address), *end = cells.end(address, bytes); cell != end; ++cell) {
      const u64 write = load(cell->write);
      if (conflicts(write, lane, true, good_writes_)) return false;
      // It may be in order for the first of them alone.
      if (is_several && write != 0 && !good_writes_.is_last(write & kWho)) return false;
      remember(*cell, mine, is_several);
    }
  }
  return true;
}

void GlobalCheck::read(const Places& places, int bytes) {
  if ((places.one_range != nullptr && places.one_range->cells == nullptr) || read_in_order(places, bytes)) return;
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(places.mask, lane) && places.range_of(lane).cells != nullptr)
      read(lane, places.range_of(lane), places.address[static_cast<std::size_t>(lane)], bytes);
}

inline void GlobalCheck::check_reads_before(GlobalCell& cell, int lane, const Range& range, u64 address) {
  for (u64& read : cell.reads) {
    const u64 other = load(read);
    if (other == 0) continue;
    if (conflicts(other, lane, false, good_reads_)) report(lane, range, address, other, load(cell.read_at), "the write", "read");
    store(read, 0);
  }
}

inline void GlobalCheck::write_cells(GlobalCell* begin, GlobalCell* end, int lane, const Range& range, u64 address, int bytes,
                                     const std::byte* value) {
  for (GlobalCell* cell = begin; cell != end; ++cell) {
    const u64 write = load(cell->write);
    if (conflicts(write, lane, true, good_writes_)) {
      const bool same =
          value != nullptr && std::memcmp(reinterpret_cast<const void*>(address), value, static_cast<std::size_t>(bytes)) == 0;
      if (!same) report(lane, range, address, write, load(cell->write_at), "the write", "write");
    }
    check_reads_before(*cell, lane, range, address);
    store(cell->write, stamp_ | static_cast<u64>(lane) << 34);
    store(cell->write_at, by_.instruction->index);
  }
}

void GlobalCheck::write(int lane, const Range& range, u64 address, int bytes, const std::byte* value) {
  const Cells cells(range);
  write_cells(cells.begin(address), cells.end(address, bytes), lane, range, address, bytes, value);
}

bool GlobalCheck::write_apart(const Places& places, int bytes, const std::byte* values) {
  if (places.shape == nullptr || !places.shape->is_apart()) return false;
  const Range& range = *places.one_range;
  if (range.cells == nullptr) return true;
  if (bytes < range.granule) return false;
  const Cells cells(range);
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 address = places.address[static_cast<std::size_t>(lane)];
    write_cells(cells.begin(address), cells.end(address, bytes), lane, range, address, bytes,
                values != nullptr ? values + lane * bytes : nullptr);
  }
  return true;
}

}  // namespace tilewright::rt::emulator

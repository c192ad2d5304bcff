// Cells of global memory, which all workers share: every access to them is atomic. What two workers overwrite of each other's at the
// same moment is lost, which may hide a race but never invents one.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/host_atomics.h"
#include "runtime/emulator/races/access_stamp.h"

namespace tilewright::rt::emulator {
namespace {

// The bits of a stamp that tell agents and their epochs apart, of all blocks of all launches.
constexpr u64 kWho = ~(kLane | kStrong | kWide);

constexpr u64 kSectorBytes = GlobalCells::kSectorBytes;

template <class T>
T load(T& word) {
  return GlobalCells::load(word);
}
template <class T>
void store(T& word, T value) {
  GlobalCells::store(word, value);
}

/// Calls f(address, bytes) for the part of an access in each sector.
template <class F>
void each_sector(u64 address, u64 bytes, F f) {
  for (const u64 end = address + bytes; address < end;) {
    const u64 next = std::min(end, (address / kSectorBytes + 1) * kSectorBytes);
    f(address, next - address);
    address = next;
  }
}

/// Calls f(lane, lanes, address, who) for each sector of a request that has whole ones: its first lane, how many there are, and both in the
/// place of a lane.
template <class F>
void each_group(const Places& places, int bytes, F f) {
  const u32 lanes = static_cast<u32>(kSectorBytes) >> std::countr_zero(static_cast<u32>(bytes));
  u32 who = lanes == 1 ? 0 : group_of_lanes(0, lanes);
  for (u32 lane = 0; lane < kLanes; lane += lanes, ++who) f(lane, lanes, places.address[lane], who);
}

/// `last`: what is remembered as the last read.
inline void remember_read(const GlobalCells& cells, GlobalCell& cell, u64 mine, u64 last, u32 instruction) {
  // The last two readers that are different agents are kept.
  const bool same_agent = last != 0 && low_of(last) == low_of(mine) && agent_of(last) == agent_of(mine);
  if (last != 0 && !same_agent) store(cells.reads(cell)[1], last);
  cells.remember_read(cell, same_agent ? merged(mine, last) : mine, instruction);
}

/// Whether some granules of a sector may have been read by the same lane before, and some by another.
bool may_differ(u64 last, u64 mine) { return ((last ^ mine) & kWho) == 0 && lane_of(last) != lane_of(mine); }

/// To be done ahead of all accesses to cells of the range.
[[gnu::always_inline]] inline void settle(const Range& range, bool is_write) {
  if (range.late == nullptr || range.late->is_settled(is_write)) return;
  const GlobalCells cells(range);
  const auto settle_one = [&](GlobalCell& cell, const LateRead& read) {
    if (const u64 last = load(cells.reads(cell)[0]); last != read.stamp) remember_read(cells, cell, read.stamp, last, read.instruction);
  };
  range.late->settle(is_write, [&](const LateRead& read, std::span<const GlobalRun> runs) {
    const auto settle_part = [&](u64 at, u64 size) {
      GlobalCell& sector = cells.sector(at);
      const u64 write = load(sector.write);
      const bool is_apart = write == GlobalCells::kApart || write == GlobalCells::kParting;
      if (size == kSectorBytes && !is_apart && !may_differ(load(cells.reads(sector)[0]), read.stamp)) return settle_one(sector, read);
      for (GlobalCell& cell : cells.granules(at, size)) settle_one(cell, read);
    };
    for (const GlobalRun& run : runs) run.each_row([&](u64 address, u64 bytes) { each_sector(address, bytes, settle_part); });
  });
}

}  // namespace

GlobalCheck::GlobalCheck(const Accessor& by)
    : by_(by),
      clock_(by.view->clock),
      stamp_(make_stamp(by, 0, by.owner->ticket) | (by.instruction->whole_gpu ? kWide : 0)),
      first_ticket_(by.warp->worker->launch->first_ticket),
      own_ticket_(by.warp->block->ticket) {}

inline const View* GlobalCheck::fenced_before(u64 stamp, bool is_write) const {
  return needs_proxy_fence(by_, stamp, is_write) ? &fenced() : nullptr;
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

inline bool GlobalCheck::is_seen_before(u64 stamp, bool is_write) const {
  // That nobody did anything yet has a ticket before all others.
  return low_of(stamp) < first_ticket_ ||
         (low_of(stamp) == own_ticket_ && knows_epoch(clock_, stamp) &&
          (by_.async == nullptr || !needs_proxy_fence(by_, stamp, is_write) || knows_epoch(fenced().clock, stamp)));
}

inline bool GlobalCheck::conflicts(u64 stamp, int lane, bool is_write, KnownAgents& good) const {
  return !is_seen_before(stamp, is_write) && find_conflict(stamp, lane, is_write, good);
}

std::string GlobalCheck::name_of_other(u64 stamp) const {
  const std::string name = agent_name(agent_of(stamp));
  if (low_of(stamp) != by_.warp->block->ticket) return name + " of another block";
  return agent_of(stamp) == by_.warp->index ? "another lane of the same warp" : name;
}

void GlobalCheck::report(int lane, const Range& range, u64 address, u64 stamp, u32 at, const char* what, const char* earlier) {
  const bool needs_only_fence = needs_proxy_fence(by_, stamp, earlier[0] == 'w') && is_ordered_after(stamp, lane, false);
  const char* why = needs_only_fence         ? by_.tensor_map != nullptr ? kNoTensorMapFence : kNoProxyFence
                    : are_atomic(by_, stamp) ? ", because one of them is atomic to its own block alone"
                                             : "";
  report_race(by_, lane, what, earlier,
              fmt::format("of global memory at byte {} of an allocation of {} bytes", address - range.begin, range.bytes),
              name_of_other(stamp), at, why);
}

bool GlobalCheck::is_known_good(u64 stamp, u64 mine, bool is_write, KnownAgents& good) const {
  if (stamp == GlobalCells::kApart || stamp == GlobalCells::kParting) return false;
  if (good.has(stamp & kWho) || is_atomic_to(stamp)) return true;
  const View* const fenced = fenced_before(stamp, is_write);
  if (low_of(stamp) < first_ticket_ || is_epoch_ordered(by_, stamp, low_of(stamp) - first_ticket_, fenced)) {
    good.add(stamp & kWho);
    return true;
  }
  // The same lanes did that to the same granules.
  return fenced == nullptr && agent_of(stamp) == by_.warp->index && low_of(stamp) == own_ticket_ && lane_of(stamp) == lane_of(mine) &&
         lane_of(mine) != kSeveralLanes;
}

inline bool GlobalCheck::is_in_order(u64 stamp, u64 mine, bool is_write, KnownAgents& good) const {
  return is_seen_before(stamp, is_write) || is_known_good(stamp, mine, is_write, good);
}

inline bool GlobalCheck::read_sector(const GlobalCells& cells, GlobalCell& sector, u64 mine) {
  if (!is_in_order(load(sector.write), mine, true, good_writes_)) return false;
  const u64 last = load(cells.reads(sector)[0]);
  if (last == mine) return true;
  if (may_differ(last, mine)) return false;
  remember_read(cells, sector, mine, last, by_.instruction->index);
  return true;
}

void GlobalCheck::read_granules(const GlobalCells& cells, int lane, const Range& range, u64 address, u64 at, u64 size) {
  const u64 mine = stamp_ | static_cast<u64>(lane) << 34;
  for (GlobalCell& cell : cells.granules(at, size)) {
    const u64 write = load(cell.write);
    if (conflicts(write, lane, true, good_writes_)) report(lane, range, address, write, load(cell.write_at), "the read", "write");
    const u64 last = load(cells.reads(cell)[0]);
    if (last != mine) remember_read(cells, cell, mine, last, by_.instruction->index);
  }
}

void GlobalCheck::read(int lane, const Range& range, std::span<const GlobalRun> runs) {
  if (range.late != nullptr && range.late->add({stamp_ | static_cast<u64>(lane) << 34, by_.instruction->index}, runs)) return;
  for (const GlobalRun& run : runs) run.each_row([&](u64 address, u64 bytes) { read(lane, range, address, static_cast<int>(bytes)); });
}

void GlobalCheck::read(int lane, const Range& range, u64 address, int bytes) {
  settle(range, false);
  const GlobalCells cells(range);
  each_sector(address, static_cast<u64>(bytes), [&](u64 at, u64 size) {
    if (size == kSectorBytes && read_sector(cells, cells.sector(at), stamp_ | static_cast<u64>(lane) << 34)) return;
    read_granules(cells, lane, range, address, at, size);
  });
}

/// Reads by all lanes that come after all writes, where several lanes read the same. False if there is more to find out, lane by lane; what
/// has been done so far need not be undone then.
bool GlobalCheck::read_in_order(const Places& places, int bytes) {
  const RequestShape& shape = *places.shape;
  const GlobalCells cells(*places.one_range);
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.places); ++k) {
    const int lane = shape.first[k];
    const bool is_several = shape.who[k] == kSeveralLanes;
    const u64 mine = stamp_ | u64{shape.who[k]} << 34;
    for (GlobalCell& cell : cells.granules(places.address[shape.first[k]], static_cast<u64>(bytes))) {
      const u64 write = load(cell.write);
      if (conflicts(write, lane, true, good_writes_)) return false;
      // It may be in order for the first of them alone.
      if (is_several && !is_seen_before(write, true)) return false;
      const u64 last = load(cells.reads(cell)[0]);
      if (last != mine || is_several) remember_read(cells, cell, mine, last, by_.instruction->index);
    }
  }
  return true;
}

void GlobalCheck::read(const Places& places, int bytes) {
  if (places.one_range != nullptr && places.one_range->cells == nullptr) return;
  if (places.one_range != nullptr) settle(*places.one_range, false);
  if (places.shape != nullptr && places.shape->has_whole_sectors) {
    const GlobalCells cells(*places.one_range);
    return each_group(places, bytes, [&](u32 first, u32 lanes, u64 address, u32 who) {
      if (read_sector(cells, cells.sector(address), stamp_ | u64{who} << 34)) return;
      for (u32 lane = first; lane < first + lanes; ++lane) {
        const u64 at = places.address[lane];
        read_granules(cells, static_cast<int>(lane), *places.one_range, at, at, static_cast<u64>(bytes));
      }
    });
  }
  if (places.shape != nullptr && bytes >= places.one_range->granule && read_in_order(places, bytes)) return;
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(places.mask, lane) && places.range_of(lane).cells != nullptr)
      read(lane, places.range_of(lane), places.address[static_cast<std::size_t>(lane)], bytes);
}

void GlobalCheck::expect_unwritten(int lane, const Range& range, u64 address, u64 bytes) {
  const auto check = [&](u64 write, u32 at) {
    if (low_of(write) < first_ticket_) return;
    emulator::report(*by_.warp, *by_.instruction, FindingKind::non_coherent, lane, [&] {
      const bool is_same_warp = low_of(write) == own_ticket_ && agent_of(write) == by_.warp->index;
      return fmt::format(
          "byte {} of an allocation of {} bytes was written by {} at {}, in the same launch: expected memory that is only read, or no "
          "'.nc'",
          address - range.begin, range.bytes, is_same_warp ? "the same warp" : name_of_other(write), place_of(*by_.warp, at));
    });
  };
  const GlobalCells cells(range);
  each_sector(address, bytes, [&](u64 at, u64 size) {
    GlobalCell& sector = cells.sector(at);
    const u64 write = load(sector.write);
    if (write != GlobalCells::kApart && write != GlobalCells::kParting) return check(write, load(sector.write_at));
    for (GlobalCell& cell : cells.granules(at, size)) check(load(cell.write), load(cell.write_at));
  });
}

void GlobalCheck::expect_unwritten(const Places& places, int bytes) {
  if (places.one_range != nullptr && places.one_range->cells == nullptr) return;
  if (places.shape != nullptr && places.shape->has_whole_sectors)
    return each_group(places, bytes, [&](u32 first, u32, u64 address, u32) {
      expect_unwritten(static_cast<int>(first), *places.one_range, address, kSectorBytes);
    });
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(places.mask, lane) && places.range_of(lane).cells != nullptr)
      expect_unwritten(lane, places.range_of(lane), places.address[static_cast<std::size_t>(lane)], static_cast<u64>(bytes));
}

inline void GlobalCheck::check_reads_before(const GlobalCells& cells, GlobalCell& cell, int lane, const Range& range, u64 address) {
  if (!GlobalCells::has_reads(cell)) return;
  for (std::size_t r = 0; r < 2; ++r)
    if (const u64 other = load(cells.reads(cell)[r]); other != 0 && conflicts(other, lane, false, good_reads_))
      report(lane, range, address, other, load(cell.read_at) - 1, "the write", "read");
  cells.forget_reads(cell);
}

bool GlobalCheck::write_sector(const GlobalCells& cells, GlobalCell& sector, u64 mine) {
  if (!is_in_order(load(sector.write), mine, true, good_writes_)) return false;
  if (GlobalCells::has_reads(sector)) {
    for (std::size_t r = 0; r < 2; ++r)
      if (!is_in_order(load(cells.reads(sector)[r]), mine, false, good_reads_)) return false;
    cells.forget_reads(sector);
  }
  store(sector.write, mine);
  store(sector.write_at, by_.instruction->index);
  return true;
}

void GlobalCheck::write_granules(const GlobalCells& cells, int lane, const Range& range, u64 address, int bytes, const std::byte* value,
                                 u64 at, u64 size) {
  for (GlobalCell& cell : cells.granules(at, size)) {
    const u64 write = load(cell.write);
    if (conflicts(write, lane, true, good_writes_)) {
      const bool same = value != nullptr && holds(reinterpret_cast<const std::byte*>(address), value, static_cast<std::size_t>(bytes));
      if (!same) report(lane, range, address, write, load(cell.write_at), "the write", "write");
    }
    check_reads_before(cells, cell, lane, range, address);
    store(cell.write, stamp_ | static_cast<u64>(lane) << 34);
    store(cell.write_at, by_.instruction->index);
  }
}

/// All granules have been written by the lanes of `mine`: the sector says so for all of them.
void GlobalCheck::bring_together(const GlobalCells& cells, GlobalCell& sector, u64 mine) const {
  cells.forget_reads(sector);
  store(sector.write_at, by_.instruction->index);
  store(sector.write, mine);
}

void GlobalCheck::write(int lane, const Range& range, u64 address, int bytes, const std::byte* value) {
  settle(range, true);
  const GlobalCells cells(range);
  const u64 mine = stamp_ | static_cast<u64>(lane) << 34;
  each_sector(address, static_cast<u64>(bytes), [&](u64 at, u64 size) {
    if (size == kSectorBytes && write_sector(cells, cells.sector(at), mine)) return;
    write_granules(cells, lane, range, address, bytes, value, at, size);
    if (size == kSectorBytes) bring_together(cells, cells.sector(at), mine);
  });
}

void GlobalCheck::write_lanes(const Places& places, int bytes, const std::byte* values, u32 first, u32 end) {
  const Range& range = *places.one_range;
  for (u32 lane = first; lane < end; ++lane) {
    const u64 at = places.address[lane];
    const std::byte* const value = values != nullptr ? values + lane * static_cast<u32>(bytes) : nullptr;
    write_granules(GlobalCells(range), static_cast<int>(lane), range, at, bytes, value, at, static_cast<u64>(bytes));
  }
}

void GlobalCheck::write_whole_sectors(const Places& places, int bytes, const std::byte* values) {
  const GlobalCells cells(*places.one_range);
  const u64 stamp = stamp_;
  const u32 first_ticket = first_ticket_, instruction = by_.instruction->index;
  each_group(places, bytes, [&](u32 first, u32 lanes, u64 address, u32 who) {
    const u64 mine = stamp | u64{who} << 34;
    GlobalCell& sector = cells.sector(address);
    // Mostly nobody has been there in this launch.
    if (low_of(load(sector.write)) < first_ticket && !GlobalCells::has_reads(sector)) [[likely]] {
      store(sector.write, mine);
      store(sector.write_at, instruction);
      return;
    }
    // Ones of its own, so that the others, whose address nobody takes, stay in the processor's registers.
    const GlobalCells same(*places.one_range);
    if (!write_sector(same, sector, mine)) {
      write_lanes(places, bytes, values, first, first + lanes);
      bring_together(same, sector, mine);
    }
  });
}

bool GlobalCheck::write_apart(const Places& places, int bytes, const std::byte* values) {
  if (places.shape == nullptr || !places.shape->is_apart()) return false;
  const Range& range = *places.one_range;
  if (range.cells == nullptr) return true;
  if (bytes < range.granule) return false;
  settle(range, true);
  if (places.shape->has_whole_sectors)
    write_whole_sectors(places, bytes, values);
  else
    write_lanes(places, bytes, values, 0, kLanes);
  return true;
}

}  // namespace tilewright::rt::emulator

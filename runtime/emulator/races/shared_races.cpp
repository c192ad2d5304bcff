// Cells of shared memory, which one worker at a time accesses.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/written_bytes.h"
#include "runtime/emulator/races/access_stamp.h"
#include "runtime/emulator/state/cluster.h"

namespace tilewright::rt::emulator {
namespace {

// The bits of a stamp that tell agents and their epochs apart.
constexpr u64 kWho = ~(kLane | kStrong | kMany | kInstruction);
// Without the epoch: the agent and its block's rank.
constexpr u64 kAgent = kWho & ~(u64{kLow} << 40);

u32 rank_of(u64 stamp) { return low_of(stamp) >> kRankShift; }

}  // namespace

SharedCheck::SharedCheck(const Accessor& by, Block& block)
    : by_(by),
      block_(block),
      clock_(by.view->clock),
      own_rank_(by.warp->block->rank),
      shift_(std::countr_zero(static_cast<u32>(by.warp->kernel->shared_granule))),
      stamp_(make_shared_stamp(by, 0)) {}

u32 SharedCheck::number_of(u64 stamp) const { return block_.cluster->blocks[rank_of(stamp)]->number; }

inline const View* SharedCheck::fenced_before(u64 stamp, bool is_write) const {
  return needs_proxy_fence(by_, stamp, is_write) ? &by_.async->shared : nullptr;
}

bool SharedCheck::is_ordered_after(u64 stamp, int lane, bool is_write) const {
  return is_ordered(by_, lane, stamp, number_of(stamp), fenced_before(stamp, is_write));
}

bool SharedCheck::find_conflict(u64 stamp, int lane, bool is_write, KnownAgents& good) const {
  if (stamp == 0 || good.has(stamp & kWho) || are_atomic(by_, stamp)) return false;
  if (!is_ordered_after(stamp, lane, is_write)) return true;
  if (is_epoch_ordered(by_, stamp, number_of(stamp), fenced_before(stamp, is_write))) good.add(stamp & kWho);
  return false;
}

inline bool SharedCheck::is_seen_before(u64 stamp, bool is_write) const {
  return rank_of(stamp) == own_rank_ && knows_epoch(clock_, stamp) &&
         (by_.async == nullptr || !needs_proxy_fence(by_, stamp, is_write) || knows_epoch(by_.async->shared.clock, stamp));
}

inline bool SharedCheck::conflicts(u64 stamp, int lane, bool is_write, KnownAgents& good) const {
  return !is_seen_before(stamp, is_write) && find_conflict(stamp, lane, is_write, good);
}

void SharedCheck::report(int lane, u64 cell, u64 stamp, const char* what, const char* earlier) {
  const bool is_write = earlier[0] == 'w';
  std::string who = agent_name(agent_of(stamp));
  if (rank_of(stamp) != by_.warp->block->rank)
    who += fmt::format(" of the block of rank {}", rank_of(stamp));
  else if (agent_of(stamp) == by_.warp->index)
    who = lane_of(stamp) < kSeveralLanes ? fmt::format("lane {} of the same warp", lane_of(stamp)) : "other lanes of the same warp";
  // cuda::pipeline: the threads of a warp meet in match.sync, one of them counts the warp as gone, and the last one ends the mbarriers.
  const bool is_remark = by_.ends_mbarrier && is_ordered_after_some_lane(by_, stamp, number_of(stamp));
  const bool needs_only_fence = needs_proxy_fence(by_, stamp, is_write) && is_ordered_after(stamp, lane, false);
  const char* why = is_remark ? kNoLaneOrder : needs_only_fence ? kNoProxyFence : "";
  report_race(by_, lane, what, earlier, fmt::format("of shared memory at byte {}", cell << shift_), who, low_of(stamp) & kInstruction, why,
              is_remark);
}

/// The bytes of an mbarrier mean nothing to ordinary accesses.
void SharedCheck::check_mbarriers(int lane, u64 offset, int bytes) {
  if (by_.is_on_mbarrier || offset >= std::prev(block_.mbarriers.end())->first + kMbarrierBytes ||
      offset + static_cast<u64>(bytes) <= block_.mbarriers.begin()->first)
    return;
  auto after = block_.mbarriers.lower_bound(static_cast<u32>(offset + static_cast<u64>(bytes)));
  for (; after != block_.mbarriers.begin() && std::prev(after)->first + kMbarrierBytes > offset; --after) {
    const auto& [at, barrier] = *std::prev(after);
    settle(*barrier, at);
    if (!barrier->is_live) continue;
    emulator::report(*by_.warp, *by_.instruction, FindingKind::bad_mbarrier, lane, [&] {
      return fmt::format("an ordinary access to byte {} of shared memory, where {} made an mbarrier", std::max<u64>(at, offset),
                         place_of(*by_.warp, barrier->made_at));
    });
  }
}

/// Whether any of the places may be an mbarrier's.
bool SharedCheck::may_meet_mbarriers(const Places& places, int bytes) const {
  if (block_.mbarriers.empty() || by_.is_on_mbarrier) return false;
  const s64 first = static_cast<s64>(places.address[0]);
  return first + places.shape->lowest < s64{std::prev(block_.mbarriers.end())->first} + 8 &&
         first + places.shape->highest + bytes > s64{block_.mbarriers.begin()->first};
}

/// Whether a read by another agent comes before this access.
inline bool SharedCheck::is_over(u64 read, int lane) {
  if (is_seen_before(read, false)) return true;
  if (concurrent_reads_.has(read & kWho)) return false;
  const bool over = is_ordered_after(read, lane, false);
  if (!over) concurrent_reads_.add(read & kWho);
  return over;
}

inline void SharedCheck::remember_read(SharedCell& cell, int lane, u64 mine) {
  const u64 first = cell.reads[0];
  if (first == 0)
    cell.reads[0] = mine;
  else if (((first ^ mine) & (kAgent | kMany)) == 0)
    cell.reads[0] = merged(mine, first);
  else if ((first & kMany) == 0 && cell.reads[1] == 0)
    cell.reads[is_over(first, lane) ? 0 : 1] = mine;
  else if ((first & kMany) == 0 && ((cell.reads[1] ^ mine) & kAgent) == 0)
    cell.reads[1] = merged(mine, cell.reads[1]);
  else
    remember(cell, lane, mine);
}

void SharedCheck::remember(SharedCell& cell, int lane, u64 mine) {
  auto& reads = cell.reads;
  if (reads[0] & kMany) return remember_among_many(cell, lane, mine);
  std::size_t count = 0;
  for (; count < reads.size() && reads[count] != 0; ++count)
    if ((reads[count] & kAgent) == (mine & kAgent)) {
      reads[count] = merged(mine, reads[count]);
      return;
    }
  // Who knows of this read knows of those that come before it.
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k)
    if (!is_over(reads[k], lane)) reads[kept++] = reads[k];
  if (kept < reads.size()) {
    reads[kept++] = mine;
    std::fill(reads.begin() + static_cast<std::ptrdiff_t>(kept), reads.end(), 0);
    return;
  }
  u32 list;
  if (block_.free_many_reads.empty()) {
    list = static_cast<u32>(block_.many_reads.size());
    block_.many_reads.emplace_back();
  } else {
    list = block_.free_many_reads.back();
    block_.free_many_reads.pop_back();
  }
  block_.many_reads[list].assign(reads.begin(), reads.end());
  block_.many_reads[list].push_back(mine);
  reads = {kMany | list};
}

void SharedCheck::remember_among_many(SharedCell& cell, int lane, u64 mine) {
  auto& reads = block_.many_reads[static_cast<u32>(cell.reads[0])];
  for (u64& other : reads)
    if ((other & kAgent) == (mine & kAgent)) {
      other = merged(mine, other);
      return;
    }
  std::erase_if(reads, [&](u64 other) { return is_over(other, lane); });
  reads.push_back(mine);
}

inline void SharedCheck::read_granule(u64 c, int lane, u64 mine) {
  SharedCell& cell = block_.cells[c];
  // Two lanes of this very request have been here, as where a request reads one word for many lanes: they found what there is to find.
  if (cell.reads[0] == as_several_lanes(mine)) return;
  if (conflicts(cell.write, lane, true, good_writes_)) report(lane, c, cell.write, "the read", "write");
  remember_read(cell, lane, mine);
}

inline void SharedCheck::check_unwritten(int lane, u64 offset, int bytes) {
  if (const u8* unwritten = find_unwritten(block_.cells.written() + offset, bytes); unwritten != nullptr)
    emulator::report(*by_.warp, *by_.instruction, FindingKind::uninitialized, lane,
                     [&] { return fmt::format("byte {} of shared memory", unwritten - block_.cells.written()); });
}

inline void SharedCheck::read_lane(int lane, u64 offset, int bytes) {
  if (!block_.mbarriers.empty()) check_mbarriers(lane, offset, bytes);
  const u64 mine = stamp_ | static_cast<u64>(lane) << 34;
  for (u64 c = offset >> shift_; c <= (offset + static_cast<u64>(bytes) - 1) >> shift_; ++c) read_granule(c, lane, mine);
  check_unwritten(lane, offset, bytes);
}

bool SharedCheck::may_read(int lane, u64 offset, int bytes) {
  for (u64 c = offset >> shift_; c <= (offset + static_cast<u64>(bytes) - 1) >> shift_; ++c)
    if (!may_read_after(block_.cells[c].write, lane)) return false;
  return find_unwritten(block_.cells.written() + offset, bytes) == nullptr;
}

void SharedCheck::settle(Mbarrier& barrier, u64 offset) {
  for (Mbarrier::User& user : barrier.users) {
    if (user.last != 0)
      for (u64 c = offset >> shift_; c <= (offset + kMbarrierBytes - 1) >> shift_; ++c) remember_read(block_.cells[c], 0, user.last);
    user = {};
  }
}

bool SharedCheck::may_read_after(u64 write, int lane) { return !conflicts(write, lane, true, good_writes_); }

bool SharedCheck::may_write_after(const SharedCell& cell, int lane) {
  return may_read_after(cell.write, lane) &&
         std::none_of(cell.reads.begin(), cell.reads.end(), [&](u64 read) { return conflicts(read, lane, false, good_reads_); });
}

void SharedCheck::remember_read(SharedCell& cell, int lane) { remember_read(cell, lane, stamp_ | static_cast<u64>(lane) << 34); }

bool SharedCheck::all_may_read_after(u64 write) const {
  return write == 0 || is_epoch_ordered(by_, write, number_of(write), fenced_before(write, true));
}

void SharedCheck::read(int lane, u64 offset, int bytes) { read_lane(lane, offset, bytes); }

/// Whether all lanes of the shape read what was written.
bool SharedCheck::are_written(const RequestShape& shape, const Places& places, int bytes) const {
  const auto all = [&]<class T>(T ones) {
    T flags = ones;
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape.places); ++k)
      for (int at = 0; at < bytes; at += static_cast<int>(sizeof(T))) {
        T some;
        std::memcpy(&some, block_.cells.written() + places.address[shape.first[k]] + at, sizeof some);
        flags &= some;
      }
    return flags == ones;
  };
  if (bytes % 8 == 0) return all(u64{0x0101010101010101});
  return bytes == 4 ? all(u32{0x01010101}) : bytes == 2 ? all(u16{0x0101}) : all(u8{1});
}

/// Remembers a read in the place that the last one got, if the cell is like that one. Cells side by side mostly are.
inline bool SharedCheck::read_as_before(SharedCell& cell, u64 mine) const {
  if (cell.write == 0 || !is_seen_before(cell.write, true)) return false;
  if ((((cell.reads[0] ^ last_read_.first) & (kWho | kMany)) | cell.reads[1]) != 0) return false;
  cell.reads[last_read_.place] = mine;
  return true;
}

/// A read by lanes of which `lane` is the first. False, and nothing is done, if it may not be in order for all of them.
bool SharedCheck::read_in_order(SharedCell& cell, int lane, u64 mine) {
  const SharedCell before = cell;
  if (before.write == 0) return false;
  // It may be in order for the first of several lanes alone.
  if (!is_seen_before(before.write, true) && (lane_of(mine) == kSeveralLanes || find_conflict(before.write, lane, true, good_writes_)))
    return false;
  remember_read(cell, lane, mine);
  const bool is_first = before.reads[0] == 0;
  const bool is_second = !is_first && before.reads[1] == 0 && cell.reads[0] == before.reads[0] && cell.reads[1] == mine;
  if (is_first || is_second) last_read_ = {before.reads[0], is_first ? 0u : 1u};
  return true;
}

/// Reads by all lanes that come after all writes. False if there is more to find out, lane by lane; what has been done so far need not be
/// undone then.
bool SharedCheck::read_in_order(const Places& places, int bytes) {
  if (places.shape == nullptr || bytes >> shift_ == 0 || may_meet_mbarriers(places, bytes)) return false;
  const RequestShape& shape = *places.shape;
  const auto count = static_cast<std::size_t>(shape.places);
  const u64 cells = static_cast<u64>(bytes) >> shift_;
  for (std::size_t k = 0; k < count; ++k) {
    const int lane = shape.first[k];
    const u64 mine = stamp_ | u64{shape.who[k]} << 34;
    SharedCell* const first = block_.cells.run(places.address[shape.first[k]] >> shift_, cells);
    for (SharedCell* cell = first; cell != first + cells; ++cell)
      if (!read_as_before(*cell, mine) && !read_in_order(*cell, lane, mine)) return false;
  }
  // Writes cover whole granules, but the bytes of an mbarrier that is gone are nobody's.
  return block_.mbarriers.empty() || are_written(shape, places, bytes);
}

void SharedCheck::read(const Places& places, int bytes) {
  if (read_in_order(places, bytes)) return;
  const Mask mask = places.mask & ~places.remote;
  u64 last = ~u64{0};
  int times = 0;  // that lanes in a row read the last place
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane)) continue;
    const u64 offset = places.address[static_cast<std::size_t>(lane)];
    times = offset == last ? times + 1 : 1;
    last = offset;
    // That two lanes read it is all that can be remembered, and they found what there is to find, but for an mbarrier.
    if (times > 2 && block_.mbarriers.empty())
      check_unwritten(lane, offset, bytes);
    else
      read_lane(lane, offset, bytes);
  }
}

void SharedCheck::check_reads_before(SharedCell& cell, int lane, u64 c) {
  // One finding is enough, but a remark is none.
  const auto find_one = [&](std::span<const u64> reads) {
    for (const u64 read : reads)
      if (read != 0 && conflicts(read, lane, false, good_reads_)) {
        report(lane, c, read, "the write", "read");
        if (!by_.ends_mbarrier) return;
      }
  };
  if (cell.reads[0] & kMany) {
    const u32 list = static_cast<u32>(cell.reads[0]);
    find_one(block_.many_reads[list]);
    block_.free_many_reads.push_back(list);
  } else {
    find_one(cell.reads);
  }
  cell.reads = {};
}

inline bool SharedCheck::is_all_seen_before(const SharedCell& cell) {
  // Cells side by side mostly remember the same agents and epochs.
  if (cell.is_like(last_before_, kWho | kMany)) return true;
  if (cell.reads[0] & kMany) return false;
  bool all = cell.write == 0 || is_seen_before(cell.write, true);
  for (const u64 read : cell.reads) all &= read == 0 || is_seen_before(read, false);
  if (all) last_before_ = cell;
  return all;
}

void SharedCheck::check_before_write(SharedCell& cell, int lane, u64 c, u64 offset, int bytes, const std::byte* value) {
  if (conflicts(cell.write, lane, true, good_writes_)) {
    const bool same = value != nullptr && std::memcmp(block_.shared.get() + offset, value, static_cast<std::size_t>(bytes)) == 0;
    if (!same) report(lane, c, cell.write, "the write", "write");
  }
  if (cell.reads[0] != 0) check_reads_before(cell, lane, c);
}

[[gnu::always_inline]] inline void SharedCheck::write_cells(u64 begin, u64 end, int lane, u64 offset, int bytes, const std::byte* value) {
  SharedCell* const cells = block_.cells.run(begin, end - begin);
  for (u64 c = begin; c != end; ++c) {
    SharedCell& cell = cells[c - begin];
    if (!is_all_seen_before(cell)) check_before_write(cell, lane, c, offset, bytes, value);
    cell.write = stamp_ | static_cast<u64>(lane) << 34;
    cell.reads = {};
  }
}

void SharedCheck::write(int lane, u64 offset, int bytes, const std::byte* value) {
  ++block_.writes;
  if (!block_.mbarriers.empty()) check_mbarriers(lane, offset, bytes);
  write_cells(offset >> shift_, ((offset + static_cast<u64>(bytes) - 1) >> shift_) + 1, lane, offset, bytes, value);
  mark_written(block_.cells.written() + offset, bytes);
  block_.undefined.define(offset, static_cast<u64>(bytes));
}

bool SharedCheck::write_apart(const Places& places, int bytes, const std::byte* values) {
  if (places.shape == nullptr || !places.shape->is_apart() || bytes >> shift_ == 0 || may_meet_mbarriers(places, bytes)) return false;
  block_.writes += kLanes;
  const u64 cells = static_cast<u64>(bytes) >> shift_;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 offset = places.address[static_cast<std::size_t>(lane)], first = offset >> shift_;
    write_cells(first, first + cells, lane, offset, bytes, values != nullptr ? values + lane * bytes : nullptr);
    mark_written(block_.cells.written() + offset, bytes);
    block_.undefined.define(offset, static_cast<u64>(bytes));
  }
  return true;
}

}  // namespace tilewright::rt::emulator

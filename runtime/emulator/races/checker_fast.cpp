// The fast path of race checks: for whole requests, whole sectors of global memory, and whole lines of shared memory.
#include "runtime/emulator/races/checker_fast.h"

#include <algorithm>
#include <bit>

#include "runtime/emulator/shadow/written_bytes.h"

namespace tilewright::rt::emulator {
namespace {

// Masks of an epoch: for shared memory the agent and its block, without and with the time; for global memory the agent and the
// time.
constexpr u64 kAgent = u64{255} << 24 | u64{15} << kRankShift;
constexpr u64 kAgentTimeAndBlock = ~(kLane | kStrong | kMany | kInstruction);
constexpr u64 kAgentAndTime = ~(kLane | kStrong | kWide);

bool is_list(const SharedShadowCell& cell) { return cell.reads[0] & kMany; }
/// Whether two cells without lists record accesses by the same agents at the same times.
bool are_alike(const SharedShadowCell& a, const SharedShadowCell& b) {
  u64 differing = a.write ^ b.write;
  for (std::size_t k = 0; k < SharedShadowCell::kReads; ++k) differing |= a.reads[k] ^ b.reads[k];
  return (differing & (kAgentTimeAndBlock | kMany)) == 0;
}

/// Whether an earlier access by the accessor's own block happened before the accesses of all lanes, as far as the clocks show directly.
class Covered {
 public:
  explicit Covered(const Accessor& by, const AcquireClocks* fenced)
      : clock_(by.clocks->clock), fenced_(by.async != nullptr ? &fenced->clock : nullptr) {}
  bool operator()(u64 earlier, bool is_write) const {
    const u32 time = time_of(earlier);
    const int agent = agent_of(earlier);
    return time <= clock_[agent] && (fenced_ == nullptr || !is_write || is_async_proxy(agent) || time <= (*fenced_)[agent]);
  }

 private:
  const VectorClock& clock_;
  const VectorClock* fenced_;
};

/// For shared memory: whether an earlier access is covered, or allowed by the rule for the only lane that accesses the cell.
class SharedFast {
 public:
  explicit SharedFast(SharedChecker& check)
      : check_(check),
        clock_(check.by.clocks->clock),
        covered_(check.by, check.by.async != nullptr ? &check.by.async->shared : nullptr),
        rank_(check.by.warp->block->rank) {}

  bool is_good(u64 earlier, u32 lane, bool is_write) const {
    if (is_covered(earlier, is_write)) return true;
    // With several lanes, the access may be ordered after only some of them.
    if (lane == kSeveralLanes)
      return earlier == 0 || time_happens_before(check_.by, earlier, check_.number_of(earlier), fenced(earlier, is_write));
    return !check_.conflicts(earlier, static_cast<int>(lane), is_write);
  }
  bool is_covered(u64 earlier, bool is_write) const { return rank_of(earlier) == rank_ && covered_(earlier, is_write); }
  /// Whether all accesses recorded in a cell without a list are covered.
  bool is_covered(const SharedShadowCell& cell) const {
    bool all = cell.write == 0 || is_covered(cell.write, true);
    for (const u64 read : cell.reads) all &= read == 0 || is_covered(read, false);
    return all;
  }
  bool may_write(const SharedShadowCell& cell, u32 lane) const {
    if (!is_good(cell.write, lane, true)) return false;
    const std::span<const u64> reads = is_list(cell) ? std::span<const u64>(list_of(cell)) : cell.reads;
    for (const u64 read : reads) {
      if (read == 0) break;
      if (!is_good(read, lane, false)) return false;
    }
    return true;
  }
  [[gnu::always_inline]] void remember_read(SharedShadowCell& cell, u32 lane) const {
    const u64 mine = check_.epoch(static_cast<int>(lane));
    u64& first = cell.reads[0];
    if (first == 0)
      first = mine;
    else if (((first ^ mine) & (kAgent | kMany)) == 0)
      first = merged(mine, first);
    else
      remember_another(cell, lane, mine);
  }
  void free_list(const SharedShadowCell& cell) const {
    if (is_list(cell)) check_.block.shadow.free_list(static_cast<u32>(cell.reads[0]));
  }

 private:
  std::vector<u64>& list_of(const SharedShadowCell& cell) const { return check_.block.shadow.list(static_cast<u32>(cell.reads[0])); }
  /// Records a read of a cell whose first recorded read is by another agent.
  [[gnu::noinline]] void remember_another(SharedShadowCell& cell, u32 lane, u64 mine) const {
    if (is_list(cell)) return remember_in_list(list_of(cell), lane, mine);
    std::size_t count = 0;
    for (u64& read : cell.reads) {
      if (read == 0) break;
      if (((read ^ mine) & kAgent) == 0) {
        read = merged(mine, read);
        return;
      }
      ++count;
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k)
      if (!happened_before(cell.reads[k], lane)) cell.reads[kept++] = cell.reads[k];
    if (kept == cell.reads.size()) return check_.remember_read(cell, static_cast<int>(lane));
    for (std::size_t k = kept + 1; k < count; ++k) cell.reads[k] = 0;
    cell.reads[kept] = mine;
  }
  void remember_in_list(std::vector<u64>& list, u32 lane, u64 mine) const {
    const auto own = std::ranges::find_if(list, [&](u64 read) { return ((read ^ mine) & kAgent) == 0; });
    if (own != list.end()) {
      *own = merged(mine, *own);
      return;
    }
    std::erase_if(list, [&](u64 read) { return happened_before(read, lane); });
    list.push_back(mine);
  }
  const AcquireClocks* fenced(u64 earlier, bool is_write) const { return check_.fenced_before(earlier, is_write); }
  bool happened_before(u64 read, u32 lane) const {
    if (rank_of(read) == rank_ && agent_of(read) != check_.by.warp->index)
      return clock_.knows(agent_of(read), time_of(read), lane_of(read));
    return happens_before(check_.by, static_cast<int>(lane), read, check_.number_of(read), nullptr);
  }

  SharedChecker& check_;
  const VectorClock& clock_;
  Covered covered_;
  u32 rank_;
};

/// Whether this is a request of all lanes for granules of shared memory with no mbarrier nearby.
bool is_plain(const SharedChecker& check, const Request& request, int bytes) {
  if (request.shape == nullptr || bytes >> check.shift == 0) return false;
  const auto& mbarriers = check.block.mbarriers;
  if (mbarriers.empty() || check.by.is_on_mbarrier) return true;
  const s64 first = static_cast<s64>(request.address[0]);
  return first + request.shape->lowest >= s64{std::prev(mbarriers.end())->first} + 8 ||
         first + request.shape->highest + bytes <= s64{mbarriers.begin()->first};
}

}  // namespace

bool read_fast(SharedChecker& check, const Request& request, int bytes) {
  if (!is_plain(check, request, bytes)) return false;
  const SharedFast fast(check);
  const RequestShape& shape = *request.shape;
  const u64 count = static_cast<u64>(bytes) >> check.shift;
  u64 covered = 0;  // the last covered write
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.addresses); ++k) {
    const u64 offset = request.address[shape.first_lane[k]];
    // Writes cover whole granules, except for the bytes of an mbarrier that has ended.
    if (!check.block.mbarriers.empty() && find_unwritten(check.block.shadow.written() + offset, bytes) != nullptr) return false;
    SharedShadowCell* const cells = check.block.shadow.run(offset >> check.shift, count);
    for (SharedShadowCell* cell = cells; cell != cells + count; ++cell) {
      if (cell->write == 0) return false;
      if (((cell->write ^ covered) & kAgentTimeAndBlock) != 0) {
        if (fast.is_covered(cell->write, true))
          covered = cell->write;
        else if (!fast.is_good(cell->write, shape.only_lane[k], true))
          return false;
      }
      fast.remember_read(*cell, shape.only_lane[k]);
    }
  }
  return true;
}

Mask write_fast(SharedChecker& check, const Request& request, int bytes) {
  if (!is_plain(check, request, bytes)) return 0;
  const SharedFast fast(check);
  Block& block = check.block;
  const u64 count = static_cast<u64>(bytes) >> check.shift;
  SharedShadowCell covered{};  // the last cell whose accesses were all covered
  const auto may_write = [&](const SharedShadowCell& cell, u32 lane) {
    if (are_alike(cell, covered)) return true;
    if (is_list(cell) || !fast.is_covered(cell)) return fast.may_write(cell, lane);
    covered = cell;
    return true;
  };
  Mask done = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 offset = request.address[lane];
    const std::span cells(block.shadow.run(offset >> check.shift, count), count);
    if (!std::ranges::all_of(cells, [&](const SharedShadowCell& cell) { return may_write(cell, lane); })) continue;
    for (SharedShadowCell& cell : cells) {
      fast.free_list(cell);
      cell = {check.epoch(static_cast<int>(lane)), {}};
    }
    mark_written(block.shadow.written() + offset, bytes);
    block.undefined.define(offset, static_cast<u64>(bytes));
    ++block.writes;
    done |= kLaneBit[lane];
  }
  return done;
}

// ---- Global memory, whole sectors ----

namespace {

u64 load(u64& word) { return GlobalShadow::load(word); }

class SectorFast {
 public:
  SectorFast(GlobalChecker& check, const Range& range)
      : check_(check),
        shadow_(range),
        covered_(check.by, check.by.tensor_map != nullptr ? check.by.tensor_map
                           : check.by.async != nullptr    ? &check.by.async->global
                                                          : nullptr),
        ticket_(check.by.warp->block->ticket),
        granules_(static_cast<int>(GlobalShadow::kSectorBytes) / range.granule) {}

  /// Accesses to the whole sector by one lane or a group of lanes. Returns false, and does nothing, if the rule must check them.
  bool read(u64 address, u32 lanes) const {
    GlobalShadowCell& sector = shadow_.sector(address);
    const u64 mine = check_.epoch(lanes), last = load(shadow_.reads(sector)[0]);
    if (!is_good(load(sector.write), lanes, true)) return false;
    // One cell cannot record that the same lane has read some granules before, and another lane others.
    if (last != mine && ((last ^ mine) & kAgentAndTime) == 0) return false;
    shadow_.remember_read(sector, mine, check_.by.instruction->index);
    return true;
  }
  bool may_write(u64 address, u32 lanes) const {
    GlobalShadowCell& sector = shadow_.sector(address);
    const u64 write = load(sector.write);
    if (!GlobalShadow::is_split(write)) return may_write(sector, write, lanes);
    bool is_good = true;
    int k = 0;
    shadow_.each_granule(address, GlobalShadow::kSectorBytes, [&](GlobalShadowCell& cell) {
      is_good &= may_write(cell, load(cell.write), lane_of(epoch_of_granule(check_.epoch(lanes), k++, granules_)));
    });
    return is_good;
  }
  /// The granules of a split sector share its cell again.
  void remember_write(u64 address, u32 lanes) const {
    shadow_.remember_write(shadow_.sector(address), check_.epoch(lanes), check_.by.instruction->index);
  }

 private:
  bool is_good(u64 earlier, u32 lanes, bool is_write) const {
    if (check_.is_of_earlier_launch(earlier)) return true;
    if (low_of(earlier) == ticket_ && covered_(earlier, is_write)) return true;
    if (GlobalShadow::is_split(earlier)) return false;
    if (check_.is_atomic_to(earlier)) return true;
    const AcquireClocks* const fenced = check_.fenced_before(earlier, is_write);
    if (time_happens_before(check_.by, earlier, check_.number_of(earlier), fenced)) return true;
    // The same lanes wrote the same granules.
    return fenced == nullptr && agent_of(earlier) == check_.by.warp->index && low_of(earlier) == ticket_ && lane_of(earlier) == lanes &&
           lanes != kSeveralLanes;
  }
  bool may_write(GlobalShadowCell& cell, u64 write, u32 lanes) const {
    if (!is_good(write, lanes, true)) return false;
    if (!GlobalShadow::has_reads(cell)) return true;
    return is_good(load(shadow_.reads(cell)[0]), lanes, false) && is_good(load(shadow_.reads(cell)[1]), lanes, false);
  }

  GlobalChecker& check_;
  GlobalShadow shadow_;
  Covered covered_;
  u32 ticket_;  // of the accessor's block
  int granules_;
};

/// Calls f(address, lanes) for each sector of a request of whole sectors, with the number of its group of lanes. Returns the lanes for
/// which f returned true.
template <class F>
Mask each_sector(const Request& request, int bytes, F f) {
  const u32 count = static_cast<u32>(GlobalShadow::kSectorBytes) >> std::countr_zero(static_cast<u32>(bytes));
  const Mask first_lanes = static_cast<Mask>((u64{1} << count) - 1);
  Mask done = 0;
  for (u32 lane = 0; lane < kLanes; lane += count)
    if (f(request.address[lane], count == 1 ? lane : lane_group(lane, count))) done |= first_lanes << lane;
  return done;
}

bool has_whole_sectors(const Request& request) {
  return request.shape != nullptr && request.one_range != nullptr && request.shape->has_whole_sectors;
}
bool is_of_sectors(u64 address, u64 bytes) { return (address | bytes) % GlobalShadow::kSectorBytes == 0; }

}  // namespace

Mask read_fast(GlobalChecker& check, const Request& request, int bytes) {
  if (!has_whole_sectors(request)) return 0;
  flush_deferred(*request.one_range, false);
  const SectorFast fast(check, *request.one_range);
  return each_sector(request, bytes, [&](u64 address, u32 lanes) { return fast.read(address, lanes); });
}

Mask write_fast(GlobalChecker& check, const Request& request, int bytes) {
  if (!has_whole_sectors(request)) return 0;
  flush_deferred(*request.one_range, true);
  const SectorFast fast(check, *request.one_range);
  return each_sector(request, bytes, [&](u64 address, u32 lanes) {
    const bool is_good = fast.may_write(address, lanes);
    if (is_good) fast.remember_write(address, lanes);
    return is_good;
  });
}

bool read_fast(GlobalChecker& check, int lane, const Range& range, u64 address, u64 bytes) {
  if (!is_of_sectors(address, bytes)) return false;
  flush_deferred(range, false);
  const SectorFast fast(check, range);
  bool all = true;
  for (u64 at = address; all && at < address + bytes; at += GlobalShadow::kSectorBytes) all = fast.read(at, static_cast<u32>(lane));
  return all;
}

bool write_fast(GlobalChecker& check, int lane, const Range& range, u64 address, u64 bytes) {
  if (!is_of_sectors(address, bytes)) return false;
  flush_deferred(range, true);
  const SectorFast fast(check, range);
  for (u64 at = address; at < address + bytes; at += GlobalShadow::kSectorBytes)
    if (!fast.may_write(at, static_cast<u32>(lane))) return false;
  for (u64 at = address; at < address + bytes; at += GlobalShadow::kSectorBytes) fast.remember_write(at, static_cast<u32>(lane));
  return true;
}

bool defer_read(const GlobalChecker& check, int lane, const Range& range, std::span<const GlobalRun> runs) {
  return range.deferred != nullptr && range.deferred->add({check.epoch(static_cast<u32>(lane)), check.by.instruction->index}, runs);
}

void flush_deferred(const Range& range, bool is_write) {
  if (range.deferred == nullptr || range.deferred->is_flushed(is_write)) return;
  const GlobalShadow shadow(range);
  range.deferred->flush(is_write, [&](const DeferredRead& read, std::span<const GlobalRun> runs) {
    const auto remember = [&](u64 at, u64 size) {
      GlobalShadowCell& sector = shadow.sector(at);
      const u64 last = load(shadow.reads(sector)[0]);
      const bool is_whole = size == GlobalShadow::kSectorBytes && !GlobalShadow::is_split(load(sector.write));
      if (is_whole && (last == read.epoch || ((last ^ read.epoch) & kAgentAndTime) != 0))
        return shadow.remember_read(sector, read.epoch, read.instruction);
      shadow.each_granule(at, size, [&](GlobalShadowCell& cell) { shadow.remember_read(cell, read.epoch, read.instruction); });
    };
    for (const GlobalRun& run : runs) run.each_row([&](u64 address, u64 bytes) { GlobalShadow::each_sector(address, bytes, remember); });
  });
}

// ---- Shared memory, whole lines ----

namespace {

constexpr u32 kLineBytes = SharedLines::kLineBytes, kPageBytes = SharedLines::kPageBytes;

/// Whether there may be mbarriers between the first and the last of these bytes.
bool may_meet_mbarriers(const Block& block, const ShiftedLines& lines) {
  const u32 begin = lines.begin();
  const auto next = block.mbarriers.lower_bound(begin < 8 ? 0 : begin - 7);
  return next != block.mbarriers.end() && next->first < lines.end();
}

/// Calls f(cell) for the cells of these lines until it returns false; only once for equal neighbours.
template <class F>
bool each_history(SharedShadow& shadow, std::size_t page, u64 lines, F f) {
  if (!shadow.is_split(page)) {
    for (const SharedShadow::Group& group : shadow.groups(page))
      if ((group.lines & lines) != 0 && !f(group.cell)) return false;
    return true;
  }
  const SharedShadowCell* last = nullptr;
  return shadow.each_cell(page, lines, [&](const SharedShadowCell& cell) {
    if (last != nullptr && cell == *last) return true;
    last = &cell;
    return f(cell);
  });
}

bool are_written(const Block& block, std::size_t page, u64 lines) {
  if (!block.shadow.is_split(page)) return (lines & ~block.shadow.written(page)) == 0;
  const u8* const first = block.shadow.written() + page * kPageBytes;
  if (lines == ~u64{0}) return find_unwritten(first, kPageBytes) == nullptr;
  for (; lines != 0; lines &= lines - 1)
    if (find_unwritten(first + static_cast<u32>(std::countr_zero(lines)) * kLineBytes, kLineBytes) != nullptr) return false;
  return true;
}

/// Collects the writes before a read; none if the read is not ordered after all lanes of them, or if there are too many writes.
class WritesBefore {
 public:
  explicit WritesBefore(const SharedChecker& check) : check_(check) {}
  void add(u64 write) {
    // Lanes and instructions do not matter if all of the agent's accesses at that time happened before.
    const auto is_like = [&](u64 other) { return ((write ^ other) & ~(kLane | kStrong | kInstruction)) == 0; };
    const auto end = writes_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (!is_good_ || std::any_of(writes_.begin(), end, is_like)) return;
    is_good_ = write != 0 && count_ < writes_.size() &&
               time_happens_before(check_.by, write, check_.number_of(write), check_.fenced_before(write, true));
    if (is_good_) writes_[count_++] = write;
  }
  std::optional<EngineRead> found() const {
    return is_good_ ? std::optional(EngineRead{check_.by.time, check_.block.writes, writes_}) : std::nullopt;
  }

 private:
  const SharedChecker& check_;
  decltype(EngineRead::after) writes_{};
  std::size_t count_ = 0;
  bool is_good_ = true;
};

}  // namespace

bool read_fast(SharedChecker& check, int lane, const ShiftedLines& lines, std::optional<EngineRead>* found) {
  Block& block = check.block;
  if (!lines.are_whole() || may_meet_mbarriers(block, lines)) return false;
  const SharedFast fast(check);
  WritesBefore writes(check);
  const bool is_good = lines.each_page([&](std::size_t page, u64 of_page) {
    if (!are_written(block, page, of_page)) return false;
    bool may_be_many = false;
    const bool may = each_history(block.shadow, page, of_page, [&](const SharedShadowCell& cell) {
      may_be_many |= cell.reads.back() != 0;
      if (found != nullptr) writes.add(cell.write);
      return !is_list(cell) && fast.is_good(cell.write, static_cast<u32>(lane), true);
    });
    if (!may) return false;
    // A list belongs to only one cell, so the page must be split.
    if (may_be_many && !block.shadow.is_split(page)) block.shadow.split(page);
    block.shadow.update(page, of_page, [&](SharedShadowCell& cell) { fast.remember_read(cell, static_cast<u32>(lane)); });
    return true;
  });
  if (is_good && found != nullptr) *found = writes.found();
  return is_good;
}

bool write_fast(SharedChecker& check, int lane, const ShiftedLines& lines) {
  Block& block = check.block;
  if (!lines.are_whole() || may_meet_mbarriers(block, lines)) return false;
  const SharedFast fast(check);
  const bool is_good = lines.each_page([&](std::size_t page, u64 of_page) {
    return each_history(block.shadow, page, of_page,
                        [&](const SharedShadowCell& cell) { return !is_list(cell) && fast.may_write(cell, static_cast<u32>(lane)); });
  });
  if (!is_good) return false;
  lines.each_page([&](std::size_t page, u64 of_page) {
    block.shadow.assign(page, of_page, {check.epoch(lane), {}});
    return true;
  });
  ++block.writes;
  return true;
}

bool is_read_already(const Accessor& by, Block& block, const EngineRead& read) {
  if (read.time != by.time || read.writes != block.writes) return false;
  const SharedChecker check(by, block);
  return std::all_of(read.after.begin(), std::ranges::find(read.after, u64{0}),
                     [&](u64 write) { return time_happens_before(by, write, check.number_of(write), check.fenced_before(write, true)); });
}

}  // namespace tilewright::rt::emulator

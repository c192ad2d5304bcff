// Cells of shared and global memory, and the order between accesses.
#include "runtime/emulator/race_check.h"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/emulator/memory_access.h"

namespace tilewright::rt::emulator {
namespace {

// A stamp says who accessed a granule and when, in 64 bits; 0 says nobody did.
//   clock 24 | lane 6 | strong 1 | many 1 | agent 8 | low 24: the rank of the agent's block in its cluster and the instruction
//   (shared memory, 4 and 20) or the ticket of the agent's block (global memory)
constexpr u32 kLow = (1u << 24) - 1;
constexpr int kRankShift = 20;
constexpr u32 kInstruction = (1u << kRankShift) - 1;
constexpr u64 kMany = u64{1} << 32;  // the low 32 bits number a list in Block::many_reads instead
constexpr u64 kStrong = u64{1} << 33;
constexpr u32 kSeveralLanes = Clock::kSeveralLanes;

u64 make_stamp(u32 clock, u32 lane, bool strong, int agent, u32 low) {
  return static_cast<u64>(clock & kLow) << 40 | static_cast<u64>(lane) << 34 | (strong ? kStrong : 0) | static_cast<u64>(agent) << 24 |
         (low & kLow);
}
u32 clock_of(u64 stamp) { return static_cast<u32>(stamp >> 40); }
u32 lane_of(u64 stamp) { return static_cast<u32>(stamp >> 34) & 63; }
int agent_of(u64 stamp) { return static_cast<int>(stamp >> 24) & 255; }
u32 low_of(u64 stamp) { return static_cast<u32>(stamp) & kLow; }

bool is_known(const Accessor& by, u64 stamp, u32 number, const View& view) {
  const Clock* clock = number == by.warp->block->number ? &view.clock : view.foreign.find(number);
  return clock != nullptr && clock->knows(agent_of(stamp), clock_of(stamp), lane_of(stamp));
}

/// Whether an access by an agent of the block with this number is over before this one. Lanes of one warp are as independent of each
/// other as warps are, but for what they do together; an engine's work is over when it has been waited for. `fenced` is what a write has
/// to be a part of as well; null if nothing.
bool is_ordered(const Accessor& by, int lane, u64 stamp, u32 number, const View* fenced) {
  const bool is_own = agent_of(stamp) == by.warp->index && number == by.warp->block->number &&
                      (lane_of(stamp) == static_cast<u32>(lane) || is_matrix_agent(by.agent));
  return (is_own || is_known(by, stamp, number, *by.view)) && (fenced == nullptr || is_known(by, stamp, number, *fenced));
}

/// Accesses through the asynchronous proxy do not see generic writes that no proxy fence came after. That they come after generic
/// reads is enough: what has been read stays read.
bool needs_proxy_fence(const Accessor& by, u64 stamp, bool is_write) {
  return by.async != nullptr && is_write && !is_async_proxy(agent_of(stamp));
}

/// Operations that are atomic to each other have to go through the same proxy.
bool are_atomic(const Accessor& by, u64 stamp) {
  return (stamp & kStrong) && by.instruction->is_strong && is_async_proxy(agent_of(stamp)) == is_async_proxy(by.agent);
}

std::string agent_name(int agent) {
  if (agent < kMaxWarps) return fmt::format("warp {}", agent);
  if (agent < 2 * kMaxWarps) return fmt::format("an asynchronous copy of warp {}", agent % kMaxWarps);
  if (agent < matrix_agent(0)) return fmt::format("a bulk copy of warp {}", agent % kMaxWarps);
  if (agent < barrier_agent(0))
    return fmt::format("a matrix operation of warps {} to {}", 4 * (agent - matrix_agent(0)), 4 * (agent - matrix_agent(0)) + 3);
  return "a bulk copy that an mbarrier waits for";
}

/// What is missing where the order itself is there.
const char* missing_fence(bool is_only_fence) { return is_only_fence ? ", because no proxy fence comes between them" : ""; }

void report_race(const Accessor& by, int lane, const char* what, const char* earlier, const std::string& where, const std::string& who,
                 u32 at, const char* why) {
  report(*by.warp, *by.instruction, FindingKind::race, lane, [&] {
    return fmt::format("{} {} is not ordered after the {} by {} at {}{}", what, where, earlier, who, place_of(*by.warp, at), why);
  });
}

// --- shared memory ---

std::string shared_place(u64 offset) { return fmt::format("of shared memory at byte {}", offset); }

// The agent and its block's rank.
u32 who_of(u64 stamp) { return static_cast<u32>(stamp >> kRankShift) & ((1u << (32 - kRankShift)) - 1); }
u32 rank_of(u64 stamp) { return low_of(stamp) >> kRankShift; }

u64 shared_stamp(const Accessor& by, int lane) {
  return make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent,
                    by.owner->rank << kRankShift | (by.instruction->index & kInstruction));
}

bool is_ordered(const Accessor& by, const Block& block, int lane, u64 stamp, bool is_write) {
  const View* fenced = needs_proxy_fence(by, stamp, is_write) ? &by.async->shared : nullptr;
  return is_ordered(by, lane, stamp, block.cluster->blocks[rank_of(stamp)]->number, fenced);
}

void conflict_shared(const Accessor& by, const Block& block, int lane, u64 offset, u64 stamp, const char* what, const char* earlier) {
  const bool is_write = earlier[0] == 'w';
  std::string who = agent_name(agent_of(stamp));
  if (rank_of(stamp) != by.warp->block->rank)
    who += fmt::format(" of the block of rank {}", rank_of(stamp));
  else if (agent_of(stamp) == by.warp->index)
    who = lane_of(stamp) < kSeveralLanes ? fmt::format("lane {} of the same warp", lane_of(stamp)) : "other lanes of the same warp";
  const bool is_only_fence = needs_proxy_fence(by, stamp, is_write) && is_ordered(by, block, lane, stamp, false);
  report_race(by, lane, what, earlier, shared_place(offset), who, low_of(stamp) & kInstruction, missing_fence(is_only_fence));
}

bool conflicts(const Accessor& by, const Block& block, int lane, u64 stamp, bool is_write) {
  return !are_atomic(by, stamp) && !is_ordered(by, block, lane, stamp, is_write);
}

u64 as_several_lanes(u64 stamp) { return (stamp & ~(u64{63} << 34)) | u64{kSeveralLanes} << 34; }

/// The reader's stamp, which covers what the same reader left there before in the same epoch.
u64 merged(u64 mine, u64 before) {
  const bool same_epoch = clock_of(mine) == clock_of(before);
  if (same_epoch && lane_of(mine) != lane_of(before)) mine = as_several_lanes(mine);
  if (same_epoch && !(before & kStrong)) mine &= ~kStrong;
  return mine;
}

void remember_read(Block& block, SharedCell& cell, const Accessor& by, int lane, u64 mine) {
  if (cell.read == 0) {
    cell.read = mine;
  } else if (!(cell.read & kMany)) {
    if (who_of(cell.read) == who_of(mine)) {
      cell.read = merged(mine, cell.read);
    } else if (is_ordered(by, block, lane, cell.read, false)) {
      cell.read = mine;  // who knows of this read knows of that one
    } else {
      u32 list;
      if (block.free_many_reads.empty()) {
        list = static_cast<u32>(block.many_reads.size());
        block.many_reads.emplace_back();
      } else {
        list = block.free_many_reads.back();
        block.free_many_reads.pop_back();
      }
      block.many_reads[list] = {cell.read, mine};
      cell.read = kMany | list;
    }
  } else {
    auto& reads = block.many_reads[static_cast<u32>(cell.read)];
    for (u64& other : reads)
      if (who_of(other) == who_of(mine)) {
        other = merged(mine, other);
        return;
      }
    std::erase_if(reads, [&](u64 other) { return is_ordered(by, block, lane, other, false); });
    reads.push_back(mine);
  }
}

void forget_reads(Block& block, SharedCell& cell) {
  if (cell.read & kMany) block.free_many_reads.push_back(static_cast<u32>(cell.read));
  cell.read = 0;
}

// --- global memory: cells are shared between workers, so that every access to them is atomic. What two workers overwrite of each
// other's at the same moment is lost, which may hide a race but never invents one. ---

u64 load(u64& word) { return std::atomic_ref<u64>(word).load(std::memory_order_relaxed); }
void store(u64& word, u64 value) { std::atomic_ref<u64>(word).store(value, std::memory_order_relaxed); }
u32 load(u32& word) { return std::atomic_ref<u32>(word).load(std::memory_order_relaxed); }
void store(u32& word, u32 value) { std::atomic_ref<u32>(word).store(value, std::memory_order_relaxed); }

bool is_ordered_globally(const Accessor& by, int lane, u64 stamp, bool is_write) {
  const u32 ticket = low_of(stamp), first = by.warp->worker->launch->first_ticket;
  if (ticket < first) return true;  // of an earlier launch
  return is_ordered(by, lane, stamp, ticket - first, needs_proxy_fence(by, stamp, is_write) ? &by.async->global : nullptr);
}

bool conflicts_globally(const Accessor& by, int lane, u64 stamp, bool is_write) {
  return stamp != 0 && !are_atomic(by, stamp) && !is_ordered_globally(by, lane, stamp, is_write);
}

void conflict_global(const Accessor& by, int lane, const Range& range, u64 address, u64 stamp, u32 at, const char* what,
                     const char* earlier) {
  std::string who = agent_name(agent_of(stamp));
  if (low_of(stamp) != by.warp->block->ticket)
    who += " of another block";
  else if (agent_of(stamp) == by.warp->index)
    who = "another lane of the same warp";
  const bool is_only_fence = needs_proxy_fence(by, stamp, earlier[0] == 'w') && is_ordered_globally(by, lane, stamp, false);
  report_race(by, lane, what, earlier,
              fmt::format("of global memory at byte {} of an allocation of {} bytes", address - range.begin, range.bytes), who, at,
              missing_fence(is_only_fence));
}

int shift_of(const Range& range) { return std::countr_zero(static_cast<u32>(range.granule)); }
GlobalCell* cells_of(const Range& range, u64 address) { return range.cells + ((address - range.begin) >> shift_of(range)); }
u64 cell_count(const Range& range, u64 address, int bytes) {
  const u64 offset = address - range.begin;
  return ((offset + static_cast<u64>(bytes) - 1) >> shift_of(range)) - (offset >> shift_of(range)) + 1;
}

/// The bytes of an mbarrier mean nothing to ordinary accesses.
void check_mbarriers(const Accessor& by, Block& block, int lane, u64 offset, int bytes) {
  if (block.mbarriers.empty() || by.is_on_mbarrier) return;
  auto after = block.mbarriers.lower_bound(static_cast<u32>(offset + static_cast<u64>(bytes)));
  for (; after != block.mbarriers.begin() && std::prev(after)->first + 8 > offset; --after) {
    const auto& [at, barrier] = *std::prev(after);
    if (!barrier.is_live) continue;
    report(*by.warp, *by.instruction, FindingKind::bad_mbarrier, lane, [&] {
      return fmt::format("an ordinary access to byte {} of shared memory, where {} made an mbarrier", std::max<u64>(at, offset),
                         place_of(*by.warp, barrier.made_at));
    });
  }
}

/// Granules side by side mostly have the same history: what has just been found to be in order need not be looked at again.
template <class Conflicts>
bool is_new_conflict(u64 stamp, u64& good, Conflicts conflicts) {
  if (stamp == good) return false;
  if (conflicts(stamp)) return true;
  good = stamp;
  return false;
}

}  // namespace

void check_shared_read(const Accessor& by, Block& block, int lane, u64 offset, int bytes) {
  check_mbarriers(by, block, lane, offset, bytes);
  const u64 granule = static_cast<u64>(by.warp->kernel->shared_granule);
  const u64 mine = shared_stamp(by, lane), of_several = as_several_lanes(mine);
  const auto after_write = [&](u64 stamp) { return conflicts(by, block, lane, stamp, true); };
  u64 good_write = 0;
  const int shift = std::countr_zero(granule);
  for (u64 c = offset >> shift; c <= (offset + static_cast<u64>(bytes) - 1) >> shift; ++c) {
    SharedCell& cell = block.cells[c];
    // Two lanes of this very request have been here, as where a request reads one word for many lanes: they found what there is to find.
    if (cell.read == of_several) continue;
    if (is_new_conflict(cell.write, good_write, after_write))
      conflict_shared(by, block, lane, c * granule, cell.write, "the read", "write");
    if (cell.read != mine) remember_read(block, cell, by, lane, mine);
  }
  if (const void* unwritten = std::memchr(block.written.data() + offset, 0, static_cast<std::size_t>(bytes)); unwritten != nullptr)
    report(*by.warp, *by.instruction, FindingKind::uninitialized, lane,
           [&] { return fmt::format("byte {} of shared memory", static_cast<const u8*>(unwritten) - block.written.data()); });
}

void check_shared_write(const Accessor& by, Block& block, int lane, u64 offset, int bytes, const std::byte* value) {
  check_mbarriers(by, block, lane, offset, bytes);
  const u64 granule = static_cast<u64>(by.warp->kernel->shared_granule);
  const u64 mine = shared_stamp(by, lane);
  const auto after_write = [&](u64 stamp) { return conflicts(by, block, lane, stamp, true); };
  const auto after_read = [&](u64 stamp) { return conflicts(by, block, lane, stamp, false); };
  u64 good_write = 0, good_read = 0;
  const int shift = std::countr_zero(granule);
  for (u64 c = offset >> shift; c <= (offset + static_cast<u64>(bytes) - 1) >> shift; ++c) {
    SharedCell& cell = block.cells[c];
    if (is_new_conflict(cell.write, good_write, after_write)) {
      const bool same = value != nullptr && std::memcmp(block.shared.get() + offset, value, static_cast<std::size_t>(bytes)) == 0;
      if (!same) conflict_shared(by, block, lane, c * granule, cell.write, "the write", "write");
    }
    if (cell.read != 0) {
      if (cell.read & kMany) {
        for (u64 other : block.many_reads[static_cast<u32>(cell.read)])
          if (conflicts(by, block, lane, other, false)) {
            conflict_shared(by, block, lane, c * granule, other, "the write", "read");
            break;
          }
      } else if (is_new_conflict(cell.read, good_read, after_read)) {
        conflict_shared(by, block, lane, c * granule, cell.read, "the write", "read");
      }
      forget_reads(block, cell);
    }
    cell.write = mine;
  }
  std::memset(block.written.data() + offset, 1, static_cast<std::size_t>(bytes));
}

void check_global_read(const Accessor& by, int lane, const Range& range, u64 address, int bytes) {
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.owner->ticket);
  const auto after_write = [&](u64 stamp) { return conflicts_globally(by, lane, stamp, true); };
  u64 good_write = 0;
  GlobalCell* cell = cells_of(range, address);
  for (u64 n = cell_count(range, address, bytes); n > 0; --n, ++cell) {
    const u64 write = load(cell->write);
    if (is_new_conflict(write, good_write, after_write))
      conflict_global(by, lane, range, address, write, load(cell->write_at), "the read", "write");
    const u64 last = load(cell->reads[0]);
    if (last == mine) continue;
    // The last two readers that are different agents are kept.
    const bool same_agent = last != 0 && low_of(last) == low_of(mine) && agent_of(last) == by.agent;
    if (last != 0 && !same_agent) store(cell->reads[1], last);
    store(cell->reads[0], same_agent ? merged(mine, last) : mine);
    store(cell->read_at, by.instruction->index);
  }
}

void check_global_write(const Accessor& by, int lane, const Range& range, u64 address, int bytes, const std::byte* value) {
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.owner->ticket);
  const auto after_write = [&](u64 stamp) { return conflicts_globally(by, lane, stamp, true); };
  const auto after_read = [&](u64 stamp) { return conflicts_globally(by, lane, stamp, false); };
  u64 good_write = 0, good_read = 0;
  GlobalCell* cell = cells_of(range, address);
  for (u64 n = cell_count(range, address, bytes); n > 0; --n, ++cell) {
    const u64 write = load(cell->write);
    if (is_new_conflict(write, good_write, after_write)) {
      const bool same =
          value != nullptr && std::memcmp(reinterpret_cast<const void*>(address), value, static_cast<std::size_t>(bytes)) == 0;
      if (!same) conflict_global(by, lane, range, address, write, load(cell->write_at), "the write", "write");
    }
    for (u64& read : cell->reads) {
      const u64 other = load(read);
      if (other == 0) continue;
      if (is_new_conflict(other, good_read, after_read))
        conflict_global(by, lane, range, address, other, load(cell->read_at), "the write", "read");
      store(read, 0);
    }
    store(cell->write, mine);
    store(cell->write_at, by.instruction->index);
  }
}

Knowledge publish(Warp& warp, Mask lanes, bool whole_gpu) {
  learn_own(warp, lanes);
  ++warp.epoch;
  if (!whole_gpu) return {warp.released.for_all, warp.view.foreign, warp.released.async_shared, warp.released.async_global};
  return {warp.view.foreign, warp.view.foreign, warp.async.shared.foreign, warp.async.global.foreign};
}

void learn_own(Warp& warp, Mask lanes) {
  const u32 number = warp.block->number;
  Clock own = warp.view.clock;
  warp.tell(own, lanes);
  if (const Clock* told = warp.view.foreign.find(number)) own.join(*told);
  warp.view.foreign.learn(number, own);
  for (View* view : {&warp.async.shared, &warp.async.global})
    if (!(view->clock == Clock{})) view->foreign.learn(number, view->clock);
}

void take_view(Warp& warp, const View& view, const AsyncViews& async) {
  warp.view.foreign.join(view.foreign);
  warp.async.shared.foreign.join(async.shared.foreign);
  warp.async.global.foreign.join(async.global.foreign);
  for (View* own : {&warp.view, &warp.async.shared, &warp.async.global})
    if (const Clock* clock = own->foreign.find(warp.block->number)) own->clock.join(*clock);
}

void take_knowledge(Warp& warp, const Knowledge& knowledge, bool whole_gpu) {
  const auto take = [&](View& view, const KnownBlocks& known) {
    if (known.empty()) return;
    view.foreign.join(known);
    if (const Clock* own = view.foreign.find(warp.block->number)) view.clock.join(*own);
  };
  take(warp.view, knowledge.for_block);
  if (whole_gpu) take(warp.view, knowledge.for_all);
  take(warp.async.shared, knowledge.async_shared);
  take(warp.async.global, knowledge.async_global);
}

Knowledge released_by(Warp& warp, const Instruction& i, Mask lanes) {
  return i.releases ? publish(warp, lanes, i.whole_gpu) : warp.released;
}

static Releases& releases_of(Warp& warp, const Places& places, int lane) {
  return places.space == Space::shared ? places.owner(lane).releases : warp.worker->launch->releases;
}

void release_through(Warp& warp, const Knowledge& knowledge, const Places& places, int lane, bool replaces) {
  releases_of(warp, places, lane).release(places.address[static_cast<std::size_t>(lane)], warp.block->number, knowledge, replaces);
}

void acquire_through(Warp& warp, const Instruction& i, const Places& places, int lane) {
  const Knowledge knowledge = releases_of(warp, places, lane).acquire(places.address[static_cast<std::size_t>(lane)], warp.block->number);
  if (i.acquires)
    take_knowledge(warp, knowledge, i.whole_gpu);
  else
    warp.to_acquire.join(knowledge);  // for a fence to take
}

void Releases::release(u64 address, u32 block, const Knowledge& knowledge, bool replaces) {
  if (knowledge.for_block.empty() && !(replaces && any_)) return;
  any_ = true;
  const std::lock_guard lock(mutex_);
  if (replaces) released_.erase(address);
  if (knowledge.for_block.empty()) return;
  Released& released = released_[address];
  released.by_all.join(knowledge.for_all);
  released.by_block[block].join(knowledge.for_block);
  released.async_shared.join(knowledge.async_shared);
  released.async_global.join(knowledge.async_global);
}

Knowledge Releases::acquire(u64 address, u32 block) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  if (found == released_.end()) return {};
  const auto own = found->second.by_block.find(block);
  const Released& released = found->second;
  return {released.by_all, own == released.by_block.end() ? KnownBlocks{} : own->second, released.async_shared, released.async_global};
}

}  // namespace tilewright::rt::emulator

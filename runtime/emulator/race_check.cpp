// Cells of shared and global memory, and the order between accesses.
#include "runtime/emulator/race_check.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace tilewright::rt::emulator {
namespace {

// A stamp says who accessed a granule and when, in 64 bits; 0 says nobody did.
//   clock 24 | lane 6 | strong 1 | many 1 | agent 8 | low 24: the instruction (shared memory) or the block's ticket (global memory)
constexpr u32 kLow = (1u << 24) - 1;
constexpr u64 kMany = u64{1} << 32;  // the low 32 bits number a list in Block::many_reads instead
constexpr u64 kStrong = u64{1} << 33;
constexpr u32 kSeveralLanes = 32;

u64 make_stamp(u32 clock, u32 lane, bool strong, int agent, u32 low) {
  return static_cast<u64>(clock & kLow) << 40 | static_cast<u64>(lane) << 34 | (strong ? kStrong : 0) | static_cast<u64>(agent) << 24 |
         (low & kLow);
}
u32 clock_of(u64 stamp) { return static_cast<u32>(stamp >> 40); }
u32 lane_of(u64 stamp) { return static_cast<u32>(stamp >> 34) & 63; }
int agent_of(u64 stamp) { return static_cast<int>(stamp >> 24) & 255; }
u32 low_of(u64 stamp) { return static_cast<u32>(stamp) & kLow; }

/// Whether an access of the same block is over before this one. Lanes of one warp are as independent of each other as warps are, until
/// a barrier of theirs begins a new epoch; an engine's copies are over when they have been waited for.
bool is_ordered(const Accessor& by, int lane, u64 stamp) {
  const int agent = agent_of(stamp);
  if (agent != by.agent || agent >= kMaxWarps) return clock_of(stamp) <= by.view->at[static_cast<std::size_t>(agent)];
  return clock_of(stamp) != (by.epoch & kLow) || lane_of(stamp) == static_cast<u32>(lane);
}

std::string agent_name(int agent) {
  return agent < kMaxWarps ? fmt::format("warp {}", agent) : fmt::format("an asynchronous copy of warp {}", agent - kMaxWarps);
}

void report_race(const Accessor& by, int lane, const char* what, const char* earlier, const std::string& where, const std::string& who,
                 u32 at) {
  report(*by.warp, *by.instruction, FindingKind::race, lane,
         [&] { return fmt::format("{} {} is not ordered after the {} by {} at {}", what, where, earlier, who, place_of(*by.warp, at)); });
}

// --- shared memory ---

std::string shared_place(u64 offset) { return fmt::format("of shared memory at byte {}", offset); }

void conflict_shared(const Accessor& by, int lane, u64 offset, u64 stamp, const char* what, const char* earlier) {
  std::string who = agent_name(agent_of(stamp));
  if (agent_of(stamp) == by.agent)
    who = lane_of(stamp) < 32 ? fmt::format("lane {} of the same warp", lane_of(stamp)) : "other lanes of the same warp";
  report_race(by, lane, what, earlier, shared_place(offset), who, low_of(stamp));
}

bool conflicts(const Accessor& by, int lane, u64 stamp) {
  return !((stamp & kStrong) && by.instruction->is_strong) && !is_ordered(by, lane, stamp);
}

/// The reader's stamp, which covers what the same reader left there before in the same epoch.
u64 merged(u64 mine, u64 before) {
  const bool same_epoch = clock_of(mine) == clock_of(before);
  if (same_epoch && lane_of(mine) != lane_of(before)) mine = (mine & ~(u64{63} << 34)) | u64{kSeveralLanes} << 34;
  if (same_epoch && !(before & kStrong)) mine &= ~kStrong;
  return mine;
}

void remember_read(Block& block, SharedCell& cell, const Accessor& by, int lane, u64 mine) {
  if (cell.read == 0) {
    cell.read = mine;
  } else if (!(cell.read & kMany)) {
    if (agent_of(cell.read) == by.agent) {
      cell.read = merged(mine, cell.read);
    } else if (is_ordered(by, lane, cell.read)) {
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
      if (agent_of(other) == by.agent) {
        other = merged(mine, other);
        return;
      }
    std::erase_if(reads, [&](u64 other) { return is_ordered(by, lane, other); });
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

bool is_ordered_globally(const Accessor& by, int lane, u64 stamp) {
  const Warp& warp = *by.warp;
  const u32 ticket = low_of(stamp);
  if (ticket == warp.block->ticket) return is_ordered(by, lane, stamp);
  if (ticket < warp.worker->launch->first_ticket) return true;  // of an earlier launch
  const Clock* known = warp.foreign.find(ticket - warp.worker->launch->first_ticket);
  return known != nullptr && clock_of(stamp) <= known->at[static_cast<std::size_t>(agent_of(stamp))];
}

bool conflicts_globally(const Accessor& by, int lane, u64 stamp) {
  return stamp != 0 && !((stamp & kStrong) && by.instruction->is_strong) && !is_ordered_globally(by, lane, stamp);
}

void conflict_global(const Accessor& by, int lane, const Range& range, u64 address, u64 stamp, u32 at, const char* what,
                     const char* earlier) {
  std::string who = agent_name(agent_of(stamp));
  if (low_of(stamp) != by.warp->block->ticket)
    who += " of another block";
  else if (agent_of(stamp) == by.agent)
    who = "another lane of the same warp";
  report_race(by, lane, what, earlier,
              fmt::format("of global memory at byte {} of an allocation of {} bytes", address - range.begin, range.bytes), who, at);
}

GlobalCell* cells_of(const Range& range, u64 address) { return range.cells + (address - range.begin) / static_cast<u64>(range.granule); }
u64 cell_count(const Range& range, u64 address, int bytes) {
  const u64 granule = static_cast<u64>(range.granule), offset = address - range.begin;
  return (offset + static_cast<u64>(bytes) - 1) / granule - offset / granule + 1;
}

}  // namespace

void check_shared_read(const Accessor& by, int lane, u64 offset, int bytes) {
  Block& block = *by.warp->block;
  const u64 granule = static_cast<u64>(by.warp->kernel->shared_granule);
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.instruction->index);
  for (u64 c = offset / granule; c <= (offset + static_cast<u64>(bytes) - 1) / granule; ++c) {
    SharedCell& cell = block.cells[c];
    if (cell.write != 0 && conflicts(by, lane, cell.write)) conflict_shared(by, lane, c * granule, cell.write, "the read", "write");
    if (cell.read != mine) remember_read(block, cell, by, lane, mine);
  }
  for (u64 b = offset; b < offset + static_cast<u64>(bytes); ++b)
    if (!block.written[b]) {
      report(*by.warp, *by.instruction, FindingKind::uninitialized, lane, [&] { return fmt::format("byte {} of shared memory", b); });
      break;
    }
}

void check_shared_write(const Accessor& by, int lane, u64 offset, int bytes, const std::byte* value) {
  Block& block = *by.warp->block;
  const u64 granule = static_cast<u64>(by.warp->kernel->shared_granule);
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.instruction->index);
  for (u64 c = offset / granule; c <= (offset + static_cast<u64>(bytes) - 1) / granule; ++c) {
    SharedCell& cell = block.cells[c];
    if (cell.write != 0 && conflicts(by, lane, cell.write)) {
      const bool same = value != nullptr && std::memcmp(block.shared.get() + offset, value, static_cast<std::size_t>(bytes)) == 0;
      if (!same) conflict_shared(by, lane, c * granule, cell.write, "the write", "write");
    }
    if (cell.read != 0) {
      if (cell.read & kMany) {
        for (u64 other : block.many_reads[static_cast<u32>(cell.read)])
          if (conflicts(by, lane, other)) {
            conflict_shared(by, lane, c * granule, other, "the write", "read");
            break;
          }
      } else if (conflicts(by, lane, cell.read)) {
        conflict_shared(by, lane, c * granule, cell.read, "the write", "read");
      }
      forget_reads(block, cell);
    }
    cell.write = mine;
  }
  std::memset(block.written.data() + offset, 1, static_cast<std::size_t>(bytes));
}

void check_global_read(const Accessor& by, int lane, const Range& range, u64 address, int bytes) {
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.warp->block->ticket);
  GlobalCell* cell = cells_of(range, address);
  for (u64 n = cell_count(range, address, bytes); n > 0; --n, ++cell) {
    const u64 write = load(cell->write);
    if (conflicts_globally(by, lane, write)) conflict_global(by, lane, range, address, write, load(cell->write_at), "the read", "write");
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
  const u64 mine = make_stamp(by.epoch, static_cast<u32>(lane), by.instruction->is_strong, by.agent, by.warp->block->ticket);
  GlobalCell* cell = cells_of(range, address);
  for (u64 n = cell_count(range, address, bytes); n > 0; --n, ++cell) {
    const u64 write = load(cell->write);
    if (conflicts_globally(by, lane, write)) {
      const bool same =
          value != nullptr && std::memcmp(reinterpret_cast<const void*>(address), value, static_cast<std::size_t>(bytes)) == 0;
      if (!same) conflict_global(by, lane, range, address, write, load(cell->write_at), "the write", "write");
    }
    for (u64& read : cell->reads) {
      const u64 other = load(read);
      if (other == 0) continue;
      if (conflicts_globally(by, lane, other)) conflict_global(by, lane, range, address, other, load(cell->read_at), "the write", "read");
      store(read, 0);
    }
    store(cell->write, mine);
    store(cell->write_at, by.instruction->index);
  }
}

Knowledge publish(Warp& warp, bool whole_gpu) {
  warp.foreign.learn(warp.block->number, warp.clock);
  warp.advance_epoch();
  return {whole_gpu ? warp.foreign : warp.released.for_all, warp.foreign};
}

void take_knowledge(Warp& warp, const Knowledge& knowledge, bool whole_gpu) {
  const auto take = [&](const KnownBlocks& known) {
    if (known.empty()) return;
    warp.foreign.join(known);
    if (const Clock* own = warp.foreign.find(warp.block->number)) warp.clock.join(*own);
  };
  take(knowledge.for_block);
  if (whole_gpu) take(knowledge.for_all);
}

Knowledge released_by(Warp& warp, const Instruction& i) { return i.releases ? publish(warp, i.whole_gpu) : warp.released; }

static Releases& releases_of(Warp& warp, Space space) {
  return space == Space::shared ? warp.block->releases : warp.worker->launch->releases;
}

void release_through(Warp& warp, const Knowledge& knowledge, Space space, u64 address, bool replaces) {
  releases_of(warp, space).release(address, warp.block->number, knowledge, replaces);
}

void acquire_through(Warp& warp, const Instruction& i, Space space, u64 address) {
  const Knowledge knowledge = releases_of(warp, space).acquire(address, warp.block->number);
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
}

Knowledge Releases::acquire(u64 address, u32 block) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  if (found == released_.end()) return {};
  const auto own = found->second.by_block.find(block);
  return {found->second.by_all, own == found->second.by_block.end() ? KnownBlocks{} : own->second};
}

}  // namespace tilewright::rt::emulator

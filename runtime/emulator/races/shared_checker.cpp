// The rule of data races on shared memory. Only one worker at a time accesses a block's shared memory and its shadow cells.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/shadow/written_bytes.h"
#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {
namespace {

// The bits of an epoch that identify the agent and its block.
constexpr u64 kAgent = u64{255} << 24 | u64{15} << kRankShift;

bool is_list(const SharedShadowCell& cell) { return cell.reads[0] & kMany; }

/// The reads recorded in a cell.
std::span<u64> reads_of(Block& block, SharedShadowCell& cell) {
  if (is_list(cell)) return block.shadow.list(static_cast<u32>(cell.reads[0]));
  return {cell.reads.begin(), std::ranges::find(cell.reads, u64{0})};
}

}  // namespace

SharedChecker::SharedChecker(const Accessor& by, Block& block)
    : by(by), block(block), shift(std::countr_zero(static_cast<u32>(by.warp->kernel->shared_granule))), epoch_(shared_epoch(by)) {}

const AcquireClocks* SharedChecker::fenced_before(u64 earlier, bool is_write) const {
  return needs_proxy_fence(by, earlier, is_write) ? &by.async->shared : nullptr;
}

// "Conflict and Data-races": two accesses to the same bytes, one of them a write, race if neither happened before the other and they are
// not morally strong. A block's shared memory is in the scope of every strong access to it.
bool SharedChecker::conflicts(u64 earlier, int lane, bool is_write) const {
  return earlier != 0 && !are_morally_strong(by, earlier) &&
         !happens_before(by, lane, earlier, number_of(earlier), fenced_before(earlier, is_write));
}

void SharedChecker::read(int lane, u64 offset, int bytes) {
  check_mbarriers(lane, offset, bytes);
  for (u64 granule = offset >> shift; granule <= (offset + static_cast<u64>(bytes) - 1) >> shift; ++granule) {
    SharedShadowCell& cell = block.shadow[granule];
    // FastTrack's "read same epoch": after the second lane of a request, further lanes would find only what those two have found.
    if (const auto reads = reads_of(block, cell); std::ranges::find(reads, as_several_lanes(epoch(lane))) != reads.end()) continue;
    if (conflicts(cell.write, lane, true)) report(lane, granule, cell.write, "the read", "write");
    remember_read(cell, lane);
  }
  check_unwritten(lane, offset, bytes);
}

void SharedChecker::write(int lane, u64 offset, int bytes, const std::byte* value) {
  check_mbarriers(lane, offset, bytes);
  for (u64 granule = offset >> shift; granule <= (offset + static_cast<u64>(bytes) - 1) >> shift; ++granule) {
    SharedShadowCell& cell = block.shadow[granule];
    if (conflicts(cell.write, lane, true)) {
      const bool is_same = value != nullptr && std::memcmp(block.shared.get() + offset, value, static_cast<std::size_t>(bytes)) == 0;
      if (!is_same) report(lane, granule, cell.write, "the write", "write");
    }
    check_reads_before(cell, lane, granule);
    if (is_list(cell)) block.shadow.free_list(static_cast<u32>(cell.reads[0]));
    cell = {epoch(lane), {}};
  }
  ++block.writes;
  mark_written(block.shadow.written() + offset, bytes);
  block.undefined.define(offset, static_cast<u64>(bytes));
}

void SharedChecker::check_reads_before(SharedShadowCell& cell, int lane, u64 granule) {
  for (const u64 read : reads_of(block, cell)) {
    if (!conflicts(read, lane, false)) continue;
    report(lane, granule, read, "the write", "read");
    // One report is enough, but a remark does not count as one.
    if (!by.ends_mbarrier) return;
  }
}

void SharedChecker::remember_read(SharedShadowCell& cell, int lane) {
  const u64 mine = epoch(lane);
  const std::span<u64> before = reads_of(block, cell);
  // All reads by one agent share one entry.
  const auto own = std::ranges::find_if(before, [&](u64 read) { return ((read ^ mine) & kAgent) == 0; });
  if (own != before.end()) {
    *own = merged(mine, *own);
    return;
  }
  // A write that is ordered after this read is also ordered after the reads that happened before it.
  const auto end =
      std::remove_if(before.begin(), before.end(), [&](u64 read) { return happens_before(by, lane, read, number_of(read), nullptr); });
  const auto kept = static_cast<std::size_t>(end - before.begin());
  if (!is_list(cell) && kept < SharedShadowCell::kReads) {
    cell.reads[kept] = mine;
    std::fill(cell.reads.begin() + kept + 1, cell.reads.end(), 0);
    return;
  }
  if (!is_list(cell)) {
    const u32 number = block.shadow.add_list();
    block.shadow.list(number).assign(before.begin(), before.end());
    cell.reads = {kMany | number};
  }
  std::vector<u64>& list = block.shadow.list(static_cast<u32>(cell.reads[0]));
  list.resize(kept);
  list.push_back(mine);
}

/// Reports reads of bytes that were never written ("Initialization").
void SharedChecker::check_unwritten(int lane, u64 offset, int bytes) {
  if (const u8* unwritten = find_unwritten(block.shadow.written() + offset, bytes); unwritten != nullptr)
    emulator::report(*by.warp, *by.instruction, DiagnosticKind::uninitialized, lane,
                     [&] { return fmt::format("byte {} of shared memory", unwritten - block.shadow.written()); });
}

/// Reports ordinary accesses to the bytes of an mbarrier object, which are opaque.
void SharedChecker::check_mbarriers(int lane, u64 offset, int bytes) {
  if (by.is_on_mbarrier || block.mbarriers.empty()) return;
  auto after = block.mbarriers.lower_bound(static_cast<u32>(offset + static_cast<u64>(bytes)));
  for (; after != block.mbarriers.begin() && std::prev(after)->first + kMbarrierBytes > offset; --after) {
    const auto& [at, barrier] = *std::prev(after);
    if (!barrier->is_live) continue;
    emulator::report(*by.warp, *by.instruction, DiagnosticKind::bad_mbarrier, lane, [&] {
      return fmt::format("an ordinary access to byte {} of shared memory, where {} made an mbarrier", std::max<u64>(at, offset),
                         location_text(*by.warp, barrier->made_at));
    });
  }
}

void SharedChecker::report(int lane, u64 granule, u64 earlier, const char* what, const char* kind) {
  std::string other = agent_name(agent_of(earlier));
  if (rank_of(earlier) != by.warp->block->rank)
    other += fmt::format(" of the block of rank {}", rank_of(earlier));
  else if (agent_of(earlier) == by.warp->index)
    other = lane_of(earlier) < kSeveralLanes ? fmt::format("lane {} of the same warp", lane_of(earlier)) : "other lanes of the same warp";
  // cuda::pipeline: the threads of a warp meet in match.sync, one of them counts the warp as finished, and the last one ends the mbarriers.
  const bool is_remark = by.ends_mbarrier && happens_before_some_lane(by, earlier, number_of(earlier));
  const bool needs_only_fence =
      needs_proxy_fence(by, earlier, kind[0] == 'w') && happens_before(by, lane, earlier, number_of(earlier), nullptr);
  const char* why = is_remark ? kNoLaneOrder : needs_only_fence ? kNoProxyFence : "";
  report_race(by, lane, what, kind, fmt::format("of shared memory at byte {}", granule << shift), other, low_of(earlier) & kInstruction,
              why, is_remark);
}

}  // namespace tilewright::rt::emulator

// The rule of data races on global memory, whose shadow cells all workers share.
#include <fmt/format.h>

#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/races/checker_fast.h"
#include "runtime/emulator/simd/host_atomics.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

u64 load(u64& word) { return GlobalShadow::load(word); }

}  // namespace

GlobalChecker::GlobalChecker(const Accessor& by) : by(by), epoch_(global_epoch(by)), first_ticket_(by.warp->worker->launch->first_ticket) {}

/// An access that is not generic goes through the asynchronous proxy or the proxy of a tensor map.
const AcquireClocks* GlobalChecker::fenced_before(u64 earlier, bool is_write) const {
  if (!needs_proxy_fence(by, earlier, is_write)) return nullptr;
  return by.tensor_map != nullptr ? by.tensor_map : &by.async->global;
}

/// "Morally Strong Operations": each has a scope that includes the other.
bool GlobalChecker::is_atomic_to(u64 earlier) const {
  return are_morally_strong(by, earlier) && (low_of(earlier) == low_of(epoch_) || (earlier & epoch_ & kWide) != 0);
}

// "Conflict and Data-races": two accesses to the same bytes, one of them a write, race if neither happened before the other and they are
// not morally strong. All accesses of earlier launches happened before.
bool GlobalChecker::conflicts(u64 earlier, int lane, bool is_write) const {
  return !is_of_earlier_launch(earlier) && !is_atomic_to(earlier) &&
         !happens_before(by, lane, earlier, number_of(earlier), fenced_before(earlier, is_write));
}

void GlobalChecker::read(int lane, const Range& range, u64 address, int bytes) {
  flush_deferred(range, false);
  const GlobalShadow shadow(range);
  shadow.each_granule(address, static_cast<u64>(bytes), [&](GlobalShadowCell& cell) {
    const u64 write = load(cell.write);
    if (conflicts(write, lane, true)) report(lane, range, address, write, GlobalShadow::load(cell.write_at), "the read", "write");
    shadow.remember_read(cell, epoch(static_cast<u32>(lane)), by.instruction->index);
  });
}

void GlobalChecker::write(int lane, const Range& range, u64 address, int bytes, const std::byte* value) {
  flush_deferred(range, true);
  const GlobalShadow shadow(range);
  shadow.each_granule(address, static_cast<u64>(bytes), [&](GlobalShadowCell& cell) {
    if (const u64 write = load(cell.write); conflicts(write, lane, true)) {
      const bool is_same = value != nullptr && holds(reinterpret_cast<const std::byte*>(address), value, static_cast<std::size_t>(bytes));
      if (!is_same) report(lane, range, address, write, GlobalShadow::load(cell.write_at), "the write", "write");
    }
    for (std::size_t r = 0; GlobalShadow::has_reads(cell) && r < 2; ++r)
      if (const u64 read = load(shadow.reads(cell)[r]); conflicts(read, lane, false))
        report(lane, range, address, read, GlobalShadow::load(cell.read_at) - 1, "the write", "read");
    shadow.remember_write(cell, epoch(static_cast<u32>(lane)), by.instruction->index);
  });
}

void GlobalChecker::read(int lane, const Range& range, std::span<const GlobalRun> runs) {
  if (defer_read(*this, lane, range, runs)) return;
  const bool has_fast = by.warp->worker->launch->fast_paths;
  for (const GlobalRun& run : runs)
    run.each_row([&](u64 address, u64 bytes) {
      if (!has_fast || !read_fast(*this, lane, range, address, bytes)) read(lane, range, address, static_cast<int>(bytes));
    });
}

void GlobalChecker::expect_unwritten(int lane, const Range& range, u64 address, u64 bytes) {
  GlobalShadowCell* written = nullptr;
  GlobalShadow(range).each_granule(address, bytes, [&](GlobalShadowCell& cell) {
    if (written == nullptr && !is_of_earlier_launch(load(cell.write))) written = &cell;
  });
  if (written == nullptr) return;
  emulator::report(*by.warp, *by.instruction, DiagnosticKind::non_coherent, lane, [&] {
    const u64 write = load(written->write);
    const bool is_same_warp = low_of(write) == by.warp->block->ticket && agent_of(write) == by.warp->index;
    return fmt::format(
        "byte {} of an allocation of {} bytes was written by {} at {}, in the same launch: expected memory that is only read, or no "
        "'.nc'",
        address - range.begin, range.bytes, is_same_warp ? "the same warp" : name_of_other(write),
        location_text(*by.warp, GlobalShadow::load(written->write_at)));
  });
}

std::string GlobalChecker::name_of_other(u64 earlier) const {
  const std::string name = agent_name(agent_of(earlier));
  if (low_of(earlier) != by.warp->block->ticket) return name + " of another block";
  return agent_of(earlier) == by.warp->index ? "another lane of the same warp" : name;
}

void GlobalChecker::report(int lane, const Range& range, u64 address, u64 earlier, u32 at, const char* what, const char* kind) {
  const bool needs_only_fence =
      needs_proxy_fence(by, earlier, kind[0] == 'w') && happens_before(by, lane, earlier, number_of(earlier), nullptr);
  const char* why = needs_only_fence                  ? by.tensor_map != nullptr ? kNoTensorMapFence : kNoProxyFence
                    : are_morally_strong(by, earlier) ? ", because one of them is atomic to its own block alone"
                                                      : "";
  report_race(by, lane, what, kind,
              fmt::format("of global memory at byte {} of an allocation of {} bytes", address - range.begin, range.bytes),
              name_of_other(earlier), at, why);
}

}  // namespace tilewright::rt::emulator

// Checks bulk copies, and runs their pieces as operations.
#include "runtime/emulator/async/bulk_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/emulator/async/schedule.h"
#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/memory/atomic_update.h"
#include "runtime/emulator/memory/global_ranges.h"
#include "runtime/emulator/races/engine_checks.h"
#include "runtime/emulator/races/remote_accesses.h"

namespace tilewright::rt::emulator {
namespace {

// The value that a read finds if it does not wait for the copy: NaN, for floats of every size.
constexpr int kPoison = 0xff;

/// Counts a request of the engine: sectors of global memory and bytes, or only bytes for a copy between blocks.
Count& count_request(const BulkCopy& copy) {
  Count& count = copy.warp.worker->counts[copy.instruction.index];
  ++count.requests;
  return count;
}
void count(const BulkCopy& copy, std::span<const GlobalRun> runs) {
  u64 total = 0, units = 0, ideal = 0;
  for (const GlobalRun& run : runs) {
    total += run.rows * run.bytes;
    ideal += run.rows * ((run.bytes + 31) / 32);
    const auto sectors_of = [](u64 address, u64 bytes) { return (address + bytes - 1) / 32 - address / 32 + 1; };
    // With such a stride all rows begin at the same offset in a sector.
    if (run.stride % 32 == 0)
      units += run.rows * sectors_of(run.address, run.bytes);
    else
      run.each_row([&](u64 address, u64 bytes) { units += sectors_of(address, bytes); });
  }
  Count& count = count_request(copy);
  count.bytes += total;
  count.units += units;
  count.ideal += ideal;
}

/// The allocation that contains all runs; null if there is none.
const Range* common_range(Worker& worker, std::span<const GlobalRun> runs) {
  u64 begin = ~u64{0}, end = 0;
  for (const GlobalRun& run : runs) {
    begin = std::min(begin, run.address);
    end = std::max(end, run.end());
  }
  const Range* range = global_range(worker, begin);
  return range != nullptr && end > begin && end <= range->end() ? range : nullptr;
}

/// Whether all of the copy's accesses to global memory are inside of allocations; otherwise a diagnostic.
bool is_in_bounds(const BulkCopy& copy, std::span<const GlobalRun> runs) {
  if (runs.empty() || common_range(*copy.warp.worker, runs) != nullptr) return true;
  // One allocation may directly follow another one.
  bool is_good = true;
  for (const CopyPiece& piece : copy.pieces.list) {
    if (piece.is_outside) continue;
    each_chunk(piece, copy.pieces.swizzle, [&](u64, u64 address, u32 bytes) {
      if (!is_good) return;
      const Range* range = global_range(*copy.warp.worker, address);
      if (range != nullptr && bytes <= range->end() - address) return;
      is_good = false;
      report(copy.warp, copy.instruction, DiagnosticKind::out_of_bounds, copy.lane,
             [&] { return describe_global(*copy.warp.worker, address, bytes); });
    });
  }
  return is_good;
}

/// Checks accesses to global memory whose bounds have been checked.
void check_global_runs(const Accessor& by, const BulkCopy& copy, std::span<const GlobalRun> runs, Access access) {
  if (runs.empty()) return;
  const Range* const common = access == Access::read ? common_range(*copy.warp.worker, runs) : nullptr;
  if (common != nullptr && common->written == nullptr) {
    if (copy.warp.worker->launch->check && common->cells != nullptr) GlobalChecker(by).read(copy.lane, *common, runs);
    return;
  }
  const int l = copy.lane;
  Request request;
  request.space = Space::global;
  request.mask = kLaneBit[l];
  RequestCheck check(by, request);
  const auto check_row = [&](u64 address, u64 bytes) {
    for (u64 part = 0; bytes > 0; address += part, bytes -= part) {
      request.address[l] = address;
      request.range[l] = global_range(*copy.warp.worker, address);
      part = std::min(bytes, request.range[l]->end() - address);
      if (access == Access::read)
        check.read(copy.lane, static_cast<int>(part));
      else
        check.write(copy.lane, static_cast<int>(part), nullptr);
      if (request.range[l]->written != nullptr) check_written(copy.warp, copy.instruction, request, static_cast<int>(part), access);
    }
  };
  for (const GlobalRun& run : runs) run.each_row(check_row);
}

void poison(const Block& block, std::span<const SharedSpan> spans) {
  for (const auto& [offset, bytes] : spans) std::memset(block.shared.get() + offset, kPoison, bytes);
}

/// Checks the copy's writes to the block, and poisons the bytes that must not be read yet.
void claim(const Accessor& by, Block& block, const BulkCopy& copy) {
  const SharedSpan whole = whole_span(copy.pieces);
  const bool checks = copy.warp.worker->launch->check;
  if (whole.bytes > 0 && (!checks || write_in_order(by, block, copy.lane, whole))) {
    if (!copy.reduction) poison(block, {&whole, 1});
    return;
  }
  // A diagnostic names the first piece that has one.
  const std::vector<SharedSpan> spans = written_spans(copy.pieces);
  if (checks) check_shared_writes(by, block, copy.lane, spans);
  if (!copy.reduction) poison(block, spans);
}

void fill(const BulkCopy& copy, std::byte* to, u32 bytes) {
  for (u32 at = 0; at < bytes; at += static_cast<u32>(copy.fill_bytes))
    std::memcpy(to + at, &copy.fill, static_cast<std::size_t>(copy.fill_bytes));
}

/// Copies the bytes to `to`, or reduces them into the bytes there.
void write_bytes(const BulkCopy& copy, std::byte* to, const std::byte* from, u32 bytes) {
  if (!copy.reduction) return void(std::memcpy(to, from, bytes));
  const auto [update, size] = *copy.reduction;
  bool changed = false;
  for (u32 at = 0; at < bytes; at += static_cast<u32>(size)) {
    u64 value = 0;
    std::memcpy(&value, from + at, static_cast<std::size_t>(size));
    atomic_update(update, size, to + at, value, 0, changed);
  }
}

/// The bytes in a block's shared memory that the copy's pieces cover.
std::vector<std::byte> gather(const Block& block, const BulkCopy& copy) {
  std::vector<std::byte> bytes(copy.pieces.bytes());
  std::byte* to = bytes.data();
  for (const CopyPiece& piece : copy.pieces.list) {
    copy_from_shared(to, piece, copy.pieces.swizzle, block.shared.get());
    to += piece.all_bytes();
  }
  return bytes;
}

/// Completes this number of bytes on the mbarrier; a wait for it acquires the engine's epoch.
void signal(const BulkCopy& copy, const SharedLocation& at, u32 time, u64 bytes) {
  const MbarrierOperation operation{copy.warp, copy.instruction, copy.lane, *at.block, at.offset};
  if (at.block->running == 0)
    return report(copy.warp, copy.instruction, DiagnosticKind::exited_block, copy.lane,
                  [&] { return fmt::format("the copy to the block of rank {} is done after its end", at.block->rank); });
  Mbarrier* const barrier = live_mbarrier(*at.block, at.offset);
  if (barrier == nullptr)
    return report(copy.warp, copy.instruction, DiagnosticKind::bad_mbarrier, copy.lane, [&] {
      return fmt::format("when the copy is done, there is no mbarrier at byte {} of shared memory any more", at.offset);
    });
  barrier->clocks.clock.raise(barrier->agent, time);
  complete_transactions(operation, *barrier, static_cast<s64>(bytes));
}

/// The part of a copy that arrives in one block: its mbarrier, and the agent and epoch of its writes.
struct Arrival {
  Destination destination;
  int agent;
  u32 time;
};

std::optional<Arrival> arrival_of(const BulkCopy& copy, const Destination& destination) {
  const SharedLocation& at = destination.mbarrier;
  const Mbarrier* barrier = find_mbarrier({copy.warp, copy.instruction, copy.lane, *at.block, at.offset});
  if (barrier == nullptr) return std::nullopt;
  return Arrival{destination, barrier->agent, static_cast<u32>(barrier->phase) + 1};
}

/// `group` and `read` are used only for stores.
void begin(const BulkCopy& copy, std::function<void()> write, u32 group = 0, std::function<void()> read = nullptr) {
  begin(AsyncOperation{&copy.warp, copy.instruction.index, copy.lane, group, std::move(read), std::move(write)});
}

}  // namespace

std::optional<SharedLocation> shared_location(Warp& warp, const Instruction& i, int lane, u64 address, bool may_be_remote, u64 bytes,
                                              u64 align) {
  if (address >= kSharedWindow && address - kSharedWindow < kWindowBytes) address -= kSharedWindow;
  if (address % align != 0) {
    report(warp, i, DiagnosticKind::misaligned, lane,
           [&] { return fmt::format("byte {} of shared memory: expected a multiple of {}", address % kRankUnit, align); });
    return std::nullopt;
  }
  SharedLocation location{warp.block, address};
  if (address >= kRankUnit && address < kWindowBytes) {
    const u64 rank = address / kRankUnit - 1;
    const auto& blocks = warp.block->cluster->blocks;
    if (rank < blocks.size() && (may_be_remote || blocks[rank].get() == warp.block)) location = {blocks[rank].get(), address % kRankUnit};
  }
  if (location.offset > location.block->shared_bytes || bytes > location.block->shared_bytes - location.offset) {
    report(warp, i, DiagnosticKind::out_of_bounds, lane, [&] {
      return fmt::format("{} bytes at 0x{:x} of shared memory, which has {} bytes", bytes, location.offset, location.block->shared_bytes);
    });
    return std::nullopt;
  }
  if (location.block->running == 0) {
    report(warp, i, DiagnosticKind::exited_block, lane,
           [&] { return fmt::format("byte {} of shared memory of the block of rank {}", location.offset, location.block->rank); });
    return std::nullopt;
  }
  return location;
}

void begin_load(BulkCopy begun, const std::vector<Destination>& destinations) {
  const auto kept = std::make_shared<const BulkCopy>(std::move(begun));
  const BulkCopy& copy = *kept;
  const std::vector<GlobalRun> runs = global_runs(copy.pieces);
  if (!is_in_bounds(copy, runs)) return;
  count(copy, runs);
  std::vector<Arrival> arrivals;
  for (const Destination& destination : destinations) {
    const auto arrival = arrival_of(copy, destination);
    if (!arrival) return;
    const Accessor by = engine_of(copy.warp, copy.instruction, *destination.to.block, arrival->agent, arrival->time);
    check_global_runs(by, copy, runs, Access::read);
    claim(by, *destination.to.block, copy);
    arrivals.push_back(*arrival);
  }
  // A multicast arrives at each block at a different time.
  for (const Arrival& arrival : arrivals)
    begin(copy, [kept, arrival] {
      const BulkCopy& copy = *kept;
      const auto& [to, mbarrier] = arrival.destination;
      std::byte* const shared = to.block->shared.get();
      for (const CopyPiece& piece : copy.pieces.list)
        if (piece.is_outside)
          each_chunk(piece, copy.pieces.swizzle, [&](u64 offset, u64, u32 bytes) { fill(copy, shared + offset, bytes); });
        else
          copy_to_shared(shared, piece, copy.pieces.swizzle);
      signal(copy, mbarrier, arrival.time, copy.pieces.bytes());
    });
}

void begin_move(BulkCopy begun, const Destination& destination) {
  const auto kept = std::make_shared<const BulkCopy>(std::move(begun));
  const BulkCopy& copy = *kept;
  count_request(copy).bytes += copy.pieces.bytes();
  const auto arrival = arrival_of(copy, destination);
  if (!arrival) return;
  const Accessor by = engine_of(copy.warp, copy.instruction, *destination.to.block, arrival->agent, arrival->time);
  Block& from = *copy.warp.block;
  if (copy.warp.worker->launch->check)
    for (const CopyPiece& piece : copy.pieces.list) {
      check_shared_read(by, from, copy.lane, piece.global, static_cast<int>(piece.bytes));
      if (by.owner != &from) remember_remote(from.remote_accesses, by, copy.lane);
      if (copy.reduction) check_shared_read(by, *destination.to.block, copy.lane, piece.shared, static_cast<int>(piece.bytes));
    }
  claim(by, *destination.to.block, copy);
  begin(copy, [kept, &from, arrival = *arrival] {
    const BulkCopy& copy = *kept;
    const auto& [to, mbarrier] = arrival.destination;
    for (const CopyPiece& piece : copy.pieces.list)
      write_bytes(copy, to.block->shared.get() + piece.shared, from.shared.get() + piece.global, piece.bytes);
    signal(copy, mbarrier, arrival.time, copy.pieces.bytes());
  });
}

void begin_value(const BulkCopy& copy, const Destination& destination, const std::array<std::byte, 16>& value) {
  const auto arrival = arrival_of(copy, destination);
  if (!arrival) return;
  const auto bytes = static_cast<u32>(copy.pieces.bytes());
  const auto& [to, mbarrier] = destination;
  // This does not go through the asynchronous proxy, unlike bulk copies.
  Accessor by = engine_of(copy.warp, copy.instruction, *to.block, arrival->agent, arrival->time);
  by.async = nullptr;
  if (copy.warp.worker->launch->check) check_shared_write(by, *to.block, copy.lane, to.offset, static_cast<int>(bytes), nullptr);
  std::byte* target = to.block->shared.get() + to.offset;
  if (!copy.reduction) std::memset(target, kPoison, bytes);
  begin(copy, [copy, value, target, bytes, mbarrier = mbarrier, time = arrival->time] {
    write_bytes(copy, target, value.data(), bytes);
    signal(copy, mbarrier, time, bytes);
  });
}

void begin_store(BulkCopy begun) {
  const auto kept = std::make_shared<const BulkCopy>(std::move(begun));
  const BulkCopy& copy = *kept;
  const std::vector<GlobalRun> runs = global_runs(copy.pieces);
  if (!is_in_bounds(copy, runs)) return;
  count(copy, runs);
  Warp& warp = copy.warp;
  const u32 sequence = ++warp.bulk_sequence;
  if (warp.worker->launch->check)
    check_shared_reads(engine_of(warp, copy.instruction, *warp.block, bulk_read_agent(warp.index), sequence), *warp.block, copy.lane,
                       read_spans(copy.pieces));
  check_global_runs(engine_of(warp, copy.instruction, *warp.block, bulk_write_agent(warp.index), sequence), copy, runs, Access::write);
  const u32 group = warp.bulk_committed[copy.lane] + 1;
  warp.bulk_copies.push_back({copy.instruction.index, copy.lane, group, sequence, false});
  const auto held = std::make_shared<std::vector<std::byte>>();
  const auto write = [kept, held] {
    const std::byte* from = held->data();
    for (const CopyPiece& piece : kept->pieces.list)
      for (u64 row = 0; row < piece.rows; ++row, from += piece.bytes)
        if (!piece.is_outside) write_bytes(*kept, reinterpret_cast<std::byte*>(piece.global + row * piece.stride), from, piece.bytes);
  };
  begin(copy, write, group, [kept, held] { *held = gather(*kept->warp.block, *kept); });
}

void commit_bulk_group(Warp& warp, Mask mask) {
  for (const int lane : lanes_of(mask)) ++warp.bulk_committed[lane];
}

void wait_for_bulk_groups(Warp& warp, Mask mask, u32 keep, bool only_read) {
  const auto is_due = [&](int lane, u32 group) { return has_lane(mask, lane) && group + keep <= warp.bulk_committed[lane]; };
  if (only_read) {
    for (AsyncOperation& operation : warp.block->cluster->operations)
      if (operation.warp == &warp && operation.group > 0 && operation.read && is_due(operation.lane, operation.group)) {
        operation.read();
        operation.read = nullptr;
      }
  } else {
    finish_all(*warp.block->cluster, [&](const AsyncOperation& operation) {
      return operation.warp == &warp && operation.group > 0 && is_due(operation.lane, operation.group);
    });
  }
  // The sequence numbers up to which every copy of these lanes has finished.
  u32 read = warp.bulk_sequence, written = warp.bulk_sequence;
  std::erase_if(warp.bulk_copies, [&](BulkGroupCopy& copy) {
    if (!has_lane(mask, copy.lane)) return false;
    if (is_due(copy.lane, copy.group)) {
      copy.is_read = true;
      if (!only_read) return true;
    }
    if (!copy.is_read) read = std::min(read, copy.sequence - 1);
    written = std::min(written, copy.sequence - 1);
    return false;
  });
  warp.clocks.clock.raise(bulk_read_agent(warp.index), read);
  warp.clocks.clock.raise(bulk_write_agent(warp.index), written);
}

void check_finished_copies(Block& block) {
  for (Warp& warp : block.warps)
    for (const BulkGroupCopy& copy : warp.bulk_copies)
      if (!copy.is_read)
        report(warp, warp.kernel->code[copy.instruction], DiagnosticKind::missing_wait, copy.lane, [&] {
          const bool is_committed = copy.group <= warp.bulk_committed[copy.lane];
          return fmt::format("the block ends while this copy may still read its shared memory: {}",
                             is_committed ? "no thread waits for its group" : "it is in no group");
        });
}

}  // namespace tilewright::rt::emulator

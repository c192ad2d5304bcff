// The state of mbarriers and the rules for it.
#include "runtime/emulator/async/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/races/remote_accesses.h"
#include "runtime/emulator/state/cluster.h"

namespace tilewright::rt::emulator {
namespace {

Accessor accessor_of(const MbarrierOperation& at) {
  Accessor by = accessor_of(at.warp, at.instruction);
  by.is_on_mbarrier = true;
  return by;
}

template <class Text>
void misuse(const MbarrierOperation& at, Text text) {
  report(at.warp, at.instruction, DiagnosticKind::bad_mbarrier, at.lane,
         [&] { return fmt::format("byte {} of shared memory: {}", at.offset, text()); });
}

void complete_phase(Block& owner, Mbarrier& barrier) {
  if (barrier.pending > 0 || barrier.transactions != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.is_unseen = barrier.has_transactions;
  barrier.has_transactions = false;
  barrier.done_clocks.join(barrier.clocks);
  barrier.done_async.join(barrier.async);
  barrier.done_remote.join(barrier.remote);
  for (Warp& warp : owner.warps)
    for (SimtStackEntry& entry : warp.stack)
      if (entry.wait == Wait::mbarrier) entry.wait = Wait::none;
}

/// The mbarrier that is, or was, at the offset; else a new one.
Mbarrier& mbarrier_at(Block& owner, u32 offset) {
  if (Mbarrier* const barrier = owner.mbarriers.find(offset)) return *barrier;
  const int number = static_cast<int>(owner.mbarriers.size());
  std::unique_ptr<Mbarrier> made;
  if (owner.spare_mbarriers.empty()) {
    made = std::make_unique<Mbarrier>();
  } else {
    made = std::move(owner.spare_mbarriers.back());
    owner.spare_mbarriers.pop_back();
  }
  made->agent = barrier_agent(number);
  return owner.mbarriers.insert(offset, std::move(made));
}

/// Checks an operation on the object as a read of its bytes by `lanes` lanes.
void check_use(const MbarrierOperation& at, Mbarrier& barrier, int lanes) {
  // Operations on the object are atomic with respect to each other, whatever the instruction is.
  Instruction strong = at.instruction;
  strong.is_strong = true;
  Accessor by = accessor_of(at);
  by.instruction = &strong;
  SharedChecker check(by, at.owner);
  for (int lane = at.lane; lane < at.lane + lanes; ++lane) check.read(lane, at.offset, static_cast<int>(kMbarrierBytes));
  if (&at.owner != at.warp.block) remember_remote(barrier.remote_operations, by, at.lane, barrier.phase);
}

/// Checks that the lane may make or end an object there, as a write of its bytes.
void check_change(const MbarrierOperation& at, bool ends) {
  if (!at.warp.worker->launch->check) return;
  Accessor by = accessor_of(at);
  by.ends_mbarrier = ends;
  SharedChecker(by, at.owner).write(at.lane, at.offset, static_cast<int>(kMbarrierBytes), nullptr);
}

/// The object at the location; a diagnostic if there is none.
Mbarrier* expect_mbarrier(const MbarrierOperation& at) {
  Mbarrier* const found = live_mbarrier(at.owner, at.offset);
  if (found == nullptr) misuse(at, [] { return std::string("there is no mbarrier"); });
  return found;
}

/// Marks the bytes of an object, which must be inside of shared memory and aligned.
void mark(const MbarrierOperation& at, u8 written) {
  if (at.warp.worker->launch->check) std::memset(at.owner.shadow.written() + at.offset, written, kMbarrierBytes);
}

}  // namespace

void init_mbarrier(const MbarrierOperation& at, u32 count) {
  if (count == 0 || count > kMostArrivals) {
    misuse(at, [&] { return fmt::format("an mbarrier for {} arrivals: expected 1 to {}", count, kMostArrivals); });
    count = 1;
  }
  Mbarrier& barrier = mbarrier_at(at.owner, static_cast<u32>(at.offset));
  if (barrier.is_live)
    misuse(at, [&] { return fmt::format("init where the mbarrier of {} is still valid", location_text(at.warp, barrier.made_at)); });
  for (const auto& [offset, other] : at.owner.mbarriers)
    if (other->is_live && offset != at.offset && offset + kMbarrierBytes > at.offset && at.offset + kMbarrierBytes > offset)
      misuse(at, [&] { return fmt::format("init within the mbarrier at byte {}", offset); });
  check_change(at, false);
  const int agent = barrier.agent;
  const u64 phase = barrier.phase;
  barrier.reset();
  barrier.is_live = true;
  barrier.agent = agent;
  barrier.phase = barrier.first_phase = barrier.awaited = phase;
  barrier.expected = barrier.pending = count;
  barrier.made_at = at.instruction.index;
}

void invalidate_mbarrier(const MbarrierOperation& at) {
  Mbarrier* const found = live_mbarrier(at.owner, at.offset);
  if (found == nullptr) return misuse(at, [] { return std::string("there is no mbarrier"); });
  Mbarrier& barrier = *found;
  if (barrier.transactions != 0) misuse(at, [&] { return fmt::format("inval of {}", describe(barrier, static_cast<u32>(at.offset))); });
  check_change(at, true);
  for (const Warp& warp : at.owner.warps)
    for (const SimtStackEntry& entry : warp.stack)
      if (entry.wait == Wait::mbarrier && entry.wait_id == at.offset)
        misuse(at, [&] { return fmt::format("inval while warp {} waits for it", warp.index); });
  barrier.is_live = false;
  mark(at, 0);
}

Mbarrier* live_mbarrier(Block& owner, u64 offset) {
  Mbarrier* const found = owner.mbarriers.find(static_cast<u32>(offset));
  return found != nullptr && found->is_live ? found : nullptr;
}

Mbarrier* find_mbarrier(const MbarrierOperation& at, int lanes) {
  Mbarrier* const found = expect_mbarrier(at);
  if (found != nullptr && at.warp.worker->launch->check) check_use(at, *found, lanes);
  return found;
}

Mbarrier* find_mbarrier_of_copies(const MbarrierOperation& at, u32 sequence) {
  Mbarrier* const found = expect_mbarrier(at);
  if (found == nullptr || !at.warp.worker->launch->check) return found;
  Accessor by = engine_of(at.warp, at.instruction, *at.warp.block, async_agent(at.warp.index), sequence);
  by.is_on_mbarrier = true;
  check_shared_read(by, at.owner, at.lane, at.offset, static_cast<int>(kMbarrierBytes));
  return found;
}

void release_to(const MbarrierOperation& at, Mbarrier& barrier, bool again) {
  if (&at.owner == at.warp.block) {
    if (!again) barrier.clocks.join(at.warp.clocks);
    if (!again) barrier.async.join(at.warp.async);
    at.warp.publish(barrier.clocks.clock, kLaneBit[at.lane]);
    return;
  }
  publish_own(at.warp, kLaneBit[at.lane]);
  barrier.remote.join({at.warp.clocks.by_block, {}, at.warp.async.by_block()});
}

void arrive_on(const MbarrierOperation& at, Mbarrier& barrier, u32 count, bool drops) {
  if (count == 0 || count > barrier.pending) {
    misuse(at, [&] { return fmt::format("{} arrivals at {}", count, describe(barrier, static_cast<u32>(at.offset))); });
    count = std::min(count, barrier.pending);
  }
  barrier.pending -= count;
  if (drops) barrier.expected -= count;
  complete_phase(at.owner, barrier);
}

void expect_transactions(const MbarrierOperation& at, Mbarrier& barrier, s64 bytes) {
  const s64 sum = barrier.transactions + bytes;
  if (bytes < 0 || bytes > kMostTransactions || sum > kMostTransactions)
    return misuse(at, [&] {
      return fmt::format("{} bytes more than the {} that are to come: expected at most {}", bytes, barrier.transactions, kMostTransactions);
    });
  barrier.transactions = static_cast<s32>(sum);
  barrier.has_transactions |= bytes > 0;
  barrier.expected_at = at.instruction.index;
}

void complete_transactions(const MbarrierOperation& at, Mbarrier& barrier, s64 bytes) {
  const s64 rest = barrier.transactions - bytes;
  if (rest < -kMostTransactions) return misuse(at, [&] { return fmt::format("{} bytes more than expected", -rest); });
  barrier.transactions = static_cast<s32>(rest);
  barrier.has_transactions |= bytes > 0;
  barrier.expected_at = at.instruction.index;
  complete_phase(at.owner, barrier);
}

void await_arrival(const MbarrierOperation& at, Mbarrier& barrier) {
  if (barrier.pending == kMostArrivals) return misuse(at, [] { return fmt::format("more than {} arrivals to wait for", kMostArrivals); });
  ++barrier.pending;
}

bool is_one_mbarrier(const Request& request) {
  if (request.shape != nullptr) return request.shape->addresses == 1;
  const auto& address = request.address;
  return request.mask == kAllLanes && request.remote == 0 && std::equal(address.begin() + 1, address.end(), address.begin());
}

void report_no_mbarrier(Warp& warp, const Instruction& i, const Request& request) {
  report(warp, i, DiagnosticKind::wrong_space, __builtin_ctz(request.mask),
         [&] { return fmt::format("mbarriers are in shared memory, not in {} memory", name_of(request.space)); });
}

void acquire_from(Warp& warp, Mbarrier& barrier, bool only_block) {
  warp.clocks.join(barrier.done_clocks);
  warp.async.join(barrier.done_async);
  if (warp.block->cluster->blocks.size() == 1) return;
  acquire(warp, barrier.done_clocks, barrier.done_async);
  if (!only_block) acquire(warp, barrier.done_remote, true);
}

std::string describe(const Mbarrier& barrier, u32 offset) {
  return fmt::format(
      "the mbarrier at byte {} of shared memory, of whose phase {} {} of {} arrivals and {} bytes of transactions are missing", offset,
      barrier.phase - barrier.first_phase, barrier.pending, barrier.expected, barrier.transactions);
}

void check_finished_mbarriers(Warp& last) {
  for (const auto& [offset, made] : last.block->mbarriers) {
    const Mbarrier& barrier = *made;
    if (!barrier.is_live || (barrier.transactions == 0 && !barrier.is_unseen)) continue;
    report(last, last.kernel->code[barrier.expected_at], DiagnosticKind::missing_wait, 0, [&] {
      return barrier.transactions != 0 ? fmt::format("the block ends before {}", describe(barrier, offset))
                                       : fmt::format("no thread waits for phase {} of the mbarrier at byte {} of shared memory",
                                                     barrier.phase - barrier.first_phase - 1, offset);
    });
  }
}

}  // namespace tilewright::rt::emulator

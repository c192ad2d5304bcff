// Barriers of blocks and warps, and fences: what they wait for, and what they publish to the race checks.
#include "runtime/emulator/isa/barrier.h"

#include <fmt/format.h>

#include <atomic>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/races/release_acquire.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

enum class Reduction : u8 { none, count, all, any };
struct BarrierOptions {
  bool waits = true;  // false for bar.arrive
  Reduction reduction = Reduction::none;
};

/// Gives the result of bar.red to a waiting stack entry.
void finish_reduction(Warp& warp, const Instruction& i, Mask mask, const Barrier& barrier) {
  const Reduction reduction = i.options<BarrierOptions>().reduction;
  if (reduction == Reduction::count) {
    Lanes<u32> count;
    for (u32& word : count.at) word = barrier.count;
    write(warp, i.slot[2], count, mask);
  } else if (reduction != Reduction::none) {
    const bool result = reduction == Reduction::all ? barrier.count == barrier.voters : barrier.count > 0;
    write_mask(warp, i.slot[2], result ? kAllLanes : 0, mask);
  }
}

void release(Block& block, Barrier& barrier, u32 id) {
  for (Warp& warp : block.warps)
    for (SimtStackEntry& entry : warp.stack) {
      if (entry.mask == 0 || entry.wait != Wait::barrier || entry.wait_id != id) continue;
      const Instruction& i = warp.kernel->code[entry.pc];
      Mask mask = entry.mask;
      if (i.guard >= 0) mask &= i.guard_negated ? ~read_mask(warp, i.guard) : read_mask(warp, i.guard);
      finish_reduction(warp, i, mask, barrier);
      warp.clocks.join(barrier.clocks);
      warp.async.join(barrier.async);
      warp.released = barrier.released;
      entry.wait = Wait::none;
      ++entry.pc;
    }
  barrier.reset();
}

u32 uniform_value(Warp& warp, const Instruction& i, Mask mask, int k, const char* what) {
  const Lanes<u32> value = read<u32>(warp, i.slot[k]);
  const int first = __builtin_ctz(mask);
  for (const int lane : lanes_of(mask))
    if (value[lane] != value[first])
      report(warp, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("lanes of one warp name different {}", what); });
  return value[first];
}

void block_barrier(Warp& warp, const Instruction& i, Mask mask) {
  const u32 id = uniform_value(warp, i, mask, 0, "barriers");
  if (id >= warp.block->barriers.size()) {
    report(warp, i, DiagnosticKind::bad_operand, __builtin_ctz(mask), [&] { return fmt::format("barrier {}: there are 16", id); });
    return;
  }
  Barrier& barrier = warp.block->barriers[id];
  const u32 expected = i.slot[1] < 0 ? 0 : uniform_value(warp, i, mask, 1, "numbers of threads");
  if (expected % 32 != 0)
    report(warp, i, DiagnosticKind::bad_operand, __builtin_ctz(mask),
           [&] { return fmt::format("{} threads: expected a multiple of 32", expected); });
  if (barrier.arrived > 0 && barrier.expected != expected)
    report(warp, i, DiagnosticKind::bad_operand, __builtin_ctz(mask),
           [&] { return fmt::format("barrier {} expects {} threads here and {} at another arrival", id, expected, barrier.expected); });
  barrier.expected = expected;
  if (i.options<BarrierOptions>().reduction != Reduction::none) {
    barrier.count += static_cast<u32>(__builtin_popcount(read_predicate(warp, i, 3) & mask));
    barrier.voters += static_cast<u32>(__builtin_popcount(mask));
  }
  barrier.clocks.join(warp.clocks);
  warp.publish(barrier.clocks.clock, mask);
  barrier.async.join(warp.async);
  // Formally, only the thread that executed the fence releases. But on every GPU the pattern works in which all threads fence before a
  // barrier and one of them publishes after it.
  barrier.released.join(warp.released);
  ++warp.time;
  if (i.options<BarrierOptions>().waits) {
    warp.entry().wait = Wait::barrier;
    warp.entry().wait_id = id;
  }
  arrive(warp, barrier, mask);
}

void warp_barrier(Warp& warp, const Instruction&, Mask mask) {
  warp.publish(warp.clocks.clock, mask);
  ++warp.time;
}

void fence(Warp& warp, const Instruction& i, Mask mask) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!warp.worker->launch->check) return;
  acquire(warp, warp.to_acquire, i.whole_gpu);
  warp.to_acquire = {};
  warp.released = release(warp, mask, i.whole_gpu);
}

void nothing(Warp&, const Instruction&, Mask) {}

void decode_reduction(Decoder& d, std::size_t count) {
  const int op = d.take_one({"popc", "and", "or"}, "an operation is missing");
  d.options<BarrierOptions>().reduction = static_cast<Reduction>(op + 1);
  const Type type = d.take_type();
  if (type != (op == 0 ? Type::u32 : Type::pred)) d.fail("no instruction of this type");
  d.expect_operands(3, 4);
  d.destination(2, d.operand(0), op == 0 ? 4 : 0);
  d.source(0, d.operand(1), 4);
  if (count == 4) d.source(1, d.operand(2), 4);
  d.source(3, d.operand(count - 1), 0);
}

}  // namespace

void release_if_complete(Block& block, Barrier& barrier) {
  if (barrier.arrived == 0) return;
  const u32 expected = barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running);
  if (barrier.arrived >= expected) release(block, barrier, static_cast<u32>(&barrier - block.barriers.data()));
}

void arrive(Warp& warp, Barrier& barrier, Mask mask) {
  Mask& there = barrier.lanes[warp.index];
  there |= mask;
  barrier.arrived += static_cast<u32>(__builtin_popcount(mask));
  // Barriers count whole warps, including lanes that do not exist or have exited.
  if (mask == 0 || (there & warp.live) == warp.live) {
    barrier.arrived += static_cast<u32>(kLanes - __builtin_popcount(warp.live));
    there = 0;
  }
  release_if_complete(*warp.block, barrier);
}

void decode_barrier(Decoder& d) {
  d.out.category = Category::barrier;
  d.out.kind = Kind::waiting;
  d.out.execute = block_barrier;
  d.take("cta");
  // "bar.sync" is an alias of "barrier.sync.aligned".
  d.out.is_aligned = d.base() == "bar" || d.take("aligned");
  const int action = d.take_one({"sync", "arrive", "red"}, "one of '.sync', '.arrive' and '.red' is missing");
  if (action == 2) {
    decode_reduction(d, d.operands());
  } else {
    d.options<BarrierOptions>().waits = action == 0;
    d.expect_operands(action == 1 ? 2 : 1, 2);
    d.source(0, d.operand(0), 4);
    if (d.operands() == 2) d.source(1, d.operand(1), 4);
  }
}

void decode_warp_barrier(Decoder& d) {
  d.out.category = Category::barrier;
  if (!d.take("sync")) d.fail("'.sync' is missing");
  d.expect_operands(1);
  d.members(d.operand(0));
  d.out.kind = Kind::collective;
  d.out.execute = warp_barrier;
}

void decode_fence(Decoder& d) {
  d.out.category = Category::fence;
  d.expect_operands(0);
  d.out.execute = fence;
  if (d.base() == "membar") {
    const int level = d.take_one({"cta", "gl", "sys"});
    if (level < 0) d.fail("a level is missing");
    d.out.whole_gpu = level > 0;
    return;
  }
  const int order = d.take_one({"sc", "acq_rel", "acquire", "release"});
  // A fence for synchronisation through shared memory only; here it is a fence for all memory.
  if (order >= 2) d.take(order == 2 ? "sync_restrict::shared::cluster" : "sync_restrict::shared::cta");
  const int scope = d.take_one({"cta", "cluster", "gpu", "sys"}, "a scope is missing");
  d.out.whole_gpu = scope > 0;
}

void decode_nanosleep(Decoder& d) {
  d.out.category = Category::control;
  d.expect_type(Type::u32);
  d.expect_operands(1);
  d.source(1, d.operand(0), 4);
  d.out.execute = nothing;
}

}  // namespace tilewright::rt::emulator

// Executes warps: the SIMT stack with divergence and reconvergence, and collectives.
#include "runtime/emulator/machine/scheduler.h"

#include <fmt/format.h>

#include "runtime/emulator/async/cluster.h"
#include "runtime/emulator/isa/barrier.h"
#include "runtime/emulator/isa/calls.h"
#include "runtime/emulator/memory/undefined_values.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {
namespace {

bool is_alive(const SimtStackEntry& entry) { return entry.mask != 0; }
bool is_leaf(const SimtStackEntry& entry) { return is_alive(entry) && entry.children == 0; }

class WarpRunner {
 public:
  explicit WarpRunner(Warp& warp) : warp_(warp), kernel_(*warp.kernel), worker_(*warp.worker), end_(warp.kernel->end) {}

  Progress run(u64 budget) {
    const u64 start = worker_.spent, limit = start + budget, polling = worker_.polling;
    warp_.poll = {};
    while (choose()) {
      if (worker_.stopped) return Progress::stopped;
      if (worker_.spent >= limit) {
        const bool polled = worker_.polling - polling > budget / 2;
        warp_.polled = polled ? std::min(kPatience, warp_.polled + worker_.spent - start) : 0;
        if (!turn() && warp_.polled >= kPatience) split_off_waiting();
        return Progress::paused;
      }
      run_entry(limit);
    }
    return warp_.live == 0 ? Progress::finished : Progress::waiting;
  }

  /// Lets lanes continue that wait for lanes blocked by an mbarrier or, if `spins`, for spinning lanes. Returns false if there are none.
  bool go_on_without_waiting(bool spins) {
    for (std::size_t at = 0; at < warp_.stack.size(); ++at) {
      const Wait wait = warp_.stack[at].wait;
      if (!is_leaf(warp_.stack[at]) || !(wait == Wait::mbarrier || (spins && wait == Wait::none))) continue;
      warp_.current = static_cast<s32>(at);
      if (split_off_waiting()) return true;
    }
    return false;
  }

 private:
  /// Selects an entry that can run as the current one. Returns false if all are finished or waiting.
  bool choose() {
    if (warp_.live == 0) return false;
    const auto runs = [&](s32 at) {
      const SimtStackEntry& entry = warp_.stack[at];
      return is_leaf(entry) && entry.wait == Wait::none;
    };
    if (runs(warp_.current)) return true;
    bool any_at_barrier = false;
    s32 stuck = -1;
    for (s32 at = static_cast<s32>(warp_.stack.size()) - 1; at >= 0; --at) {
      if (runs(at)) {
        warp_.current = at;
        return true;
      }
      const SimtStackEntry& entry = warp_.stack[at];
      if (!is_leaf(entry)) continue;
      any_at_barrier |= entry.wait != Wait::collective;
      if (entry.wait == Wait::collective) stuck = at;
    }
    // Lanes at a barrier may still arrive; otherwise no lane can.
    if (any_at_barrier || stuck < 0) return false;
    warp_.current = stuck;
    run_incomplete();
    return true;
  }

  // The cost that a warp may spend on polling before lanes that wait for the polling lanes continue without them.
  static constexpr u64 kPatience = 16'384;

  /// Selects another entry to run: the current one may be spinning on something that the other one does. Returns false if there is none.
  bool turn() {
    const s32 count = static_cast<s32>(warp_.stack.size());
    for (s32 step = 1; step < count; ++step) {
      const s32 at = (warp_.current + step) % count;
      const SimtStackEntry& entry = warp_.stack[at];
      if (is_leaf(entry) && entry.wait == Wait::none) {
        warp_.current = at;
        return true;
      }
    }
    return false;
  }

  /// Threads of a warp make progress independently: lanes that have left a loop must not wait for lanes that spin in it, since these may
  /// spin on something that the former will do. The innermost lanes that have left become an entry of their own.
  bool split_off_waiting() {
    for (s32 at = warp_.entry().parent; at >= 0; at = warp_.stack[at].parent) {
      const SimtStackEntry waiting = warp_.stack[at];
      Mask below = 0;
      for (const SimtStackEntry& leaf : warp_.stack) {
        if (!is_leaf(leaf)) continue;
        for (s32 up = leaf.parent; up >= 0; up = warp_.stack[up].parent)
          if (up == at) below |= leaf.mask;
      }
      const Mask arrived = waiting.mask & warp_.live & ~below;
      if (arrived == 0 || waiting.pc == waiting.reconvergence) continue;
      const s32 made = new_entry();
      SimtStackEntry& entry = warp_.stack[made];
      entry = waiting;
      entry.mask = arrived;
      entry.children = 0;
      warp_.stack[at].mask &= ~arrived;
      if (waiting.parent >= 0) ++warp_.stack[waiting.parent].children;
      warp_.current = made;
      return true;
    }
    return false;
  }

  /// Merges entries that wait at the same instruction and have the same reconvergence point into the current entry.
  void merge_here() {
    SimtStackEntry& here = warp_.entry();
    for (std::size_t at = 0; at < warp_.stack.size(); ++at) {
      SimtStackEntry& other = warp_.stack[at];
      const bool same = static_cast<s32>(at) != warp_.current && is_leaf(other) && other.wait == Wait::collective && other.pc == here.pc &&
                        other.reconvergence == here.reconvergence && other.parent == here.parent;
      if (!same) continue;
      here.mask |= other.mask;
      other.mask = 0;
      warp_.free_entries.push_back(static_cast<s32>(at));
      if (here.parent >= 0) --warp_.stack[here.parent].children;
    }
  }

  Mask guarded(const Instruction& i, Mask mask) const {
    if (i.guard < 0) return mask;
    const Mask guard = read_mask(warp_, i.guard);
    return mask & (i.guard_negated ? ~guard : guard);
  }

  void count(const Instruction& i, Mask mask) {
    Count& count = worker_.counts[i.index];
    ++count.executed;
    count.lanes += static_cast<u64>(count_of(mask));
  }

  /// Counts all instructions in [begin, end).
  void count_all(u32 begin, u32 end, Mask mask) {
    if (begin == end) return;
    const u64 lanes = static_cast<u64>(count_of(mask));
    worker_.runs[begin] += {1, lanes};
    worker_.runs[end] -= {1, lanes};
  }

  /// Runs plain instructions up to the next one that is not plain, or until the budget is spent. Most instructions are plain, and these do
  /// not change entries, which keeps this loop short.
  void run_plain(SimtStackEntry& entry, u64 limit) {
    if (worker_.spent >= limit) return;
    const Instruction* const code = kernel_.code.data();
    const Mask all = entry.mask;
    const u32 begin = entry.pc;
    u32 end = code[begin].plain_end;
    if (entry.reconvergence >= begin) end = std::min(end, entry.reconvergence);
    end = static_cast<u32>(std::min<u64>(end, begin + (limit - worker_.spent)));
    if (end <= begin) return;
    if (has_undefined_values(warp_))
      run_all<true>(code + begin, code + end, all);
    else
      run_all<false>(code + begin, code + end, all);
    worker_.spent += end - begin;
    entry.pc = end;
  }

  /// Runs instructions in [begin, stop), none of which changes entries.
  template <bool kFollows>
  void run_all(const Instruction* begin, const Instruction* stop, Mask all) {
    u32 counted = begin->index;
    u64 changes = 0;
    for (const Instruction* i = begin; i != stop; ++i) {
      const Mask mask = guarded(*i, all);
      if (kFollows) follow_values(warp_, *i, all, mask);
      if (mask != all) {
        count_all(counted, i->index, all);
        counted = i->index + 1;
        if (mask == 0) continue;
        count(*i, mask);
      }
      i->execute(warp_, *i, mask);
      changes += i->is_visible;
      if (kFollows) follow_store(warp_, *i, mask);
    }
    worker_.changes += changes;
    count_all(counted, stop[-1].index + 1, all);
  }

  /// Runs the current entry until it ends, diverges or must wait.
  void run_entry(u64 limit) {
    while (true) {
      SimtStackEntry& entry = warp_.entry();
      run_plain(entry, limit);
      if (worker_.spent >= limit) return;
      if (entry.pc == entry.reconvergence) return end_entry();
      const Instruction& i = kernel_.code[entry.pc];
      const Mask mask = guarded(i, entry.mask);
      if (has_undefined_values(warp_)) follow_values(warp_, i, entry.mask, mask);
      ++worker_.spent;
      if (mask != 0) count(i, mask), worker_.changes += i.is_visible;
      switch (i.kind) {
        case Kind::plain: break;  // handled by run_plain()
        case Kind::call:
          ++entry.pc;
          if (mask != 0) return call_functions(i, mask);
          break;
        case Kind::leave:
          if (mask != 0) i.execute(warp_, i, mask);
          [[fallthrough]];
        case Kind::branch:
          if (mask == entry.mask) {
            entry.pc = i.target;
          } else if (mask == 0) {
            ++entry.pc;
          } else {
            const std::pair<u32, Mask> paths[] = {{i.target, mask}, {entry.pc + 1, entry.mask & ~mask}};
            return split(paths, i.reconvergence);
          }
          break;
        case Kind::indexed:
          if (!branch_indexed(i, mask)) return;
          break;
        case Kind::exit:
          ++entry.pc;
          if (mask != 0 && exit_lanes(mask)) return;
          break;
        case Kind::trap:
          if (mask != 0) {
            report(warp_, i, DiagnosticKind::trap, __builtin_ctz(mask), [] { return std::string("the kernel gave up"); });
            worker_.stopped = true;
            return;
          }
          ++entry.pc;
          break;
        case Kind::collective:
          if (mask != 0 && !run_collective(i, mask)) return;
          ++warp_.entry().pc;
          break;
        case Kind::waiting:
          if (mask == 0) {
            ++entry.pc;
            break;
          }
          if (i.is_aligned && mask != warp_.live) return park_or_meet(i);
          i.execute(warp_, i, mask);
          // An arrival that completed the barrier has already advanced this entry.
          if (entry.wait != Wait::none) return;
          if (entry.pc == i.index) ++entry.pc;
          break;
      }
    }
  }

  s32 new_entry() {
    if (warp_.free_entries.empty()) {
      warp_.stack.emplace_back();
      return static_cast<s32>(warp_.stack.size()) - 1;
    }
    const s32 at = warp_.free_entries.back();
    warp_.free_entries.pop_back();
    return at;
  }

  /// Splits the current entry into several paths that meet at `reconvergence`.
  void split(std::span<const std::pair<u32, Mask>> paths, u32 reconvergence) {
    const s32 at = warp_.current;
    const SimtStackEntry before = warp_.entry();
    // If the entry ends at this reconvergence point, its parent waits there, and this entry becomes one of the paths.
    const bool ends_there = reconvergence == before.reconvergence;
    const s32 parent = ends_there ? before.parent : at;
    bool reuses = ends_there;
    u32 made = 0;
    for (const auto& [pc, mask] : paths) {
      if (pc == reconvergence && parent >= 0) continue;
      const s32 child = reuses ? at : new_entry();
      reuses = false;
      SimtStackEntry& entry = warp_.stack[child];
      entry = {};
      entry.pc = pc;
      entry.mask = mask;
      entry.reconvergence = reconvergence;
      entry.parent = parent;
      warp_.current = child;
      ++made;
    }
    if (!ends_there) warp_.stack[at].pc = reconvergence;
    if (parent >= 0) warp_.stack[parent].children += made - (ends_there ? 1 : 0);
  }

  /// Each function runs as an entry of its own; the current entry waits for all of them where the call ends.
  void call_functions(const Instruction& i, Mask mask) {
    const s32 caller = warp_.current;
    for (const auto& [callee, lanes] : enter_functions(warp_, i, mask)) {
      const s32 made = new_entry();
      SimtStackEntry& entry = warp_.stack[made];
      entry = {};
      entry.pc = kernel_.callees[callee].begin;
      entry.mask = lanes;
      entry.reconvergence = kernel_.callees[callee].end;
      entry.parent = caller;
      ++warp_.stack[caller].children;
      warp_.current = made;
    }
  }

  bool branch_indexed(const Instruction& i, Mask mask) {
    SimtStackEntry& entry = warp_.entry();
    const Lanes<u32> index = read<u32>(warp_, i.slot[0]);
    std::vector<std::pair<u32, Mask>> paths;
    const auto add = [&](u32 pc, Mask lane) {
      for (auto& [other, lanes] : paths)
        if (other == pc) {
          lanes |= lane;
          return;
        }
      paths.emplace_back(pc, lane);
    };
    for (const int lane : lanes_of(entry.mask)) {
      if (!has_lane(mask, lane)) {
        add(entry.pc + 1, kLaneBit[lane]);
        continue;
      }
      u32 at = index[lane];
      if (at >= i.extras) {
        report(warp_, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("index {} of {} branch targets", at, i.extras); });
        at = 0;
      }
      add(static_cast<u32>(kernel_.extra[i.first + at]), kLaneBit[lane]);
    }
    if (paths.size() == 1) {
      entry.pc = paths[0].first;
      return true;
    }
    split(paths, i.reconvergence);
    return false;
  }

  /// Called when the current entry has reached its reconvergence point, or has no lanes left.
  void end_entry() {
    while (true) {
      const s32 at = warp_.current;
      SimtStackEntry& entry = warp_.entry();
      const s32 parent = entry.parent;
      if (entry.pc == end_ && parent < 0 && entry.mask != 0) {
        warp_.live &= ~entry.mask;
        ++worker_.changes;
        exit_barriers();
      }
      entry.mask = 0;
      warp_.free_entries.push_back(at);
      if (parent < 0) return;
      SimtStackEntry& waiting = warp_.stack[parent];
      if (--waiting.children > 0) return;
      warp_.current = parent;
      waiting.mask &= warp_.live;
      if (waiting.mask != 0 && waiting.pc != waiting.reconvergence) return;
    }
  }

  /// Returns true if the entry has ended.
  bool exit_lanes(Mask mask) {
    SimtStackEntry& entry = warp_.entry();
    warp_.live &= ~mask;
    entry.mask &= ~mask;
    ++worker_.changes;
    exit_barriers();
    if (entry.mask != 0) return false;
    end_entry();
    return true;
  }

  /// Lanes that exit no longer arrive: if all other lanes of the warp wait at a barrier, the warp has arrived.
  void exit_barriers() {
    for (Barrier& barrier : warp_.block->barriers) {
      const Mask there = barrier.lanes[warp_.index];
      if (there != 0 && there != warp_.live && (there & warp_.live) == warp_.live && warp_.live != 0) {
        barrier.lanes[warp_.index] = 0;
        arrive(warp_, barrier, 0);
      }
    }
    complete_if_all_arrived(*warp_.block->cluster);
  }

  /// The lanes of other entries that wait at the same collective.
  Mask gather(const Instruction& i) {
    Mask all = 0;
    for (const SimtStackEntry& entry : warp_.stack)
      if (is_leaf(entry) && entry.wait == Wait::collective && entry.pc == i.index) all |= guarded(i, entry.mask);
    return all;
  }

  Mask needed_by(const Instruction& i, Mask mask) {
    if (i.members < 0) return kAllLanes;
    const Lanes<u32> members = read<u32>(warp_, i.members);
    Mask need = 0, outside = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Mask named = mask & kLaneBit[lane] ? members[lane] : 0;
      need |= named;
      outside |= mask & kLaneBit[lane] & ~named;
    }
    if (outside != 0)
      report(warp_, i, DiagnosticKind::bad_operand, __builtin_ctz(outside),
             [&] { return fmt::format("the lane is not in its own member mask 0x{:08x}", members[__builtin_ctz(outside)]); });
    return need;
  }

  /// Returns false if the entry must wait for lanes.
  bool run_collective(const Instruction& i, Mask mask) {
    Mask need = needed_by(i, mask);
    if ((need & ~mask) == 0) {
      i.execute(warp_, i, mask);
      return true;
    }
    if ((need & ~warp_.live) != 0) {
      report(warp_, i, DiagnosticKind::absent_lanes, __builtin_ctz(mask),
             [&] { return fmt::format("lanes 0x{:08x} of the member mask have exited", need & ~warp_.live); });
      need &= warp_.live;
    }
    const Mask all = mask | gather(i);
    need |= needed_by(i, all) & warp_.live;
    if ((need & ~all) != 0) {
      warp_.entry().wait = Wait::collective;
      return false;
    }
    i.execute(warp_, i, all);
    let_go(i);
    return true;
  }

  void let_go(const Instruction& i) {
    for (SimtStackEntry& entry : warp_.stack)
      if (is_leaf(entry) && entry.wait == Wait::collective && entry.pc == i.index) {
        entry.wait = Wait::none;
        ++entry.pc;
      }
  }

  /// Waits at a barrier that needs the whole warp, while lanes that were split off may still arrive.
  void park_or_meet(const Instruction& i) {
    warp_.entry().wait = Wait::collective;
    merge_here();
    if (gather(i) == warp_.live) run_barrier(i);
  }

  /// All entries that wait at a barrier of the block arrive, one after another.
  void run_barrier(const Instruction& i) {
    const s32 count = static_cast<s32>(warp_.stack.size());
    for (s32 at = 0; at < count; ++at) {
      SimtStackEntry& entry = warp_.stack[at];
      if (!is_leaf(entry) || entry.wait != Wait::collective || entry.pc != i.index) continue;
      entry.wait = Wait::none;
      warp_.current = at;
      i.execute(warp_, i, guarded(i, entry.mask));
      if (entry.wait == Wait::none && entry.pc == i.index) ++entry.pc;
    }
  }

  /// All lanes that can arrive have arrived: the operation is executed without the others.
  void run_incomplete() {
    const Instruction& i = kernel_.code[warp_.entry().pc];
    const Mask all = gather(i);
    if (i.kind == Kind::waiting) {
      report(warp_, i, DiagnosticKind::divergent, __builtin_ctz(all),
             [&] { return fmt::format("lanes 0x{:08x} of 0x{:08x} come to the barrier", all, warp_.live); });
      return run_barrier(i);
    }
    report(warp_, i, DiagnosticKind::absent_lanes, __builtin_ctz(all),
           [&] { return fmt::format("lanes 0x{:08x} of the member mask never come", needed_by(i, all) & ~all); });
    i.execute(warp_, i, all);
    let_go(i);
  }

  Warp& warp_;
  const Kernel& kernel_;
  Worker& worker_;
  u32 end_;
};

}  // namespace

Progress run_warp(Warp& warp, u64 budget) { return WarpRunner(warp).run(budget); }

bool split_off_waiting_lanes(Warp& warp, bool spins) { return WarpRunner(warp).go_on_without_waiting(spins); }

}  // namespace tilewright::rt::emulator

// Execution of warps: fragments, divergence and reconvergence, collectives.
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

bool is_alive(const Fragment& fragment) { return fragment.mask != 0; }
bool is_leaf(const Fragment& fragment) { return is_alive(fragment) && fragment.children == 0; }

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
        if (!turn() && warp_.polled >= kPatience) break_join();
        return Progress::paused;
      }
      run_fragment(limit);
    }
    return warp_.live == 0 ? Progress::finished : Progress::waiting;
  }

  /// Lets lanes go on that wait for those that an mbarrier holds up, or that spin if `spins`. False if there are none.
  bool go_on_without_waiting(bool spins) {
    for (std::size_t at = 0; at < warp_.fragments.size(); ++at) {
      const Wait wait = warp_.fragments[at].wait;
      if (!is_leaf(warp_.fragments[at]) || !(wait == Wait::mbarrier || (spins && wait == Wait::none))) continue;
      warp_.current = static_cast<s32>(at);
      if (break_join()) return true;
    }
    return false;
  }

 private:
  /// Makes a fragment that can run the current one. False: all are done or wait.
  bool choose() {
    if (warp_.live == 0) return false;
    const auto runs = [&](s32 at) {
      const Fragment& fragment = warp_.fragments[static_cast<std::size_t>(at)];
      return is_leaf(fragment) && fragment.wait == Wait::none;
    };
    if (runs(warp_.current)) return true;
    bool any_at_barrier = false;
    s32 stuck = -1;
    for (s32 at = static_cast<s32>(warp_.fragments.size()) - 1; at >= 0; --at) {
      if (runs(at)) {
        warp_.current = at;
        return true;
      }
      const Fragment& fragment = warp_.fragments[static_cast<std::size_t>(at)];
      if (!is_leaf(fragment)) continue;
      any_at_barrier |= fragment.wait != Wait::collective;
      if (fragment.wait == Wait::collective) stuck = at;
    }
    // Those at a barrier may still come; otherwise nobody does.
    if (any_at_barrier || stuck < 0) return false;
    warp_.current = stuck;
    run_incomplete();
    return true;
  }

  // So much a warp may spend on polling before lanes that wait for the polling ones go on without them.
  static constexpr u64 kPatience = 16'384;

  /// Lets another fragment run next: the current one may be spinning on what that one does. False if there is none.
  bool turn() {
    const s32 count = static_cast<s32>(warp_.fragments.size());
    for (s32 step = 1; step < count; ++step) {
      const s32 at = (warp_.current + step) % count;
      const Fragment& fragment = warp_.fragments[static_cast<std::size_t>(at)];
      if (is_leaf(fragment) && fragment.wait == Wait::none) {
        warp_.current = at;
        return true;
      }
    }
    return false;
  }

  /// Threads of a warp make progress independently: lanes that have come out of a loop must not wait for those that spin in it, if what
  /// these spin on is for the former to do. The innermost such lanes become a fragment of their own.
  bool break_join() {
    for (s32 at = warp_.fragment().parent; at >= 0; at = warp_.fragments[static_cast<std::size_t>(at)].parent) {
      const Fragment waiting = warp_.fragments[static_cast<std::size_t>(at)];
      Mask below = 0;
      for (const Fragment& leaf : warp_.fragments) {
        if (!is_leaf(leaf)) continue;
        for (s32 up = leaf.parent; up >= 0; up = warp_.fragments[static_cast<std::size_t>(up)].parent)
          if (up == at) below |= leaf.mask;
      }
      const Mask arrived = waiting.mask & warp_.live & ~below;
      if (arrived == 0 || waiting.pc == waiting.join) continue;
      const s32 made = new_fragment();
      Fragment& fragment = warp_.fragments[static_cast<std::size_t>(made)];
      fragment = waiting;
      fragment.mask = arrived;
      fragment.children = 0;
      warp_.fragments[static_cast<std::size_t>(at)].mask &= ~arrived;
      if (waiting.parent >= 0) ++warp_.fragments[static_cast<std::size_t>(waiting.parent)].children;
      warp_.current = made;
      return true;
    }
    return false;
  }

  /// Fragments that wait at the same place and have the same join become one again, the current one.
  void merge_here() {
    Fragment& here = warp_.fragment();
    for (std::size_t at = 0; at < warp_.fragments.size(); ++at) {
      Fragment& other = warp_.fragments[at];
      const bool same = static_cast<s32>(at) != warp_.current && is_leaf(other) && other.wait == Wait::collective && other.pc == here.pc &&
                        other.join == here.join && other.parent == here.parent;
      if (!same) continue;
      here.mask |= other.mask;
      other.mask = 0;
      warp_.free_fragments.push_back(static_cast<s32>(at));
      if (here.parent >= 0) --warp_.fragments[static_cast<std::size_t>(here.parent)].children;
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

  /// All instructions from one on, up to another.
  void count_all(u32 begin, u32 end, Mask mask) {
    if (begin == end) return;
    const u64 lanes = static_cast<u64>(count_of(mask));
    worker_.runs[begin] += {1, lanes};
    worker_.runs[end] -= {1, lanes};
  }

  /// Runs the instructions up to the next one that may do more than go on, or until the budget is spent. Most are such, and none of
  /// them changes fragments: that is what makes this loop short.
  void run_plain(Fragment& fragment, u64 limit) {
    if (worker_.spent >= limit) return;
    const Instruction* const code = kernel_.code.data();
    const Mask all = fragment.mask;
    const u32 begin = fragment.pc;
    u32 end = code[begin].plain_end;
    if (fragment.join >= begin) end = std::min(end, fragment.join);
    end = static_cast<u32>(std::min<u64>(end, begin + (limit - worker_.spent)));
    if (end <= begin) return;
    if (has_undefined_values(warp_))
      run_all<true>(code + begin, code + end, all);
    else
      run_all<false>(code + begin, code + end, all);
    worker_.spent += end - begin;
    fragment.pc = end;
  }

  /// Of `begin` up to `stop`, none of which changes fragments.
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

  /// Runs the current fragment until it ends, diverges or has to wait.
  void run_fragment(u64 limit) {
    while (true) {
      Fragment& fragment = warp_.fragment();
      run_plain(fragment, limit);
      if (worker_.spent >= limit) return;
      if (fragment.pc == fragment.join) return end_fragment();
      const Instruction& i = kernel_.code[fragment.pc];
      const Mask mask = guarded(i, fragment.mask);
      if (has_undefined_values(warp_)) follow_values(warp_, i, fragment.mask, mask);
      ++worker_.spent;
      if (mask != 0) count(i, mask), worker_.changes += i.is_visible;
      switch (i.kind) {
        case Kind::plain: break;  // run_plain() takes these
        case Kind::call:
          ++fragment.pc;
          if (mask != 0) return call_functions(i, mask);
          break;
        case Kind::leave:
          if (mask != 0) i.execute(warp_, i, mask);
          [[fallthrough]];
        case Kind::branch:
          if (mask == fragment.mask) {
            fragment.pc = i.target;
          } else if (mask == 0) {
            ++fragment.pc;
          } else {
            const std::pair<u32, Mask> ways[] = {{i.target, mask}, {fragment.pc + 1, fragment.mask & ~mask}};
            return split(ways, i.join);
          }
          break;
        case Kind::indexed:
          if (!branch_indexed(i, mask)) return;
          break;
        case Kind::exit:
          ++fragment.pc;
          if (mask != 0 && exit_lanes(mask)) return;
          break;
        case Kind::trap:
          if (mask != 0) {
            report(warp_, i, DiagnosticKind::trap, __builtin_ctz(mask), [] { return std::string("the kernel gave up"); });
            worker_.stopped = true;
            return;
          }
          ++fragment.pc;
          break;
        case Kind::collective:
          if (mask != 0 && !run_collective(i, mask)) return;
          ++warp_.fragment().pc;
          break;
        case Kind::waiting:
          if (mask == 0) {
            ++fragment.pc;
            break;
          }
          if (i.is_aligned && mask != warp_.live) return park_or_meet(i);
          i.execute(warp_, i, mask);
          // Whoever is let go by this very arrival has its place moved on already.
          if (fragment.wait != Wait::none) return;
          if (fragment.pc == i.index) ++fragment.pc;
          break;
      }
    }
  }

  s32 new_fragment() {
    if (warp_.free_fragments.empty()) {
      warp_.fragments.emplace_back();
      return static_cast<s32>(warp_.fragments.size()) - 1;
    }
    const s32 at = warp_.free_fragments.back();
    warp_.free_fragments.pop_back();
    return at;
  }

  /// The current fragment goes several ways that meet at `join`.
  void split(std::span<const std::pair<u32, Mask>> ways, u32 join) {
    const s32 at = warp_.current;
    const Fragment before = warp_.fragment();
    // Where the fragment itself ends at the join, its parent is who waits there, and this one becomes one of the ways.
    const bool has_join = join == before.join;
    const s32 parent = has_join ? before.parent : at;
    bool reuses = has_join;
    u32 made = 0;
    for (const auto& [pc, mask] : ways) {
      if (pc == join && parent >= 0) continue;
      const s32 child = reuses ? at : new_fragment();
      reuses = false;
      Fragment& fragment = warp_.fragments[static_cast<std::size_t>(child)];
      fragment = {};
      fragment.pc = pc;
      fragment.mask = mask;
      fragment.join = join;
      fragment.parent = parent;
      warp_.current = child;
      ++made;
    }
    if (!has_join) warp_.fragments[static_cast<std::size_t>(at)].pc = join;
    if (parent >= 0) warp_.fragments[static_cast<std::size_t>(parent)].children += made - (has_join ? 1 : 0);
  }

  /// Each function runs as a fragment; the current one waits for all of them where the call ends.
  void call_functions(const Instruction& i, Mask mask) {
    const s32 caller = warp_.current;
    for (const auto& [callee, lanes] : enter_functions(warp_, i, mask)) {
      const s32 made = new_fragment();
      Fragment& fragment = warp_.fragments[static_cast<std::size_t>(made)];
      fragment = {};
      fragment.pc = kernel_.callees[callee].begin;
      fragment.mask = lanes;
      fragment.join = kernel_.callees[callee].end;
      fragment.parent = caller;
      ++warp_.fragments[static_cast<std::size_t>(caller)].children;
      warp_.current = made;
    }
  }

  bool branch_indexed(const Instruction& i, Mask mask) {
    Fragment& fragment = warp_.fragment();
    const Lanes<u32> index = read<u32>(warp_, i.slot[0]);
    std::vector<std::pair<u32, Mask>> ways;
    const auto add = [&](u32 pc, Mask lane) {
      for (auto& [other, lanes] : ways)
        if (other == pc) {
          lanes |= lane;
          return;
        }
      ways.emplace_back(pc, lane);
    };
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(fragment.mask, lane)) continue;
      if (!has_lane(mask, lane)) {
        add(fragment.pc + 1, kLaneBit[lane]);
        continue;
      }
      u32 at = index[lane];
      if (at >= i.extras) {
        report(warp_, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("index {} of {} branch targets", at, i.extras); });
        at = 0;
      }
      add(static_cast<u32>(kernel_.extra[i.first + at]), kLaneBit[lane]);
    }
    if (ways.size() == 1) {
      fragment.pc = ways[0].first;
      return true;
    }
    split(ways, i.join);
    return false;
  }

  /// The current fragment has come to its join, or has no lanes left.
  void end_fragment() {
    while (true) {
      const s32 at = warp_.current;
      Fragment& fragment = warp_.fragment();
      const s32 parent = fragment.parent;
      if (fragment.pc == end_ && parent < 0 && fragment.mask != 0) {
        warp_.live &= ~fragment.mask;
        ++worker_.changes;
        exit_barriers();
      }
      fragment.mask = 0;
      warp_.free_fragments.push_back(at);
      if (parent < 0) return;
      Fragment& waiting = warp_.fragments[static_cast<std::size_t>(parent)];
      if (--waiting.children > 0) return;
      warp_.current = parent;
      waiting.mask &= warp_.live;
      if (waiting.mask != 0 && waiting.pc != waiting.join) return;
    }
  }

  /// True if the fragment has ended.
  bool exit_lanes(Mask mask) {
    Fragment& fragment = warp_.fragment();
    warp_.live &= ~mask;
    fragment.mask &= ~mask;
    ++worker_.changes;
    exit_barriers();
    if (fragment.mask != 0) return false;
    end_fragment();
    return true;
  }

  /// Lanes that exit no longer arrive: a warp whose other lanes all wait at a barrier has come to it.
  void exit_barriers() {
    for (Barrier& barrier : warp_.block->barriers) {
      const Mask there = barrier.lanes[static_cast<std::size_t>(warp_.index)];
      if (there != 0 && there != warp_.live && (there & warp_.live) == warp_.live && warp_.live != 0) {
        barrier.lanes[static_cast<std::size_t>(warp_.index)] = 0;
        arrive(warp_, barrier, 0);
      }
    }
    complete_if_all_arrived(*warp_.block->cluster);
  }

  /// Lanes at the same collective in other fragments.
  Mask gather(const Instruction& i) {
    Mask all = 0;
    for (const Fragment& fragment : warp_.fragments)
      if (is_leaf(fragment) && fragment.wait == Wait::collective && fragment.pc == i.index) all |= guarded(i, fragment.mask);
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

  /// False if the fragment has to wait for lanes.
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
      warp_.fragment().wait = Wait::collective;
      return false;
    }
    i.execute(warp_, i, all);
    let_go(i);
    return true;
  }

  void let_go(const Instruction& i) {
    for (Fragment& fragment : warp_.fragments)
      if (is_leaf(fragment) && fragment.wait == Wait::collective && fragment.pc == i.index) {
        fragment.wait = Wait::none;
        ++fragment.pc;
      }
  }

  /// A barrier for which the warp has to be complete, which it is not yet: lanes whose join was broken may still come.
  void park_or_meet(const Instruction& i) {
    warp_.fragment().wait = Wait::collective;
    merge_here();
    if (gather(i) == warp_.live) run_barrier(i);
  }

  /// All fragments that wait at a barrier of the block come to it, one after the other.
  void run_barrier(const Instruction& i) {
    const s32 count = static_cast<s32>(warp_.fragments.size());
    for (s32 at = 0; at < count; ++at) {
      Fragment& fragment = warp_.fragments[static_cast<std::size_t>(at)];
      if (!is_leaf(fragment) || fragment.wait != Wait::collective || fragment.pc != i.index) continue;
      fragment.wait = Wait::none;
      warp_.current = at;
      i.execute(warp_, i, guarded(i, fragment.mask));
      if (fragment.wait == Wait::none && fragment.pc == i.index) ++fragment.pc;
    }
  }

  /// All lanes that could come have: the operation goes on without the others.
  void run_incomplete() {
    const Instruction& i = kernel_.code[warp_.fragment().pc];
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

bool break_joins(Warp& warp, bool spins) { return WarpRunner(warp).go_on_without_waiting(spins); }

}  // namespace tilewright::rt::emulator

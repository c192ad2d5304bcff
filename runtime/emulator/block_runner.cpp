// Execution of blocks: turns of the warps, barriers between them, and what to say when nobody can go on.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/emulator/bulk_copy.h"
#include "runtime/emulator/lanes.h"
#include "runtime/emulator/mbarrier.h"
#include "runtime/emulator/scheduler.h"
#include "runtime/emulator/transfers.h"

namespace tilewright::rt::emulator {
namespace {

// A warp runs for so long before the next one of its block does: long enough to be cheap, short enough for warps that spin.
constexpr u64 kTurn = 4096;

void release(Block& block, Barrier& barrier, u32 id) {
  for (Warp& warp : block.warps)
    for (Fragment& fragment : warp.fragments) {
      if (fragment.mask == 0 || fragment.wait != Wait::barrier || fragment.wait_id != id) continue;
      const Instruction& i = warp.kernel->code[fragment.pc];
      Mask mask = fragment.mask;
      if (i.guard >= 0) mask &= i.guard_negated ? ~read_mask(warp, i.guard) : read_mask(warp, i.guard);
      finish_reduction(warp, i, mask, barrier);
      warp.view.join(barrier.view);
      warp.async.join(barrier.async);
      warp.released = barrier.released;
      fragment.wait = Wait::none;
      ++fragment.pc;
    }
  barrier.reset();
}

void release_if_complete(Block& block, Barrier& barrier) {
  if (barrier.arrived == 0) return;
  const u32 expected = barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running);
  if (barrier.arrived >= expected) release(block, barrier, static_cast<u32>(&barrier - block.barriers.data()));
}

std::string describe_cluster_barrier(const Cluster& cluster) {
  int arrived = 0, all = 0;
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps) {
      all += __builtin_popcount(warp.live);
      arrived += __builtin_popcount(warp.cluster_arrived & warp.live);
    }
  return fmt::format("the cluster's barrier, where {} of {} threads are", arrived, all);
}

std::string what_for(const Block& block, const Fragment& fragment) {
  switch (fragment.wait) {
    case Wait::barrier: {
      const Barrier& barrier = block.barriers[fragment.wait_id];
      return fmt::format("barrier {}, where {} of {} threads are", fragment.wait_id, barrier.arrived,
                         barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running));
    }
    case Wait::mbarrier: return describe(*block.mbarriers.find(fragment.wait_id), fragment.wait_id);
    case Wait::cluster: return describe_cluster_barrier(*block.cluster);
    case Wait::registers:
      return fmt::format("{} more registers a thread, of which the block's pool has {}", fragment.wait_id, block.free_registers);
    case Wait::matrix: return "warps of its warpgroup that have not committed their wgmma";
    default: return "other lanes";
  }
}

/// Calls f(block, warp, fragment) for those that wait, until it returns false.
template <class F>
void each_waiting(Cluster& cluster, F f) {
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps)
      for (const Fragment& fragment : warp.fragments)
        if (fragment.mask != 0 && fragment.children == 0 && fragment.wait != Wait::none && !f(*block, warp, fragment)) return;
}

std::string describe_waiting(Cluster& cluster) {
  std::string text = "nobody can go on:";
  int described = 0;
  each_waiting(cluster, [&](const Block& block, const Warp& warp, const Fragment& fragment) {
    if (++described > 8) {
      text += " ...";
      return false;
    }
    text += fmt::format("{} warp {}", described > 1 ? ";" : "", warp.index);
    if (cluster.blocks.size() > 1) text += fmt::format(" of the block of rank {}", block.rank);
    text += fmt::format(" waits at {} for {}", place_of(warp, fragment.pc), what_for(block, fragment));
    return true;
  });
  return text;
}

void report_deadlock(Cluster& cluster, Worker& worker) {
  worker.stopped = true;
  each_waiting(cluster, [&](const Block&, Warp& warp, const Fragment& fragment) {
    report(warp, warp.kernel->code[fragment.pc], FindingKind::deadlock, __builtin_ctz(fragment.mask),
           [&] { return describe_waiting(cluster); });
    return false;
  });
}

void report_endless(Cluster& cluster, Worker& worker) {
  worker.stopped = true;
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps)
      if (warp.live != 0) {
        const u32 pc = std::min(warp.fragment().pc, static_cast<u32>(warp.kernel->code.size()) - 1);
        return report(warp, warp.kernel->code[pc], FindingKind::deadlock, __builtin_ctz(warp.live),
                      [&] { return fmt::format("no end after {} instructions", worker.executed()); });
      }
}

void finish(Warp& warp) {
  Block& block = *warp.block;
  if (block.running == 1) {
    finish_all(*block.cluster, [&](const Transfer& transfer) { return transfer.warp->block == &block; });
    check_finished_mbarriers(warp);
    check_finished_copies(block);
    check_remote_accesses(block);
  }
  --block.running;
  return_registers(warp, 0);
  // A barrier of all threads does not wait for those that are gone.
  for (Barrier& barrier : block.barriers) release_if_complete(block, barrier);
}

bool break_joins(Cluster& cluster) {
  bool any = false;
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps) any |= warp.live != 0 && break_joins(warp);
  return any;
}

/// Each warp of the block gets a turn. False if a finding ends the launch.
bool run_turn(Block& block, Worker& worker, bool backward) {
  const int count = static_cast<int>(block.warps.size());
  for (int k = 0; k < count; ++k) {
    Warp& warp = block.warps[static_cast<std::size_t>(backward ? count - 1 - k : (k + block.next_warp) % count)];
    if (warp.live == 0) continue;
    warp.worker = &worker;
    const Progress progress = run_warp(warp, kTurn);
    if (progress == Progress::stopped) return false;
    if (progress == Progress::finished) finish(warp);
    finish_some(*block.cluster, worker);
  }
  return true;
}

bool is_running(const Cluster& cluster) {
  return std::any_of(cluster.blocks.begin(), cluster.blocks.end(), [](const auto& block) { return block->running > 0; });
}

}  // namespace

void complete_if_all_arrived(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0) return;
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps)
      if ((warp.cluster_arrived & warp.live) != warp.live) return;
  ++barrier.phase;
  barrier.arrived = 0;
  barrier.done_view.join(barrier.view);
  barrier.done_async.join(barrier.async);
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps) {
      warp.cluster_arrived = 0;
      for (Fragment& fragment : warp.fragments)
        if (fragment.wait == Wait::cluster) fragment.wait = Wait::none;
    }
}

void arrive(Warp& warp, Barrier& barrier, Mask mask) {
  Mask& there = barrier.lanes[static_cast<std::size_t>(warp.index)];
  there |= mask;
  barrier.arrived += static_cast<u32>(__builtin_popcount(mask));
  // Barriers count whole warps, lanes that do not exist or have exited included.
  if (mask == 0 || (there & warp.live) == warp.live) {
    barrier.arrived += static_cast<u32>(kLanes - __builtin_popcount(warp.live));
    there = 0;
  }
  release_if_complete(*warp.block, barrier);
}

Progress run_cluster(Cluster& cluster, Worker& worker, u64 budget, bool backward) {
  const u64 limit = worker.spent + budget;
  while (is_running(cluster)) {
    const u64 before = worker.spent, polling = worker.polling;
    for (std::size_t b = 0; b < cluster.blocks.size(); ++b)
      if (!run_turn(*cluster.blocks[backward ? cluster.blocks.size() - 1 - b : b], worker, backward)) return Progress::stopped;
    if (!is_running(cluster)) break;
    // Those who only poll may wait for what nobody but an engine does.
    const u64 polled = worker.polling - polling;
    const bool only_polls = polled > 20 * (worker.spent - before - polled);
    if ((worker.spent == before || only_polls) && finish_one(cluster, worker)) continue;
    if (worker.spent == before) {
      if (break_joins(cluster)) continue;
      report_deadlock(cluster, worker);
      return Progress::stopped;
    }
    if (worker.launch->instruction_limit != 0 && worker.executed() > worker.launch->instruction_limit) {
      report_endless(cluster, worker);
      return Progress::stopped;
    }
    if (worker.spent >= limit) return Progress::paused;
  }
  return Progress::finished;
}

bool is_first_finding(Warp& warp, const Instruction& i, FindingKind kind) {
  Launch& launch = *warp.worker->launch;
  launch.has_findings = true;
  if (launch.stop_at_finding) warp.worker->stopped = true;
  return launch.findings->is_first(warp.kernel->name, i.index, kind);
}

static Finding make_finding(const Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  const Launch& launch = *warp.worker->launch;
  Finding finding;
  finding.kind = kind;
  finding.kernel = warp.kernel->name;
  finding.ptx_line = warp.kernel->lines[i.index];
  const auto& files = launch.program->module().files;
  const auto located = [&](const SourceLine& line) {
    const auto file = files.find(line.file);
    if (file == files.end() || line.line == 0) return Location{};
    return Location{file->second, static_cast<int>(line.line), static_cast<int>(line.column)};
  };
  finding.source = located(warp.kernel->sources[i.index]);
  finding.inlined = located(warp.kernel->inlined[i.index]);
  finding.text = std::move(text);
  finding.block = warp.block->id;
  finding.warp = warp.index;
  finding.lane = lane;
  return finding;
}

void add_finding(Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  warp.worker->launch->findings->add(i.index, make_finding(warp, i, kind, lane, std::move(text)));
}

bool is_first_remark(Warp& warp, FindingKind kind) { return warp.worker->launch->findings->is_first_remark(warp.kernel->name, kind); }

void add_remark(Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  Finding finding = make_finding(warp, i, kind, lane, std::move(text));
  finding.is_remark = true;
  warp.worker->launch->findings->add_remark(std::move(finding));
}

std::string place_of(const Warp& warp, u32 instruction) {
  if (instruction >= warp.kernel->code.size()) return "an unknown place";
  const SourceLine& source = warp.kernel->sources[instruction];
  const auto& files = warp.worker->launch->program->module().files;
  if (const auto file = files.find(source.file); file != files.end() && source.line > 0)
    return fmt::format("{}:{} (line {} of the PTX)", file->second, source.line, warp.kernel->lines[instruction]);
  return fmt::format("line {} of the PTX", warp.kernel->lines[instruction]);
}

}  // namespace tilewright::rt::emulator

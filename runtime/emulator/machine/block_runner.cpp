// Execution of blocks: turns of the warps, and barriers between them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/emulator/async/bulk_copy.h"
#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/async/transfers.h"
#include "runtime/emulator/machine/scheduler.h"
#include "runtime/emulator/machine/wait_report.h"
#include "runtime/emulator/simd/lanes.h"
#include "runtime/emulator/simd/random.h"

namespace tilewright::rt::emulator {
namespace {

// A warp runs for so long before the next one of its block does: long enough to be cheap, short enough for warps that spin.
constexpr int kTurnBits = 12;
constexpr u64 kTurn = u64{1} << kTurnBits;

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

bool break_joins(Cluster& cluster, bool spins) {
  bool any = false;
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps) any |= warp.live != 0 && break_joins(warp, spins);
  return any;
}

/// The warp gets a turn. False if a finding ends the launch.
bool run_turn(Warp& warp, Worker& worker, u64 turn) {
  warp.worker = &worker;
  const Progress progress = run_warp(warp, turn);
  if (progress == Progress::stopped) return false;
  if (progress == Progress::finished) finish(warp);
  finish_some(*warp.block->cluster, worker);
  return true;
}

/// Each warp of the cluster gets a turn, the blocks and their warps from the first or from the last. False if a finding ends the launch.
bool run_in_order(Cluster& cluster, Worker& worker, bool backward) {
  const std::size_t blocks = cluster.blocks.size();
  for (std::size_t b = 0; b < blocks; ++b) {
    Block& block = *cluster.blocks[backward ? blocks - 1 - b : b];
    const std::size_t warps = block.warps.size();
    for (std::size_t w = 0; w < warps; ++w) {
      Warp& warp = block.warps[backward ? warps - 1 - w : w];
      if (warp.live != 0 && !run_turn(warp, worker, kTurn)) return false;
    }
  }
  return true;
}

/// Some warps of the cluster, at least one that is not done, get turns in a random order: short ones as often as long ones, for what one
/// warp does between two instructions of another may matter. False if a finding ends the launch.
bool run_at_random(Cluster& cluster, Worker& worker) {
  std::vector<Warp*> warps;
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps)
      if (warp.live != 0) warps.push_back(&warp);
  for (std::size_t k = warps.size(); k > 1; --k) std::swap(warps[k - 1], warps[next_random(worker.order) % k]);
  warps.resize(1 + next_random(worker.order) % warps.size());
  for (Warp* warp : warps)
    if (warp->live != 0 && !run_turn(*warp, worker, u64{1} << next_random(worker.order) % (kTurnBits + 1))) return false;
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

namespace {

/// Turns at random, or each warp's where those that were drawn all wait.
bool run_random_round(Cluster& cluster, Worker& worker) {
  const u64 before = worker.spent;
  return run_at_random(cluster, worker) && (worker.spent != before || run_in_order(cluster, worker, false));
}

/// Gives the launch up if that is due. True if it has been.
bool is_given_up(Launch& launch) {
  if (launch.instruction_limit != 0 && launch.executed.load(std::memory_order_relaxed) > launch.instruction_limit)
    launch.end(Ending::limit);
  if (launch.interrupted != nullptr && launch.interrupted->load(std::memory_order_relaxed)) launch.end(Ending::interrupted);
  return launch.ending.load(std::memory_order_relaxed) != Ending::none;
}

}  // namespace

Progress run_cluster(Cluster& cluster, Worker& worker, u64 budget) {
  Launch& launch = *worker.launch;
  const u64 limit = worker.spent + budget;
  while (is_running(cluster)) {
    const u64 before = worker.spent, polling = worker.polling;
    const bool is_random = launch.order == Order::random && !cluster.watch.is_watching();
    const bool goes_on = is_random ? run_random_round(cluster, worker) : run_in_order(cluster, worker, launch.order == Order::backward);
    // What was written is told of afterwards: warps that run after this count has been read see it.
    if (worker.changes != 0) launch.changes.fetch_add(std::exchange(worker.changes, 0), std::memory_order_release);
    const u64 polled = worker.polling - polling, executed = worker.spent - before - polled;
    const u64 weight = cluster.watch.is_watching() ? polled / Worker::kPollCost * Worker::kPollWeight : 0;
    launch.executed.fetch_add(executed + weight, std::memory_order_relaxed);
    if (!goes_on) return Progress::stopped;
    if (!is_running(cluster)) break;
    if (is_given_up(launch)) return Progress::stopped;
    // Warps that only poll may wait for what only an engine does.
    const bool only_polls = polled > 20 * executed, none_ran = worker.spent == before;
    if ((none_ran || only_polls) && finish_one(cluster, worker)) {
      ++worker.changes;
      continue;
    }
    if (none_ran) {
      if (break_joins(cluster, false)) continue;
      worker.stopped = true;
      const std::shared_ptr<Cluster> alone(&cluster, [](Cluster*) {});
      report_waits({&alone, 1}, FindingKind::deadlock, "no warp can go on");
      return Progress::stopped;
    }
    if (cluster.watch.is_stuck(cluster, launch.changes.load(std::memory_order_acquire))) {
      if (!break_joins(cluster, true)) return Progress::stuck;
      cluster.watch.reset();
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

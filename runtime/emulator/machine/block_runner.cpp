// Execution of blocks: turns of warps, and barriers between them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/emulator/async/bulk_copy.h"
#include "runtime/emulator/async/schedule.h"
#include "runtime/emulator/isa/barrier.h"
#include "runtime/emulator/isa/registers.h"
#include "runtime/emulator/machine/scheduler.h"
#include "runtime/emulator/machine/wait_report.h"
#include "runtime/emulator/races/remote_accesses.h"
#include "runtime/emulator/simd/random.h"

namespace tilewright::rt::emulator {
namespace {

// log2 of the instructions of a turn before another warp of the block runs: many enough to be cheap, few enough for warps that spin.
constexpr int kTurnBits = 12;
constexpr u64 kTurn = u64{1} << kTurnBits;

void finish(Warp& warp) {
  Block& block = *warp.block;
  if (block.running == 1) {
    finish_all(*block.cluster, [&](const AsyncOperation& operation) { return operation.warp->block == &block; });
    check_finished_mbarriers(warp);
    check_finished_copies(block);
    check_remote_accesses(block);
  }
  --block.running;
  return_registers(warp, 0);
  // A barrier of all threads does not wait for threads that have exited.
  for (Barrier& barrier : block.barriers) release_if_complete(block, barrier);
}

bool split_off_waiting_lanes(Cluster& cluster, bool spins) {
  bool any = false;
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps) any |= warp.live != 0 && split_off_waiting_lanes(warp, spins);
  return any;
}

/// Gives the warp a turn. Returns false if a diagnostic ends the launch.
bool run_turn(Warp& warp, Worker& worker, u64 turn) {
  warp.worker = &worker;
  const Progress progress = run_warp(warp, turn);
  if (progress == Progress::stopped) return false;
  if (progress == Progress::finished) finish(warp);
  finish_some(*warp.block->cluster, worker);
  return true;
}

/// Gives each warp of the cluster a turn, in ascending or descending order of blocks and warps. Returns false if a diagnostic ends the
/// launch.
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

/// Gives some warps of the cluster, at least one that is not finished, turns in random order. Short turns are as frequent as long ones,
/// since it may matter what one warp does between two instructions of another. Returns false if a diagnostic ends the launch.
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

/// Runs turns at random, and then a turn of each warp if all chosen ones were waiting.
bool run_random_round(Cluster& cluster, Worker& worker) {
  const u64 before = worker.spent;
  return run_at_random(cluster, worker) && (worker.spent != before || run_in_order(cluster, worker, false));
}

/// Ends the launch if it must be given up. Returns whether it was ended.
bool is_given_up(LaunchState& launch) {
  if (launch.instruction_limit != 0 && launch.executed.load(std::memory_order_relaxed) > launch.instruction_limit)
    launch.end(Ending::limit);
  if (launch.interrupted != nullptr && launch.interrupted->load(std::memory_order_relaxed)) launch.end(Ending::interrupted);
  return launch.ending.load(std::memory_order_relaxed) != Ending::none;
}

}  // namespace

Progress run_cluster(Cluster& cluster, Worker& worker, u64 budget) {
  LaunchState& launch = *worker.launch;
  const u64 limit = worker.spent + budget;
  while (is_running(cluster)) {
    const u64 before = worker.spent, polling = worker.polling;
    const bool is_random = launch.order == Order::random && !cluster.watch.is_watching();
    const bool goes_on = is_random ? run_random_round(cluster, worker) : run_in_order(cluster, worker, launch.order == Order::backward);
    // An operation that was executed after a warp's turn may have let that warp continue.
    const bool has_changed = worker.changes != 0;
    // The count is published after the writes, so that warps that read the new count see them.
    if (has_changed) launch.changes.fetch_add(std::exchange(worker.changes, 0), std::memory_order_release);
    const u64 polled = worker.polling - polling, executed = worker.spent - before - polled;
    const u64 weight = cluster.watch.is_watching() ? polled / Worker::kPollCost * Worker::kPollWeight : 0;
    launch.executed.fetch_add(executed + weight, std::memory_order_relaxed);
    if (!goes_on) return Progress::stopped;
    if (!is_running(cluster)) break;
    if (is_given_up(launch)) return Progress::stopped;
    // Warps that only poll may be waiting for something that only an engine does.
    const bool only_polls = polled > 20 * executed, none_ran = worker.spent == before && !has_changed;
    if ((none_ran || only_polls) && finish_one(cluster, worker)) {
      ++worker.changes;
      continue;
    }
    if (none_ran) {
      if (split_off_waiting_lanes(cluster, false)) continue;
      worker.stopped = true;
      const std::shared_ptr<Cluster> alone(&cluster, [](Cluster*) {});
      report_waits({&alone, 1}, DiagnosticKind::deadlock, "no warp can go on");
      return Progress::stopped;
    }
    if (cluster.watch.is_stuck(cluster.blocks, launch.changes.load(std::memory_order_acquire))) {
      // Warps that execute more between two polls than the polls themselves may also be waiting for an engine.
      if (finish_one(cluster, worker)) {
        ++worker.changes;
        continue;
      }
      if (!split_off_waiting_lanes(cluster, true)) return Progress::stuck;
      cluster.watch.reset();
    }
    if (worker.spent >= limit) return Progress::paused;
  }
  return Progress::finished;
}

}  // namespace tilewright::rt::emulator

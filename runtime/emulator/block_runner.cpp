// Execution of blocks: turns of the warps, barriers between them, and what to say when nobody can go on.
#include <fmt/format.h>

#include "runtime/emulator/lanes.h"
#include "runtime/emulator/scheduler.h"

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
      warp.clock.join(barrier.clock);
      warp.foreign.join(barrier.foreign);
      warp.released = barrier.released;
      fragment.wait = Wait::none;
      ++fragment.pc;
    }
  barrier = {};
}

void release_if_complete(Block& block, Barrier& barrier) {
  if (barrier.arrived == 0) return;
  const u32 expected = barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running);
  if (barrier.arrived >= expected) release(block, barrier, static_cast<u32>(&barrier - block.barriers.data()));
}

std::string describe_waiting(const Block& block) {
  std::string text = "nobody can go on:";
  int described = 0;
  for (const Warp& warp : block.warps)
    for (const Fragment& fragment : warp.fragments) {
      if (fragment.mask == 0 || fragment.children > 0 || fragment.wait == Wait::none) continue;
      if (++described > 8) return text + " ...";
      const Barrier& barrier = block.barriers[fragment.wait == Wait::barrier ? fragment.wait_id : 0];
      text += fmt::format("{} warp {} waits at {}", described > 1 ? ";" : "", warp.index, place_of(warp, fragment.pc));
      if (fragment.wait == Wait::barrier)
        text += fmt::format(" for barrier {}, where {} of {} threads are", fragment.wait_id, barrier.arrived,
                            barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running));
      else
        text += " for other lanes";
    }
  return text;
}

void report_deadlock(Block& block, Worker& worker) {
  worker.stopped = true;
  for (Warp& warp : block.warps)
    for (const Fragment& fragment : warp.fragments)
      if (fragment.mask != 0 && fragment.children == 0 && fragment.wait != Wait::none)
        return report(warp, warp.kernel->code[fragment.pc], FindingKind::deadlock, __builtin_ctz(fragment.mask),
                      [&] { return describe_waiting(block); });
}

void report_endless(Block& block, Worker& worker) {
  worker.stopped = true;
  for (Warp& warp : block.warps)
    if (warp.live != 0) {
      const u32 pc = std::min(warp.fragment().pc, static_cast<u32>(warp.kernel->code.size()) - 1);
      return report(warp, warp.kernel->code[pc], FindingKind::deadlock, __builtin_ctz(warp.live),
                    [&] { return fmt::format("no end after {} instructions", worker.executed()); });
    }
}

void finish(Warp& warp) {
  Block& block = *warp.block;
  --block.running;
  // A barrier of all threads does not wait for those that are gone.
  for (Barrier& barrier : block.barriers) release_if_complete(block, barrier);
}

}  // namespace

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

Progress run_block(Block& block, Worker& worker, u64 budget, bool backward) {
  const u64 limit = worker.spent + budget;
  const int count = static_cast<int>(block.warps.size());
  while (block.running > 0) {
    bool any_ran = false;
    for (int k = 0; k < count; ++k) {
      Warp& warp = block.warps[static_cast<std::size_t>(backward ? count - 1 - k : (k + block.next_warp) % count)];
      if (warp.live == 0) continue;
      warp.worker = &worker;
      const u64 before = worker.spent;
      const Progress progress = run_warp(warp, kTurn);
      if (progress == Progress::stopped) return progress;
      any_ran |= worker.spent != before;
      if (progress == Progress::finished) finish(warp);
    }
    if (block.running > 0 && !any_ran) {
      report_deadlock(block, worker);
      return Progress::stopped;
    }
    if (worker.launch->instruction_limit != 0 && worker.executed() > worker.launch->instruction_limit) {
      report_endless(block, worker);
      return Progress::stopped;
    }
    if (worker.spent >= limit && block.running > 0) return Progress::paused;
  }
  return Progress::finished;
}

bool is_first_finding(Warp& warp, const Instruction& i, FindingKind kind) {
  warp.worker->launch->has_findings = true;
  Findings& findings = *warp.worker->launch->findings;
  return findings.is_first(warp.kernel->name, i.index, kind);
}

void add_finding(Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  const Launch& launch = *warp.worker->launch;
  Finding finding;
  finding.kind = kind;
  finding.kernel = warp.kernel->name;
  finding.ptx_line = warp.kernel->lines[i.index];
  const SourceLine& source = warp.kernel->sources[i.index];
  const auto& files = launch.program->module().files;
  if (const auto file = files.find(source.file); file != files.end() && source.line > 0)
    finding.source = {file->second, static_cast<int>(source.line), static_cast<int>(source.column)};
  finding.text = std::move(text);
  finding.block = warp.block->id;
  finding.warp = warp.index;
  finding.lane = lane;
  launch.findings->add(i.index, std::move(finding));
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

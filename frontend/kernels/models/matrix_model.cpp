// The model of programs on GPUs that multiply matrices: products and attention.
#include "frontend/kernels/models/matrix_model.h"

#include <algorithm>
#include <cmath>

namespace tilewright::kernels::host::multiprocessor {

// For an H200 it is fitted: programs that run at one time read the same tiles, which its caches serve together.
double cache_bytes(const ir::TargetDesc& target) { return target.sm >= 90 ? 64 : target.sm >= 80 ? 30 : 20; }

void ProgramLoad::spill(const ir::TargetDesc& target) {
  const double spilled = std::max(0.0, registers - target.max_registers);
  registers -= spilled;
  issue += spilled * warps * kSpillIssue;
}

double resident(const ir::TargetDesc& t, const ProgramLoad& p) {
  const double registers = 32 * p.warps * std::ceil(p.registers / kRegistersPerUnit) * kRegistersPerUnit;
  const double memory = (t.shared_bytes + kReservedBytes) / (p.shared_bytes + kReservedBytes);
  return std::max(1.0, std::floor(std::min({kMostPrograms, t.warps_per_sm / p.warps, t.registers_per_sm / registers, memory})));
}

namespace {

/// The clocks of the busiest part while n such programs run.
double busy_clocks(const ProgramLoad& p, double n) {
  const double used = std::min(1.0, n * p.warps / kSchedulers);
  return n * std::max({p.matrix / used, p.shared, p.cache, p.issue / used});
}

}  // namespace

double step_clocks(const ProgramLoad& p, double n) {
  const double alone = busy_clocks(p, 1), loads = kLatency + p.cache;
  const double chain = p.stages > 1 ? std::max(kBarrier + alone, loads / (p.stages - 1)) : 2 * kBarrier + loads + alone;
  return std::max(busy_clocks(p, n) + kBarrier / n, chain);
}

namespace {

double clocks(const ProgramLoad& p, double n, double steps) {
  return n > 0 ? kStart + n * p.result_bytes / kResultBytes + steps * step_clocks(p, n) : 0;
}

}  // namespace

double clocks_of_all(const ir::TargetDesc& t, const ProgramLoad& p, double programs, double steps) {
  const double n = resident(t, p), programs_at_once = t.processors * n, waves = std::floor(programs / programs_at_once);
  return waves * clocks(p, n, steps) + clocks(p, std::ceil((programs - waves * programs_at_once) / t.processors), steps);
}

double add_loads(ProgramLoad& p, const ir::TargetDesc& target, double rows, double columns, int element_bytes, int row_alignment) {
  const double bytes = rows * columns * element_bytes, threads = 32 * p.warps;
  p.shared += bytes / kSharedBytes;
  // A row that begins inside of a cache line touches one line more.
  p.cache += (bytes + rows * (kLineBytes - row_alignment)) / cache_bytes(target);
  if (row_alignment < kLeastCopy) {
    const double elements = rows * columns / threads;
    p.issue += elements * p.warps * kElementIssue;
    p.registers += elements * std::max(1.0, element_bytes / 4.0);
    return elements;
  }
  const double copies = bytes / std::min<double>(kCopy, row_alignment) / threads;
  p.issue += copies * p.warps * kCopyIssue;
  p.registers += copies * kCopyRegisters;
  return 0;
}

double memory_seconds(const Machine& m, double bytes, double bytes_of_programs) {
  return (m.is_emulated ? std::max(bytes, bytes_of_programs) : bytes) / m.facts.memory_bytes;
}

}  // namespace tilewright::kernels::host::multiprocessor

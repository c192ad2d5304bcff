// The model of programs on GPUs that multiply matrices: products and attention.
//
// Time is counted in clocks of one multiprocessor. A program is a loop; from its tiles follows the load of each part of the multiprocessor
// in one step. Registers, shared memory and warps limit how many programs share a multiprocessor. Together they take as long as the busiest
// part. Alone, a program takes at least its own chain: the barrier, its work, and the latency of loads, partly hidden by the loop's other
// stages. Programs run in waves, and the last wave may have fewer.
//
// Constants marked "fitted" reproduce 2,990 configurations that an H200 measured on 2026-11-26
// (tests/bench/results/2026-11-26-h200-calibration.json). tests/tuner/calibration_test.cpp limits how far the first choices are from the
// best.
#include <algorithm>
#include <cmath>

#include "frontend/kernels/models.h"

namespace tilewright::kernels::host {

namespace {

/// Bytes that a multiprocessor gets from caches per clock. For an H200 it is fitted: programs that run at one time read the same tiles,
/// which its caches serve together.
double cache_bytes(const ir::TargetDesc& target) { return target.sm >= 90 ? 64 : target.sm >= 80 ? 30 : 20; }

constexpr double kSharedBytes = 128;          // shared memory, per clock
constexpr double kLineBytes = 128;            // a cache line
constexpr double kReservedBytes = 1024;       // shared memory that is reserved for each program
constexpr double kSchedulers = 4;             // per multiprocessor, each with a matrix unit; a warp uses one
constexpr double kExponentials = 16;          // per clock
constexpr double kMostPrograms = 32;          // per multiprocessor
constexpr double kRegistersPerUnit = 8;       // registers of a thread are allocated in units of this many
constexpr double kBytesOfLdmatrix = 512;      // four matrices
constexpr double kOperationsOfMma = 8192;     // m16n8k16, times the bytes of an f16
constexpr double kMostElementsAhead = 32;     // elements per thread that a loop may hold in registers for the next iteration
constexpr double kLeastCopy = 4, kCopy = 16;  // bytes that a thread copies to shared memory without registers: least and most

// Fitted, in clocks:
constexpr double kStart = 3500;      // a program's work before and after its loop
constexpr double kLatency = 500;     // latency of loads
constexpr double kBarrier = 50;      // a barrier in each step
constexpr double kCopyIssue = 5;     // for a warp, per piece that a thread copies: addresses, mask, copy
constexpr double kElementIssue = 6;  // the same per element that goes through a register
constexpr double kSpillIssue = 3;    // for a warp, per spilled register and step
constexpr double kResultBytes = 20;  // bytes of results that are stored per clock
constexpr double kScoreIssue = 1.7;  // for a warp, per score of attention
// Fitted, in registers per thread:
constexpr double kRegisters = 86;       // addresses, bounds, and other needs of the assembler besides tiles
constexpr double kCopyRegisters = 1.3;  // per piece that a thread copies
constexpr double kTilesAlive = 0.85;    // share of the registers of attention's tiles that are live at once
constexpr double kMaskRegisters = 45;   // for steps with a mask

/// The load that a program puts on a multiprocessor; `matrix` to `issue` are clocks per step.
struct Program {
  double warps = 1, registers = 0, shared_bytes = 0;
  double matrix = 0, shared = 0, cache = 0, issue = 0;
  double result_bytes = 0;
  int stages = 1;  // 1: each step waits for its own loads

  /// Registers beyond the limit of a thread are spilled to memory.
  void spill(const ir::TargetDesc& target) {
    const double spilled = std::max(0.0, registers - target.max_registers);
    registers -= spilled;
    issue += spilled * warps * kSpillIssue;
  }
};

double resident(const ir::TargetDesc& t, const Program& p) {
  const double registers = 32 * p.warps * std::ceil(p.registers / kRegistersPerUnit) * kRegistersPerUnit;
  const double memory = (t.shared_bytes + kReservedBytes) / (p.shared_bytes + kReservedBytes);
  return std::max(1.0, std::floor(std::min({kMostPrograms, t.warps_per_sm / p.warps, t.registers_per_sm / registers, memory})));
}

/// The clocks of the busiest part while n such programs run.
double busy_clocks(const Program& p, double n) {
  const double used = std::min(1.0, n * p.warps / kSchedulers);
  return n * std::max({p.matrix / used, p.shared, p.cache, p.issue / used});
}

/// The clocks of one step while n programs run.
double step_clocks(const Program& p, double n) {
  const double alone = busy_clocks(p, 1), loads = kLatency + p.cache;
  const double chain = p.stages > 1 ? std::max(kBarrier + alone, loads / (p.stages - 1)) : 2 * kBarrier + loads + alone;
  return std::max(busy_clocks(p, n) + kBarrier / n, chain);
}

double clocks(const Program& p, double n, double steps) {
  return n > 0 ? kStart + n * p.result_bytes / kResultBytes + steps * step_clocks(p, n) : 0;
}

/// The clocks of all programs, if they have equal length.
double clocks_of_all(const ir::TargetDesc& t, const Program& p, double programs, double steps) {
  const double n = resident(t, p), places = t.processors * n, waves = std::floor(programs / places);
  return waves * clocks(p, n, steps) + clocks(p, std::ceil((programs - waves * places) / t.processors), steps);
}

/// How many warps share the rows and the columns of a product, divided as in select_mma.
struct Warps {
  int rows = 1, columns = 1;
};
Warps warps_of(const Configuration& c) {
  constexpr int kRows = 16, kColumns = 8;  // of one instruction
  Warps w;
  int rows = c.bm, columns = c.bn;
  for (int left = c.num_warps; left > 1; left /= 2) {
    const bool by_columns = columns > kColumns && (rows <= kRows || columns > rows);
    (by_columns ? w.columns : w.rows) *= 2;
    (by_columns ? columns : rows) /= 2;
  }
  return w;
}

/// Adds the cost of a tile that is loaded in each step. Returns the number of elements per thread that go through registers.
double add_loads(Program& p, const ir::TargetDesc& target, double rows, double columns, int element_bytes, int row_alignment) {
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

/// The least time that memory needs. Emulators count bytes and have no cache.
double memory_seconds(const Machine& m, double bytes, double bytes_of_programs) {
  return (m.is_emulated ? std::max(bytes, bytes_of_programs) : bytes) / m.facts.memory_bytes;
}

}  // namespace

double gpu_seconds(const Machine& m, const ProductShape& s, const Configuration& c) {
  const int e = s.element_bytes;
  const Warps warps = warps_of(c);
  const double tile = static_cast<double>(c.bm) * c.bn * s.products, step_columns = static_cast<double>(s.products) * c.bn;
  Program p{.warps = static_cast<double>(c.num_warps)};
  double elements = add_loads(p, m.target, c.bm, c.bk, e, s.a_alignment);
  for (int i = 0; i < s.products; ++i) elements += add_loads(p, m.target, c.bk, c.bn, e, s.b_alignment);
  const bool loads_ahead = m.target.sm >= 80 && c.num_stages > 1 && elements <= kMostElementsAhead;
  p.stages = !loads_ahead ? 1 : elements > 0 ? 2 : c.num_stages;
  const double step_bytes = (c.bm + step_columns) * c.bk * e;
  p.shared_bytes = step_bytes * (elements > 0 ? 1 : p.stages);
  // Registers for sums, and for the fragments of one instruction along K, of 32 bytes.
  p.registers += kRegisters + tile / (32 * p.warps) * std::max(1.0, e / 4.0) + static_cast<double>(c.bm) / warps.rows / 4 +
                 step_columns / warps.columns / 4;
  const double read = (static_cast<double>(warps.columns) * c.bm + warps.rows * step_columns) * c.bk * e, products = 2 * tile * c.bk;
  p.matrix = products * m.facts.hertz / m.facts.matrix_flops(e);
  p.shared += read / kSharedBytes;
  p.issue += products * e / kOperationsOfMma + read / kBytesOfLdmatrix;
  p.result_bytes = tile * 4;
  p.spill(m.target);

  const auto parts = [](std::int64_t extent, int size) { return std::ceil(static_cast<double>(extent) / size); };
  const double batch = static_cast<double>(s.batch), programs = batch * parts(s.m, c.bm) * parts(s.n, c.bn) * c.splits;
  const double steps = std::ceil(parts(s.k, c.bk) / c.splits), results = batch * static_cast<double>(s.m * s.n) * s.products * 4;
  const double factors = batch * static_cast<double>(s.m * s.k + s.products * s.n * s.k) * e;
  const double memory = memory_seconds(m, factors + results, programs * (steps * step_bytes + p.result_bytes));
  const double launch = m.facts.launch_seconds + m.facts.share_seconds;
  const double seconds = ir::overlapped_seconds(clocks_of_all(m.target, p, programs, steps) / m.facts.hertz, memory) + launch;
  return c.splits == 1 ? seconds : seconds + launch + (c.splits + 1) * results / m.facts.memory_bytes;
}

double gpu_seconds(const Machine& m, const AttentionShape& s, const Configuration& c) {
  const int e = s.element_bytes;
  const double scores = static_cast<double>(c.bm) * c.bn, depths = s.depth + s.value_depth, step_bytes = c.bn * depths * e;
  // The gradient needs five products instead of two, and the sums of two results.
  const double passes = s.backward ? 2.5 : 1, sums = s.backward ? 2 : 1;
  Program p{.warps = static_cast<double>(c.num_warps)};
  p.stages = m.target.sm >= 80 ? c.num_stages : 1;
  p.shared_bytes = p.stages * step_bytes + static_cast<double>(c.bm) * s.depth * e;
  // Registers for sums, queries, scores, and weights in the type of the factors.
  const double word = std::max(1.0, e / 4.0);
  p.registers = kRegisters +
                kTilesAlive * c.bm * (sums * s.value_depth * word + s.depth * e / 4.0 + c.bn * (word + e / 4.0)) / (32 * p.warps) +
                (s.causal ? kMaskRegisters : 0);
  // All warps share the rows, so each reads all keys and values.
  const double moved = (p.warps + 1) * step_bytes, products = 2 * scores * depths;
  p.matrix = passes * products * m.facts.hertz / m.facts.matrix_flops(e);
  p.shared = passes * moved / kSharedBytes;
  p.cache = step_bytes / cache_bytes(m.target);
  p.issue = passes * ((scores * kScoreIssue + c.bm * s.value_depth) / 32 + products * e / kOperationsOfMma + moved / kBytesOfLdmatrix);
  p.spill(m.target);
  p.issue = std::max(p.issue, scores / kExponentials);

  const double heads = static_cast<double>(s.heads), tiles = std::ceil(static_cast<double>(s.queries) / c.bm), programs = heads * tiles;
  const double steps = std::ceil(static_cast<double>(s.keys) / c.bn), n = resident(m.target, p),
               start = kStart + c.bm * depths * 2 / kResultBytes;
  double all = 0;
  if (s.causal) {
    // The long programs of each head begin first. Those of the last head begin when most of the work is done, and near the end there are
    // not enough programs for all multiprocessors.
    const double seen = (static_cast<double>(s.keys) - 0.5 * static_cast<double>(s.queries)) / c.bn;
    const double average = std::clamp(seen + std::max(0.5, 0.5 * c.bm / c.bn), 1.0, steps), places = m.target.processors * n;
    const double work = programs / places * (average * step_clocks(p, n) + start);
    const double before_last = std::max(0.0, 1 - 1 / heads - 0.5 * places / programs);
    const double company = std::clamp(std::ceil(tiles / m.target.processors), 1.0, n);
    all = std::max(work, work * before_last + steps * step_clocks(p, company) + start);
  } else {
    p.result_bytes = c.bm * depths * 2;
    all = clocks_of_all(m.target, p, programs, steps);
  }
  const double bytes = heads * static_cast<double>(s.queries + s.keys) * depths * e;
  const double memory = memory_seconds(m, bytes, programs * (steps * (s.causal ? 0.5 : 1) * step_bytes + c.bm * depths * e));
  return std::max(all / m.facts.hertz, memory) + (s.backward ? 3 : 1) * (m.facts.launch_seconds + m.facts.share_seconds);
}

}  // namespace tilewright::kernels::host

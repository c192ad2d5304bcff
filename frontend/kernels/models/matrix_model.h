// The model of programs on GPUs that multiply matrices: products and attention.
//
// Time is counted in clocks of one multiprocessor. A program is a loop; from its tiles follows the load of each part of the multiprocessor
// in one step. Registers, shared memory and warps limit how many programs share a multiprocessor. Together they take as long as the busiest
// part. Alone, a program takes at least its own chain: the barrier, its work, and the latency of loads, partly hidden by the loop's other
// stages. Programs run in waves, and the last wave may have fewer.
//
// Constants marked "fitted" reproduce 2,990 configurations that an H200 measured on 2026-11-26
// (tests/bench/results/2026-11-26-h200-calibration.json). calibration_test.cpp in tests/unit/frontend/kernels limits how far the first
// choices are from the best.
#pragma once
#include "frontend/kernels/models/machine.h"

namespace tilewright::kernels::host {

namespace multiprocessor {

inline constexpr double kSharedBytes = 128;          // shared memory, per clock
inline constexpr double kLineBytes = 128;            // a cache line
inline constexpr double kReservedBytes = 1024;       // shared memory that is reserved for each program
inline constexpr double kSchedulers = 4;             // per multiprocessor, each with a matrix unit; a warp uses one
inline constexpr double kExponentials = 16;          // per clock
inline constexpr double kMostPrograms = 32;          // per multiprocessor
inline constexpr double kRegistersPerUnit = 8;       // registers of a thread are allocated in units of this many
inline constexpr double kBytesOfLdmatrix = 512;      // four matrices
inline constexpr double kOperationsOfMma = 8192;     // m16n8k16, times the bytes of an f16
inline constexpr double kMostElementsAhead = 32;     // elements per thread that a loop may hold in registers for the next iteration
inline constexpr double kLeastCopy = 4, kCopy = 16;  // bytes that a thread copies to shared memory without registers: least and most

// Fitted, in clocks:
inline constexpr double kStart = 3500;      // a program's work before and after its loop
inline constexpr double kLatency = 500;     // latency of loads
inline constexpr double kBarrier = 50;      // a barrier in each step
inline constexpr double kCopyIssue = 5;     // for a warp, per piece that a thread copies: addresses, mask, copy
inline constexpr double kElementIssue = 6;  // for a warp, per element that goes through a register
inline constexpr double kSpillIssue = 3;    // for a warp, per spilled register and step
inline constexpr double kResultBytes = 20;  // bytes of results that are stored per clock
inline constexpr double kScoreIssue = 1.7;  // for a warp, per score of attention
// Fitted, in registers per thread:
inline constexpr double kRegisters = 86;       // addresses, bounds, and other needs of the assembler besides tiles
inline constexpr double kCopyRegisters = 1.3;  // per piece that a thread copies
inline constexpr double kTilesAlive = 0.85;    // share of the registers of attention's tiles that are live at once
inline constexpr double kMaskRegisters = 45;   // for steps with a mask

/// The load that a program puts on a multiprocessor; `matrix` to `issue` are clocks per step.
struct ProgramLoad {
  double warps = 1, registers = 0, shared_bytes = 0;
  double matrix = 0, shared = 0, cache = 0, issue = 0;
  double result_bytes = 0;
  int stages = 1;  // 1: each step waits for its own loads

  /// Registers beyond the limit of a thread are spilled to memory.
  void spill(const ir::TargetDesc&);
};

/// Bytes that a multiprocessor gets from caches per clock.
double cache_bytes(const ir::TargetDesc&);
/// How many such programs run on a multiprocessor together.
double resident(const ir::TargetDesc&, const ProgramLoad&);
/// The clocks of one step while n programs run.
double step_clocks(const ProgramLoad&, double n);
/// The clocks of all programs, if they have equal length.
double clocks_of_all(const ir::TargetDesc&, const ProgramLoad&, double programs, double steps);
/// Adds the cost of a tile that is loaded in each step. Returns the number of elements per thread that go through registers.
double add_loads(ProgramLoad&, const ir::TargetDesc&, double rows, double columns, int element_bytes, int row_alignment);
/// The least time that memory needs. Emulators count bytes and have no cache.
double memory_seconds(const Machine&, double bytes, double bytes_of_programs);

}  // namespace multiprocessor

}  // namespace tilewright::kernels::host

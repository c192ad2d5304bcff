// Estimates how long a kernel takes, to choose between ways to divide formulas into kernels.
//
// What counts is what programs do altogether: bytes that memory must move, bytes that programs read again from caches, matrix products,
// other arithmetic, exponentials and launches. Tiles are those that the emitter will choose.
#pragma once
#include <string>

#include "passes/fusion/plan.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// What a machine does in a second, of the kind that a target stands for.
struct MachineFacts {
  double memory_bytes, cache_bytes;
  double flops;                                             // f32, outside of matrix instructions
  double matrix_flops_32, matrix_flops_16, matrix_flops_8;  // by bits of the operands
  double exponentials;
  double launch_seconds;
  double processors;         // programs that run at once, at least
  double accumulator_bytes;  // that one program holds
};
const MachineFacts& machine_facts(const ir::TargetDesc&);

struct KernelCost {
  double read_bytes = 0, written_bytes = 0;  // each tensor once
  double reread_bytes = 0;                   // what programs read beyond that
  double matrix_flops = 0, flops = 0, exponentials = 0;
  double accumulator_bytes = 0;  // of one program
  double programs = 1;
  bool fits = true;
  double seconds = 0;
  /// The terms, in one line.
  std::string text() const;
};

KernelCost estimate(const Plan&, const ExprBuilder&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion

// What the machine of a target does in a second: the numbers that every estimate of time divides by.
#pragma once

namespace tilewright::ir {

struct TargetDesc;

struct MachineFacts {
  double memory_bytes = 0;  // a second, the machine
  // One processor, a second: what it moves from and to memory or caches, and computes.
  double cache_bytes = 0;
  double line_bytes = 0;  // that memory moves at least
  double flops = 0;       // f32, outside of matrix instructions
  // In products, by bits of the factors; a GPU's by mma.sync.
  double matrix_flops_64 = 0, matrix_flops_32 = 0, matrix_flops_16 = 0, matrix_flops_8 = 0;
  double exponentials = 0;
  double launch_seconds = 0;     // of a kernel
  double share_seconds = 0;      // more, if several processors take part
  double accumulator_bytes = 0;  // that one program holds
  double hertz = 0;              // of a GPU's multiprocessor, while it multiplies matrices; 0 on hosts

  double matrix_flops(int element_bytes) const {
    return element_bytes >= 8   ? matrix_flops_64
           : element_bytes >= 4 ? matrix_flops_32
           : element_bytes == 2 ? matrix_flops_16
                                : matrix_flops_8;
  }
};

/// Of the target's chip, at the clock and with the memory that the device has (TargetDesc::clock_mhz, memory_gbs).
MachineFacts machine_facts(const TargetDesc&);

/// How long one program takes that needs `a` seconds for memory and `b` for arithmetic, or the reverse: the two overlap for the most part.
double overlapped_seconds(double a, double b);

}  // namespace tilewright::ir

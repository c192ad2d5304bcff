// The rates of a target's machine, by which every estimate of time divides.
#pragma once

namespace tilewright::ir {

struct TargetDesc;

struct MachineFacts {
  double memory_bytes = 0;  // per second, whole machine
  // Per processor and second: bytes moved from and to memory or caches, and operations.
  double cache_bytes = 0;
  double line_bytes = 0;  // the least number of bytes that memory moves at once
  double flops = 0;       // f32, outside of matrix instructions
  // Operations of matrix products, by the bits of the factors; on a GPU with mma.sync.
  double matrix_flops_64 = 0, matrix_flops_32 = 0, matrix_flops_16 = 0, matrix_flops_8 = 0;
  double exponentials = 0;
  double launch_seconds = 0;     // to launch a kernel
  double share_seconds = 0;      // additional, if several processors take part
  double accumulator_bytes = 0;  // that one program can hold
  double hertz = 0;              // clock of a GPU's multiprocessor while it multiplies matrices; 0 on hosts

  double matrix_flops(int element_bytes) const {
    return element_bytes >= 8   ? matrix_flops_64
           : element_bytes >= 4 ? matrix_flops_32
           : element_bytes == 2 ? matrix_flops_16
                                : matrix_flops_8;
  }
};

/// The facts of the target's chip, with the clock and the memory of the actual device (TargetDesc::clock_mhz, memory_gbs).
MachineFacts machine_facts(const TargetDesc&);

/// The time of a program that needs `a` seconds for memory and `b` for arithmetic, or the reverse: most of the two overlaps.
double overlapped_seconds(double a, double b);

}  // namespace tilewright::ir

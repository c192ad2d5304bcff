// The target description: the facts of a target that passes and the interpreter may query. It has no code.
#pragma once
#include <string>

namespace tilewright::ir {

/// The order in which a reduce combines elements. It is fixed for a target, so results are the same in each run and the interpreter can
/// compute the bits of any target.
///
/// Along the innermost axis of more than one element, a commutative reduce keeps L = min(extent, lanes) partials: partial k takes elements
/// k, k + L, k + 2L, ... in order; then, while L > 1, L is halved and partial k takes partial k + L. A reduce that is not commutative takes
/// blocks of min(extent, block) elements in order; in a block it combines neighbours, then neighbours of the results, until one is left. A
/// reduce along an outer axis takes the elements in order. For distributed tiles see layout/reduce_steps.h.
///
/// A dot adds products in order of k, but for dots of bf16 on targets that add these in blocks: see dot_order.h.
struct ReductionOrder {
  int lanes = 1;  // a power of two
  int block = 1;  // a power of two
  bool has_bf16_blocks = false;
};

struct TargetDesc {
  enum class Kind { host, nvptx };
  std::string name = "host-baseline";
  Kind kind = Kind::host;
  int vector_bits = 128;            // width of a SIMD register
  bool has_fma = false;             // a fused multiply-add instruction for f32 and f64
  bool has_f16_conversion = false;  // f16 <-> f32 instructions
  bool has_masked_memory = false;   // masked vector loads and stores
  ReductionOrder reduction;
  int processors = 8;  // processors that run programs at once: threads of a host, multiprocessors of a GPU

  // nvptx
  int sm = 0;               // compute capability: 75, 80, 86, 89, 90
  bool has_wgmma = false;   // sm_90a
  int shared_bytes = 0;     // most that one CTA can have
  int max_registers = 255;  // most that one thread can have
  int registers_per_sm = 65536;
  int warps_per_sm = 64;
  int clock_mhz = 0;   // highest clock of the multiprocessors
  int memory_gbs = 0;  // most that memory moves, in 10^9 bytes per second

  bool is_gpu() const { return kind == Kind::nvptx; }
  static constexpr int kLog2WarpLanes = 5;
  /// The number of 32-bit elements in a vector.
  int lanes() const { return vector_bits / 32; }
};

}  // namespace tilewright::ir

// What passes and the interpreter may know of a target: a plain struct of facts, no code.
#pragma once
#include <string>

namespace tilewright::ir {

/// In which order a reduce combines elements: part of a configuration's meaning, so that results are the same from run to run and
/// the interpreter can be asked for any target's bits.
///
/// Along the innermost axis of more than one element, a commutative reduce keeps L = min(extent, lanes) partials: partial k takes
/// elements k, k + L, k + 2L, ... in order; then, while L > 1, L halves and partial k takes partial k + L. Every other reduce (not
/// commutative, or along an outer axis) takes the elements in order. Of a distributed tile layout/reduce_steps.h says the order.
struct ReductionOrder {
  int lanes = 1;
};

struct TargetDesc {
  enum class Kind { host, nvptx };
  std::string name = "host-baseline";
  Kind kind = Kind::host;
  int vector_bits = 128;          // width of a SIMD register
  bool has_fma = false;           // a fused multiply-add instruction for f32 and f64
  bool has_f16_conversion = false;  // f16 <-> f32 instructions
  bool has_masked_memory = false;   // masked vector loads and stores
  ReductionOrder reduction;

  // nvptx
  int sm = 0;                     // compute capability: 75, 80, 86, 89, 90
  bool has_wgmma = false;         // sm_90a
  int shared_bytes = 0;           // most that a program can have
  int max_registers = 255;        // of a thread
  int registers_per_sm = 65536;
  int warps_per_sm = 64;

  bool is_gpu() const { return kind == Kind::nvptx; }
  static constexpr int kLog2WarpLanes = 5;
  /// Lanes of a vector of 32-bit elements.
  int lanes() const { return vector_bits / 32; }
};

}  // namespace tilewright::ir

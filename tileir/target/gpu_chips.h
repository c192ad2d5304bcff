// The NVIDIA GPUs that code is compiled for, by compute capability.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tilewright::ir {

struct TargetDesc;

/// What a compute capability fixes, and what a usual GPU of it has.
struct GpuChip {
  std::string_view target;  // "sm_120": its name as a target
  int capability = 0;       // 120
  /// The target of its code, LLVM's name of a processor: its own, or the newest one that LLVM knows whose PTX it runs. PTX of sm_90 runs on
  /// every later device; that of sm_90a on 9.0 alone.
  std::string_view code;
  int code_capability = 0;  // 90
  int shared_kib = 0;       // of shared memory, the most that a program can have
  int warps_per_sm = 0;
  // Of a T4, an A100, an A40, an L40, an H100, a B200 and an RTX 5090; a driver says what a device has.
  int multiprocessors = 0;
  int clock_mhz = 0;   // of multiprocessors, the highest
  int memory_gbs = 0;  // 10^9 bytes a second
};
std::span<const GpuChip> gpu_chips();

/// The chip of a target. Facts of a device that differ from its chip's may follow the name: "sm_90a+processors=114". Null: it is no GPU.
const GpuChip* gpu_chip(std::string_view target);

/// 120 of a description of "sm_120", whose code is that of sm_90.
int chip_capability(const TargetDesc&);

/// The facts of a device that its chip leaves open or that no row of the table has, as the driver says; 0: not known.
struct GpuFacts {
  int shared_bytes = 0, warps_per_sm = 0, registers_per_sm = 0, processors = 0, clock_mhz = 0, memory_gbs = 0;
};
/// The chip of a compute capability whose code the device runs best: of the same one, or of the newest older one.
const GpuChip& chip_for(int capability);
/// The name of a target: the chip and the facts that differ from its own. Example: (sm_90a, 114 multiprocessors) ->
/// "sm_90a+processors=114".
std::string target_name(const GpuChip&, const GpuFacts&);
/// The facts that follow the name of a target. False: they are not of the form that target_name() gives.
bool read_facts(std::string_view target, GpuFacts&);

}  // namespace tilewright::ir

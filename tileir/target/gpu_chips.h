// The NVIDIA GPUs that code is compiled for, by compute capability.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::ir {

struct TargetDesc;

/// The facts that a compute capability fixes, and those of a typical GPU with this capability.
struct GpuChip {
  std::string_view target;  // "sm_120": the name of the target
  int capability = 0;       // 120
  /// The target that its code is compiled for, which is LLVM's name of a processor: its own, or the newest one known to LLVM whose PTX it
  /// runs. PTX of sm_90 runs on every later device; PTX of sm_90a only on 9.0.
  std::string_view code;
  int code_capability = 0;  // 90
  int shared_kib = 0;       // of shared memory, the most that one CTA can have
  int warps_per_sm = 0;
  // The facts of a T4, A100, A40, L40, H100, B200 and RTX 5090; for a real device the driver says them.
  int multiprocessors = 0;
  int clock_mhz = 0;   // highest clock of the multiprocessors
  int memory_gbs = 0;  // 10^9 bytes a second
};
std::span<const GpuChip> gpu_chips();

/// The chip of a target. Facts in which a device differs from its chip may follow the name: "sm_90a+processors=114". Null for a host.
const GpuChip* gpu_chip(std::string_view target);

/// The capability of the chip: 120 for "sm_120", although its code is that of sm_90.
int chip_capability(const TargetDesc&);

/// The facts of a device that the driver reports and that its chip does not fix, or that the table does not have; 0: not known.
struct GpuFacts {
  int shared_bytes = 0, warps_per_sm = 0, registers_per_sm = 0, processors = 0, clock_mhz = 0, memory_gbs = 0;
};
/// The chip whose code runs best on a device of this compute capability: that of the same capability, or of the newest older one.
const GpuChip& chip_for(int capability);
/// The name of a target: the chip and the facts in which the device differs from it. Example: (sm_90a, 114 multiprocessors) ->
/// "sm_90a+processors=114".
std::string target_name(const GpuChip&, const GpuFacts&);
/// Reads the facts that follow the name of a target. Returns false if they do not have the form that target_name() writes.
bool read_facts(std::string_view target, GpuFacts&);

/// The description of a chip, "sm_80", or of a device that differs from its chip, "sm_90a+processors=114"; none for other names.
std::optional<TargetDesc> describe_gpu(std::string_view target);

}  // namespace tilewright::ir

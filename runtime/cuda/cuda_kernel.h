// A kernel that is loaded on a CUDA device.
#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/kernel_reports.h"
#include "runtime/cuda/launch_bounds.h"
#include "runtime/cuda/tensor_map_cache.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

/// The largest number of parameters of a kernel: 4 KiB, the limit that all targets allow.
inline constexpr std::size_t kMostParameters = 512;

struct CudaKernel : Executable {
  /// Lets the driver assemble the PTX. Throws DeviceError at `where`, with the assembler's log. Requires: the context is current.
  CudaKernel(std::shared_ptr<Device> keep, Context&, const backend::CompiledKernel&, const Here& where);
  ~CudaKernel() override;

  const std::shared_ptr<Device> keep;
  Context& context;
  const std::string& name;                 // kept by the context, since a failure may be reported after the kernel is destroyed
  const std::vector<ir::Type> parameters;  // those of the function; parameters of the plan, of reports and of sites follow
  const backend::LaunchPlan plan;
  mutable TensorMapCache maps;  // of the parameters of the plan, by their numbers
  const ReportSites reports;    // null if it has none
  const AccessSites sites;      // null if it has none
  const unsigned threads, dynamic_shared_bytes;
  int driver_version = 0;  // set if the kernel has a plan
  int registers = 0, local_bytes = 0, static_shared_bytes = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;

 private:
  void assemble(const backend::CompiledKernel&, const Here&);
  void measure(const backend::CompiledKernel&, const Here&);
};

}  // namespace tilewright::rt::cuda

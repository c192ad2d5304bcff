// What a CUDA device is, asked without making a context on it.
#pragma once
#include <cstddef>
#include <string>

#include "runtime/cuda/driver.h"

namespace tilewright::rt::cuda {

struct DeviceFacts {
  CUdevice device = 0;
  std::string name;
  int capability = 0;  // 10 * major + minor
  int multiprocessors = 0;
  std::size_t memory = 0;
  std::string reason;  // why kernels cannot run on it; empty if they can
};

/// How many devices the driver has. A failure is a reason: 0 then.
int device_count(const Driver&, std::string& reason);

/// Requires: 0 <= ordinal < device_count(). A failure is a reason.
DeviceFacts device_facts(const Driver&, int ordinal);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 multiprocessors, 79.1 GiB".
std::string describe(const DeviceFacts&);

/// The best of the targets that kernels are compiled for that a device of this capability (10 * major + minor) can run: PTX runs on
/// every later device, that of sm_90a on 9.0 only.
std::string target_for(int capability);

}  // namespace tilewright::rt::cuda

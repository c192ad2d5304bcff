// The facts of a CUDA device, queried without creating a context on it.
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

/// The number of devices of the driver; 0 and a reason if the call fails.
int device_count(const Driver&, std::string& reason);

/// Requires: 0 <= ordinal < device_count(). If a call fails, the facts have a reason.
DeviceFacts device_facts(const Driver&, int ordinal);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 multiprocessors, 79.1 GiB".
std::string describe(const DeviceFacts&);

/// The best target whose PTX a device of this capability (10 * major + minor) can run: PTX runs on every later device, that of sm_90a on
/// 9.0 only.
std::string target_for(int capability);

}  // namespace tilewright::rt::cuda

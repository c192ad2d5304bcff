// A CUDA device. All of its calls go through a driver table, so emulated devices use the same code.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/device_facts.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

struct CudaDeviceOptions {
  std::string name;          // "cuda:0"
  DeviceFacts facts;         // without a reason against it
  std::string target;        // see target_for
  bool is_emulated = false;  // the emulator: the context remains usable after a kernel failed, and every access is checked
};

/// Retains the device's primary context for as long as the device lives. The driver table must outlive it. Throws DeviceError.
std::shared_ptr<Device> make_cuda_device(const Driver&, CudaDeviceOptions, const Here&);

}  // namespace tilewright::rt::cuda

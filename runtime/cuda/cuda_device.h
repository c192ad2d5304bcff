// A CUDA device. All of its calls go through a driver table, so emulated devices use the same code.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/device_facts.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

struct CudaDeviceOptions {
  std::string name;          // "cuda:0"
  DeviceFacts facts;         // facts without a reason against the device
  std::string target;        // see target_of
  bool is_emulated = false;  // the emulator: its context remains usable after a kernel has failed, and every access is checked
};

/// Makes a device that retains its primary context while it lives. The driver table must outlive it. Throws DeviceError.
std::shared_ptr<Device> make_cuda_device(const Driver&, CudaDeviceOptions, const Here&);

}  // namespace tilewright::rt::cuda

// A CUDA device: everything that it does goes through a driver table, so the emulator's runs under the same code.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/device_facts.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

struct CudaDeviceOptions {
  std::string name;              // "cuda:0"
  DeviceFacts facts;             // without a reason against it
  std::string target;            // see target_for
  bool survives_faults = false;  // a failing kernel spoils nothing: the emulator
};

/// Retains the device's primary context for as long as the device lives. The driver table must outlive it. Throws DeviceError.
std::shared_ptr<Device> make_cuda_device(const Driver&, CudaDeviceOptions, const Here&);

}  // namespace tilewright::rt::cuda

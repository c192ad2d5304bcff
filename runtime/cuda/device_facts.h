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
  // In the following fields, 0 means that the driver does not report the value.
  int shared_of_block = 0, shared_of_sm = 0;        // bytes: the most that a block can have, and all of a multiprocessor
  int threads_of_sm = 0, registers_of_sm = 0;       // of one multiprocessor
  int clock_khz = 0, memory_khz = 0, bus_bits = 0;  // clocks of the multiprocessors and of the memory, width of the memory bus
  int l2_bytes = 0;
  std::size_t memory = 0;
  std::string reason;  // why kernels cannot run on it; empty if they can
};

/// The number of the driver's devices; 0 and a reason if the call fails.
int device_count(const Driver&, std::string& reason);

/// Requires: 0 <= ordinal < device_count(). If a call fails, the facts contain a reason.
DeviceFacts device_facts(const Driver&, int ordinal);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 multiprocessors of 1980 MHz, 50 MiB of L2, 79.1 GiB of 3352 GB/s".
std::string describe(const DeviceFacts&);

/// The target of kernels for the device: the chip whose code it runs best, and the facts in which the device differs from that chip.
std::string target_of(const DeviceFacts&);

}  // namespace tilewright::rt::cuda

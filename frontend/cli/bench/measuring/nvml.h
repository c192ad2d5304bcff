// Clocks, power and temperature of a GPU, by NVIDIA's management library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/device.h"

namespace tilewright::cli::bench {

/// A GPU at one moment; empty: the library does not say.
struct GpuState {
  std::optional<unsigned> sm_mhz, memory_mhz, celsius;
  std::optional<double> watts;
  std::optional<std::uint64_t> throttled;  // nvmlClocksEventReasons
};

class Nvml {
 public:
  explicit Nvml(const Device&);

  /// False where there is no such library or it does not know the device.
  bool is_open() const { return device_ != nullptr; }
  // Require: is_open().
  GpuState state() const;
  unsigned most_sm_mhz() const;
  std::string driver_version() const;

 private:
  /// After nvml.h; those that an older library lacks are null.
  struct Functions {
    int (*init)() = nullptr;
    int (*device)(unsigned ordinal, void** device) = nullptr;
    int (*clock)(void* device, int type, unsigned* mhz) = nullptr;
    int (*most_clock)(void* device, int type, unsigned* mhz) = nullptr;
    int (*driver_version)(char* text, unsigned length) = nullptr;
    int (*power)(void* device, unsigned* milliwatts) = nullptr;
    int (*temperature)(void* device, int sensor, unsigned* celsius) = nullptr;
    int (*throttle_reasons)(void* device, unsigned long long* bits) = nullptr;
  };

  Functions functions_;
  void* device_ = nullptr;
};

}  // namespace tilewright::cli::bench

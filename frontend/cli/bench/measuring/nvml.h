// Clocks, power and temperature of a GPU, from NVIDIA's management library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/device.h"

namespace tilewright::cli::bench {

/// The state of a GPU at one moment; a value is empty if the library does not report it.
struct GpuState {
  std::optional<unsigned> sm_mhz, memory_mhz, celsius;
  std::optional<double> watts;
  std::optional<std::uint64_t> throttled;  // nvmlClocksEventReasons
};

class Nvml {
 public:
  explicit Nvml(const Device&);

  /// False if there is no such library or it does not know the device.
  bool is_open() const { return device_ != nullptr; }
  // These require is_open().
  GpuState state() const;
  unsigned most_sm_mhz() const;
  std::string driver_version() const;

 private:
  /// Functions as in nvml.h; null if an older library lacks them.
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

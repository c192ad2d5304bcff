// Calls NVIDIA's management library, which is loaded at run time.
#include "frontend/cli/bench/measuring/nvml.h"

#include <array>

#include "frontend/cli/bench/measuring/gpu_context.h"
#include "runtime/dynamic_library.h"

namespace tilewright::cli::bench {

namespace {

constexpr int kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr int kGpuSensor = 0;                  // nvmlTemperatureSensors_t

/// The output argument of a function; empty if the library lacks the function or it fails.
template <class T, class... Parameters, class... Arguments>
std::optional<T> ask(int (*function)(void*, Parameters...), void* device, Arguments... arguments) {
  T value{};
  if (!function || function(device, arguments..., &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

Nvml::Nvml(const Device& device) {
  const rt::DynamicLibrary library({"libnvidia-ml.so.1"});
  if (!library.is_open()) return;
  Functions& f = functions_;
  if (library.find_all({{"nvmlInit_v2", f.init},
                        {"nvmlDeviceGetHandleByIndex_v2", f.device},
                        {"nvmlDeviceGetClockInfo", f.clock},
                        {"nvmlDeviceGetMaxClockInfo", f.most_clock},
                        {"nvmlSystemGetDriverVersion", f.driver_version}}))
    return;
  library.find_all({{"nvmlDeviceGetPowerUsage", f.power}});
  library.find_all({{"nvmlDeviceGetTemperature", f.temperature}});
  library.find_all({{"nvmlDeviceGetCurrentClocksThrottleReasons", f.throttle_reasons}});
  void* handle = nullptr;
  if (f.init() == 0 && f.device(static_cast<unsigned>(ordinal_of(device)), &handle) == 0) device_ = handle;
}

GpuState Nvml::state() const {
  GpuState s;
  s.sm_mhz = ask<unsigned>(functions_.clock, device_, kSmClock);
  s.memory_mhz = ask<unsigned>(functions_.clock, device_, kMemoryClock);
  s.celsius = ask<unsigned>(functions_.temperature, device_, kGpuSensor);
  if (const auto milliwatts = ask<unsigned>(functions_.power, device_)) s.watts = *milliwatts / 1000.0;
  s.throttled = ask<unsigned long long>(functions_.throttle_reasons, device_);
  return s;
}

unsigned Nvml::most_sm_mhz() const { return ask<unsigned>(functions_.most_clock, device_, kSmClock).value_or(0); }

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  return functions_.driver_version(text.data(), text.size()) == 0 ? text.data() : "";
}

}  // namespace tilewright::cli::bench

// Reads /proc and the driver, and measures the peak of processors with a kernel of multiply-adds.
#include "frontend/cli/bench/measuring/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "frontend/cli/bench/measuring/contender.h"
#include "frontend/cli/bench/measuring/gpu_context.h"
#include "frontend/cli/bench/measuring/nvml.h"
#include "runtime/cuda/driver_loader.h"
#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

/// The current clocks of all cores, as the operating system reports them.
std::string processor_clocks() {
  std::ifstream in("/proc/cpuinfo");
  std::vector<double> mhz;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("cpu MHz")) mhz.push_back(std::strtod(line.substr(line.find(':') + 1).c_str(), nullptr));
  std::string governor;
  std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") >> governor;
  if (mhz.empty()) return "not reported";
  const auto [least, most] = std::minmax_element(mhz.begin(), mhz.end());
  std::string text = *most - *least < 1 ? fmt::format("{:.0f} MHz", *most) : fmt::format("{:.0f} to {:.0f} MHz", *least, *most);
  return governor.empty() ? text : fmt::format("{}, governor {}", text, governor);
}

/// The number of threads that run or wait to run, averaged over a minute.
std::string load() {
  double minute = 0;
  std::ifstream("/proc/loadavg") >> minute;
  const int threads = rt::cpu_threads();
  return fmt::format("{:.1f} on {} thread{}{}", minute, threads, threads == 1 ? "" : "s",
                     minute > 0.3 * threads ? ": the machine is not idle, and times are larger than they could be" : "");
}

void add_gpu_facts(const Device& device, Facts& facts) {
  facts.emplace_back("driver", fmt::format("CUDA {}", rt::cuda::version_text(rt::cuda::system_driver().version)));
  const Nvml nvml(device);
  if (!nvml.is_open()) {
    facts.emplace_back("clocks", "not reported: there is no libnvidia-ml.so.1");
    return;
  }
  if (const std::string version = nvml.driver_version(); !version.empty()) facts.back().second += ", " + version;
  const GpuState now = nvml.state();
  facts.emplace_back("clocks",
                     fmt::format("{} of {} MHz, memory {} MHz", now.sm_mhz.value_or(0), nvml.most_sm_mhz(), now.memory_mhz.value_or(0)));
}

// ---- peaks ----

constexpr int kChains = 12;
constexpr int kSteps = 25'000;  // takes milliseconds, which is longer than threads take to wake up
constexpr int kUnrolled = 16;   // multiply-adds in one step; between steps the loop carries its chains through memory

/// Chains of multiply-adds that need no memory: enough to hide the latency of one, few enough to stay in registers. The factor and the
/// term are arguments, so that the compiler does not fold the steps of integers into one.
template <class T>
void multiply_adds(Ptr<T> out, Tile<T> factor, Tile<T> term, I32 steps, int lanes) {
  std::array<Tile<T>, kChains> chain;
  for (int c = 0; c < kChains; ++c) chain[static_cast<std::size_t>(c)] = full<T>({lanes}, T(c));
  for ([[maybe_unused]] auto step : range(0, steps))
    for (int i = 0; i < kUnrolled; ++i)
      for (auto& c : chain) {
        if constexpr (std::is_integral_v<T>)
          c = c * factor + term;
        else
          c = fma(c, factor, term);
      }
  auto sum = chain[0];
  for (std::size_t c = 1; c < kChains; ++c) sum += chain[c];
  store(out + (program_id(0) * lanes + arange(0, lanes)), sum);
}

/// The size in bytes of a vector register in code for this device.
int vector_bytes(const Device& device) {
  const auto fits = [&](const char* level) {
    return device.name() == "cpu" ? rt::reason_against_level(level).empty() : device.name() == std::string("cpu:") + level;
  };
  return fits("x86-64-v4") ? 64 : fits("x86-64-v3") ? 32 : 16;
}

template <class T>
double measured_gflops(const Device& device) {
  const int lanes = vector_bytes(device) / static_cast<int>(sizeof(T));
  const int programs = 4 * rt::cpu_threads();
  static const Kernel kernel("multiply_adds", multiply_adds<T>);
  auto out = device.allocate<T>(programs * lanes);
  const T factor = std::is_integral_v<T> ? T(3) : T(0.999), term = std::is_integral_v<T> ? T(1) : T(0.001);
  double least = 1e30;
  for (int i = 0; i < 20; ++i)
    least = std::min(least, time_calls(device, 1, [&] { kernel({.grid = programs}, out, factor, term, kSteps, lanes); }));
  return 2.0 * kChains * kUnrolled * lanes * kSteps * programs / (least * 1e6);
}

/// Multiply-adds per clock of a multiprocessor, by compute capability, from the CUDA C++ Programming Guide, "Arithmetic Instructions", and
/// the architectures' white papers.
struct Rates {
  int capability;
  double f16, tf32, f32, f64, i8;
};
constexpr Rates kRates[] = {{75, 512, 0, 64, 2, 1024},    {80, 1024, 512, 64, 64, 2048},    {86, 512, 256, 128, 2, 1024},
                            {89, 512, 256, 128, 2, 1024}, {90, 2048, 1024, 128, 128, 4096}, {100, 4096, 2048, 128, 64, 8192},
                            {120, 512, 256, 128, 2, 1024}};

double stated_gflops(const Device& device, ir::Element e, bool ieee) {
  const rt::cuda::Driver* driver = rt::cuda::system_driver().driver.get();
  rt::cuda::CUdevice gpu = 0;
  if (!driver || driver->cuDeviceGet(&gpu, ordinal_of(device)) != 0) return 0;
  const auto attribute = [&](int number) {
    int value = 0;
    driver->cuDeviceGetAttribute(&value, static_cast<rt::cuda::CUdevice_attribute>(number), gpu);
    return value;
  };
  constexpr int kClockKhz = 13, kMultiprocessors = 16, kMajor = 75, kMinor = 76;  // CUdevice_attribute
  const int capability = 10 * attribute(kMajor) + attribute(kMinor);
  for (const Rates& r : kRates) {
    if (r.capability != capability) continue;
    double rate = 0;
    switch (e) {
      case ir::Element::f16:
      case ir::Element::bf16: rate = r.f16; break;
      case ir::Element::f32: rate = ieee || r.tf32 == 0 ? r.f32 : r.tf32; break;
      case ir::Element::f64: rate = r.f64; break;
      case ir::Element::i8: rate = r.i8; break;
      default: break;
    }
    return 2 * rate * attribute(kMultiprocessors) * attribute(kClockKhz) / 1e6;
  }
  return 0;
}

}  // namespace

Facts machine_facts(const Device& device) {
  Facts facts{{"device", fmt::format("{}: {}", device.name(), device.description())}};
  if (is_gpu(device)) {
    add_gpu_facts(device, facts);
    facts.emplace_back("processor", rt::cpu_description(rt::cpu_threads()));
  } else if (!is_emulator(device)) {
    facts.emplace_back("clocks", processor_clocks());
  }
  if (!is_emulator(device)) facts.emplace_back("load", load());
  return facts;
}

Peak peak_of(const Device& device, ir::Element e, bool ieee) {
  if (is_emulator(device)) return {};
  if (is_gpu(device)) return {stated_gflops(device, e, ieee), "stated"};
  // Small floats are multiplied as f32, and bytes as i16.
  if (e == ir::Element::i8) return {measured_gflops<std::int16_t>(device), "measured in i16"};
  if (!ir::is_float(e)) return {measured_gflops<std::int32_t>(device), "measured in i32"};
  return {e == ir::Element::f64 ? measured_gflops<double>(device) : measured_gflops<float>(device), "measured"};
}

}  // namespace tilewright::cli::bench

// Lists and opens the devices of this machine.
#include "runtime/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver_loader.h"
#include "runtime/device_print.h"
#include "runtime/emulator/cost/roofline.h"
#include "runtime/emulator/driver/emulated_driver.h"
#include "runtime/emulator/driver/launch_environment.h"
#include "runtime/environment.h"
#include "runtime/host/cpu_model.h"
#include "runtime/host/host_device.h"
#include "runtime/log.h"

namespace tilewright::rt {

namespace {

// One object for each name, for the lifetime of the process: two handles to "cpu" share one device, and its threads are started once.
std::shared_ptr<Device> opened(const std::string& name, const std::function<std::shared_ptr<Device>()>& make) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Device>> devices;
  std::lock_guard lock(mutex);
  if (const auto it = devices.find(name); it != devices.end()) return it->second;
  std::shared_ptr<Device> device = make();
  devices.emplace(name, device);
  return device;
}

void refuse_mistake(const std::string& mistake, const Here& at) {
  if (!mistake.empty()) throw Error(detail::location_of(at), mistake);
}

std::shared_ptr<Device> host_device(const std::string& name, const Here& at) {
  refuse_mistake(environment_threads_mistake(), at);
  return opened(name, [&] { return make_host_device(name); });
}

std::string cuda_name(int ordinal) { return fmt::format("cuda:{}", ordinal); }

// N in "cuda:N".
std::optional<int> cuda_ordinal(std::string_view name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int ordinal = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  // "cuda:00" would be a second name for the same device.
  if (error != std::errc() || ordinal < 0 || cuda_name(ordinal) != name) return std::nullopt;
  return ordinal;
}

int cuda_devices(std::string& reason) {
  const cuda::DriverSearch& search = cuda::system_driver();
  if (search.driver) return cuda::device_count(*search.driver, reason);
  reason = search.reason;
  return 0;
}

// The facts of "cuda:N", or the reason why it cannot be used.
cuda::DeviceFacts cuda_facts(std::string_view name) {
  cuda::DeviceFacts facts;
  const std::optional<int> ordinal = cuda_ordinal(name);
  if (!ordinal) {
    facts.reason = "a CUDA device is 'cuda:0', 'cuda:1' and so on";
    return facts;
  }
  const int count = cuda_devices(facts.reason);
  if (*ordinal < count) return cuda::device_facts(*cuda::system_driver().driver, *ordinal);
  if (facts.reason.empty()) facts.reason = count == 1 ? "the driver has one device" : fmt::format("the driver has {} devices", count);
  return facts;
}

std::shared_ptr<Device> cuda_device(const std::string& name, const cuda::DeviceFacts& facts, const Here& at) {
  const cuda::DriverSearch& search = cuda::system_driver();
  return opened(name, [&] { return cuda::make_cuda_device(*search.driver, {name, facts, cuda::target_of(facts)}, at); });
}

constexpr std::string_view kEmulator = "emulator:";

// The targets that have an emulated device. sm_90 and sm_90a are two targets, so there are two devices.
std::vector<std::string_view> emulated_targets() {
  std::vector<std::string_view> targets = emulator::emulated_targets();
  targets.insert(std::find(targets.begin(), targets.end(), "sm_90a"), "sm_90");
  return targets;
}

const cuda::Driver& emulated_driver() {
  static const cuda::Driver& driver = []() -> const cuda::Driver& {
    emulator::set_print_function(print_line);
    return emulator::emulated_driver();
  }();
  return driver;
}

cuda::DeviceFacts emulator_facts(std::string_view target) {
  return cuda::device_facts(emulated_driver(), emulator::emulated_ordinal(target == "sm_90" ? "sm_90a" : target));
}

std::shared_ptr<Device> emulator_device(std::string_view target, const Here& at) {
  const std::string name = fmt::format("{}{}", kEmulator, target);
  emulator::LaunchParams launch;
  refuse_mistake(emulator::take_environment(launch), at);
  return opened(name,
                [&] { return cuda::make_cuda_device(emulated_driver(), {name, emulator_facts(target), std::string(target), true}, at); });
}

std::string usable_names() {
  std::string names;
  for (const DeviceInfo& d : list_devices())
    if (d.usable) names += (names.empty() ? "" : ", ") + d.name;
  return names;
}

[[noreturn]] void refuse(std::string_view name, const std::string& reason, const Here& at) {
  throw Error(detail::location_of(at), fmt::format("no device '{}': {}; there is: {}", name, reason, usable_names()));
}

}  // namespace

std::shared_ptr<Device> open_device(std::string_view name, const Here& at) {
  refuse_mistake(environment_mistake(), at);
  std::string reason;
  if (name == "cuda" || name.starts_with("cuda:")) {
    const cuda::DeviceFacts facts = cuda_facts(name);
    if (facts.reason.empty()) return cuda_device(std::string(name), facts, at);
    reason = facts.reason;
  } else if (name == "emulator" || name.starts_with(kEmulator)) {
    const std::vector<std::string_view> targets = emulated_targets();
    const auto found = std::find(targets.begin(), targets.end(), name.substr(std::min(name.size(), kEmulator.size())));
    if (found != targets.end()) return emulator_device(*found, at);
    reason = fmt::format("an emulator is 'emulator:' and one of {}", fmt::join(targets, ", "));
  } else if (name.starts_with("cpu:")) {
    reason = reason_against_level(name.substr(4));
  } else if (name != "cpu") {
    reason = "a device is 'cpu', 'cpu:LEVEL', 'cuda:N' or 'emulator:sm_XX'";
  }
  if (!reason.empty()) refuse(name, reason, at);
  return host_device(std::string(name), at);
}

std::shared_ptr<Device> open_device(std::string_view name, Executor executor, const Here& at) {
  refuse_mistake(environment_mistake(), at);
  if (name != "cpu" && !name.starts_with("cpu:"))
    throw Error(detail::location_of(at),
                fmt::format("open_device: an executor runs the programs of 'cpu' or 'cpu:LEVEL', not of '{}'", name));
  if (const std::string reason = name == "cpu" ? "" : reason_against_level(name.substr(4)); !reason.empty()) refuse(name, reason, at);
  if (executor.threads < 1)
    throw Error(detail::location_of(at),
                fmt::format("open_device: the executor has {} threads; it must have at least 1", executor.threads));
  if (!executor.run) throw Error(detail::location_of(at), "open_device: the executor has no function 'run'");
  return make_host_device(std::string(name), std::move(executor));
}

std::shared_ptr<Device> open_best_device(const Here& at) {
  refuse_mistake(environment_mistake(), at);
  const std::string name = cuda_name(0);
  const cuda::DeviceFacts facts = cuda_facts(name);
  if (facts.reason.empty()) try {
      return cuda_device(name, facts, at);
    } catch (const DeviceError& e) {
      // Another process may use the GPU exclusively, or the GPU may have failed.
      log(LogLevel::warning, fmt::format("{} is there but cannot be opened, so the cpu is used: {}", name, e.what()));
    }
  return host_device("cpu", at);
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all{{"cpu", cpu_description(cpu_threads()), true, ""}};
  std::string reason;
  const int count = cuda_devices(reason);
  for (int i = 0; i < count; ++i) {
    const cuda::DeviceFacts facts = cuda::device_facts(*cuda::system_driver().driver, i);
    all.push_back({cuda_name(i), facts.reason.empty() ? cuda::describe(facts) : facts.name, facts.reason.empty(), facts.reason});
  }
  if (count == 0) all.push_back({cuda_name(0), "", false, reason});
  for (std::string_view target : emulated_targets())
    all.push_back({fmt::format("{}{}", kEmulator, target), fmt::format("runs the PTX of {} on the cpu, with checks", target), true, ""});
  return all;
}

namespace {

int emulated_ordinal_of(std::string_view device) {
  const std::string_view target = device.substr(kEmulator.size());
  return emulator::emulated_ordinal(target == "sm_90" ? "sm_90a" : target);
}

std::multimap<std::string, emulator::KernelCounters, std::less<>> take_counters(std::string_view device) {
  if (!device.starts_with(kEmulator)) return {};
  return emulator::take_report(emulated_ordinal_of(device)).counters.kernels;
}

/// The known GPU that represents an emulated target in estimates.
const emulator::Gpu& gpu_of(std::string_view device) {
  const std::string_view target = device.substr(kEmulator.size());
  const std::string_view name = target.starts_with("sm_90") || target == "sm_100" ? "H100 SXM" : "A100 SXM";
  const auto& gpus = emulator::known_gpus();
  return *std::find_if(gpus.begin(), gpus.end(), [&](const emulator::Gpu& gpu) { return gpu.name == name; });
}

}  // namespace

std::vector<KernelReport> take_kernel_reports(std::string_view device) {
  std::vector<KernelReport> reports;
  for (const auto& [name, counters] : take_counters(device)) {
    KernelReport& report = reports.emplace_back();
    report.kernel = name;
    report.launches = counters.launches;
    report.programs = counters.blocks;
    report.instructions = counters.total().executed;
    for (const auto& [at, line] : emulator::line_counts(counters))
      report.lines.push_back({at.first, at.second, line.executed, line.sectors.requests, line.sectors.units, line.sectors.ideal,
                              line.wavefronts.requests, line.wavefronts.units, line.wavefronts.ideal});
  }
  return reports;
}

std::optional<double> estimated_microseconds(std::string_view device, const std::function<void()>& f) {
  if (!device.starts_with(kEmulator)) return std::nullopt;
  const int ordinal = emulated_ordinal_of(device);
  emulator::EmulatorReport before = emulator::take_report(ordinal);
  double microseconds = 0;
  const auto measure = [&] {
    emulator::EmulatorReport report = emulator::take_report(ordinal);
    for (const auto& [name, counters] : report.counters.kernels) {
      const emulator::Estimate estimate = emulator::estimate(counters, gpu_of(device));
      microseconds += estimate.resident_blocks == 0 ? std::numeric_limits<double>::infinity()
                                                    : estimate.microseconds * static_cast<double>(counters.launches);
    }
    emulator::give_back_report(ordinal, std::move(report));
    emulator::give_back_report(ordinal, std::move(before));
  };
  try {
    f();
  } catch (...) {
    measure();
    throw;
  }
  measure();
  return microseconds;
}

std::string take_counters_text(std::string_view device, int registers) {
  std::string text;
  for (const auto& [name, counters] : take_counters(device)) text += emulator::report_text(counters, registers);
  return text;
}

}  // namespace tilewright::rt

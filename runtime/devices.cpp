// Which devices there are, and why others are not.
#include "runtime/devices.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "runtime/host/cpu_model.h"
#include "runtime/host/host_device.h"

namespace tilewright::rt {

namespace {

constexpr const char* kNoCuda = "this build has no CUDA back end yet";
constexpr const char* kNoEmulator = "this build has no emulator yet";

// One object a name for the life of the process, so that two handles to "cpu" are one device and its threads are started once.
std::shared_ptr<Device> host_device(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Device>> opened;
  std::lock_guard lock(mutex);
  std::shared_ptr<Device>& device = opened[name];
  if (!device) device = make_host_device(name);
  return device;
}

std::string usable_names() {
  std::string names;
  for (const DeviceInfo& d : list_devices())
    if (d.usable) names += (names.empty() ? "" : ", ") + d.name;
  return names;
}

// Why there is no such device; empty if there is.
std::string reason_against(std::string_view name) {
  if (name == "cpu") return "";
  if (name.starts_with("cpu:")) return reason_against_level(name.substr(4));
  if (name == "cuda" || name.starts_with("cuda:")) return kNoCuda;
  if (name == "emulator" || name.starts_with("emulator:")) return kNoEmulator;
  return "a device is 'cpu', 'cpu:LEVEL', 'cuda:N' or 'emulator:sm_XX'";
}

}  // namespace

std::shared_ptr<Device> open_device(std::string_view name, const Here& at) {
  if (const std::string reason = reason_against(name); !reason.empty())
    throw Error(detail::location_of(at), fmt::format("no device '{}': {}; there is: {}", name, reason, usable_names()));
  return host_device(std::string(name));
}

std::shared_ptr<Device> open_best_device(const Here&) { return host_device("cpu"); }

std::vector<DeviceInfo> list_devices() { return {{"cpu", cpu_description(), true, ""}, {"cuda:0", "", false, kNoCuda}}; }

}  // namespace tilewright::rt

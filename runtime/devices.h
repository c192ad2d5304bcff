// Lists and opens the devices of this machine.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device.h"
#include "tilewright/device.h"

namespace tilewright::rt {

/// The device of this name, the same object each time. Throws Error that lists the devices.
std::shared_ptr<Device> open_device(std::string_view name, const Here&);

/// The best usable device.
std::shared_ptr<Device> open_best_device(const Here&);

std::vector<DeviceInfo> list_devices();

/// The counters of an emulated device since the last call of this or of the next function; empty for other devices.
std::vector<KernelReport> take_kernel_reports(std::string_view device);
/// What the launches of f() on an emulated device would take on a GPU of its kind, in microseconds (docs/estimate.md); what other threads
/// launch there meanwhile counts too. Infinite if a program does not fit. None for other devices; then f() is not called.
std::optional<double> estimated_microseconds(std::string_view device, const std::function<void()>& f);
/// The same as text. `registers`: of a thread, for the estimate of time; not known if not positive.
std::string take_counters_text(std::string_view device, int registers);

}  // namespace tilewright::rt

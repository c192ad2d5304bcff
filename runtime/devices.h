// Lists and opens the devices of this machine.
#pragma once
#include <memory>
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
/// The same as text. `registers`: of a thread, for the estimate of time; not known if not positive.
std::string take_counters_text(std::string_view device, int registers);

}  // namespace tilewright::rt

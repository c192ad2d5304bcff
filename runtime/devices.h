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
#include "tilewright/executor.h"

namespace tilewright::rt {

/// The device with this name, always the same object. Throws Error that lists the devices.
std::shared_ptr<Device> open_device(std::string_view name, const Here&);

/// A cpu whose launches run on an executor, a new one at each call. Throws Error if the name is not that of a cpu, or the executor lacks threads
/// or a function.
std::shared_ptr<Device> open_device(std::string_view name, Executor, const Here&);

/// The best usable device.
std::shared_ptr<Device> open_best_device(const Here&);

std::vector<DeviceInfo> list_devices();

/// The counters of an emulated device since the last call of this function or the next one; empty for other devices.
std::vector<KernelReport> take_kernel_reports(std::string_view device);
/// The estimated time, in microseconds, of the launches of f() on a GPU of the kind that the device emulates (docs/estimate.md); launches
/// of other threads meanwhile count too. Infinite if a program does not fit. None for other devices; then f() is not called.
std::optional<double> estimated_microseconds(std::string_view device, const std::function<void()>& f);
/// The counters as text. `registers`: of a thread, for the estimate of time; unknown if not positive.
std::string take_counters_text(std::string_view device, int registers);

}  // namespace tilewright::rt

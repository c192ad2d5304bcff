// The cpu as a device: its memory is that of the process, kernels are functions, and launches are complete when they return.
#pragma once
#include <memory>
#include <string>

#include "backend/host_abi.h"
#include "runtime/device.h"
#include "tilewright/executor.h"

namespace tilewright::rt {

/// `name`: "cpu", or "cpu:LEVEL" with a level of x86-64, which only restricts the generated code.
std::shared_ptr<Device> make_host_device(const std::string& name);
/// The same, whose launches run on threads of the application. `target` is such a name. Requires: the executor has threads and a function.
std::shared_ptr<Device> make_host_device(const std::string& target, Executor);

/// An executable of the cpu made from a function of this process, to test devices without a compiler. Uses the number of parameters,
/// scratch_bytes and sites of `kernel`.
std::shared_ptr<const Executable> make_host_executable(backend::HostEntry, const backend::CompiledKernel& kernel);

}  // namespace tilewright::rt

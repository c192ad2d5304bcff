// The emulated driver's table: initialisation, devices and contexts.
#include "runtime/emulator/driver/emulated_driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "runtime/emulator/driver/emulated_objects.h"
#include "runtime/emulator/machine/chips.h"

namespace tilewright::rt::emulator {

using namespace cuda;

EmulatedDriverState::EmulatedDriverState() {
  for (std::string_view target : emulated_targets()) {
    devices.push_back(std::make_unique<EmulatedDevice>());
    devices.back()->ordinal = static_cast<int>(devices.size()) - 1;
    devices.back()->target = target;
  }
}

EmulatedDriverState& EmulatedDriverState::instance() {
  // Never destroyed: buffers with static storage are freed after main().
  static auto* state = new EmulatedDriverState;
  return *state;
}

namespace {

std::size_t this_thread() { return std::hash<std::thread::id>()(std::this_thread::get_id()); }

struct ErrorRow {
  CUresult code;
  const char* name;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "no context is current"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is for another device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on this address space"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "the kernel failed"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

CUresult get_error_name(CUresult error, const char** text) {
  for (const ErrorRow& row : kErrors)
    if (row.code == error) return *text = row.name, CUDA_SUCCESS;
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult get_error_string(CUresult error, const char** text) {
  *text = EmulatedDriverState::instance().explanation(error);
  if (*text != nullptr) return CUDA_SUCCESS;
  for (const ErrorRow& row : kErrors)
    if (row.code == error) return *text = row.text, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}

EmulatedDevice* device_at(CUdevice ordinal) {
  auto& devices = EmulatedDriverState::instance().devices;
  return ordinal >= 0 && ordinal < static_cast<int>(devices.size()) ? devices[ordinal].get() : nullptr;
}

CUresult get_attribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  const EmulatedDevice* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const Chip chip = chip_of(device->target);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 << 10; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = chip.capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = chip.capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = static_cast<int>(chip.shared_of_sm); break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = chip.threads_of_sm; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = static_cast<int>(chip.shared_of_block); break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = 1; break;
    // There are no clocks, buses and caches to report.
    default: *value = 0; break;
  }
  return CUDA_SUCCESS;
}

CUcontext handle_of(EmulatedDevice* device) { return reinterpret_cast<CUcontext>(device); }
EmulatedDevice* device_of_context(CUcontext context) { return reinterpret_cast<EmulatedDevice*>(context); }

void fill_devices(Driver& table) {
  table.cuInit = [](unsigned) { return CUDA_SUCCESS; };
  table.cuDriverGetVersion = [](int* version) { return *version = 12060, CUDA_SUCCESS; };
  table.cuGetErrorName = get_error_name;
  table.cuGetErrorString = get_error_string;
  table.cuDeviceGetCount = [](int* count) { return *count = static_cast<int>(emulated_targets().size()), CUDA_SUCCESS; };
  table.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return device_at(ordinal) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  };
  table.cuDeviceGetName = [](char* name, int length, CUdevice ordinal) {
    const EmulatedDevice* device = device_at(ordinal);
    if (device == nullptr || length <= 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::string text = fmt::format("Tilewright emulator of {}", device->target);
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), count);
    name[count] = 0;
    return CUDA_SUCCESS;
  };
  table.cuDeviceGetAttribute = get_attribute;
  table.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) {
    *bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return CUDA_SUCCESS;
  };
  table.cuDeviceGetUuid = [](CUuuid* uuid, CUdevice ordinal) {
    std::memset(uuid->bytes, 0, sizeof uuid->bytes);
    std::memcpy(uuid->bytes, "tw-emulator", 11);
    uuid->bytes[15] = static_cast<char>(ordinal);
    return CUDA_SUCCESS;
  };
}

void fill_contexts(Driver& table) {
  table.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice ordinal) {
    *context = handle_of(device_at(ordinal));
    return *context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  };
  table.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  table.cuCtxGetCurrent = [](CUcontext* context) { return *context = handle_of(EmulatedDriverState::instance().current()), CUDA_SUCCESS; };
  table.cuCtxSetCurrent = [](CUcontext context) {
    return EmulatedDriverState::instance().set_current(device_of_context(context)), CUDA_SUCCESS;
  };
  table.cuCtxPushCurrent = [](CUcontext context) { return EmulatedDriverState::instance().push(device_of_context(context)), CUDA_SUCCESS; };
  table.cuCtxPopCurrent = [](CUcontext* context) { return *context = handle_of(EmulatedDriverState::instance().pop()), CUDA_SUCCESS; };
  table.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
}

}  // namespace

EmulatedDevice* EmulatedDriverState::current() {
  const std::lock_guard lock(private_mutex_);
  const auto found = contexts_.find(this_thread());
  return found == contexts_.end() || found->second.empty() ? nullptr : found->second.back();
}

void EmulatedDriverState::push(EmulatedDevice* device) {
  const std::lock_guard lock(private_mutex_);
  contexts_[this_thread()].push_back(device);
}

EmulatedDevice* EmulatedDriverState::pop() {
  const std::lock_guard lock(private_mutex_);
  const auto found = contexts_.find(this_thread());
  if (found == contexts_.end() || found->second.empty()) return nullptr;
  EmulatedDevice* top = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) contexts_.erase(found);
  return top;
}

void EmulatedDriverState::set_current(EmulatedDevice* device) {
  pop();
  if (device != nullptr) push(device);
}

void EmulatedDriverState::explain(CUresult code, std::string text) {
  const std::lock_guard lock(private_mutex_);
  told_.push_back(std::make_unique<const std::string>(std::move(text)));
  if (told_.size() > 256)
    std::erase_if(explanations_, [&](const auto& row) { return row.second == told_.front().get(); }), told_.pop_front();
  explanations_[code] = told_.back().get();
}

const char* EmulatedDriverState::explanation(CUresult code) {
  const std::lock_guard lock(private_mutex_);
  const auto found = explanations_.find(code);
  if (found == explanations_.end()) return nullptr;
  const char* text = found->second->c_str();
  explanations_.erase(found);
  return text;
}

const std::vector<std::string_view>& emulated_targets() {
  static const std::vector<std::string_view> targets = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"};
  return targets;
}

int emulated_ordinal(std::string_view target) {
  const auto& targets = emulated_targets();
  const auto found = std::find(targets.begin(), targets.end(), target);
  return found == targets.end() ? -1 : static_cast<int>(found - targets.begin());
}

EmulatorReport take_report(int ordinal) {
  EmulatedDevice* device = device_at(ordinal);
  EmulatorReport report;
  if (device == nullptr) return report;
  const std::lock_guard lock(device->mutex);
  std::swap(report.counters, device->counters);
  std::swap(report.diagnostics, device->diagnostics);
  std::swap(report.remarks, device->remarks);
  return report;
}

void give_back_report(int ordinal, EmulatorReport report) {
  EmulatedDevice* device = device_at(ordinal);
  if (device == nullptr) return;
  const std::lock_guard lock(device->mutex);
  for (const auto& [name, counted] : device->counters.kernels) report.counters.add(name, counted);
  const auto append = [](std::vector<Diagnostic>& to, std::vector<Diagnostic>& more) {
    to.insert(to.end(), more.begin(), more.end());
    std::swap(to, more);
  };
  std::swap(report.counters, device->counters);
  append(report.diagnostics, device->diagnostics);
  append(report.remarks, device->remarks);
}

void set_print_function(void (*print)(std::string_view line)) { EmulatedDriverState::instance().print_line = print; }

void observe_launches(std::function<void(const EmulatedLaunch&)> observer) {
  EmulatedDriverState::instance().launch_observer = std::move(observer);
}

void set_launch_defaults(const LaunchDefaults& defaults) { EmulatedDriverState::instance().launch_defaults = defaults; }

const Driver& emulated_driver() {
  static const Driver table = [] {
    Driver made;
    fill_devices(made);
    fill_contexts(made);
    fill_memory(made);
    fill_streams(made);
    fill_modules(made);
    fill_tensor_maps(made);
    return made;
  }();
  return table;
}

}  // namespace tilewright::rt::emulator

// Memory of the emulated driver: allocations, pools, pinned memory, copies and fills.
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/emulator/driver/emulated_driver.h"
#include "runtime/emulator/driver/emulated_objects.h"

namespace tilewright::rt::emulator {

using namespace cuda;

namespace {

EmulatedDevice* current() { return EmulatedDriverState::instance().current(); }

std::size_t total_memory() {
  std::size_t bytes = 0;
  emulated_driver().cuDeviceTotalMem(&bytes, 0);
  return bytes;
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  EmulatedDevice* device = current();
  if (device == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  // Otherwise memory that the machine does not have would be refused only when it is touched.
  if (bytes > total_memory() - std::min(total_memory(), device->memory.allocated_bytes())) return CUDA_ERROR_OUT_OF_MEMORY;
  try {
    *address = device->memory.allocate(bytes);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  for (const auto& device : EmulatedDriverState::instance().devices)
    if (const Range range = device->memory.find(address); range.begin == address) {
      device->memory.free(address);
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}

/// The device that owns the memory. Pages and copies may be those of any device, since their memory is the host's.
EmulatedDevice* owner_of(CUdeviceptr address, std::size_t bytes) {
  for (const auto& device : EmulatedDriverState::instance().devices)
    if (device->memory.contains(address, bytes)) return device.get();
  return nullptr;
}

template <class T>
CUresult fill(CUdeviceptr to, T value, std::size_t count, CUstream stream) {
  return submit(stream, [=] {
    EmulatedDevice* owner = owner_of(to, count * sizeof(T));
    if (owner == nullptr || to % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(reinterpret_cast<void*>(to + i * sizeof(T)), &value, sizeof(T));
    owner->memory.mark_written(to, count * sizeof(T));
    return CUDA_SUCCESS;
  });
}

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return submit(stream, [=] {
    EmulatedDevice* owner = owner_of(to, bytes);
    if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
    owner->memory.write(to, from, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit(stream, [=] {
    if (owner_of(from, bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  });
}

CUresult copy_within(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit(stream, [=] {
    EmulatedDevice* owner = owner_of(to, bytes);
    if (owner == nullptr || owner_of(from, bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    owner->memory.mark_written(to, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult host_allocate(void** memory, std::size_t bytes, unsigned) {
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  auto& state = EmulatedDriverState::instance();
  const std::lock_guard lock(state.mutex);
  state.pinned[*memory] = bytes;
  return CUDA_SUCCESS;
}

CUresult host_release(void* memory) {
  auto& state = EmulatedDriverState::instance();
  const std::lock_guard lock(state.mutex);
  if (state.pinned.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return CUDA_SUCCESS;
}

CUresult pointer_attributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  const EmulatedDevice* owner = owner_of(address, 1);
  bool is_pinned = false;
  {
    auto& state = EmulatedDriverState::instance();
    const std::lock_guard lock(state.mutex);
    const auto* pointer = reinterpret_cast<const std::byte*>(address);
    auto after = state.pinned.upper_bound(pointer);
    if (after != state.pinned.begin()) {
      --after;
      is_pinned = pointer < static_cast<const std::byte*>(after->first) + after->second;
    }
  }
  // The driver, too, gives 0 for memory that it does not know.
  const bool is_known = owner != nullptr || is_pinned;
  for (unsigned i = 0; i < count; ++i) switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[i]) = owner != nullptr ? unsigned{CU_MEMORYTYPE_DEVICE}
                                             : is_known       ? unsigned{CU_MEMORYTYPE_HOST}
                                                              : 0u;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(values[i]) = owner != nullptr ? owner->ordinal : is_known ? 0 : -2;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(values[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<const void**>(values[i]) = owner; break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  return CUDA_SUCCESS;
}

}  // namespace

void fill_memory(Driver& table) {
  table.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    const EmulatedDevice* device = current();
    if (device == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *total = total_memory();
    *free = *total - std::min(*total, device->memory.allocated_bytes());
    return CUDA_SUCCESS;
  };
  table.cuMemAlloc = allocate;
  table.cuMemFree = release;
  // A device has one pool, the device itself; freed memory is not kept in it.
  table.cuMemPoolCreate = [](CUmemoryPool* pool, const CUmemPoolProps*) {
    return *pool = reinterpret_cast<CUmemoryPool>(current()), CUDA_SUCCESS;
  };
  table.cuMemPoolDestroy = [](CUmemoryPool) { return CUDA_SUCCESS; };
  table.cuMemPoolSetAttribute = [](CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; };
  table.cuMemPoolGetAttribute = [](CUmemoryPool pool, CUmemPool_attribute, void* value) {
    *static_cast<std::uint64_t*>(value) = pool == nullptr ? 0 : reinterpret_cast<EmulatedDevice*>(pool)->memory.allocated_bytes();
    return CUDA_SUCCESS;
  };
  table.cuMemPoolTrimTo = [](CUmemoryPool, std::size_t) { return CUDA_SUCCESS; };
  table.cuMemAllocFromPoolAsync = [](CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream) { return allocate(address, bytes); };
  table.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t bytes, CUstream) { return allocate(address, bytes); };
  table.cuMemFreeAsync = [](CUdeviceptr address, CUstream) { return release(address); };
  table.cuMemHostAlloc = host_allocate;
  table.cuMemFreeHost = host_release;
  table.cuMemcpyHtoDAsync = copy_in;
  table.cuMemcpyDtoHAsync = copy_out;
  table.cuMemcpyDtoDAsync = copy_within;
  table.cuMemsetD8Async = fill<unsigned char>;
  table.cuMemsetD16Async = fill<unsigned short>;
  table.cuMemsetD32Async = fill<unsigned>;
  table.cuPointerGetAttributes = pointer_attributes;
}

}  // namespace tilewright::rt::emulator

// Retains the primary context, which the device also retains.
#include "frontend/cli/bench/measuring/gpu_context.h"

#include <cstdlib>
#include <stdexcept>

#include "runtime/cuda/driver_loader.h"

namespace tilewright::cli::bench {

int ordinal_of(const Device& device) { return std::atoi(device.name().substr(device.name().find(':') + 1).c_str()); }

const rt::cuda::Driver& use_primary_context(const Device& device) {
  const rt::cuda::Driver* driver = rt::cuda::system_driver().driver.get();
  rt::cuda::CUdevice gpu = 0;
  rt::cuda::CUcontext context = nullptr;
  // The context is never released; it ends with the process.
  if (!driver || driver->cuDeviceGet(&gpu, ordinal_of(device)) != 0 || driver->cuDevicePrimaryCtxRetain(&context, gpu) != 0 ||
      driver->cuCtxSetCurrent(context) != 0)
    throw std::runtime_error("the device's context cannot be used");
  return *driver;
}

}  // namespace tilewright::cli::bench

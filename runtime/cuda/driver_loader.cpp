// Loads the CUDA driver of this machine at run time.
#include "runtime/cuda/driver_loader.h"

#include <fmt/format.h>

#include "runtime/cuda/driver_failure.h"
#include "runtime/dynamic_library.h"

namespace tilewright::rt::cuda {

std::string version_text(int driver_version) { return fmt::format("{}.{}", driver_version / 1000, driver_version % 1000 / 10); }

int ptx_isa_of_driver(int driver_version) {
  struct Row {
    int driver, ptx;
  };
  // From the release notes of the PTX ISA. A driver that is newer than the table accepts all versions in it.
  constexpr Row kRows[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85},
                           {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81}};
  for (const Row& r : kRows)
    if (driver_version >= r.driver) return r.ptx;
  return 80;
}

DriverSearch driver_from(const std::function<void*(const char*)>& find) {
  auto driver = std::make_unique<Driver>();
  std::string missing;
#define TW_CUDA_FUNCTION(name, symbol, parameters)                       \
  driver->name = reinterpret_cast<decltype(Driver::name)>(find(symbol)); \
  if (!driver->name && missing.empty()) missing = symbol;
#include "runtime/cuda/driver_functions.def"

  DriverSearch found;
  // The version is checked first, since that message is more helpful than the name of a missing function.
  if (driver->cuDriverGetVersion && driver->cuDriverGetVersion(&found.version) == CUDA_SUCCESS && found.version < kOldestDriver) {
    found.reason = fmt::format("the NVIDIA driver is too old: it is of CUDA {}, and CUDA {} or newer is needed",
                               version_text(found.version), version_text(kOldestDriver));
    return found;
  }
  if (!missing.empty()) {
    found.reason = fmt::format("libcuda.so.1 has no function '{}': it is not a complete NVIDIA driver of CUDA {} or newer", missing,
                               version_text(kOldestDriver));
    return found;
  }
  if (const CUresult status = driver->cuInit(0); status != CUDA_SUCCESS) {
    found.reason = "the NVIDIA driver does not start: " + failure_text(*driver, "cuInit", status);
    return found;
  }
  found.driver = std::move(driver);
  return found;
}

DriverSearch find_driver() {
  const DynamicLibrary library({"libcuda.so.1"});
  if (!library.is_open())
    return {nullptr, 0,
            library.reason().empty() ? "libcuda.so.1 was not found: no NVIDIA driver is installed"
                                     : fmt::format("libcuda.so.1 does not load: {}", library.reason())};
  return driver_from([&](const char* symbol) { return library.find(symbol); });
}

const DriverSearch& system_driver() {
  static const DriverSearch search = find_driver();
  return search;
}

}  // namespace tilewright::rt::cuda

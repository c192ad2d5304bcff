// Diagnostic a driver, and what its devices are, without a context.
#include <doctest/doctest.h>

#include <algorithm>

#include "fake_driver.h"
#include "runtime/cuda/device_facts.h"
#include "runtime/cuda/driver_failure.h"
#include "runtime/cuda/driver_loader.h"
#include "runtime/devices.h"
#include "tests/messages.h"

namespace tilewright::rt::cuda {
namespace {

using tilewright::test::has;

// The fake's functions by symbol, as a library would have them, but without one.
DriverSearch search(FakeDriver& driver, const std::string& without = "") {
  return driver_from([&](const char* wanted) -> void* {
    if (wanted == without) return nullptr;
#define TW_CUDA_FUNCTION(name, symbol, parameters) \
  if (std::string_view(symbol) == wanted) return reinterpret_cast<void*>(driver.table.name);
#include "runtime/cuda/driver_functions.def"
    return nullptr;
  });
}

TEST_CASE("cuda_driver: a complete driver is initialised and used") {
  FakeDriver driver;
  const DriverSearch found = search(driver);
  REQUIRE(found.driver);
  CHECK(found.reason.empty());
  CHECK(found.version == 12080);
  CHECK((found.driver->cuMemAlloc == driver.table.cuMemAlloc));
  CHECK(driver.count("cuInit") == 1);
}

TEST_CASE("cuda_driver: a library without one of the functions is refused by the function's name") {
  FakeDriver driver;
#define TW_CUDA_FUNCTION(name, symbol, parameters)                                  \
  {                                                                                 \
    const DriverSearch found = search(driver, symbol);                              \
    CHECK_FALSE(found.driver);                                                      \
    CHECK_MESSAGE(has(found.reason, "has no function '" symbol "'"), found.reason); \
  }
#include "runtime/cuda/driver_functions.def"
}

TEST_CASE("cuda_driver: an old driver says which it is and which is needed, whatever else it lacks") {
  FakeDriver driver;
  driver.driver_version = 11080;
  for (const char* missing : {"", "cuTensorMapEncodeTiled"}) {
    const DriverSearch found = search(driver, missing);
    CHECK_FALSE(found.driver);
    CHECK(found.version == 11080);
    CHECK_MESSAGE(has(found.reason, "too old: it is of CUDA 11.8, and CUDA 12.0 or newer is needed"), found.reason);
  }
}

TEST_CASE("cuda_driver: a driver that does not start says why") {
  FakeDriver driver;
  driver.fail("cuInit", CUDA_ERROR_UNKNOWN);
  CHECK(has(search(driver).reason, "does not start: cuInit: CUDA_ERROR_UNKNOWN (999: its description)"));
  driver.fail("cuInit", static_cast<CUresult>(12345));
  CHECK(has(search(driver).reason, "does not start: cuInit: error 12345"));
}

TEST_CASE("cuda_driver: this machine has a driver or a reason") {
  const DriverSearch& found = system_driver();
  CHECK(found.reason.empty() == (found.driver != nullptr));
  CHECK(&found == &system_driver());
}

TEST_CASE("cuda_driver: the PTX that a driver's assembler takes") {
  CHECK(ptx_isa_of_driver(12000) == 80);
  CHECK(ptx_isa_of_driver(12010) == 81);
  CHECK(ptx_isa_of_driver(12040) == 84);
  CHECK(ptx_isa_of_driver(12050) == 85);
  CHECK(ptx_isa_of_driver(12060) == 85);
  CHECK(ptx_isa_of_driver(12080) == 87);
  CHECK(ptx_isa_of_driver(13000) == 90);
  CHECK(ptx_isa_of_driver(99000) == 90);
  CHECK(version_text(12080) == "12.8");
}

TEST_CASE("device_facts: the target is the chip whose code the device runs best, and what differs from it") {
  const auto of = [](int capability, DeviceFacts facts = {}) {
    facts.capability = capability;
    return target_of(facts);
  };
  CHECK(of(75) == "sm_75");
  CHECK(of(80) == "sm_80");
  CHECK(of(89) == "sm_89");
  CHECK(of(90) == "sm_90a");
  CHECK(of(100) == "sm_100");
  CHECK(of(103) == "sm_100");
  CHECK(of(120) == "sm_120");
  CHECK(of(121) == "sm_120");
  DeviceFacts orin;
  orin.shared_of_block = 163 << 10;
  orin.threads_of_sm = 1536;
  orin.registers_of_sm = 65536;
  orin.multiprocessors = 16;
  CHECK(of(87, orin) == "sm_86+shared=166912,processors=16");
  DeviceFacts thor;
  thor.shared_of_block = 227 << 10;
  thor.threads_of_sm = 1536;
  thor.multiprocessors = 20;
  CHECK(of(110, thor) == "sm_100+warps=48,processors=20");
  DeviceFacts pcie;
  pcie.shared_of_block = 227 << 10;
  pcie.threads_of_sm = 2048;
  pcie.multiprocessors = 114;
  CHECK(of(90, pcie) == "sm_90a+processors=114");
  pcie.clock_khz = 1'755'000;
  pcie.memory_khz = 1'593'000;
  pcie.bus_bits = 5120;
  CHECK(of(90, pcie) == "sm_90a+processors=114,clock=1755,memory=2039");
  DeviceFacts sxm;
  sxm.multiprocessors = 132;
  sxm.clock_khz = 1'980'000;
  sxm.memory_khz = 2'619'000;
  sxm.bus_bits = 5120;
  CHECK(of(90, sxm) == "sm_90a");
}

TEST_CASE("device_facts: what a device is, or why it cannot be used") {
  FakeDriver driver;
  CHECK(describe(device_facts(driver.table, 0)) == "Fake GPU, compute capability 9.0, 132 multiprocessors, 0.1 GiB");
  CHECK(device_facts(driver.table, 0).reason.empty());
  driver.attributes[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1'980'000;
  driver.attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 50 << 20;
  driver.attributes[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 2'619'000;
  driver.attributes[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 5120;
  CHECK(describe(device_facts(driver.table, 0)) ==
        "Fake GPU, compute capability 9.0, 132 multiprocessors of 1980 MHz, 50 MiB of L2, 0.1 GiB of 3352 GB/s");
  driver.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = 2;
  CHECK(has(device_facts(driver.table, 0).reason, "Fake GPU is in compute mode 'prohibited'"));
  driver.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 7;
  CHECK(has(device_facts(driver.table, 0).reason, "Fake GPU has compute capability 7.0, and 7.5 or newer is needed"));
  for (const char* call : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem"}) {
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    CHECK(has(device_facts(driver.table, 0).reason, std::string(call) + ": CUDA_ERROR_UNKNOWN"));
  }
  CHECK(driver.count("cuDevicePrimaryCtxRetain") == 0);
}

TEST_CASE("device_facts: a driver with no device is a reason") {
  FakeDriver driver;
  std::string reason;
  CHECK(device_count(driver.table, reason) == 1);
  CHECK(reason.empty());
  driver.device_count = 0;
  CHECK(device_count(driver.table, reason) == 0);
  CHECK(has(reason, "no device"));
  driver.fail("cuDeviceGetCount", CUDA_ERROR_NO_DEVICE);
  CHECK(device_count(driver.table, reason) == 0);
  CHECK(has(reason, "cuDeviceGetCount: error 100"));
}

TEST_CASE("devices: each name of a CUDA device that there is not has its reason") {
  for (const char* name : {"cuda", "cuda:", "cuda:x", "cuda:00", "cuda:-1", "cuda:0x", "cuda:99999999999"}) {
    try {
      open_device(name, Here::current());
      FAIL("opened");
    } catch (const Error& e) {
      CHECK_MESSAGE(has(e.what(), std::string("no device '") + name + "': a CUDA device is 'cuda:0', 'cuda:1' and so on; there is: cpu"),
                    e.what());
    }
  }
  try {
    open_device("cuda:9999", Here::current());
    FAIL("opened");
  } catch (const Error& e) {
    const std::string& reason = system_driver().reason;
    CHECK_MESSAGE(has(e.what(), reason.empty() ? "the driver has" : reason), e.what());
  }
}

}  // namespace
}  // namespace tilewright::rt::cuda

// Reports of an emulated device about the kernels that it has run.
#include <doctest/doctest.h>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tilewright/device.h"

namespace tilewright::rt::emulator {
namespace {

using namespace cuda;

const Driver& driver() { return emulated_driver(); }

// Six instructions of line 7 and, with the end, two of line 9.
const char* const kAddOne = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  .loc 1 7 0
  mov.u32 %r0, %tid.x;
  ld.param.u64 %d1, [p];
  mad.wide.u32 %d1, %r0, 4, %d1;
  ld.global.u32 %r1, [%d1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%d1], %r1;
  .loc 1 9 3
  bar.sync 0;
  ret;
}
)";

}  // namespace

TEST_CASE("emulated device: reports what each line of a kernel did, once") {
  const tilewright::Device device = tilewright::Device::open("emulator:sm_80");
  device.take_reports();
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE(driver().cuDevicePrimaryCtxRetain(&context, emulated_ordinal("sm_80")) == CUDA_SUCCESS);
  REQUIRE(driver().cuCtxPushCurrent(context) == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleLoadDataEx(&module, kAddOne, 0, nullptr, nullptr) == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleGetFunction(&function, module, "k") == CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 256) == CUDA_SUCCESS);
  CUlaunchConfig config{1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, 0};
  void* parameters[] = {&memory};
  CHECK(driver().cuLaunchKernelEx(&config, function, parameters, nullptr) == CUDA_SUCCESS);
  const std::vector<KernelReport> reports = device.take_reports();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].kernel == "k");
  CHECK(reports[0].launches == 1);
  CHECK(reports[0].programs == 1);
  REQUIRE(reports[0].lines.size() == 2);
  const LineReport &seven = reports[0].lines[0], &nine = reports[0].lines[1];
  CHECK(seven.file == "k.cu");
  CHECK(seven.line == 7);
  CHECK(seven.instructions == 2 * 6);
  CHECK(seven.global_requests == 4);
  CHECK(seven.sectors == 16);
  CHECK(seven.least_sectors == 16);
  CHECK(seven.shared_requests == 0);
  CHECK(nine.line == 9);
  CHECK(reports[0].instructions == seven.instructions + nine.instructions);
  CHECK(device.take_reports().empty());
  CHECK(tilewright::Device::open("cpu").take_reports().empty());
  driver().cuMemFree(memory);
  driver().cuModuleUnload(module);
  driver().cuCtxPopCurrent(&context);
}

}  // namespace tilewright::rt::emulator

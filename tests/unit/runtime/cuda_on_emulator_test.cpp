// The CUDA device with the emulator as its driver: runs PTX written by hand, and mistakes in the PTX are errors.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/device_facts.h"
#include "runtime/device.h"
#include "runtime/devices.h"
#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/messages.h"
#include "tileir/target/gpu_chips.h"
#include "tilewright/device.h"

namespace tilewright::rt {
namespace {

using tilewright::test::has;

// out[i] = in[i] + 1 for i below 32 * blocks.
constexpr const char* kIncrement = R"(
.version 8.0
.target TARGET
.address_size 64
.visible .entry increment(.param .u64 out, .param .u64 in) .reqntid 32
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r3, %r2, 32, %r1;
  mul.wide.s32 %rd3, %r3, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.b32 %r4, [%rd4];
  add.s32 %r5, %r4, 1;
  st.global.b32 [%rd5], %r5;
  ret;
}
)";

backend::CompiledKernel increment(const std::string& target) {
  backend::CompiledKernel k;
  k.name = k.entry = "increment";
  k.target = target;
  k.format = backend::CompiledKernel::Format::ptx;
  std::string ptx = kIncrement;
  ptx.replace(ptx.find("TARGET"), 6, target);
  const auto bytes = std::as_bytes(std::span(ptx));
  k.image.assign(bytes.begin(), bytes.end());
  k.params.assign(2, ir::Type::pointer(ir::Element::i32, false));
  k.resources.num_warps = 1;
  return k;
}
std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

TEST_CASE("cuda_on_emulator: a kernel runs on every emulated device, and its target is the device's") {
  for (const std::string target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    const tilewright::Device device = tilewright::Device::open("emulator:" + target);
    CHECK(device.handle()->target() == target);
    CHECK(has(device.description(), "emulator"));
    const auto from = device.upload(std::vector<int>(96, 7)), to = device.upload(std::vector<int>(96, -1));
    const auto kernel = device.handle()->load(increment(std::string(ir::gpu_chip(target)->code)), Here::current());
    const tilewright::Stream stream = device.stream();
    const std::uint64_t arguments[] = {address(to.data()), address(from.data())};
    device.handle()->launch(*kernel, {.grid = {3, 1, 1}, .where = Here::current()}, arguments, *stream.handle());
    stream.synchronize();
    CHECK(to.download() == std::vector<int>(96, 8));
  }
}

TEST_CASE("cuda_on_emulator: a driver says of each chip what the compiler's table says") {
  for (const std::string_view target : emulator::emulated_targets()) {
    cuda::DeviceFacts facts = cuda::device_facts(emulator::emulated_driver(), emulator::emulated_ordinal(target));
    CHECK(facts.shared_of_block > 0);
    CHECK(facts.threads_of_sm > 0);
    facts.multiprocessors = 0;  // those of an emulated device are threads of the host
    CHECK(cuda::target_of(facts) == target);
  }
}

TEST_CASE("cuda_on_emulator: large copies and fills of every width arrive") {
  const tilewright::Device device = tilewright::Device::open("emulator:sm_80");
  std::vector<double> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 3;
  auto buffer = device.upload(values);
  CHECK(buffer.download() == values);
  buffer.fill(0.1);
  CHECK(buffer.download() == std::vector<double>(values.size(), 0.1));
  auto bytes = device.allocate<std::uint8_t>(1001);
  bytes.fill(9);
  CHECK(bytes.download() == std::vector<std::uint8_t>(1001, 9));
}

TEST_CASE("cuda_on_emulator: what a kernel does wrong is a DeviceError at its launch, and the device goes on") {
  const tilewright::Device device = tilewright::Device::open("emulator:sm_80");
  rt::Device& raw = *device.handle();
  const auto kernel = raw.load(increment("sm_80"), Here::current());
  const auto from = device.upload(std::vector<int>(32, 1)), to = device.upload(std::vector<int>(32, -1));
  const std::uint64_t arguments[] = {address(to.data()), address(from.data())};
  try {
    raw.launch(*kernel, {.grid = {2, 1, 1}, .where = Here::current()}, arguments, raw.default_stream());
    FAIL("reads behind the buffer were not found");
  } catch (const DeviceError& e) {
    CHECK_MESSAGE(has(e.where().file, "cuda_on_emulator_test.cpp"), e.what());
    CHECK_MESSAGE(has(e.what(), "cuLaunchKernelEx: CUDA_ERROR_"), e.what());
    CHECK_MESSAGE(has(e.what(), "of kernel 'increment' with grid {2, 1, 1}"), e.what());
    CHECK_MESSAGE(has(e.what(), "bytes of shared memory:\n"), e.what());  // then what was found, a line each
    CHECK_MESSAGE(!has(e.what(), "lost"), e.what());
  }
  raw.launch(*kernel, {.grid = {1, 1, 1}, .where = Here::current()}, arguments, raw.default_stream());
  CHECK(to.download() == std::vector<int>(32, 2));
}

TEST_CASE("cuda_on_emulator: PTX that does not parse, or is for a newer device, is refused when it is loaded") {
  const tilewright::Device device = tilewright::Device::open("emulator:sm_80");
  backend::CompiledKernel bad = increment("sm_80");
  bad.image[bad.image.size() / 2] = std::byte{'$'};
  CHECK_THROWS_WITH_AS(device.handle()->load(bad, Here::current()), doctest::Contains("cuModuleLoadDataEx: CUDA_ERROR_"), DeviceError);
  CHECK_THROWS_WITH_AS(device.handle()->load(increment("sm_90"), Here::current()), doctest::Contains("cuModuleLoadDataEx: CUDA_ERROR_"),
                       DeviceError);
}

TEST_CASE("cuda_on_emulator: memory that no buffer has is none to wrap") {
  const tilewright::Device device = tilewright::Device::open("emulator:sm_80");
  std::vector<int> host(16);
  CHECK_THROWS_AS(device.wrap(host.data(), host.size()), Error);
  auto buffer = device.upload(host);
  CHECK(device.wrap(buffer.data(), buffer.size()).size() == 16);
}

}  // namespace
}  // namespace tilewright::rt

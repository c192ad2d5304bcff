// Checked mode on a CUDA device with a fake driver: the table of buffers that the kernel gets, and the errors for its reports.
#include <doctest/doctest.h>

#include <cstring>

#include "backend/nvptx_abi.h"
#include "fake_device.h"
#include "tilewright/device.h"

namespace tilewright::rt::cuda {
namespace {

using backend::NvptxBadAccesses;
using backend::NvptxBounds;
using backend::NvptxInterval;

backend::CompiledKernel checked(const std::string& name) {
  backend::CompiledKernel k = ptx_kernel(name, 1);
  k.sites = {{{"kernel.cpp", 7, 3}, false, 4, 0}, {{"kernel.cpp", 9, 0}, true, 4, 0}};
  return k;
}

/// A device, and kernels that say of addresses beyond the buffers that their store went there.
struct Bench {
  FakeDriver driver;
  tilewright::Device device{open_fake(driver)};
  rt::Device& raw = *device.handle();
  std::vector<NvptxInterval> told;
  std::vector<std::uint64_t> bad;  // the addresses that the kernel reports

  Bench() {
    driver.parameter_count = 2;
    driver.kernel = [this] {
      if (!driver.parameters[1]) return CUDA_SUCCESS;
      const auto& bounds = *reinterpret_cast<const NvptxBounds*>(driver.parameters[1]);
      told.resize(bounds.count);
      if (bounds.count > 0) std::memcpy(told.data(), reinterpret_cast<const void*>(bounds.intervals), bounds.count * sizeof(NvptxInterval));
      auto* found = reinterpret_cast<NvptxBadAccesses*>(driver.parameters[1] + sizeof(NvptxBounds));
      for (std::uint64_t address : bad) {
        found[1].lowest_address = std::min(found[1].lowest_address, address);
        ++found[1].count;
      }
      return CUDA_SUCCESS;
    };
  }
  std::string launch(const Executable& kernel, std::uint64_t argument, Stream& stream) {
    try {
      raw.launch(kernel, {.check = true, .where = Here::current()}, {&argument, 1}, stream);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("cuda_bounds: a kernel is told of all buffers, those of its arguments first") {
  Bench b;
  const auto kernel = b.raw.load(checked("k"), Here::current());
  const auto x = b.device.allocate<float>(10), y = b.device.allocate<float>(20), z = b.device.allocate<float>(30);
  const auto address = [](const Buffer<float>& buffer) { return reinterpret_cast<std::uint64_t>(buffer.data()); };
  for (const Buffer<float>* first : {&x, &y, &z}) {
    CHECK(b.launch(*kernel, address(*first), b.raw.default_stream()) == "");
    REQUIRE(b.told.size() == 3);
    CHECK(b.told[0].begin == address(*first));
    CHECK(b.told[0].bytes == static_cast<std::uint64_t>(4 * first->size()));
  }
}

TEST_CASE("cuda_bounds: what a kernel found is said as on the cpu, and the next launch starts anew") {
  Bench b;
  const auto kernel = b.raw.load(checked("k"), Here::current());
  const auto x = b.device.allocate<float>(10);
  const auto at = reinterpret_cast<std::uint64_t>(x.data());
  b.bad = {at + 48, at + 40, at + 44};
  const std::string text = b.launch(*kernel, at, b.raw.default_stream());
  CHECK_MESSAGE(
      has(text, "kernel.cpp:9: error: store of 4 bytes at index 10 of a buffer of 10 float elements (the first element past its end)"),
      text);
  CHECK_MESSAGE(has(text, "note: launched here; 3 accesses in all were outside of every buffer"), text);
  b.bad.clear();
  CHECK(b.launch(*kernel, at, b.raw.default_stream()) == "");
}

TEST_CASE("cuda_bounds: an assertion that does not hold comes first") {
  Bench b;
  backend::CompiledKernel k = checked("k");
  k.reports = {{{"kernel.cpp", 5, 1}, false, "not zero", ir::Reason::assertion, {ir::Type(ir::Element::boolean)}}};
  const auto kernel = b.raw.load(k, Here::current());
  b.driver.parameter_count = 3;
  b.driver.kernel = [&] {
    auto& header = *reinterpret_cast<backend::NvptxReportHeader*>(b.driver.parameters[1]);
    std::memset(&header + 1, 0, 24);  // site 0, program 0, false
    header.used_words = 6;
    auto* found = reinterpret_cast<NvptxBadAccesses*>(b.driver.parameters[2] + sizeof(NvptxBounds));
    found[0] = {16, 1};
    return CUDA_SUCCESS;
  };
  CHECK(has(b.launch(*kernel, 0, b.raw.default_stream()), "kernel.cpp:5:1: error: device_assert: not zero"));
}

TEST_CASE("cuda_bounds: a launch that a stream captures checks nothing, and does nothing that would end the capture") {
  Bench b;
  const auto kernel = b.raw.load(checked("k"), Here::current());
  const auto stream = b.raw.create_stream();
  b.driver.capturing = static_cast<CUstream>(stream->native());
  const std::size_t first = b.driver.calls.size();
  CHECK(b.launch(*kernel, 1, *stream) == "");
  CHECK(b.driver.parameters == std::vector<std::uint64_t>{1, 0});
  CHECK(b.driver.since(first) == "cuCtxGetCurrent cuCtxPushCurrent cuStreamIsCapturing cuLaunchKernelEx cuCtxPopCurrent");
  CHECK(b.driver.allocations.empty());
}

TEST_CASE("cuda_bounds: a device without memory for the list says so at the launch, and goes on") {
  Bench b;
  const auto kernel = b.raw.load(checked("k"), Here::current());
  b.driver.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 2);
  const std::string text = b.launch(*kernel, 0, b.raw.default_stream());
  CHECK_MESSAGE(has(text, "launch: out of memory: kernel 'k' needs 48 bytes on device"), text);
  CHECK(b.launch(*kernel, 0, b.raw.default_stream()) == "");
}

TEST_CASE("cuda_bounds: nothing is left behind, whatever fails") {
  FakeDriver driver;
  {
    const auto device = open_fake(driver);
    const auto kernel = device->load(checked("k"), Here::current());
    driver.parameter_count = 2;
    const std::uint64_t argument = 0;
    for (const char* call : {"cuMemcpyHtoDAsync", "cuLaunchKernelEx", "cuMemcpyDtoHAsync", "cuStreamSynchronize"}) {
      driver.fail(call, CUDA_ERROR_UNKNOWN);
      CHECK_THROWS_AS(device->launch(*kernel, {.check = true, .where = Here::current()}, {&argument, 1}, device->default_stream()),
                      DeviceError);
    }
    device->launch(*kernel, {.check = true, .where = Here::current()}, {&argument, 1}, device->default_stream());
  }
  check_clean(driver);
}

}  // namespace tilewright::rt::cuda

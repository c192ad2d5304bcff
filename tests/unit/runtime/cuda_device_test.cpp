// A CUDA device with a fake driver: its calls with their order and context, and the error for each failure.
#include "runtime/cuda/cuda_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include "fake_device.h"
#include "runtime/cuda/transfers.h"
#include "tilewright/device.h"

namespace tilewright::rt::cuda {
namespace {

std::vector<int> counted(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 1);
  return v;
}

TEST_CASE("cuda_device: the primary context is retained while the device lives, and all else is given back") {
  FakeDriver driver;
  {
    const auto device = open_fake(driver);
    CHECK(driver.contexts == 1);
    CHECK(device->name() == "cuda:0");
    CHECK(device->target() == "sm_90a");
    CHECK(has(device->description(), "Fake GPU"));
    CHECK(device->default_stream().native() == nullptr);
  }
  check_clean(driver);
}

TEST_CASE("cuda_device: values return from small and from large copies, through pinned blocks or directly") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  for (std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{100000}, Transfers::kBlock / 4, 5 * Transfers::kBlock / 4 + 3}) {
    const std::vector<int> in = counted(n);
    std::vector<int> out(n);
    const std::uint64_t memory = device->allocate(4 * n);
    device->copy_in(memory, in.data(), 4 * n, device->default_stream());
    device->copy_out(out.data(), memory, 4 * n, device->default_stream());
    CHECK(out == in);
    device->release(memory, 4 * n);
  }
  CHECK(driver.count("cuMemHostAlloc") == 1);
  CHECK(driver.count("cuPointerGetAttributes") == 6);  // for the large ones only

  const std::vector<int> in = counted(1 << 20);
  const std::uint64_t memory = device->allocate(4 << 20);
  SUBCASE("pinned memory goes directly") {
    driver.pinned = in.data();
    const std::size_t first = driver.calls.size();
    device->copy_in(memory, in.data(), 4 << 20, device->default_stream());
    CHECK(has(driver.since(first), "cuPointerGetAttributes cuMemcpyHtoDAsync cuStreamSynchronize"));
  }
  SUBCASE("other memory waits for a block before it is overwritten") {
    const std::size_t first = driver.calls.size();
    device->copy_in(memory, in.data(), 4 << 20, device->default_stream());
    CHECK(has(driver.since(first), "cuMemcpyHtoDAsync cuEventRecord cuMemcpyHtoDAsync cuEventRecord cuStreamSynchronize"));
    const std::uint64_t larger = device->allocate(6 << 20);
    const std::vector<int> more = counted(3 << 19);
    const std::size_t second = driver.calls.size();
    device->copy_in(larger, more.data(), 6 << 20, device->default_stream());
    CHECK(has(driver.since(second), "cuEventRecord cuEventSynchronize cuMemcpyHtoDAsync cuEventRecord cuStreamSynchronize"));
    device->release(larger, 6 << 20);
  }
  device->release(memory, 4 << 20);
}

TEST_CASE("cuda_device: where no memory can be pinned, large copies go directly") {
  for (const char* call : {"cuMemHostAlloc", "cuEventCreate"}) {
    FakeDriver driver;
    {
      const auto device = open_fake(driver);
      driver.fail(call, CUDA_ERROR_OUT_OF_MEMORY, 100);
      const std::vector<int> in = counted(1 << 20);
      std::vector<int> out(in.size());
      const std::uint64_t memory = device->allocate(4 << 20);
      device->copy_in(memory, in.data(), 4 << 20, device->default_stream());
      device->copy_out(out.data(), memory, 4 << 20, device->default_stream());
      CHECK(out == in);
      device->release(memory, 4 << 20);
    }
    check_clean(driver);
  }
}

template <class T>
void check_fill(rt::Device& device, std::size_t n, T value) {
  const std::uint64_t memory = device.allocate(n * sizeof(T) + 1);
  const unsigned char end = 0xee;
  device.fill(memory + n * sizeof(T), &end, 1, 1, device.default_stream());
  device.fill(memory, &value, sizeof(T), n, device.default_stream());
  std::vector<T> out(n);
  if (n) device.copy_out(out.data(), memory, n * sizeof(T), device.default_stream());
  CHECK(out == std::vector<T>(n, value));
  unsigned char behind = 0;
  device.copy_out(&behind, memory + n * sizeof(T), 1, device.default_stream());
  CHECK(behind == end);
  device.release(memory, n * sizeof(T) + 1);
}

TEST_CASE("cuda_device: fill writes every element and nothing behind, whatever the width") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  for (std::size_t n : {0, 1, 2, 3, 7, 8, 1000, 1025}) {
    check_fill<std::uint8_t>(*device, n, 7);
    check_fill<std::uint16_t>(*device, n, 0x1234);
    check_fill<float>(*device, n, -1.5f);
    check_fill<double>(*device, n, 0.1);
    check_fill<std::uint64_t>(*device, n, 0x1234567812345678u);
  }
  const std::size_t before = driver.count("cuMemcpyDtoDAsync");
  check_fill<double>(*device, 1000, 0.1);
  CHECK(driver.count("cuMemcpyDtoDAsync") - before == 10);
  CHECK(driver.misuse.empty());
}

TEST_CASE("cuda_device: calls run in the device's context, and the thread's own is current again afterwards") {
  FakeDriver driver;
  {
    const auto device = open_fake(driver);
    auto& stack = FakeDriver::context_stack();
    for (CUcontext before : {CUcontext(nullptr), FakeDriver::other(), FakeDriver::primary()}) {
      stack.clear();
      if (before) stack.push_back(before);
      const auto expected = stack;
      use_everything(*device);
      CHECK(stack == expected);
    }
    stack.clear();
    std::thread([&] { use_everything(*device); }).join();
  }
  check_clean(driver);
}

TEST_CASE("cuda_device: allocation is good on every stream, reuses what was freed, and says when there is no more") {
  FakeDriver driver;
  const tilewright::Device device(open_fake(driver));
  const std::size_t first = driver.calls.size();
  {
    const auto buffer = device.allocate<float>(100);
  }
  CHECK(device.allocate<float>(0).data() != nullptr);
  CHECK(has(driver.since(first), "cuMemAllocFromPoolAsync cuStreamSynchronize"));
  CHECK(device.free_memory() == driver.memory - driver.used + 600);

  const std::size_t second = driver.calls.size();
  try {
    (void)device.allocate<float>(std::int64_t{1} << 40);
    FAIL("no error");
  } catch (const DeviceError& e) {
    CHECK(has(e.what(), "cuda_device_test.cpp"));
    CHECK(has(e.what(), "allocate: out of memory: 1099511627776 float elements do not fit on device 'cuda:0'"));
  }
  CHECK(has(driver.since(second), "cuMemAllocFromPoolAsync cuStreamSynchronize cuMemPoolTrimTo cuMemAllocFromPoolAsync"));
  // Once more after trimming is enough.
  driver.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(device.allocate<float>(10).size() == 10);
}

TEST_CASE("cuda_device: without pools memory comes from the driver's plain calls") {
  for (const bool refused : {false, true}) {
    FakeDriver driver;
    if (refused)
      driver.fail("cuMemPoolCreate", CUDA_ERROR_NOT_SUPPORTED);
    else
      driver.attributes[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 0;
    {
      const auto device = open_fake(driver);
      use_everything(*device);
      CHECK(driver.count("cuMemAlloc") > 0);
      CHECK(driver.count("cuMemFree") > 0);
      CHECK(driver.count("cuMemAllocFromPoolAsync") == 0);
      CHECK(device->free_memory() == driver.memory);
      CHECK_THROWS_AS(device->allocate(std::size_t{1} << 40), std::bad_alloc);
    }
    check_clean(driver);
  }
}

TEST_CASE("cuda_device: memory is freed behind the work of every stream, destroyed ones too, but not of a graph") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  auto one = device->create_stream();
  const auto two = device->create_stream();
  const std::string behind = "cuStreamIsCapturing cuEventRecord cuStreamWaitEvent";
  const std::uint64_t memory = device->allocate(100);
  std::size_t first = driver.calls.size();
  device->release(memory, 100);
  CHECK(has(driver.since(first), behind + " " + behind + " " + behind + " cuMemFreeAsync"));

  first = driver.calls.size();
  one.reset();
  CHECK(has(driver.since(first), behind + " cuStreamDestroy"));

  const std::uint64_t more = device->allocate(100);
  driver.capturing = static_cast<CUstream>(two->native());
  first = driver.calls.size();
  device->release(more, 100);
  CHECK(has(driver.since(first), behind + " cuStreamIsCapturing cuMemFreeAsync"));
}

TEST_CASE("cuda_device: streams of the user's own are used and left alone") {
  FakeDriver driver;
  {
    const tilewright::Device device(open_fake(driver));
    CUstream native = nullptr;
    FakeDriver::context_stack().push_back(FakeDriver::primary());
    driver.table.cuStreamCreate(&native, CU_STREAM_DEFAULT);
    {
      const tilewright::Stream stream = device.wrap_stream(native);
      CHECK(stream.native() == native);
      stream.synchronize();
      CHECK(stream.record().elapsed_ms(stream.record()) == 1);
    }
    CHECK(driver.streams.count(native) == 1);
    driver.table.cuStreamDestroy(native);
    FakeDriver::context_stack().clear();

    const tilewright::Stream own = device.stream();
    CHECK(driver.streams.at(static_cast<CUstream>(own.native())) == CU_STREAM_NON_BLOCKING);
    driver.foreign_stream_context = FakeDriver::other();
    try {
      (void)device.wrap_stream(native);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(has(e.what(), "cuda_device_test.cpp"));
      CHECK(has(e.what(), "wrap_stream: the stream is not of the primary context of device 'cuda:0'"));
    }
    driver.foreign_stream_context = nullptr;
  }
  check_clean(driver);
}

TEST_CASE("cuda_device: wrapped memory must be within the device's reach") {
  FakeDriver driver;
  const auto raw = open_fake(driver);
  const tilewright::Device device(raw);
  const std::uint64_t memory = raw->allocate(64);
  CHECK(device.wrap(reinterpret_cast<float*>(memory), 16).size() == 16);
  std::vector<float> host(16);
  CHECK_THROWS_WITH_AS(device.wrap(host.data(), 16), doctest::Contains("is ordinary memory of the host, or none at all; device 'cuda:0'"),
                       Error);
  CHECK(device.wrap(host.data(), 0).size() == 0);
  raw->release(memory, 64);
  driver.attributes[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = 1;
  CHECK(tilewright::Device(open_fake(driver)).wrap(host.data(), 16).size() == 16);
}

TEST_CASE("cuda_device: events measure, and streams wait for them") {
  FakeDriver driver;
  const tilewright::Device device(open_fake(driver));
  const tilewright::Stream a = device.stream(), b = device.stream();
  const tilewright::Event first = a.record(), second = b.record();
  CHECK(first.elapsed_ms(second) == 1);
  CHECK(second.elapsed_ms(first) == -1);
  const std::size_t calls = driver.calls.size();
  b.wait(first);
  CHECK(has(driver.since(calls), "cuStreamWaitEvent"));
}

TEST_CASE("cuda_device: every driver call that fails is a DeviceError by its name, or is made up for") {
  FakeDriver clean;
  {
    const auto device = open_fake(clean);
    use_everything(*device);
  }
  const std::set<std::string> names(clean.calls.begin(), clean.calls.end());
  // Failures without a consequence: what these do is done otherwise, or belongs to the end of something.
  const std::set<std::string> made_up_for = {
      "cuMemPoolCreate",          "cuMemHostAlloc", "cuPointerGetAttributes", "cuStreamIsCapturing",
      "cuCtxPopCurrent",          "cuModuleUnload", "cuStreamDestroy",        "cuEventDestroy",
      "cuMemFreeAsync",           "cuMemFreeHost",  "cuMemPoolDestroy",       "cuThreadExchangeStreamCaptureMode",
      "cuDevicePrimaryCtxRelease"};
  for (const std::string& name : names)
    for (int after = 0; after < std::min(16, static_cast<int>(clean.count(name))); ++after) {
      FakeDriver driver;
      driver.fail(name, CUDA_ERROR_UNKNOWN, 1, after);
      bool threw = false;
      try {
        const auto device = open_fake(driver);
        use_everything(*device);
      } catch (const DeviceError& e) {
        threw = true;
        CHECK_MESSAGE(has(e.what(), name + ": CUDA_ERROR_UNKNOWN (999: its description) on device 'cuda:0'"), e.what());
        check_clean(driver);
      }
      if (after == 0) CHECK_MESSAGE(threw != (made_up_for.count(name) > 0), name);
    }
}

TEST_CASE("cuda_device: after a failure the device goes on") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  for (const char* call : {"cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync", "cuStreamCreate", "cuModuleLoadDataEx", "cuLaunchKernelEx",
                           "cuStreamSynchronize", "cuEventRecord", "cuCtxSynchronize"}) {
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    CHECK_THROWS_AS(use_everything(*device), DeviceError);
    CHECK(FakeDriver::context_stack().empty());
    use_everything(*device);
  }
}

}  // namespace
}  // namespace tilewright::rt::cuda

// Prints and assertions of kernels on a CUDA device with a fake driver: when lines are printed, their order, and the note for lost lines.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "backend/nvptx_abi.h"
#include "count_allocations.h"
#include "fake_device.h"
#include "tilewright/device.h"
#include "tilewright/device_print.h"

namespace tilewright::rt::cuda {
namespace {

using backend::NvptxReportHeader;

/// As a kernel does: a record of site 0 and a number.
void write(std::uint64_t buffer, std::int32_t program, std::int32_t number) {
  auto& header = *reinterpret_cast<NvptxReportHeader*>(buffer);
  const std::uint64_t at = header.used_words;
  header.used_words += 6;
  auto* words = reinterpret_cast<std::int32_t*>(buffer + sizeof header);
  if (header.used_words > header.capacity_words) {
    ++header.lost;
    if (at < header.capacity_words) words[at] = -1;
    return;
  }
  const std::int32_t record[] = {0, program, 0, 0, number, 0};
  std::memcpy(words + at, record, sizeof record);
}

backend::CompiledKernel printing(const std::string& name) {
  backend::CompiledKernel k = ptx_kernel(name, 1);
  k.reports = {{{name + ".cpp", 7, 3}, true, name + " {}", {}, {ir::Type(ir::Element::i32)}}};
  return k;
}
constexpr std::uint64_t kSilent = 7777;  // an assertion that holds
/// Its assertion does not hold for 0.
backend::CompiledKernel asserting(const std::string& name) {
  backend::CompiledKernel k = ptx_kernel(name, 1);
  k.reports = {{{name + ".cpp", 9, 5}, false, "not zero", ir::Reason::assertion, {ir::Type(ir::Element::boolean)}}};
  return k;
}

/// A device, and kernels whose one argument is the number that they report.
struct Bench {
  FakeDriver driver;
  tilewright::Device device{open_fake(driver)};
  rt::Device& raw = *device.handle();
  std::vector<std::string> lines;
  int times = 1;  // number of reports of each kernel

  Bench() {
    driver.parameter_count = 2;
    driver.kernel = [this] {
      if (driver.parameters[1] && driver.parameters[0] != kSilent)
        for (int i = 0; i < times; ++i) write(driver.parameters[1], i, static_cast<std::int32_t>(driver.parameters[0]));
      return CUDA_SUCCESS;
    };
    on_device_print([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~Bench() { on_device_print({}); }

  void launch(const Executable& kernel, std::uint64_t number, Stream& stream, bool check = false) {
    raw.launch(kernel, {.check = check, .where = Here::current()}, {&number, 1}, stream);
  }
};

TEST_CASE("cuda_reports: lines come when their stream is waited for, in the order of the launches") {
  Bench b;
  const auto one = b.raw.load(printing("one"), Here::current()), two = b.raw.load(printing("two"), Here::current());
  const auto stream = b.raw.create_stream(), other = b.raw.create_stream();
  b.launch(*one, 1, *stream);
  b.launch(*one, 2, *stream);
  b.launch(*two, 3, *stream);
  b.launch(*one, 4, *stream);
  b.launch(*one, 5, *other);
  CHECK(b.lines.empty());
  CHECK(b.driver.allocations.size() == 4);  // launches of one kernel that follow each other share one
  stream->synchronize();
  CHECK(b.lines == std::vector<std::string>{"one.cpp:7: program (0, 0, 0): one 1", "one.cpp:7: program (0, 0, 0): one 2",
                                            "two.cpp:7: program (0, 0, 0): two 3", "one.cpp:7: program (0, 0, 0): one 4"});
  b.lines.clear();
  stream->synchronize();
  CHECK(b.lines.empty());
  b.launch(*two, 6, *stream);
  b.raw.synchronize();
  CHECK(b.lines == std::vector<std::string>{"one.cpp:7: program (0, 0, 0): one 5", "two.cpp:7: program (0, 0, 0): two 6"});
  CHECK(b.driver.allocations.size() == 4);  // used again
}

TEST_CASE("cuda_reports: a transfer waits for its stream, and brings the lines") {
  Bench b;
  const auto kernel = b.raw.load(printing("k"), Here::current());
  auto buffer = b.device.allocate<int>(4);
  b.launch(*kernel, 1, b.raw.default_stream());
  (void)buffer.download();
  CHECK(b.lines.size() == 1);
  b.launch(*kernel, 1, b.raw.default_stream());
  buffer.upload(std::vector<int>(4));
  CHECK(b.lines.size() == 2);
}

TEST_CASE("cuda_reports: kernels without reports cost nothing, and get no address") {
  Bench b;
  const auto kernel = b.raw.load(ptx_kernel("plain", 2), Here::current());
  const std::uint64_t arguments[] = {1, 0};
  b.raw.launch(*kernel, {.where = Here::current()}, arguments, b.raw.default_stream());
  const std::size_t first = b.driver.calls.size();
  const long before = allocations_so_far();
  b.raw.launch(*kernel, {.check = true, .where = Here::current()}, arguments, b.raw.default_stream());
  CHECK(allocations_so_far() == before);
  CHECK(b.driver.since(first) == "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernelEx cuCtxPopCurrent");
  CHECK(b.driver.allocations.empty());
}

TEST_CASE("cuda_reports: a line says how many did not fit") {
  Bench b;
  const auto kernel = b.raw.load(printing("talks"), Here::current());
  b.times = 50000;  // 24 bytes each, in 1 MiB minus the header
  b.launch(*kernel, 1, b.raw.default_stream());
  b.raw.synchronize();
  REQUIRE(b.lines.size() == 43690 + 1);
  CHECK(b.lines.back() ==
        "kernel 'talks': 6310 more reports did not fit into 1048576 bytes; wait for its stream more often, or print less");
  b.times = 1;
  b.lines.clear();
  b.launch(*kernel, 2, b.raw.default_stream());
  b.raw.synchronize();
  CHECK(b.lines == std::vector<std::string>{"talks.cpp:7: program (0, 0, 0): talks 2"});
}

TEST_CASE("cuda_reports: what no thread waits for is printed by a later launch, and is bounded") {
  Bench b;
  const auto one = b.raw.load(printing("one"), Here::current()), two = b.raw.load(printing("two"), Here::current());
  const auto stream = b.raw.create_stream();
  for (int i = 0; i < 100; ++i) b.launch(i % 2 ? *one : *two, static_cast<std::uint64_t>(i), *stream);
  CHECK(b.driver.allocations.size() <= 16);
  stream->synchronize();
  REQUIRE(b.lines.size() == 100);
  CHECK(has(b.lines[0], "two 0"));
  CHECK(has(b.lines[99], "one 99"));
}

TEST_CASE("cuda_reports: a launch that a stream captures reports nothing, and does nothing that would end the capture") {
  Bench b;
  const auto kernel = b.raw.load(printing("k"), Here::current());
  const auto stream = b.raw.create_stream();
  b.driver.capturing = static_cast<CUstream>(stream->native());
  for (const bool check : {false, true}) {
    const std::size_t first = b.driver.calls.size();
    b.launch(*kernel, 1, *stream, check);
    CHECK(b.driver.parameters == std::vector<std::uint64_t>{1, 0});
    CHECK(b.driver.since(first) == "cuCtxGetCurrent cuCtxPushCurrent cuStreamIsCapturing cuLaunchKernelEx cuCtxPopCurrent");
  }
  CHECK(b.driver.allocations.empty());
  CHECK(b.lines.empty());
}

TEST_CASE("cuda_reports: a stream that goes leaves its lines to the device") {
  Bench b;
  const auto kernel = b.raw.load(printing("k"), Here::current());
  auto stream = b.raw.create_stream();
  b.launch(*kernel, 1, *stream);
  const auto again = static_cast<CUstream>(stream->native());
  stream.reset();
  b.driver.streams[again] = 0;  // the driver reuses the handle for another stream
  b.raw.wrap_stream(again, Here::current())->synchronize();
  CHECK(b.lines.empty());
  b.raw.synchronize();
  CHECK(b.lines.size() == 1);
  b.driver.streams.erase(again);
}

TEST_CASE("cuda_reports: an assertion that does not hold comes out of its launch, after the lines of earlier ones") {
  Bench b;
  const auto prints = b.raw.load(printing("prints"), Here::current()), asserts = b.raw.load(asserting("asserts"), Here::current());
  const auto stream = b.raw.create_stream();
  const auto checked = [&](std::uint64_t number) { b.launch(*asserts, number, *stream, true); };
  b.times = 2;
  b.launch(*prints, 5, *stream);
  checked(kSilent);
  CHECK(b.lines.size() == 2);
  try {
    checked(0);
    FAIL("nothing was thrown");
  } catch (const Error& e) {
    CHECK(dynamic_cast<const DeviceError*>(&e) == nullptr);
    CHECK(e.where().file == "asserts.cpp");
    CHECK(e.where().line == 9);
    CHECK_MESSAGE(has(e.what(), "error: device_assert: not zero (program (0, 0, 0))"), e.what());
    CHECK_MESSAGE(has(e.what(), "cuda_reports_test.cpp:"), e.what());
    CHECK_MESSAGE(has(e.what(), "note: launched here; 2 elements in all failed"), e.what());
  }
  checked(kSilent);
  CHECK(b.driver.allocations.size() == 2);

  SUBCASE("of a kernel that also fails, it is told first") {
    const auto kernel = b.driver.kernel;
    b.driver.kernel = [=] { return kernel(), CUDA_ERROR_UNKNOWN; };
    CHECK_THROWS_WITH_AS(checked(0), doctest::Contains("not zero"), Error);
    CHECK_THROWS_WITH_AS(checked(kSilent), doctest::Contains("cuLaunchKernelEx: CUDA_ERROR_UNKNOWN"), DeviceError);
  }
  SUBCASE("one that may have been lost is an error too") {
    b.driver.kernel = [&] { return reinterpret_cast<NvptxReportHeader*>(b.driver.parameters[1])->lost = 3, CUDA_SUCCESS; };
    CHECK_THROWS_WITH_AS(checked(1), doctest::Contains("launch: 3 reports of kernel 'asserts' were lost on device 'cuda:0'"), DeviceError);
  }
  SUBCASE("a buffer that cannot be read") {
    b.driver.fail("cuMemcpyDtoHAsync", CUDA_ERROR_UNKNOWN);
    CHECK_THROWS_WITH_AS(checked(kSilent), doctest::Contains("cuda_reports_test.cpp:"), DeviceError);
  }
  CHECK(b.driver.allocations.size() == 2);  // none was lost on the way
}

TEST_CASE("cuda_reports: what a print handler throws comes out of the wait, and the other lines are printed") {
  Bench b;
  const auto one = b.raw.load(printing("one"), Here::current()), two = b.raw.load(printing("two"), Here::current());
  int calls = 0;
  on_device_print([&](std::string_view) {
    if (++calls == 1) throw std::runtime_error("the printer is out of paper");
  });
  const tilewright::Stream stream = b.device.stream();
  b.launch(*one, 1, *stream.handle());
  b.launch(*two, 1, *stream.handle());
  CHECK_THROWS_WITH_AS(stream.synchronize(), "the printer is out of paper", std::runtime_error);
  CHECK(calls == 2);
}

TEST_CASE("cuda_reports: nothing is left behind, whatever was not waited for, and failures are placed") {
  FakeDriver driver;
  {
    const tilewright::Device device(open_fake(driver));
    rt::Device& raw = *device.handle();
    const auto kernel = raw.load(printing("k"), Here::current());
    const std::uint64_t number = 1;
    const auto launch = [&] { raw.launch(*kernel, {.where = Here::current()}, {&number, 1}, raw.default_stream()); };
    driver.parameter_count = 2;
    for (const char* call : {"cuStreamCreate", "cuMemAllocFromPoolAsync", "cuMemsetD32Async"}) {
      driver.fail(call, CUDA_ERROR_UNKNOWN);
      CHECK_THROWS_WITH_AS(launch(), doctest::Contains("cuda_reports_test.cpp:"), DeviceError);
    }
    driver.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 2);
    CHECK_THROWS_WITH_AS(launch(), doctest::Contains("out of memory: kernel 'k' needs 1048576 bytes on device 'cuda:0'"), DeviceError);
    launch();
    driver.fail("cuCtxSynchronize", CUDA_ERROR_UNKNOWN);
    CHECK_THROWS_AS(device.synchronize(), DeviceError);
    launch();
  }
  check_clean(driver);
}

}  // namespace
}  // namespace tilewright::rt::cuda

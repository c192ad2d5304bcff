// Loading and launching kernels on a CUDA device with a fake driver: calls of the driver, cost of a launch, and messages of faults.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "count_allocations.h"
#include "fake_device.h"
#include "runtime/cuda/cuda_kernel.h"
#include "tilewright/device.h"
#include "tilewright/log.h"

namespace tilewright::rt::cuda {
namespace {

// The text of the DeviceError that f throws, if it names a line of this file.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (const DeviceError& e) {
    return has(e.where().file, "cuda_launch_test.cpp") && e.where().line > 0 ? e.what() : std::string("wrong location: ") + e.what();
  }
  return "no error";
}

TEST_CASE("cuda_launch: the driver is told grid, block, shared memory, stream and the words of the arguments") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(ptx_kernel("k", 3), Here::current());
  CHECK(driver.image == ".version 8.0");
  const auto stream = device->create_stream();
  driver.parameter_count = 3;
  const std::uint64_t arguments[] = {0x1000, 7, 0xffffffffffffffffu};
  device->launch(*kernel, {.grid = {5, 6, 7}, .where = Here::current()}, arguments, *stream);
  CHECK(driver.parameters == std::vector<std::uint64_t>(std::begin(arguments), std::end(arguments)));
  const CUlaunchConfig& c = driver.launched;
  CHECK(std::array{c.gridDimX, c.gridDimY, c.gridDimZ} == std::array{5u, 6u, 7u});
  CHECK(std::array{c.blockDimX, c.blockDimY, c.blockDimZ} == std::array{128u, 1u, 1u});
  CHECK(c.sharedMemBytes == 1024);
  CHECK(c.hStream == stream->native());
  CHECK(c.numAttrs == 0);
  driver.parameter_count = 0;
  device->launch(*device->load(ptx_kernel("none", 0), Here::current()), {.where = Here::current()}, {}, device->default_stream());
  CHECK(driver.launched.hStream == nullptr);
}

TEST_CASE("cuda_launch: a warm launch makes one call beside asking for the current context, and allocates nothing") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(ptx_kernel(), Here::current());
  driver.parameter_count = 2;
  const std::uint64_t arguments[] = {1, 2};
  const auto stream = device->create_stream();
  const LaunchConfig config{.where = Here::current()};
  device->launch(*kernel, config, arguments, *stream);
  const auto cost = [&] {
    const std::size_t first = driver.calls.size();
    const long before = allocations_so_far();
    device->launch(*kernel, config, arguments, *stream);
    const long allocations = allocations_so_far() - before;
    CHECK(allocations == 0);
    return driver.since(first);
  };
  CHECK(cost() == "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernelEx cuCtxPopCurrent");
  FakeDriver::context_stack().push_back(FakeDriver::primary());
  CHECK(cost() == "cuCtxGetCurrent cuLaunchKernelEx");
  // Nothing else on a stream that captures: what waits or allocates would end the capture.
  driver.capturing = static_cast<CUstream>(stream->native());
  CHECK(cost() == "cuCtxGetCurrent cuLaunchKernelEx");
  FakeDriver::context_stack().clear();
}

TEST_CASE("cuda_launch: loading and allocating leave a capture of this thread alone") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const std::string guard = "cuThreadExchangeStreamCaptureMode";
  std::size_t first = driver.calls.size();
  const auto kernel = device->load(ptx_kernel(), Here::current());
  CHECK(has(driver.since(first), guard + " cuModuleLoadDataEx"));
  CHECK(has(driver.since(first), guard + " cuCtxPopCurrent"));
  first = driver.calls.size();
  const std::uint64_t memory = device->allocate(8);
  CHECK(has(driver.since(first), guard + " cuMemAllocFromPoolAsync cuStreamSynchronize " + guard));
  first = driver.calls.size();
  device->release(memory, 8);
  CHECK(has(driver.since(first), guard + " cuStreamIsCapturing"));
  CHECK(has(driver.since(first), "cuMemFreeAsync " + guard));
}

TEST_CASE("cuda_launch: PTX that does not assemble is a DeviceError with the assembler's log at the launch") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  driver.jit_errors = "ptxas application ptx input, line 7; error: Unknown modifier '.v16'\n";
  const std::string text = failure_of([&] { device->load(ptx_kernel(), Here::current()); });
  CHECK_MESSAGE(has(text,
                    "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218: its description) on device 'cuda:0', of kernel 'softmax' for "
                    "sm_90a:\nptxas application ptx input, line 7; error: Unknown modifier '.v16'"),
                text);
  driver.jit_errors.clear();
  CHECK(failure_of([&] { device->load(ptx_kernel(), Here::current()); }) == "no error");
}

// The log of an H100's driver, the numbers and the warnings put into it.
constexpr const char* kNotes = R"(ptxas application ptx input, line 9; warning : .minnctapersm is ignored.
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'softmax_entry' for 'sm_90a'
ptxas info    : Function properties for softmax_entry
ptxas         .     264 bytes stack frame, 312 bytes spill stores, 316 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 264 bytes cumulative stack size
)";

TEST_CASE("cuda_launch: what the driver's assembler warns of is kept with the kernel and logged") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  std::vector<std::string> logged;
  const auto load = [&](const std::string& notes) {
    driver.jit_notes = notes;
    logged.clear();
    set_log_sink([&](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) logged.emplace_back(text);
    });
    const auto kernel = device->load(ptx_kernel(), Here::current());
    set_log_sink({});
    return kernel->remarks();
  };
  const std::vector<std::string> expected{
      "warning : .minnctapersm is ignored.",
      "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.",
      "the driver's assembler gives a thread 255 registers and spills 312 bytes; smaller tiles or more warps need fewer"};
  CHECK(load(kNotes) == expected);
  REQUIRE(logged.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(logged[i] == "kernel 'softmax' on device 'cuda:0': " + expected[i]);
  CHECK(load("ptxas info    : Compiling entry function 'softmax_entry' for 'sm_90a'\n"
             "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
             "ptxas info    : Used 40 registers\n")
            .empty());
  CHECK(load("").empty());
  CHECK(logged.empty());
}

TEST_CASE("cuda_launch: PTX that is too new for the driver says what the driver takes") {
  FakeDriver driver;
  driver.driver_version = 12010;
  const auto device = open_fake(driver);
  driver.fail("cuModuleLoadDataEx", CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  const std::string text = failure_of([&] { device->load(ptx_kernel(), Here::current()); });
  CHECK_MESSAGE(has(text, "for sm_90a:\nthe driver is of CUDA 12.1 and takes PTX up to version 8.1"), text);
}

TEST_CASE("cuda_launch: lines of the source are kept for profilers") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  (void)device->load(ptx_kernel(), Here::current());
  CHECK(std::count(driver.jit_options.begin(), driver.jit_options.end(), CU_JIT_GENERATE_LINE_INFO) == 1);
}

TEST_CASE("cuda_launch: what a kernel needs is compared with what the device has when it is loaded") {
  FakeDriver driver;
  {
    const auto device = open_fake(driver);
    SUBCASE("shared memory beyond 48 KiB is asked for") {
      auto kernel = ptx_kernel();
      kernel.resources.shared_bytes = 48 << 10;
      (void)device->load(kernel, Here::current());
      CHECK(driver.count("cuFuncSetAttribute") == 0);
      kernel.resources.shared_bytes = (48 << 10) + 16;
      (void)device->load(kernel, Here::current());
      CHECK(driver.function_attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] == (48 << 10) + 16);
    }
    SUBCASE("more shared memory than there is") {
      auto kernel = ptx_kernel();
      driver.function_attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = 16;
      kernel.resources.shared_bytes = 232448;
      const std::string text = failure_of([&] { device->load(kernel, Here::current()); });
      CHECK_MESSAGE(has(text, "kernel 'softmax' needs 232464 bytes of shared memory; device 'cuda:0' has 232448 for a program"), text);
    }
    SUBCASE("more registers than there are") {
      driver.function_attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 64;
      const std::string text = failure_of([&] { device->load(ptx_kernel(), Here::current()); });
      CHECK_MESSAGE(has(text, "needs 40 registers in each of 128 threads; device 'cuda:0' can run 64 threads of it"), text);
    }
    SUBCASE("more parameters than the driver takes") {
      const std::string text = failure_of([&] { device->load(ptx_kernel("wide", 513), Here::current()); });
      CHECK_MESSAGE(has(text, "kernel 'wide' has 513 parameters; device 'cuda:0' takes at most 512"), text);
    }
    SUBCASE("an entry that is not there") {
      driver.fail("cuModuleGetFunction", CUDA_ERROR_NOT_FOUND);
      CHECK(has(failure_of([&] { device->load(ptx_kernel(), Here::current()); }), "cuModuleGetFunction: error 500"));
    }
    CHECK(driver.modules == 0);
  }
  check_clean(driver);
}

TEST_CASE("cuda_launch: a kernel's code stays until its last launch has run") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  auto kernel = device->load(ptx_kernel(), Here::current());
  const std::size_t first = driver.calls.size();
  kernel.reset();
  CHECK(has(driver.since(first), "cuCtxSynchronize cuModuleUnload"));
}

TEST_CASE("cuda_launch: the largest grid reaches the driver as it is") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(ptx_kernel("k", 0), Here::current());
  device->launch(*kernel, {.grid = rt::kMostPrograms, .where = Here::current()}, {}, device->default_stream());
  const CUlaunchConfig& c = driver.launched;
  CHECK(std::array{c.gridDimX, c.gridDimY, c.gridDimZ} == std::array{2147483647u, 65535u, 65535u});
}

TEST_CASE("cuda_launch: a launch that is refused says what was launched") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(ptx_kernel("k", 0), Here::current());
  driver.fail("cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  const std::string text =
      failure_of([&] { device->launch(*kernel, {.grid = {2, 3, 4}, .where = Here::current()}, {}, device->default_stream()); });
  CHECK_MESSAGE(has(text,
                    "cuLaunchKernelEx: error 701 on device 'cuda:0', of kernel 'k' with grid {2, 3, 4}, 128 threads of 40 registers, "
                    "1024 bytes of shared memory"),
                text);
}

TEST_CASE("cuda_launch: a kernel that faults is named by the call that finds out, and by all later ones") {
  FakeDriver driver;
  const tilewright::Device device(open_fake(driver));
  rt::Device& raw = *device.handle();
  {
    const auto good = raw.load(ptx_kernel("good", 0), Here::current());
    raw.launch(*good, {.where = Here::current()}, {}, raw.default_stream());
  }
  device.synchronize();
  const auto bad = raw.load(ptx_kernel("bad", 0), Here::current());
  std::string suspects;
  SUBCASE("one was launched") {
    raw.launch(*bad, {.where = Here::current()}, {}, raw.default_stream());
    suspects = "kernel 'bad', launched at ";
  }
  SUBCASE("several were launched") {
    for (int i = 0; i < 10; ++i) raw.launch(*bad, {.where = Here::current()}, {}, raw.default_stream());
    suspects = "one of the last kernels launched since all was well ('bad' at ";
  }
  SUBCASE("none was launched") { suspects = "work that Tilewright did not launch"; }
  driver.fail("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS, 100);
  driver.fail("cuCtxSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS, 100);
  const std::string first = failure_of([&] { device.stream().synchronize(); });
  CHECK_MESSAGE(has(first, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700: its description) on device 'cuda:0': " + suspects),
                first);
  CHECK_MESSAGE(has(first, "failed, and this process cannot use the device any more"), first);
  CHECK(!has(first, "'good'"));
  std::size_t named = 0;
  for (std::size_t i = 0; (i = first.find("'bad'", i)) != std::string::npos; ++i) ++named;
  CHECK(named <= 8);
  const std::string second = failure_of([&] { device.synchronize(); });
  CHECK_MESSAGE(has(second, "cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700: its description) on device 'cuda:0', which was lost when " +
                                suspects),
                second);
}

TEST_CASE("cuda_launch: where faults spoil nothing, none is remembered") {
  FakeDriver driver;
  DeviceFacts facts;
  const auto device = make_cuda_device(driver.table, {"emulator:sm_80", facts, "sm_80", true}, Here::current());
  CHECK(device->target() == "sm_80");
  const auto kernel = device->load(ptx_kernel("k", 0), Here::current());
  driver.kernel = [] { return CUDA_ERROR_ILLEGAL_ADDRESS; };
  for (int i = 0; i < 2; ++i) {
    const std::string text = failure_of([&] { device->launch(*kernel, {.where = Here::current()}, {}, device->default_stream()); });
    CHECK_MESSAGE(has(text, "on device 'emulator:sm_80', of kernel 'k'"), text);
    CHECK(!has(text, "lost"));
  }
}

TEST_CASE("cuda_launch: failures of the public classes name the user's line") {
  FakeDriver driver;
  const tilewright::Device device(open_fake(driver));
  tilewright::Buffer<double> buffer = device.allocate<double>(4);
  const tilewright::Stream stream = device.stream();
  const tilewright::Event event = stream.record();
  const auto fails = [&](const char* call, auto&& f) {
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    const std::string text = failure_of(f);
    CHECK_MESSAGE(has(text, std::string("error: ") + call + ": CUDA_ERROR_UNKNOWN"), text);
  };
  fails("cuMemAllocFromPoolAsync", [&] { (void)device.allocate<int>(4); });
  fails("cuMemcpyHtoDAsync", [&] { buffer.upload(std::vector<double>(4)); });
  fails("cuMemcpyDtoHAsync", [&] { (void)buffer.download(); });
  fails("cuMemcpyDtoDAsync", [&] { buffer.fill(0.1); });
  fails("cuStreamCreate", [&] { (void)device.stream(); });
  fails("cuStreamGetCtx", [&] { (void)device.wrap_stream(nullptr); });
  fails("cuCtxSynchronize", [&] { device.synchronize(); });
  fails("cuStreamSynchronize", [&] { stream.synchronize(); });
  fails("cuEventRecord", [&] { (void)stream.record(); });
  fails("cuStreamWaitEvent", [&] { stream.wait(event); });
  fails("cuEventElapsedTime", [&] { (void)event.elapsed_ms(event); });
}

}  // namespace
}  // namespace tilewright::rt::cuda

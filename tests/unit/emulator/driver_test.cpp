// The emulated driver below the device of runtime/cuda: buffers, launches, graphs and errors.
#include <doctest/doctest.h>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

using namespace cuda;

const Driver& driver() { return emulated_driver(); }

/// Context, module and function for a kernel text.
struct Loaded {
  explicit Loaded(const std::string& ptx, const char* target = "sm_80") {
    CUcontext context = nullptr;
    REQUIRE(driver().cuDevicePrimaryCtxRetain(&context, emulated_ordinal(target)) == CUDA_SUCCESS);
    REQUIRE(driver().cuCtxPushCurrent(context) == CUDA_SUCCESS);
    REQUIRE(driver().cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
    REQUIRE(driver().cuModuleGetFunction(&function, module, "k") == CUDA_SUCCESS);
  }
  ~Loaded() {
    CHECK(driver().cuModuleUnload(module) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    driver().cuCtxPopCurrent(&context);
  }
  CUresult launch(unsigned blocks, unsigned threads, CUdeviceptr argument, CUstream stream = nullptr) {
    CUlaunchConfig config{blocks, 1, 1, threads, 1, 1, 0, stream, nullptr, 0};
    void* parameters[] = {&argument};
    return driver().cuLaunchKernelEx(&config, function, parameters, nullptr);
  }
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

const char* kAddOne = R"(
  mov.u32 %r0, %tid.x;
  ld.param.u64 %d1, [p];
  mad.wide.u32 %d1, %r0, 4, %d1;
  ld.global.u32 %r1, [%d1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%d1], %r1;
)";

std::string text_of(CUresult code) {
  const char* text = nullptr;
  driver().cuGetErrorString(code, &text);
  return text == nullptr ? "" : text;
}

}  // namespace

TEST_CASE("emulated driver: every function is there, and every target is a device") {
#define TW_CUDA_FUNCTION(name, symbol, parameters) CHECK((driver().name != nullptr));
#include "runtime/cuda/driver_functions.def"
  int count = 0;
  CHECK(driver().cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CHECK(count == 7);
  CHECK(emulated_ordinal("sm_70") == -1);
  int major = 0, minor = 0;
  const int hopper = emulated_ordinal("sm_90a");
  CHECK(driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, hopper) == CUDA_SUCCESS);
  CHECK(driver().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, hopper) == CUDA_SUCCESS);
  CHECK(10 * major + minor == 90);
}

TEST_CASE("emulated driver: what kernels print with vprintf comes out in lines") {
  Loaded loaded(module_of(".param .u64 p", R"(
    .local .align 8 .b32 value;
    mov.u32 %r0, %tid.x;
    st.local.u32 [value], %r0;
    mov.u64 %d1, format;
    mov.u64 %d2, value;
    cvta.local.u64 %d2, %d2;
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    st.param.b64 [a], %d1;
    st.param.b64 [b], %d2;
    call (c), vprintf, (a, b);
  )",
                          R"(
    .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
    .global .align 1 .b8 format[5] = {104, 37, 100, 10, 0};
  )"));
  static std::vector<std::string> lines;
  set_print_function([](std::string_view line) { lines.emplace_back(line); });
  CHECK(loaded.launch(1, 3, 0) == CUDA_SUCCESS);
  set_print_function(nullptr);
  CHECK(lines == std::vector<std::string>{"h0", "h1", "h2"});
}

TEST_CASE("emulated driver: only the blocks of a cooperative launch have memory to wait for each other") {
  Loaded loaded(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    mov.b64 %d2, {%r2, %r1};
    setp.eq.u64 %p1, %d2, 0;
    @%p1 ret;
    atom.global.add.u32 %r3, [%d2+4], 1;
    add.u32 %r3, %r3, 1;
    red.global.max.u32 [%d1], %r3;
  )"));
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 4) == CUDA_SUCCESS);
  CHECK(driver().cuMemsetD32Async(memory, 0, 1, nullptr) == CUDA_SUCCESS);
  const auto most = [&](int cooperative) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = cooperative;
    CUlaunchConfig config{8, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
    void* parameters[] = {&memory};
    CHECK(driver().cuLaunchKernelEx(&config, loaded.function, parameters, nullptr) == CUDA_SUCCESS);
    u32 value = 0;
    CHECK(driver().cuMemcpyDtoHAsync(&value, memory, 4, nullptr) == CUDA_SUCCESS);
    return value;
  };
  CHECK(most(0) == 0);
  CHECK(most(1) == 8);
  CHECK(driver().cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("emulated driver: memory, copies, launches and events") {
  Loaded loaded(module_of(".param .u64 p", kAddOne));
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 256) == CUDA_SUCCESS);
  CHECK(driver().cuMemsetD32Async(memory, 7, 64, nullptr) == CUDA_SUCCESS);
  CUevent start = nullptr, end = nullptr;
  CHECK(driver().cuEventCreate(&start, 0) == CUDA_SUCCESS);
  CHECK(driver().cuEventCreate(&end, 0) == CUDA_SUCCESS);
  CHECK(driver().cuEventRecord(start, nullptr) == CUDA_SUCCESS);
  CHECK(loaded.launch(1, 64, memory) == CUDA_SUCCESS);
  CHECK(driver().cuEventRecord(end, nullptr) == CUDA_SUCCESS);
  std::vector<u32> values(64);
  CHECK(driver().cuMemcpyDtoHAsync(values.data(), memory, 256, nullptr) == CUDA_SUCCESS);
  CHECK(values == std::vector<u32>(64, 8));
  float milliseconds = -1;
  CHECK(driver().cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
  CHECK(milliseconds >= 0);
  CHECK(driver().cuMemcpyDtoHAsync(values.data(), memory, 257, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(driver().cuMemFree(memory) == CUDA_SUCCESS);
  CHECK(driver().cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  driver().cuEventDestroy(start);
  driver().cuEventDestroy(end);
}

TEST_CASE("emulated driver: a launch in clusters") {
  Loaded loaded(hopper_module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    mov.u32 %r0, %ctaid.x;
    mad.wide.u32 %d1, %r0, 4, %d1;
    mov.u32 %r1, %clusterid.x;
    mov.u32 %r2, %cluster_ctarank;
    mad.lo.u32 %r1, %r1, 10, %r2;
    st.global.u32 [%d1], %r1;
  )"),
                "sm_90a");
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 24) == CUDA_SUCCESS);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {3, 1, 1};
  CUlaunchConfig config{6, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
  void* parameters[] = {&memory};
  CHECK(driver().cuLaunchKernelEx(&config, loaded.function, parameters, nullptr) == CUDA_SUCCESS);
  std::vector<u32> values(6);
  CHECK(driver().cuMemcpyDtoHAsync(values.data(), memory, 24, nullptr) == CUDA_SUCCESS);
  CHECK(values == std::vector<u32>{0, 1, 2, 10, 11, 12});
  config.gridDimX = 4;
  CHECK(driver().cuLaunchKernelEx(&config, loaded.function, parameters, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text_of(CUDA_ERROR_INVALID_VALUE).find("a grid of (4,1,1) blocks is not a multiple of clusters of (3,1,1)") != std::string::npos);
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: TILEWRIGHT_EMULATOR_ASYNC says when asynchronous work is done") {
  // Whether copies are done at once, which users must not rely on.
  Loaded loaded(hopper_module_of(".param .u64 p", R"(
    .shared .align 8 .b64 bar;
    .shared .align 16 .b8 tile[16];
    ld.param.u64 %d1, [p];
    mov.u32 %r1, bar;
    mov.u32 %r2, tile;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    cp.async.ca.shared.global [%r2], [%d1], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;
    selp.u32 %r3, 1, 0, %p1;
    st.global.u32 [%d1+4], %r3;
  )"),
                "sm_90a");
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 8) == CUDA_SUCCESS);
  driver().cuMemsetD32Async(memory, 7, 2, nullptr);
  const auto done = [&](const char* order) {
    setenv("TILEWRIGHT_EMULATOR_ASYNC", order, 1);
    const CUresult result = loaded.launch(1, 1, memory);
    unsetenv("TILEWRIGHT_EMULATOR_ASYNC");
    u32 values[2];
    CHECK(driver().cuMemcpyDtoHAsync(values, memory, 8, nullptr) == CUDA_SUCCESS);
    return result == CUDA_SUCCESS ? std::to_string(values[1]) : text_of(result);
  };
  CHECK(done("") == "0");
  CHECK(done("lazy") == "0");
  CHECK(done("eager") == "1");
  // Some seeds do it at once and some do not.
  int at_once = 0;
  for (int seed = 0; seed < 20; ++seed) at_once += done(("random:" + std::to_string(seed)).c_str()) == "1";
  CHECK(at_once > 0);
  CHECK(at_once < 20);
  CHECK(done("random") == done("random:0"));
  for (const char* wrong : {"late", "random:", "random:x", "random7"})
    CHECK(done(wrong) == std::string("TILEWRIGHT_EMULATOR_ASYNC is '") + wrong + "'; it must be lazy, eager, random or random:SEED");
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: TILEWRIGHT_EMULATOR_ORDER and TILEWRIGHT_EMULATOR_LIMIT say how blocks run and for how long") {
  // Each block takes a number. A loop without end where the first word is not 0.
  Loaded loaded(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    ld.global.u32 %r1, [%d1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra TAKE;
    LOOP:
    add.u32 %r1, %r1, 1;
    bra LOOP;
    TAKE:
    mov.u32 %r2, %ctaid.x;
    mad.wide.u32 %d2, %r2, 4, %d1;
    atom.global.add.u32 %r3, [%d1+4], 1;
    st.global.u32 [%d2+8], %r3;
  )"));
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 72) == CUDA_SUCCESS);
  const auto launch = [&](const char* variable, const char* value, u32 first = 0) {
    driver().cuMemsetD32Async(memory, 0, 18, nullptr);
    driver().cuMemsetD32Async(memory, first, 1, nullptr);
    setenv(variable, value, 1);
    const CUresult result = loaded.launch(16, 1, memory);
    unsetenv(variable);
    std::vector<u32> values(18);
    CHECK(driver().cuMemcpyDtoHAsync(values.data(), memory, 72, nullptr) == CUDA_SUCCESS);
    if (result != CUDA_SUCCESS) return text_of(result);
    std::string numbers;
    for (std::size_t k = 2; k < values.size(); ++k) numbers += std::to_string(values[k]) + " ";
    return numbers;
  };
  constexpr const char* kOrder = "TILEWRIGHT_EMULATOR_ORDER";
  constexpr const char* kLimit = "TILEWRIGHT_EMULATOR_LIMIT";
  CHECK(launch(kOrder, "forward") == "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ");
  CHECK(launch(kOrder, "backward") == "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0 ");
  CHECK(launch(kOrder, "random:7") == launch(kOrder, "random:7"));
  CHECK(launch(kOrder, "random:7") != launch(kOrder, "random:8"));
  CHECK(launch(kOrder, "random") == launch(kOrder, "random:0"));
  for (const char* wrong : {"back", "random:", "random:x", "random7"})
    CHECK(launch(kOrder, wrong) == std::string(kOrder) + " is '" + wrong + "'; it must be forward, backward, random or random:SEED");
  CHECK(launch(kLimit, "100000", 1).find("the limit being 100000\n  block (0,0,0), warp 0") != std::string::npos);
  CHECK(launch(kLimit, "many") == std::string(kLimit) + " is 'many'; it must be a number of warp instructions, or 0 for none");
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: what was found in a kernel is the text of its error, once") {
  Loaded loaded(module_of(".param .u64 p", kAddOne));
  take_report(emulated_ordinal("sm_80"));
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
  driver().cuMemsetD32Async(memory, 7, 16, nullptr);
  CHECK(loaded.launch(1, 17, memory) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(text_of(CUDA_ERROR_ILLEGAL_ADDRESS).find("access out of bounds in 'k', block (0,0,0), warp 0, lane 16 (line 15 of the PTX)") == 0);
  CHECK(text_of(CUDA_ERROR_ILLEGAL_ADDRESS) == "an illegal memory access was encountered");
  CHECK(loaded.launch(1, 16, memory) == CUDA_SUCCESS);
  CHECK(loaded.launch(2, 16, memory) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(text_of(CUDA_ERROR_LAUNCH_FAILED).find("race in 'k', block (1,0,0)") == 0);
  const EmulatorReport report = take_report(emulated_ordinal("sm_80"));
  CHECK(report.diagnostics.size() == 4);
  CHECK(report.counters.of("k").launches == 3);
  CHECK(take_report(emulated_ordinal("sm_80")).counters.kernels.empty());
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: an observer sees each launch before it runs, and may run it itself") {
  Loaded loaded(module_of(".param .u64 p", kAddOne));
  CUdeviceptr memory = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
  driver().cuMemsetD32Async(memory, 0, 16, nullptr);
  int seen = 0;
  observe_launches([&](const EmulatedLaunch& about) {
    ++seen;
    CHECK(about.kernel == "k");
    CHECK(about.params.block == std::array<u32, 3>{16, 1, 1});
    CHECK(about.loaded.module().target == "sm_80");
    CHECK(launch(about.loaded, about.kernel, about.memory, about.params));
  });
  CHECK(loaded.launch(1, 16, memory) == CUDA_SUCCESS);
  observe_launches({});
  CHECK(loaded.launch(1, 16, memory) == CUDA_SUCCESS);
  CHECK(seen == 1);
  std::vector<u32> values(16);
  driver().cuMemcpyDtoHAsync(values.data(), memory, 64, nullptr);
  CHECK(values == std::vector<u32>(16, 3));
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: graphs repeat what was captured") {
  Loaded loaded(module_of(".param .u64 p", kAddOne));
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  REQUIRE(driver().cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  driver().cuMemsetD32Async(memory, 0, 16, stream);
  CHECK(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  CHECK(loaded.launch(1, 16, memory, stream) == CUDA_SUCCESS);
  CHECK(loaded.launch(1, 8, memory, stream) == CUDA_SUCCESS);
  CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CHECK(driver().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(driver().cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS);
  for (int k = 0; k < 3; ++k) CHECK(driver().cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  std::vector<u32> values(16);
  driver().cuMemcpyDtoHAsync(values.data(), memory, 64, stream);
  for (u32 i = 0; i < 16; ++i) CHECK(values[i] == (i < 8 ? 6 : 3));
  driver().cuGraphExecDestroy(executable);
  driver().cuGraphDestroy(graph);
  driver().cuStreamDestroy(stream);
  driver().cuMemFree(memory);
}

TEST_CASE("emulated driver: kernel nodes follow each other, and an executable graph takes other parameters") {
  Loaded loaded(module_of(".param .u64 p", kAddOne));
  CUdeviceptr memory = 0, other = 0;
  REQUIRE(driver().cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemAlloc(&other, 64) == CUDA_SUCCESS);
  driver().cuMemsetD32Async(memory, 0, 16, nullptr);
  driver().cuMemsetD32Async(other, 0, 16, nullptr);
  const auto parameters = [&](CUdeviceptr& to, unsigned threads, void** words) {
    words[0] = &to;
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = loaded.function;
    p.gridDimX = p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = threads, p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = words;
    return p;
  };
  const auto values = [&](CUdeviceptr from) {
    std::vector<u32> all(16);
    driver().cuMemcpyDtoHAsync(all.data(), from, 64, nullptr);
    return all;
  };
  void* words[1];
  CUgraph graph = nullptr, empty = nullptr;
  CUgraphNode first = nullptr, second = nullptr, none = nullptr;
  CUgraphExec executable = nullptr;
  REQUIRE(driver().cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuGraphCreate(&empty, 0) == CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS p = parameters(memory, 16, words);
  CHECK(driver().cuGraphAddKernelNode(&first, graph, nullptr, 0, &p) == CUDA_SUCCESS);
  p = parameters(memory, 8, words);
  CHECK(driver().cuGraphAddKernelNode(&second, graph, &first, 1, &p) == CUDA_SUCCESS);
  CHECK(driver().cuGraphAddKernelNode(&none, empty, &first, 1, &p) == CUDA_ERROR_INVALID_VALUE);  // a node of another graph
  REQUIRE(driver().cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS);
  CHECK(values(memory) == std::vector<u32>(16, 0));
  CHECK(driver().cuGraphLaunch(executable, nullptr) == CUDA_SUCCESS);
  for (u32 i = 0; i < 16; ++i) CHECK(values(memory)[i] == (i < 8 ? 2 : 1));

  // The parameters are copied: what they point to may change, and other launches of the executable graph have the new ones.
  p = parameters(other, 16, words);
  CHECK(driver().cuGraphExecKernelNodeSetParams(executable, second, &p) == CUDA_SUCCESS);
  words[0] = nullptr;
  CHECK(driver().cuGraphLaunch(executable, nullptr) == CUDA_SUCCESS);
  for (u32 i = 0; i < 16; ++i) CHECK(values(memory)[i] == (i < 8 ? 3 : 2));
  CHECK(values(other) == std::vector<u32>(16, 1));

  // A launch on a stream that captures becomes a part of that graph.
  CUstream stream = nullptr;
  REQUIRE(driver().cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  CHECK(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  CHECK(driver().cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CUgraph captured = nullptr;
  CUgraphExec again = nullptr;
  CHECK(driver().cuStreamEndCapture(stream, &captured) == CUDA_SUCCESS);
  CHECK(driver().cuGraphInstantiate(&again, captured, 0) == CUDA_SUCCESS);
  CHECK(values(other) == std::vector<u32>(16, 1));
  CHECK(driver().cuGraphLaunch(again, stream) == CUDA_SUCCESS);
  CHECK(values(other) == std::vector<u32>(16, 2));
  p = parameters(other, 16, words);
  CHECK(driver().cuGraphExecKernelNodeSetParams(again, second, &p) == CUDA_ERROR_INVALID_VALUE);
  for (CUgraphExec e : {executable, again}) driver().cuGraphExecDestroy(e);
  for (CUgraph g : {graph, empty, captured}) driver().cuGraphDestroy(g);
  driver().cuStreamDestroy(stream);
  for (CUdeviceptr m : {memory, other}) driver().cuMemFree(m);
}

TEST_CASE("emulated driver: what cannot be loaded says why in the log") {
  CUcontext context = nullptr;
  driver().cuDevicePrimaryCtxRetain(&context, emulated_ordinal("sm_75"));
  driver().cuCtxPushCurrent(context);
  const auto log_of = [](const std::string& text, CUresult expected) {
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule module = nullptr;
    CHECK(driver().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values) == expected);
    return std::string(log);
  };
  CHECK(log_of(module_of("", "frob;"), CUDA_ERROR_INVALID_PTX) == "<ptx>:11: error: 'frob': unknown instruction");
  CHECK(log_of(module_of("", ""), CUDA_ERROR_NO_BINARY_FOR_GPU) == "code for sm_80 does not run on sm_75");
  driver().cuCtxPopCurrent(&context);
}

}  // namespace tilewright::rt::emulator

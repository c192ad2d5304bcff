// Runs of plans as one launch of a CUDA graph: what the driver is asked for, and values when buffers, symbols and kernels change.
#include <optional>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/unit/frontend/graph/fake_program.h"
#include "tests/unit/runtime/count_allocations.h"
#include "tests/unit/runtime/fake_device.h"

namespace fake_program {
namespace {

using namespace tw::rt::cuda;

/// y = 4 (3 (2 x + x) + x) + w + x: four kernels through three intermediates, of which t2 alone reads w.
struct Chain {
  tw::Graph graph;
  tw::Dim n = graph.dim("n", {.max = 100000});
  std::optional<FakeProgram> program;

  Chain() {
    auto x = graph.input<float>("x", {n}), w = graph.input<float>("w", {n});
    graph.output("y", x + w);
    program.emplace(graph);
    for (const char* name : {"t0", "t1", "t2"}) program->add(name, BufferKind::intermediate, {n});
    program->kernel("t0", 2, "x", "x");
    program->kernel("t1", 3, "t0", "x");
    program->kernel("t2", 4, "t1", "w");
    program->kernel("y", 1, "t2", "x");
  }
};

/// A plan on a GPU whose driver does nothing, with buffers of 100 elements.
struct OnFakeDriver {
  FakeDriver driver;
  tw::Device device{open_fake(driver)};
  Chain chain;
  tw::Plan plan = chain.program->plan(device);
  tw::Buffer<float> x = device.allocate<float>(100), w = device.allocate<float>(100), y = device.allocate<float>(100);

  /// The driver's calls of a run, without those that make the context current.
  std::string calls(const std::function<void()>& run) {
    const std::size_t before = driver.calls.size();
    run();
    std::string all;
    for (std::size_t i = before; i < driver.calls.size(); ++i)
      if (const std::string call = driver.calls[i]; !call.starts_with("cuCtx")) all += (all.empty() ? "" : " ") + call;
    return all;
  }
  static std::size_t count(const std::string& calls, const std::string& name) {
    std::size_t n = 0;
    for (auto at = calls.find(name); at != std::string::npos; at = calls.find(name, at + 1)) ++n;
    return n;
  }
  void run() { plan.run({{"x", x}, {"w", w}, {"y", y}}); }
};

}  // namespace

TEST_CASE("plan graph launches: one launch a run, and a node is updated when its kernel's arguments change") {
  OnFakeDriver on;
  const std::string first = on.calls([&] { on.run(); });
  CHECK(on.count(first, "cuGraphAddKernelNode") == 4);
  CHECK(on.count(first, "cuGraphInstantiate") == 1);
  CHECK(on.count(first, "cuGraphLaunch") == 1);
  CHECK(on.count(first, "cuLaunchKernel") == 0);
  CHECK(on.calls([&] { on.run(); }) == "cuStreamIsCapturing cuGraphLaunch");

  auto w = on.device.allocate<float>(100);
  const std::string other = on.calls([&] { on.plan.run({{"x", on.x}, {"w", w}, {"y", on.y}}); });
  CHECK(on.count(other, "cuGraphExecKernelNodeSetParams") == 1);
  CHECK(on.count(other, "cuGraphInstantiate") == 0);
  CHECK(on.count(other, "cuGraphLaunch") == 1);
  auto x90 = on.device.allocate<float>(90), w90 = on.device.allocate<float>(90), y90 = on.device.allocate<float>(90);
  const std::string shorter = on.calls([&] { on.plan.run({{"x", x90}, {"w", w90}, {"y", y90}}); });
  CHECK(on.count(shorter, "cuGraphExecKernelNodeSetParams") == 4);
  CHECK(on.count(shorter, "cuGraphInstantiate") == 0);
  CHECK(on.plan.compilations() == 0);
}

TEST_CASE("plan graph launches: a warm run allocates nothing on the host") {
  OnFakeDriver on;
  on.run();
  const long before = tw::rt::allocations_so_far();
  for (int i = 0; i < 10; ++i) on.run();
  CHECK(tw::rt::allocations_so_far() - before == 0);
}

TEST_CASE("plan graph launches: a graph that cannot be updated is made again") {
  OnFakeDriver on;
  on.run();
  auto w = on.device.allocate<float>(100);
  on.driver.fail("cuGraphExecKernelNodeSetParams", CUDA_ERROR_INVALID_VALUE);
  on.driver.nodes.clear();
  const std::string again = on.calls([&] { on.plan.run({{"x", on.x}, {"w", w}, {"y", on.y}}); });
  CHECK(on.count(again, "cuGraphInstantiate") == 1);
  CHECK(on.count(again, "cuGraphLaunch") == 1);
  CHECK(on.driver.graphs == 1);
  CHECK(on.driver.graph_executables == 1);
}

TEST_CASE("plan graph launches: failures name the user's line and the kernels, and later runs work") {
  OnFakeDriver on;
  for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiate", "cuGraphLaunch"}) {
    CAPTURE(call);
    on.driver.nodes.clear();
    on.driver.fail(call, CUDA_ERROR_OUT_OF_MEMORY);
    std::string what;
    try {
      on.run();
    } catch (const tw::DeviceError& e) {
      what = e.what();
    }
    CHECK(what.find(call) != std::string::npos);
    CHECK(what.find("plan_graph_launch_test.cpp") != std::string::npos);
  }
  CHECK(on.driver.graphs == 1);
  on.run();
  on.plan = tw::Plan();
  CHECK(on.driver.graphs == 0);
  CHECK(on.driver.graph_executables == 0);
  for (const std::string& m : on.driver.misuse) FAIL_CHECK(m);
}

TEST_CASE("plan graph launches: one kernel needs no graph, and a stream that is captured takes kernels") {
  OnFakeDriver on;
  tw::Graph graph;
  auto x = graph.input<float>("x", {100});
  graph.output("y", x + 0.0f);
  FakeProgram program(graph);
  program.kernel("y", 1, "x", "x");
  const tw::Plan single = program.plan(on.device);
  const std::string calls = on.calls([&] { single.run({{"x", on.x}, {"y", on.y}}); });
  CHECK(on.count(calls, "cuGraph") == 0);
  CHECK(on.count(calls, "cuLaunchKernel") == 1);

  on.run();
  const tw::Stream stream = on.device.stream();
  on.driver.capturing = static_cast<CUstream>(stream.handle()->native());
  const std::string captured = on.calls([&] { on.plan.run({{"x", on.x}, {"w", on.w}, {"y", on.y}}, {.stream = stream}); });
  CHECK(on.count(captured, "cuGraph") == 0);
  CHECK(on.count(captured, "cuLaunchKernel") == 4);
  CHECK(on.count(captured, "cuEvent") == 0);
  CHECK(on.count(captured, "cuStreamWaitEvent") == 0);
  CHECK(on.count(captured, "Synchronize") == 0);
}

TEST_CASE("plan graph launches: buffers, symbols, streams and less aligned buffers change between runs") {
  for (const char* name : {"emulator:sm_75", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Stream stream = device.stream();
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    for (int i = 0; i < 6; ++i) {
      const std::size_t count = i % 3 == 0 ? 100 : 37 + 200 * static_cast<std::size_t>(i), offset = i == 4 ? 1 : 0;
      auto x = device.upload(counted(count + offset, static_cast<float>(i))), w = device.upload(counted(count, 1));
      auto y = device.upload(std::vector<float>(count, -1.0f));
      const tw::RunOptions options = i % 2 == 0 ? tw::RunOptions{} : tw::RunOptions{.stream = stream};
      plan.run({{"x", x + static_cast<std::int64_t>(offset)}, {"w", w}, {"y", y}}, options);
      stream.synchronize();
      const std::vector<float> got = y.download();
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const float a = static_cast<float>(i) + static_cast<float>(k + offset), b = 1 + static_cast<float>(k);
        wrong += got[k] != 4 * (3 * (2 * a + a) + a) + b + a;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("plan graph launches: a user's graph repeats a captured run, also when the plan's memory has grown since") {
  const Driver& driver = tw::rt::emulator::emulated_driver();
  tw::Device device = tw::Device::open("emulator:sm_80");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {n}), p = graph.parameter<float>("p", {n});
  graph.output("y", x + p);
  FakeProgram program(graph);
  program.add("d", BufferKind::derived, {n});
  program.add("t", BufferKind::intermediate, {n});
  program.kernel("d", 10, "p", "p", true);
  program.kernel("t", 1, "d", "x");
  program.kernel("y", 2, "t", "x");
  const tw::Plan plan = program.plan(device);
  const auto value = [](float a, float b) { return 2 * (11 * b + a) + a; };

  const tw::Stream stream = device.stream();
  const auto native = static_cast<CUstream>(stream.handle()->native());
  auto bx = device.upload(std::vector<float>(50, 1)), bp = device.upload(std::vector<float>(50, 2)),
       y = device.upload(std::vector<float>(50, -1));
  REQUIRE(driver.cuStreamBeginCapture(native, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  plan.run({{"x", bx}, {"p", bp}, {"y", y}}, {.stream = stream});
  CUgraph captured = nullptr;
  CUgraphExec executable = nullptr;
  REQUIRE(driver.cuStreamEndCapture(native, &captured) == CUDA_SUCCESS);
  CHECK(y.download() == std::vector<float>(50, -1));  // nothing has run yet

  // A plain run computes what the graph has not, with other sizes and more memory.
  auto bx2 = device.upload(std::vector<float>(5000, 3)), bp2 = device.upload(std::vector<float>(5000, 4)),
       y2 = device.allocate<float>(5000);
  plan.run({{"x", bx2}, {"p", bp2}, {"y", y2}});
  CHECK(y2.download() == std::vector<float>(5000, value(3, 4)));

  REQUIRE(driver.cuGraphInstantiate(&executable, captured, 0) == CUDA_SUCCESS);
  for (float a : {1.0f, 7.0f}) {
    bx.fill(a), y.fill(-1);
    CHECK(driver.cuGraphLaunch(executable, native) == CUDA_SUCCESS);
    CHECK(y.download() == std::vector<float>(50, value(a, 2)));
  }
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(captured);
}

}  // namespace fake_program

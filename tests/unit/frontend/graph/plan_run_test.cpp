// Runs of plans: values, symbols, workspace, parameters, constants, streams, threads.
#include <atomic>
#include <optional>
#include <thread>

#include "tests/unit/frontend/graph/fake_program.h"
#include "tests/unit/runtime/count_allocations.h"
#include "tests/unit/runtime/fake_device.h"

namespace fake_program {
namespace {

/// y = 4 (3 (2 x + x) + x) + w: through two intermediates. n is the only symbol.
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
  /// Runs with inputs that start at `first` and checks every element.
  static void check(tw::Device& device, const tw::Plan& plan, std::size_t count, float first, const tw::RunOptions& options = {}) {
    auto x = device.upload(counted(count, first)), w = device.upload(counted(count, 1));
    auto y = device.upload(std::vector<float>(count, -1.0f));
    plan.run({{"x", x}, {"w", w}, {"y", y}}, options);
    if (options.stream.given()) options.stream.stream().synchronize();
    const auto got = y.download();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float a = first + static_cast<float>(i), b = 1 + static_cast<float>(i);
      wrong += got[i] != 4 * (3 * (2 * a + a) + a) + b + a;
    }
    CHECK(wrong == 0);
  }
};

}  // namespace

TEST_CASE("plan: kernels run in order, intermediates share memory when they may") {
  on_devices([](tw::Device& device) {
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    Chain::check(device, plan, 1000, 5);
    CHECK(plan.intermediate_bytes() == 3 * 4000);
    CHECK(plan.workspace_bytes() == 2 * 4096);  // t2 takes the place of t0
    CHECK(plan.compilations() == 0);
  });
}

TEST_CASE("plan: an intermediate that is read late keeps its memory") {
  on_devices([](tw::Device& device) {
    Chain chain;
    chain.program->program.kernels.back().arguments[1].buffer = chain.program->buffer("t0");  // y = t2 + t0
    const tw::Plan plan = chain.program->plan(device);
    auto x = device.upload(std::vector<float>(500, 1)), w = device.upload(std::vector<float>(500, 5)), y = device.allocate<float>(500);
    plan.run({{"x", x}, {"w", w}, {"y", y}});
    CHECK(y.download() == std::vector<float>(500, 4 * (3 * 3 + 1) + 5 + 3));
    CHECK(plan.workspace_bytes() == 3 * 2048);
  });
}

TEST_CASE("plan: one plan serves every length, and memory grows and stays") {
  on_devices([](tw::Device& device) {
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    CHECK(plan.intermediate_bytes() == 3 * 4);  // for the least length
    for (std::size_t n : {33, 1, 1000, 64, 65, 2000}) {
      Chain::check(device, plan, n, static_cast<float>(n));
      CHECK(plan.intermediate_bytes() == 3 * n * 4);
      CHECK(plan.kernels()[0].grid[0] == static_cast<std::int64_t>((n + 63) / 64));
      CHECK(plan.kernels()[1].bytes_read == static_cast<std::int64_t>(2 * n * 4));
    }
    CHECK(plan.compilations() == 0);
  });
}

TEST_CASE("plan: copies share the plan") {
  tw::Device device = tw::Device::open("cpu");
  Chain chain;
  tw::Plan plan = chain.program->plan(device);
  const tw::Plan copy = plan;
  Chain::check(device, plan, 50, 1);
  CHECK(copy.intermediate_bytes() == 3 * 200);
  plan = tw::Plan();
  Chain::check(device, copy, 70, 2);
}

TEST_CASE("plan: runs on several streams follow each other") {
  on_devices([](tw::Device& device) {
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    std::optional<tw::Stream> a = device.stream();
    const tw::Stream b = device.stream();
    Chain::check(device, plan, 100, 1, {.stream = *a});
    Chain::check(device, plan, 3000, 2, {.stream = b});
    Chain::check(device, plan, 100, 3);
    Chain::check(device, plan, 200, 4, {.stream = *a});
    a.reset();  // the plan does not need it any more
    Chain::check(device, plan, 300, 5, {.stream = b});
    Chain::check(device, plan, 300, 6);
  });
}

TEST_CASE("plan: on a GPU a run waits for the one before on another stream, and for nothing else") {
  tw::rt::cuda::FakeDriver driver;
  tw::Device device(tw::rt::cuda::open_fake(driver));
  Chain chain;
  const tw::Plan plan = chain.program->plan(device);
  auto x = device.allocate<float>(100), w = device.allocate<float>(100), y = device.allocate<float>(100);
  const auto calls = [&](const std::string& name, const tw::RunOptions& options) {
    const std::size_t before = driver.calls.size();
    plan.run({{"x", x}, {"w", w}, {"y", y}}, options);
    const std::string all = driver.since(before);
    std::size_t count = 0;
    for (auto at = all.find(name); at != std::string::npos; at = all.find(name, at + 1)) ++count;
    return count;
  };
  const tw::Stream a = device.stream(), b = device.stream();
  CHECK(calls("cuGraphLaunch", {}) == 1);
  CHECK(calls("cuStreamWaitEvent", {}) == 0);
  CHECK(calls("cuEventRecord", {}) == 0);
  CHECK(calls("cuMem", {}) == 0);  // the workspace is there
  CHECK(calls("cuModule", {}) == 0);
  CHECK(calls("cuStreamWaitEvent", {.stream = a}) == 1);
  CHECK(calls("cuStreamWaitEvent", {.stream = a}) == 0);
  CHECK(calls("cuStreamWaitEvent", {.stream = b}) == 1);
  CHECK(calls("cuStreamWaitEvent", {.stream = b}) == 0);
  CHECK(calls("cuStreamWaitEvent", {}) == 1);
  CHECK(calls("cuStreamWaitEvent", {}) == 0);
  CHECK(calls("Synchronize", {}) == 0);
}

TEST_CASE("plan: threads run one plan at once") {
  on_devices([](tw::Device& device) {
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const tw::Stream stream = device.stream();
        for (int i = 0; i < 10; ++i) {
          const std::size_t count = 50 + 100 * static_cast<std::size_t>((t + i) % 4);
          auto x = device.upload(std::vector<float>(count, static_cast<float>(t))), w = device.upload(std::vector<float>(count, 1));
          auto y = device.upload(std::vector<float>(count, -1.0f));
          plan.run({{"x", x}, {"w", w}, {"y", y}}, {.stream = stream});
          stream.synchronize();
          wrong += y.download() != std::vector<float>(count, 41 * static_cast<float>(t) + 1);
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
  });
}

TEST_CASE("plan: a warm run on the cpu allocates nothing") {
  tw::Device device = tw::Device::open("cpu");
  Chain chain;
  const tw::Plan plan = chain.program->plan(device);
  auto x = device.upload(counted(100)), w = device.upload(counted(100)), y = device.allocate<float>(100);
  const auto run = [&] {
    const long before = tw::rt::allocations_so_far();
    plan.run({{"x", x}, {"w", w}, {"y", y}});
    return tw::rt::allocations_so_far() - before;
  };
  CHECK(run() > 20);
  CHECK(run() == 0);
}

TEST_CASE("plan: what is computed from parameters alone is kept until one of them is given again") {
  on_devices([](tw::Device& device) {
    tw::Graph graph;
    auto x = graph.input<float>("x", {100});
    auto w = graph.parameter<float>("w", {100}), v = graph.parameter<float>("v", {100});
    graph.output("y", x + w + v);
    FakeProgram program(graph);
    program.add("d", BufferKind::derived, {100});
    program.kernel("d", 10, "w", "w", true);
    program.add("t", BufferKind::intermediate, {100});
    program.kernel("t", 1, "d", "x");
    program.kernel("y", 1, "t", "v");
    const tw::Plan plan = program.plan(device);
    CHECK(plan.parameter_kernels().size() == 1);

    auto bx = device.upload(std::vector<float>(100, 1)), bw = device.upload(std::vector<float>(100, 2)),
         bv = device.upload(std::vector<float>(100, 5)), y = device.allocate<float>(100);
    const auto is = [&](float value) { return y.download() == std::vector<float>(100, value); };
    plan.run({{"x", bx}, {"w", bw}, {"v", bv}, {"y", y}});
    CHECK(is(22 + 1 + 5));
    bx.fill(3), bw.fill(4);
    plan.run({{"x", bx}, {"y", y}});
    CHECK(is(22 + 3 + 5));  // d was not computed again
    plan.run({{"x", bx}, {"v", bv}, {"y", y}});
    CHECK(is(22 + 3 + 5));  // d does not depend on v
    plan.run({{"x", bx}, {"w", bw}, {"y", y}});
    CHECK(is(44 + 3 + 5));
    auto moved = std::move(bv);
    moved.fill(6);  // read at each run: only the contents matter, wherever the object is
    plan.run({{"x", bx}, {"y", y}});
    CHECK(is(44 + 3 + 6));
  });
}

TEST_CASE("plan: derived tensors follow the symbols of their extents") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n"), m = graph.dim("m");
  auto x = graph.input<float>("x", {m});
  auto w = graph.parameter<float>("w", {n});
  graph.output("y", w + 0.0f), graph.output("z", x + 0.0f);
  FakeProgram program(graph);
  program.add("d", BufferKind::derived, {n});
  program.kernel("d", 10, "w", "w", true);
  program.kernel("y", 1, "d", "d");
  program.kernel("z", 1, "x", "x");
  const tw::Plan plan = program.plan(device);
  auto bx = device.upload(std::vector<float>(7, 1)), w1 = device.upload(counted(10)), w2 = device.upload(counted(500)),
       y1 = device.allocate<float>(10), y2 = device.allocate<float>(500), z = device.allocate<float>(7);
  const auto times22 = [](float v) { return 22 * v; };
  plan.run({{"x", bx}, {"w", w1}, {"y", y1}, {"z", z}});
  CHECK(y1.download() == mapped(counted(10), times22));
  plan.run({{"x", bx}, {"w", w2}, {"y", y2}, {"z", z}});
  CHECK(y2.download() == mapped(counted(500), times22));
  plan.run({{"x", bx}, {"w", w1}, {"y", y1}, {"z", z}});
  CHECK(y1.download() == mapped(counted(10), times22));
  // Another m is nothing to d.
  auto bx2 = device.upload(std::vector<float>(9, 1)), z2 = device.allocate<float>(9);
  w1.fill(0);
  plan.run({{"x", bx2}, {"y", y1}, {"z", z2}});
  CHECK(y1.download() == mapped(counted(10), times22));
}

TEST_CASE("plan: constants of one element and of many are uploaded") {
  on_devices([](tw::Device& device) {
    tw::Graph graph;
    auto x = graph.input<float>("x", {3});
    graph.output("y", x + 0.0f);
    FakeProgram program(graph);
    const auto bits = [](float v) { return std::uint64_t{std::bit_cast<std::uint32_t>(v)}; };
    const int one = program.add("one", BufferKind::constant, {3}), many = program.add("many", BufferKind::constant, {3});
    program.program.buffers[one].data = std::make_shared<tw::graph::ConstantData>(tw::graph::ConstantData{{bits(7)}});
    program.program.buffers[many].data = std::make_shared<tw::graph::ConstantData>(tw::graph::ConstantData{{bits(1), bits(2), bits(-3)}});
    program.add("t", BufferKind::intermediate, {3});
    program.kernel("t", 2, "one", "many");
    program.kernel("y", 1, "t", "x");
    const tw::Plan plan = program.plan(device);
    auto bx = device.upload(std::vector<float>{100, 200, 300}), y = device.allocate<float>(3);
    for (int i = 0; i < 2; ++i) {
      y.fill(0);
      plan.run({{"x", bx}, {"y", y}});
      CHECK(y.download() == std::vector<float>{129 - 14, 216, 325 - 14});
    }
  });
}

TEST_CASE("plan: scalars are numbers of the run") {
  on_devices([](tw::Device& device) {
    tw::Graph graph;
    const auto x = graph.input<float>("x", {4});
    graph.output("y", x + graph.scalar<float>("alpha"));
    FakeProgram program(graph);
    program.kernel("y", 2, "x", "", false, "alpha");
    const tw::Plan plan = program.plan(device);
    auto bx = device.upload(counted(4)), y = device.allocate<float>(4);
    plan.run({{"x", bx}, {"y", y}, {"alpha", 0.5f}});
    CHECK(y.download() == std::vector<float>{0.5f, 2.5f, 4.5f, 6.5f});
    plan.run({{"x", bx}, {"y", y}, {"alpha", -3}});
    CHECK(y.download() == std::vector<float>{-3, -1, 1, 3});
  });
}

TEST_CASE("plan: a buffer that is less aligned takes a variant of the kernel, compiled once") {
  on_devices([](tw::Device& device) {
    Chain chain;
    const tw::Plan plan = chain.program->plan(device);
    auto x = device.upload(counted(201)), w = device.upload(counted(200, 1)), y = device.upload(std::vector<float>(203, -1));
    const auto value = [](float a, float b) { return 4 * (3 * (2 * a + a) + a) + b + a; };
    for (int i = 0; i < 2; ++i) {
      y.fill(-1);
      plan.run({{"x", x + 1}, {"w", w}, {"y", y + 3}});
      const auto got = y.download();
      CHECK(got[2] == -1);
      CHECK(got[3] == value(1, 1));
      CHECK(got[202] == value(200, 200));
      CHECK(plan.compilations() == 3);  // t0, t1 and y read x
    }
    Chain::check(device, plan, 200, 3);
    CHECK(plan.compilations() == 3);
  });
}

TEST_CASE("plan: views give extents, and buffers with strides may be larger") {
  on_devices([](tw::Device& device) {
    tw::Graph graph;
    const tw::Dim n = graph.dim("n"), m = graph.dim("m");
    auto x = graph.input<float>("x", {n, m});
    auto s = graph.input<float>("s", {n * m}, {3});
    graph.output("y", x + 0.0f);
    FakeProgram program(graph);
    program.add("t", BufferKind::intermediate, {n, m});
    program.kernel("t", 1, "s", "x", false, "", 3);
    program.kernel("y", 1, "t", "x");
    const tw::Plan plan = program.plan(device);
    auto bx = device.upload(counted(20)), bs = device.upload(counted(40)), y = device.allocate<float>(12);
    plan.run({{"x", tw::view(std::as_const(bx), {3, 4})}, {"s", bs}, {"y", tw::view(y, {3, 4})}});
    CHECK(y.download() == mapped(counted(12), [](float v) { return 5 * v; }));
    plan.run({{"x", bx + 2}, {"s", bs}, {"y", y}, {"m", 3}});  // the 12 elements of y, and m: n is 4
    CHECK(y.download() == mapped(counted(12), [](float v) { return 5 * v + 4; }));
    const std::vector<tw::RunArgument> arguments{{"x", bx}, {"s", bs}, {"y", y + 0}, {"n", 5}, {"m", 4}};
    CHECK_THROWS_AS(plan.run(arguments), tw::Error);  // y is too short for 20
    const auto longer = device.allocate<float>(20);
    CHECK_THROWS_AS(plan.run({{"x", bx}, {"s", bs}, {"y", longer}, {"n", 5}}), tw::Error);  // const
  });
}

TEST_CASE("plan: an input that no output needs may be missing, and may be given") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  auto x = graph.input<float>("x", {4});
  graph.input<float>("idle", {graph.dim("k")});
  graph.output("y", x + 0.0f);
  FakeProgram program(graph);
  program.program.buffers[program.buffer("idle")].is_used = false;
  program.kernel("y", 1, "x", "x");
  const tw::Plan plan = program.plan(device);
  auto bx = device.upload(counted(4)), idle = device.allocate<float>(9), y = device.allocate<float>(4);
  plan.run({{"x", bx}, {"y", y}});
  CHECK(y.download() == std::vector<float>{0, 2, 4, 6});
  y.fill(0);
  plan.run({{"x", bx}, {"y", y}, {"idle", idle}});
  CHECK(y.download() == std::vector<float>{0, 2, 4, 6});
}

TEST_CASE("plan: inputs may be one buffer") {
  tw::Device device = tw::Device::open("cpu");
  Chain chain;
  const tw::Plan plan = chain.program->plan(device);
  auto x = device.upload(std::vector<float>(10, 1)), y = device.allocate<float>(10);
  plan.run({{"x", x}, {"w", x}, {"y", y}});
  CHECK(y.download() == std::vector<float>(10, 42));
}

}  // namespace fake_program

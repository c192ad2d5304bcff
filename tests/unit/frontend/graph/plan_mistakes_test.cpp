// Mistakes at run(): the message names the user's line and what is wrong, nothing is launched, and the plan works afterwards.
#include <optional>

#include "tests/messages.h"
#include "tests/unit/frontend/graph/fake_program.h"

namespace fake_program {
namespace {

using tilewright::test::has;

/// y = x + x of [n, 4], z = 2 p + s(strides 8) of [k / 2, 3]; w is a parameter of y's shape.
struct Bench {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  std::optional<tw::Plan> plan;
  tw::Buffer<float> x = device.upload(counted(20)), w = device.upload(std::vector<float>(20, 1)), p = device.upload(counted(12)),
                    s = device.upload(counted(100)), y = device.allocate<float>(20), z = device.allocate<float>(12);

  Bench() {
    const tw::Dim n = graph.dim("n", {.min = 2, .max = 64, .multiple_of = 1}), k = graph.dim("k", {.max = 1000, .multiple_of = 4});
    const tw::Dim free = graph.dim("free", {.max = 9});
    auto tx = graph.input<float>("x", {n, 4});
    auto tw_ = graph.parameter<float>("w", {n, 4});
    auto tp = graph.input<float>("p", {k / 2, 3});
    auto ts = graph.input<float>("s", {k / 2, 3}, {8, 1});
    graph.input<float>("many", {n, free});
    graph.output("y", tx + tw_), graph.output("z", tp + ts * graph.scalar<float>("alpha"));
    FakeProgram program(graph);
    program.program.buffers[program.buffer("many")].is_used = false;
    program.add("t", BufferKind::intermediate, {k / 2, 3});
    program.kernel("y", 1, "x", "w");
    program.kernel("t", 2, "p", "", false, "alpha");
    program.kernel("z", 1, "t", "p");
    program.program.kernels.back().arguments[1].buffer = program.buffer("s");
    plan = program.plan(device);
  }
  bool works() {
    y.fill(0), z.fill(0);
    plan->run({{"x", x}, {"w", w}, {"p", p}, {"s", s}, {"y", y}, {"z", z}, {"alpha", 2}});
    const auto hz = z.download();
    return y.download() == mapped(counted(20), [](float v) { return v + 1; }) && hz[0] == 2 && hz[11] == 2 * 11 + 2 + 11;
  }
};

/// The error is at this line with this text and these notes, and wrote nothing.
void mistake(int line, const std::string& expected, const std::vector<std::string>& notes, const std::function<void(Bench&)>& act) {
  CAPTURE(expected);
  for (const bool is_warm : {false, true}) {
    Bench bench;
    if (is_warm) CHECK(bench.works());
    bench.y.fill(-5), bench.z.fill(-5);
    std::string what;
    try {
      act(bench);
    } catch (const tw::Error& e) {
      what = e.what();
      CHECK(e.where().line == line);
      CHECK(has(e.where().file, "plan_mistakes_test.cpp"));
    }
    INFO("what(): " << what);
    CHECK(has(what, ": error: run: " + expected));
    for (const std::string& note : notes) CHECK(has(what, "note: " + note));
    CHECK(bench.y.download() == std::vector<float>(20, -5));
    CHECK(bench.z.download() == std::vector<float>(12, -5));
    CHECK(bench.works());
  }
}

}  // namespace

// A mistake and its check stand on one line:
// clang-format off

TEST_CASE("plan mistakes: names") {
  mistake(__LINE__, "nothing of this plan has the name 'q'; the names are 'x', 'w', 'p', 's', 'many', 'y', 'z', 'alpha', 'n', 'k', 'free'", {}, [](Bench& b) { b.plan->run({{"q", b.x}, {"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "input 'x' is given twice", {"'x' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x}, {"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "no buffer is given for input 'p'", {"'p' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "no buffer is given for output 'z'", {"'z' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"alpha", 2}}); });
  mistake(__LINE__, "no number is given for scalar 'alpha'", {"'alpha' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}}); });
}

TEST_CASE("plan mistakes: a parameter is missing in the first run") {
  Bench b;
  CHECK_THROWS_WITH_AS(b.plan->run({{"x", b.x}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}), doctest::Contains("no buffer is given for parameter 'w'; only later runs may leave it out"), tw::Error);
  // A run that fails does not count as the first one.
  CHECK_THROWS_AS(b.plan->run({{"x", b.x}, {"w", b.w}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}), tw::Error);
  CHECK_THROWS_WITH_AS(b.plan->run({{"x", b.x}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}), doctest::Contains("parameter 'w'"), tw::Error);
  CHECK(b.works());
  b.plan->run({{"x", b.x}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}});
}

TEST_CASE("plan mistakes: kinds, types and const") {
  mistake(__LINE__, "input 'x': its elements are float, and a buffer of int32_t is given", {}, [](Bench& b) { auto i = b.device.allocate<std::int32_t>(20); b.plan->run({{"x", i}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "input 'x': a number is given, and not a buffer", {}, [](Bench& b) { b.plan->run({{"x", 3}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "scalar 'alpha' is a number, and a buffer is given", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", b.x}}); });
  mistake(__LINE__, "scalar 'alpha': constant 1e+300 ", {"'alpha' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 1e300}}); });
  mistake(__LINE__, "symbol 'n' is an extent; its value is an integer", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}, {"n", 5.0}}); });
  mistake(__LINE__, "output 'y': a const buffer is given, which is for inputs only", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", std::as_const(b.y)}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "output 'y': a const buffer is given", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", std::as_const(b.y) + 0}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "input 'x': the buffer is empty", {}, [](Bench& b) { tw::Buffer<float> none; b.plan->run({{"x", none}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "input 'x': the view is none", {}, [](Bench& b) { b.plan->run({{"x", tw::View<float, 2>()}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "input 'x': buffer + 21: the buffer has 20 elements, and the offset must be 0 to 20", {}, [](Bench& b) { b.plan->run({{"x", b.x + 21}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
}

TEST_CASE("plan mistakes: sizes") {
  mistake(__LINE__, "the 21 elements of 'x' [n, 4] fit no value of 'n'", {"'x' declared here"}, [](Bench& b) { auto odd = b.device.allocate<float>(21); b.plan->run({{"x", odd}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'y' is [n, 4], where n = 5, and has 20 elements; the buffer given has 19", {}, [](Bench& b) { auto odd = b.device.allocate<float>(19); b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", odd}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'s' is [k / 2, 3] with strides [8, 1], and needs 27 elements; the buffer given has 26", {}, [](Bench& b) { auto odd = b.device.allocate<float>(26); b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", odd}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'x' is [n, 4], and needs 20 elements; the buffer given has 19 from there", {}, [](Bench& b) { b.plan->run({{"x", b.x + 1}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'x' is [n, 4]; the view given has 1 axis", {}, [](Bench& b) { b.plan->run({{"x", tw::view(b.x, {20})}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'x' is [n, 4]; axis 1 of the view given has extent 5", {}, [](Bench& b) { b.plan->run({{"x", tw::view(b.x, {4, 5})}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "'w': axis 1 of the view given has stride 5; the plan was compiled for 1", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", tw::view(b.w, {5, 4}, {1, 5})}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
}

TEST_CASE("plan mistakes: symbols") {
  mistake(__LINE__, "symbol 'n' has two values: 5 by the 20 elements of 'x' [n, 4], and 6 by the 24 elements of 'w' [n, 4]", {"'x' declared here", "'w' declared here"}, [](Bench& b) { auto six = b.device.allocate<float>(24); b.plan->run({{"x", b.x}, {"w", six}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "symbol 'n' has two values: 7 by the 7 given for 'n', and 5 by the 20 elements of 'x' [n, 4]", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}, {"n", 7}}); });
  mistake(__LINE__, "symbol 'n' has two values: 5 by extent 5 of axis 0 of the view 'w' [n, 4], and 6 by the 24 elements of 'x' [n, 4]", {}, [](Bench& b) { auto six = b.device.allocate<float>(24); b.plan->run({{"x", six}, {"w", tw::view(b.w, {5, 4})}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "no view and no buffer tells the value of symbol 'n'; give it by name, as {\"n\", 8}", {"'n' declared here"}, [](Bench& b) { b.plan->run({{"x", b.x + 0}, {"w", b.w + 0}, {"p", b.p}, {"s", b.s}, {"y", b.y + 0}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "symbol 'n' is 1 by the 4 elements of 'x' [n, 4]; it must be at least 2", {"'n' declared here"}, [](Bench& b) { auto one = b.device.allocate<float>(4), also = b.device.allocate<float>(4), out = b.device.allocate<float>(4); b.plan->run({{"x", one}, {"w", also}, {"p", b.p}, {"s", b.s}, {"y", out}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "symbol 'n' is 65 by the 65 given for 'n'; it must be at most 64", {}, [](Bench& b) { auto big = b.device.allocate<float>(260), out = b.device.allocate<float>(260); b.plan->run({{"x", big}, {"w", big}, {"p", b.p}, {"s", b.s}, {"y", out}, {"z", b.z}, {"alpha", 2}, {"n", 65}}); });
  mistake(__LINE__, "symbol 'k' is 6 by the 9 elements of 'p' [k / 2, 3]; it must be a multiple of 4", {}, [](Bench& b) { auto three = b.device.allocate<float>(9), out = b.device.allocate<float>(9); b.plan->run({{"x", b.x}, {"w", b.w}, {"p", three}, {"s", b.s}, {"y", b.y}, {"z", out}, {"alpha", 2}}); });
}

TEST_CASE("plan mistakes: memory that is shared with an output") {
  mistake(__LINE__, "output 'y' shares memory with input 'x'; an output has memory of its own", {"'y' declared here"}, [](Bench& b) { b.plan->run({{"x", b.y}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "output 'y' shares memory with output 'z'", {}, [](Bench& b) { auto both = b.device.allocate<float>(31); b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", both + 0}, {"z", both + 19}, {"alpha", 2}}); });
  mistake(__LINE__, "output 'y' shares memory with input 's'", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.s + 80}, {"z", b.z}, {"alpha", 2}}); });
  Bench b;
  auto both = b.device.allocate<float>(32);
  b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", both + 0}, {"z", both + 20}, {"alpha", 2}});  // neighbours
  CHECK(both.download()[19] == 20);
  // A parameter of an earlier run counts.
  CHECK_THROWS_WITH_AS(b.plan->run({{"x", b.x}, {"p", b.p}, {"s", b.s}, {"y", b.w}, {"z", b.z}, {"alpha", 2}}), doctest::Contains("output 'y' shares memory with parameter 'w'"), tw::Error);
}

TEST_CASE("plan mistakes: devices and streams") {
  static const tw::Device other = tw::Device::open("emulator:sm_80");
  mistake(__LINE__, "input 'x': the buffer is on device 'emulator:sm_80', but the plan was compiled for device 'cpu'", {}, [](Bench& b) { auto far = other.allocate<float>(20); b.plan->run({{"x", far}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}); });
  mistake(__LINE__, "the stream is on device 'emulator:sm_80', but the plan was compiled for device 'cpu'", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}, {.stream = other.stream()}); });
  mistake(__LINE__, "the stream is none", {}, [](Bench& b) { b.plan->run({{"x", b.x}, {"w", b.w}, {"p", b.p}, {"s", b.s}, {"y", b.y}, {"z", b.z}, {"alpha", 2}}, {.stream = tw::Stream()}); });
  CHECK_THROWS_WITH_AS(tw::Plan().run({}), doctest::Contains("run: this plan is empty"), tw::Error);
}

// clang-format on

TEST_CASE("plan mistakes: quotients, 32 bits, grids and workspaces") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {n});
  graph.output("y", tw::reshape(tw::reshape(x, {n / 4, 4}), {n}));
  FakeProgram program(graph);
  program.add("t", BufferKind::intermediate, {n});
  program.kernel("t", 1, "x", "x");
  program.kernel("y", 1, "t", "t");
  auto x8 = device.upload(counted(8)), y8 = device.allocate<float>(8), x7 = device.upload(counted(7)), y7 = device.allocate<float>(7);
  const tw::Plan plan = program.plan(device);
  plan.run({{"x", x8}, {"y", y8}});
  CHECK_THROWS_WITH_AS(plan.run({{"x", x7}, {"y", y7}}), doctest::Contains("extent 'n / 4' is not an integer of 64 bits for n = 7"),
                       tw::Error);
  CHECK(plan.intermediate_bytes() == 32);  // still those of the run that was launched
  y8.fill(0);
  plan.run({{"x", x8}, {"y", y8}});
  CHECK(y8.download()[7] == 28);

  const tw::Plan small = program.plan(device, 256);
  small.run({{"x", x8}, {"y", y8}});
  auto xl = device.upload(counted(400)), yl = device.allocate<float>(400);
  CHECK_THROWS_WITH_AS(small.run({{"x", xl}, {"y", yl}}), doctest::Contains("need a workspace of 1792 bytes; max_workspace is 256"),
                       tw::Error);
  CHECK_THROWS_WITH_AS(program.plan(device, 255), doctest::Contains("compile: the plan needs a workspace of 256 bytes"), tw::Error);

  tw::Graph wide;
  const tw::Dim m = wide.dim("m");
  wide.output("y", wide.input<float>("x", {m * 1000000000}));
  FakeProgram large(wide);
  large.kernel("y", 1, "x", "x");
  auto few = device.allocate<float>(10);
  CHECK_THROWS_WITH_AS(
      large.plan(device).run({{"x", few + 0}, {"y", few + 0}, {"m", 3}}),
      doctest::Contains("extent '1000000000 m' is 3000000000, which does not fit the 32 bits that kernel 'make_y' has for it"), tw::Error);
  std::swap(large.program.kernels[0].grid[0], large.program.kernels[0].grid[1]);
  CHECK_THROWS_WITH_AS(large.plan(device).run({{"x", few + 0}, {"y", few + 0}, {"m", 1}}),
                       doctest::Contains("kernel 'make_y' needs 15625000 programs along axis 1 of its grid; devices have at most 65535"),
                       tw::Error);
}

// Kernels compute positions in 32 bits unless the greatest extent is declared.
TEST_CASE("plan mistakes: extents above 2^31 are refused or declared") {
  const tw::Device device = tw::Device::open("cpu");
  auto y = device.allocate<std::int64_t>(1);
  for (const bool is_declared : {false, true}) {
    tw::Graph graph;
    const tw::Dim n = graph.dim("n", {.multiple_of = 65536}),
                  m = is_declared ? graph.dim("m", {.max = std::int64_t{1} << 40}) : graph.dim("m");
    graph.output("y", tw::max(tw::iota<std::int64_t>(graph, {m}, 0) % 1000));
    graph.output("z", tw::iota<std::int64_t>(graph, {n}, 0) / 2);
    const tw::Plan plan = graph.compile(device);
    auto z = device.allocate<std::int64_t>(65536);
    const auto run = [&](std::int64_t value) { plan.run({{"m", value}, {"y", y}, {"z", z}}); };
    run(777);
    CHECK(y.download()[0] == 776);
    CHECK(z.download()[65535] == 32767);
    if (!is_declared) CHECK_THROWS_WITH_AS(run(std::int64_t{1} << 31), doctest::Contains("extent 'm' is 2147483648; kernel"), tw::Error);
  }
}

}  // namespace fake_program

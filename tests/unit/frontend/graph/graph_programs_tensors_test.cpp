// Programs of users over all kinds of tensors: extents with symbols, views with strides, larger buffers, ranks 0 and 6, mistakes.
#include <cstdint>
#include <thread>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

const std::vector<std::string>& two_devices() {
  static const std::vector<std::string> all{"cpu", "emulator:sm_80"};
  return all;
}

// The lines of messages are tested in plan_mistakes_test.cpp.
std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const tw::Error& e) {
    CHECK(e.where().file.find("graph_programs_tensors_test.cpp") != std::string::npos);
    return e.what();
  }
  return "no error";
}
void mistake(const std::string& text, const std::function<void()>& act) {
  const std::string what = error_of(act);
  CAPTURE(what);
  CHECK(what.find(text) != std::string::npos);
}

std::vector<float> counted(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i);
  return v;
}

}  // namespace

// Scales of blocks, of which the last one is not full: a user's quantisation by blocks.
TEST_CASE("graph programs: blocks of an axis, rounded up") {
  constexpr std::int64_t kBlock = 64;
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0}), blocks = tw::cdiv(n, kBlock);
  auto x = graph.input<float>("x", {n, 3});
  auto bias = graph.input<float>("bias", {blocks, 3});
  auto in_blocks = tw::reshape(tw::pad(x, 0, 0, kBlock * blocks - n), {blocks, kBlock, 3});
  graph.output("sums", tw::sum(in_blocks, 1) + bias);
  graph.output("y", tw::slice(tw::reshape(in_blocks * tw::expand_dims(bias, 1), {kBlock * blocks, 3}), 0, 0, n));
  for (const std::string& name : two_devices())
    for (const bool fuse : {true, false}) {
      CAPTURE(name);
      tw::Device device = tw::Device::open(name);
      const tw::Plan plan = graph.compile(device, {.fuse = fuse});
      for (const std::size_t hn : {0u, 1u, 63u, 64u, 65u, 300u}) {
        CAPTURE(hn);
        const std::size_t count = (hn + kBlock - 1) / kBlock;
        auto bx = device.upload(counted(3 * hn)), bb = device.upload(counted(3 * count)), sums = device.allocate<float>(3 * count),
             y = device.allocate<float>(3 * hn);
        plan.run({{"x", bx}, {"bias", bb}, {"sums", sums}, {"y", y}});
        std::vector<float> want_sums = counted(3 * count), want = counted(3 * hn);
        for (std::size_t i = 0; i < 3 * hn; ++i) {
          const std::size_t at = i / 3 / kBlock * 3 + i % 3;
          want_sums[at] += static_cast<float>(i);
          want[i] *= static_cast<float>(at);
        }
        CHECK(sums.download() == want_sums);
        CHECK(y.download() == want);
      }
      CHECK(plan.compilations() == 0);
    }
}

TEST_CASE("graph programs: extents are one if they are equal as expressions") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n"), m = graph.dim("m", {.min = 4, .max = 400, .multiple_of = 4});
  auto a = graph.input<float>("a", {n + m, 2 * n}), b = graph.input<float>("b", {m + n, n * 4 / 2}),
       c = graph.input<float>("c", {1, n + n});
  auto d = graph.input<float>("d", {m / 4, 4});
  graph.output("y", (a + b) * c);
  graph.output("z", tw::reshape(d, {m}));
  for (const std::string& name : two_devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = graph.compile(device);
    for (const auto& [hn, hm] : {std::pair<std::size_t, std::size_t>{1, 4}, {3, 8}, {33, 40}}) {
      const std::size_t count = (hn + hm) * 2 * hn;
      auto ba = device.upload(counted(count)), bb = device.upload(std::vector<float>(count, 2)),
           bc = device.upload(std::vector<float>(2 * hn, 0.5f)), bd = device.upload(counted(hm)), y = device.allocate<float>(count),
           z = device.allocate<float>(hm);
      plan.run({{"a", ba}, {"b", bb}, {"c", bc}, {"d", bd}, {"y", y}, {"z", z}});
      std::vector<float> want = counted(count);
      for (float& v : want) v = (v + 2) * 0.5f;
      CHECK(y.download() == want);
      CHECK(z.download() == counted(hm));
    }
    CHECK(plan.compilations() == 0);
  }
  mistake("extents must be equal or 1", [&] { a + graph.input<float>("e", {n + m, n}); });
}

TEST_CASE("graph programs: a quotient that does not come out even is an error of the run that finds it") {
  for (const std::string& name : two_devices()) {
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const tw::Dim n = graph.dim("n");
    auto x = graph.input<float>("x", {n, 6});
    graph.output("y", tw::sum(tw::reshape(x, {n / 2, 2, 6}), 1));
    const tw::Plan plan = graph.compile(device);
    auto x4 = device.upload(counted(24)), y4 = device.allocate<float>(12), x3 = device.upload(counted(18)), y3 = device.allocate<float>(9);
    plan.run({{"x", x4}, {"y", y4}});
    y3.fill(-1);
    mistake("extent 'n / 2' is not an integer of 64 bits for n = 3", [&] { plan.run({{"x", x3}, {"y", y3 + 0}}); });
    CHECK(y3.download() == std::vector<float>(9, -1));
    y4.fill(0);
    plan.run({{"x", x4}, {"y", y4}});
    CHECK(y4.download()[0] == 6);
  }
}

TEST_CASE("graph programs: a quotient of extents that a formula uses as a number says so") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {n});
  graph.output("y", x * (1 / n));
  const tw::Plan plan = graph.compile(device);
  auto x1 = device.upload(counted(1)), y1 = device.allocate<float>(1), x3 = device.upload(counted(3)), y3 = device.allocate<float>(3);
  plan.run({{"x", x1}, {"y", y1}});
  mistake(
      "number '1 / n' is not an integer of 64 bits for n = 3; a quotient of extents is an integer: a tensor divided by an extent is a "
      "fraction",
      [&] { plan.run({{"x", x3}, {"y", y3}}); });
  mistake("a formula uses this number here", [&] { plan.run({{"x", x3}, {"y", y3}}); });
}

TEST_CASE("graph programs: symbols within bounds, by views, by buffers and by name") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 2, .max = 10, .multiple_of = 2}), k = graph.dim("k");
  auto x = graph.input<float>("x", {n, k});
  graph.output("y", tw::sum(x, 1));
  const tw::Plan plan = graph.compile(device);
  auto x12 = device.upload(counted(12)), y4 = device.allocate<float>(4);
  plan.run({{"x", tw::view(x12, {4, 3})}, {"y", y4}});
  CHECK(y4.download() == std::vector<float>{3, 12, 21, 30});
  y4.fill(0);
  plan.run({{"x", x12}, {"y", y4}});  // n = 4 by y, k = 3 by x
  CHECK(y4.download() == std::vector<float>{3, 12, 21, 30});
  plan.run({{"x", x12}, {"y", y4 + 0}, {"n", 4}});
  mistake("no view and no buffer tells the value of symbol", [&] { plan.run({{"x", x12}, {"y", y4 + 0}}); });
  mistake("symbol 'n' is 3 by the 3 given for 'n'; it must be a multiple of 2", [&] { plan.run({{"x", x12}, {"y", y4 + 0}, {"n", 3}}); });
  mistake("symbol 'n' is 12 by the 12 given for 'n'; it must be at most 10", [&] { plan.run({{"x", x12}, {"y", y4 + 0}, {"n", 12}}); });
  mistake("symbol 'n' has two values", [&] { plan.run({{"x", tw::view(x12, {6, 2})}, {"y", y4}}); });
  auto x13 = device.allocate<float>(13);
  mistake("fit no value of 'k'", [&] { plan.run({{"x", x13}, {"y", y4}}); });
  mistake("input 'x' is given twice", [&] { plan.run({{"x", x12}, {"y", y4}, {"x", x12}}); });
}

TEST_CASE("graph programs: a run with a size that the graph's extents cannot have is refused") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {n});
  graph.output("half", tw::slice(x, 0, 0, n / 2));
  graph.output("first", tw::slice(x, 0, 0, 4));
  const tw::Plan plan = graph.compile(device);
  const auto run = [&](int given, int half) {
    auto input = device.upload(counted(given)), halves = device.allocate<float>(half), first = device.allocate<float>(4);
    plan.run({{"x", input}, {"half", halves}, {"first", first}});
    return first.download();
  };
  CHECK(run(6, 3) == std::vector<float>{0, 1, 2, 3});
  mistake("'half' is [n / 2]: extent 'n / 2' is not an integer of 64 bits for n = 5 by the 5 elements of 'x' [n]", [&] { run(5, 2); });
  mistake("'n - 4' is -2 for n = 2; it must be at least 0", [&] { run(2, 1); });
  mistake("'slice' requires this here", [&] { run(2, 1); });
}

TEST_CASE("graph programs: views with strides read the elements that they name, in buffers that may be larger") {
  for (const std::string& name : two_devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const tw::Dim n = graph.dim("n", {.max = 1000}), pitch = graph.dim("pitch", {.max = 1000});
    auto rows = graph.input<float>("rows", {n, 5}, {pitch, 1});    // a part of wider rows
    auto columns = graph.input<float>("columns", {5, n}, {1, 8});  // transposed
    auto row = graph.input<float>("row", {n, 5}, {0, 2});          // one row, every other element, for all rows
    auto windows = graph.input<float>("windows", {n, 5}, {1, 1});  // overlapping windows
    graph.output("y", rows + tw::transpose(columns) * 100.0f + row * 10000.0f + windows * 0.25f);
    graph.output("product", tw::matmul(rows, columns));
    const tw::Plan plan = graph.compile(device);
    for (const int count : {1, 3, 40}) {
      const int width = 7 + count % 4;
      const auto size = static_cast<std::size_t>(count);
      // 'rows' has the last element and nothing behind it; the others have more.
      const std::vector<float> hr = counted((size - 1) * static_cast<std::size_t>(width) + 5), hc = counted(size * 8 + 9), ho = counted(20),
                               hw = counted(size + 11);
      auto br = device.upload(hr), bc = device.upload(hc), bo = device.upload(ho), bw = device.upload(hw),
           y = device.allocate<float>(size * 5), product = device.allocate<float>(size * size);
      y.fill(-1);
      plan.run({{"rows", br}, {"columns", bc}, {"row", bo}, {"windows", bw}, {"y", y}, {"product", product}, {"pitch", width}});
      Numbers want, products;
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < 5; ++j) want.push_back(i * width + j + 100.0 * (i * 8 + j) + 10000.0 * (2 * j) + 0.25 * (i + j));
        for (int k = 0; k < count; ++k) {
          double sum = 0;
          for (int j = 0; j < 5; ++j) sum += (i * width + j) * (j + k * 8.0);
          products.push_back(sum);
        }
      }
      CHECK(relative_error(numbers_of(y.download()), want) < 1e-6);
      CHECK(relative_error(numbers_of(product.download()), products) < 2e-3);
      if (count == 1) continue;
      auto shorter = device.allocate<float>(hr.size() - 1);
      mistake("needs " + std::to_string(hr.size()) + " elements; the buffer given has " + std::to_string(hr.size() - 1), [&] {
        plan.run({{"rows", shorter}, {"columns", bc}, {"row", bo}, {"windows", bw}, {"y", y}, {"product", product}, {"pitch", width}});
      });
    }
  }
}

TEST_CASE("graph programs: parameters with strides, folded and left out later") {
  for (const std::string& name : two_devices()) {
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    auto x = graph.input<float>("x", {3, 4});
    auto w = graph.parameter<float>("w", {4, 2}, {1, 6}), g = graph.parameter<float>("g", {4, 2}, {2, 9});
    graph.output("y", tw::matmul(x, w + g));
    const tw::Plan plan = graph.compile(device);
    CHECK(plan.parameter_kernels().size() == 1);
    auto bx = device.upload(counted(12)), bw = device.upload(counted(10)), bg = device.upload(counted(16)), y = device.allocate<float>(6);
    plan.run({{"x", bx}, {"w", bw}, {"g", bg}, {"y", y}});
    Numbers want;
    for (int i = 0; i < 3; ++i)
      for (int n = 0; n < 2; ++n) {
        double sum = 0;
        for (int k = 0; k < 4; ++k) sum += (i * 4.0 + k) * (2.0 * k + 9.0 * n + k + 6.0 * n);
        want.push_back(sum);
      }
    CHECK(relative_error(numbers_of(y.download()), want) < 1e-6);
    y.fill(0);
    plan.run({{"x", bx}, {"y", y}});
    CHECK(relative_error(numbers_of(y.download()), want) < 1e-6);
  }
}

TEST_CASE("graph programs: inputs and outputs of ranks 0 and 6, of one element and of many symbols") {
  for (const std::string& name : two_devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const tw::Dim n = graph.dim("n"), m = graph.dim("m");
    auto s = graph.input<float>("s", {}), x = graph.input<float>("x", {2, n, 1, m, 2, n});
    graph.output("y", tw::permute(x * s, {5, 4, 3, 2, 1, 0}));
    graph.output("total", tw::sum(x) + s);
    graph.output("same", s);
    const tw::Plan plan = graph.compile(device);
    const int hn = 3, hm = 5;
    const std::size_t count = 2 * hn * hm * 2 * hn;
    auto bs = device.upload(std::vector<float>{0.5f}), bx = device.upload(counted(count)), y = device.allocate<float>(count),
         total = device.allocate<float>(1), same = device.allocate<float>(1);
    plan.run({{"s", bs}, {"x", bx}, {"y", y}, {"total", total}, {"same", same}, {"m", hm}});
    std::vector<float> want(count);
    std::size_t at = 0;
    for (int f = 0; f < hn; ++f)
      for (int e = 0; e < 2; ++e)
        for (int d = 0; d < hm; ++d)
          for (int b = 0; b < hn; ++b)
            for (int a = 0; a < 2; ++a) want[at++] = 0.5f * static_cast<float>((((a * hn + b) * hm + d) * 2 + e) * hn + f);
    CHECK(y.download() == want);
    CHECK(total.download()[0] == doctest::Approx(count * (count - 1) / 2.0 + 0.5));
    CHECK(same.download()[0] == 0.5f);
    auto two = device.allocate<float>(2);
    mistake("'s' is a scalar, and has 1 element; the buffer given has 2",
            [&] { plan.run({{"s", two}, {"x", bx}, {"y", y}, {"total", total}, {"same", same}, {"m", hm}}); });
  }
}

TEST_CASE("graph programs: a scalar of integers takes no fraction") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  graph.output("y", graph.scalar<std::int64_t>("i"));
  const tw::Plan plan = graph.compile(device);
  auto y = device.allocate<std::int64_t>(1);
  mistake("scalar 'i': 1.5 is not a number of i64", [&] { plan.run({{"i", 1.5}, {"y", y}}); });
  plan.run({{"i", -7}, {"y", y}});
  CHECK(y.download()[0] == -7);
}

TEST_CASE("graph programs: scalars of every element type at a run") {
  const auto check = []<class T>(T value, double tolerance) {
    const int rows = 7, columns = 33;
    std::vector<T> hx;
    for (float v : normal(rows * columns, 1, 3)) hx.push_back(T(std::is_integral_v<T> ? std::fabs(v) : v));
    Numbers scaled, sums(rows);
    for (int i = 0; i < rows * columns; ++i) {
      scaled.push_back(number_of(hx[i]) * number_of(value) + number_of(value));
      sums[i / columns] += number_of(hx[i]) + number_of(value);
    }
    Program p;
    auto x = p.input("x", {rows, columns}, hx);
    auto s = p.graph.scalar<T>("s");
    p.set_number("s", value);
    p.output("scaled", x * s + s, scaled, tolerance);
    p.output("sums", tw::sum(x + s, 1), sums, tolerance);
    p.check();
  };
  check(tw::f16(1.5f), 2e-3);
  check(tw::bf16(1.5f), 1e-2);
  check(1.0 / 3, 1e-14);
  check(std::uint8_t(3), 0);
  check(std::int8_t(-2), 0);
  check(std::int16_t(-300), 0);
  check(std::uint16_t(300), 0);
  check(70000u, 0);
  check(std::int64_t(1) << 40, 0);
  for (const bool value : {true, false}) {
    Program p;
    auto x = p.input("x", {5}, std::vector<float>{1, 2, 3, 4, 5});
    auto s = p.graph.scalar<bool>("s");
    p.set_number("s", value);
    p.output("chosen", tw::where(s, x, -x), value ? Numbers{1, 2, 3, 4, 5} : Numbers{-1, -2, -3, -4, -5}, 0);
    p.output("both", s && x > 2.5f, {0, 0, 1.0 * value, 1.0 * value, 1.0 * value}, 0);
    p.check();
  }
}

TEST_CASE("graph programs: a scalar of bool is 0 or 1") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  graph.output("y", graph.scalar<bool>("b"));
  const tw::Plan plan = graph.compile(device);
  auto y = device.allocate<bool>(1);
  mistake("scalar 'b': constant 2 does not fit i1 (0 to 1)", [&] { plan.run({{"b", 2}, {"y", y}}); });
  plan.run({{"b", 1}, {"y", y}});
  CHECK(y.download()[0]);
}

TEST_CASE("graph programs: several plans, threads and streams on one device") {
  for (const std::string& name : two_devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const tw::Dim n = graph.dim("n", {.max = 64});
    auto x = graph.input<float>("x", {n, 8});
    auto w = graph.parameter<float>("w", {8, 8}), g = graph.parameter<float>("g", {8});
    graph.output("y", tw::matmul(tw::exp(tw::matmul(x * g, w) * 0.01f), w));
    const tw::Plan shared = graph.compile(device);
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const tw::Plan own = t % 2 == 0 ? shared : graph.compile(device);
        const tw::Stream stream = device.stream();
        for (int i = 0; i < 4; ++i) {
          const std::size_t rows = 3 + 7 * static_cast<std::size_t>((t + i) % 3);
          auto bx = device.upload(std::vector<float>(rows * 8, 0)), bw = device.upload(std::vector<float>(64, static_cast<float>(t + i)));
          auto bg = device.upload(std::vector<float>(8, 1)), y = device.upload(std::vector<float>(rows * 8, -1));
          own.run({{"x", bx}, {"w", bw}, {"g", bg}, {"y", y}}, {.stream = stream});
          stream.synchronize();
          wrong[static_cast<std::size_t>(t)] += y.download() != std::vector<float>(rows * 8, 8 * static_cast<float>(t + i));
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == std::vector<int>(4));
  }
}

TEST_CASE("graph programs: mistakes at compile and at run leave graph and plan usable") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {4});
  graph.input<float>("idle", {graph.dim("free")});
  mistake("compile: the graph has no output", [&] { graph.compile("cpu"); });
  mistake("compile: ", [&] { graph.compile("sm_12"); });
  graph.output("y", x + 1.0f);
  tw::Device device = tw::Device::open("cpu");
  const tw::Plan plan = graph.compile(device), dry = graph.compile("sm_80");
  auto bx = device.upload(counted(4)), y = device.allocate<float>(4);
  mistake("no device", [&] { dry.run({{"x", bx}, {"y", y}}); });
  mistake("nothing of this plan has the name 'z'", [&] { plan.run({{"x", bx}, {"y", y}, {"z", y}}); });
  mistake("output 'y' shares memory with input 'x'", [&] { plan.run({{"x", bx}, {"y", bx}}); });
  // The graph grows; the plan keeps its outputs.
  mistake("the name 'y' is given twice", [&] { graph.output("y", x); });
  graph.output("z", x * 2.0f);
  const tw::Plan larger = graph.compile(device);
  auto z = device.allocate<float>(4);
  plan.run({{"x", bx}, {"y", y}});
  CHECK(y.download() == std::vector<float>{1, 2, 3, 4});
  mistake("no buffer is given for output 'z'", [&] { larger.run({{"x", bx}, {"y", y}}); });
  larger.run({{"x", bx}, {"y", y}, {"z", z}});
  CHECK(z.download() == std::vector<float>{0, 2, 4, 6});
}

TEST_CASE("graph programs: positions, numbers and random numbers are outputs beside what is computed of them") {
  const int n = 7;
  const auto hx = normal(n, 1);
  Program p;
  const tw::Dim rows = p.graph.dim("n");
  p.set_number("n", n);
  auto x = p.input("x", {rows}, hx);
  auto i = tw::iota<float>(p.graph, {rows}, 0), two = tw::full<float>(p.graph, {rows}, 2.0f);
  Numbers positions, sums, products;
  for (int k = 0; k < n; ++k) positions.push_back(k), sums.push_back(double(hx[k]) + k), products.push_back(2 * double(hx[k]) * k);
  p.output("i", i, positions);
  p.output("sum", x + i, sums);
  p.output("two", two, Numbers(n, 2));
  p.output("product", two * x * i, products);
  p.output("again", i, positions);
  p.check_on_all();
}

// More operands than one kernel reads. Each is written into the whole along either axis; row lengths have no useful divisor.
template <class T>
void check_joined(int axis, bool has_symbol) {
  CAPTURE(axis);
  CAPTURE(has_symbol);
  constexpr int kOperands = 34, kColumns = 17;
  const int n = 5;
  Program p;
  const tw::Dim rows = has_symbol ? p.graph.dim("n") : tw::Dim(n);
  std::vector<tw::Tensor<T>> all;
  std::vector<Numbers> values;
  for (int i = 0; i < kOperands; ++i) {
    const auto h = rounded_to<T>(normal(n * kColumns, 40 + i));
    auto x = p.input("x" + std::to_string(i), {rows, kColumns}, h);
    values.push_back(numbers_of(h));
    if (i % 3 == 1)
      for (double& v : values.back()) v *= 2;
    all.push_back(i % 3 == 1 ? x + x : x);
  }
  Numbers want, sums(axis == 0 ? n * kOperands : n);
  const auto add = [&](int row, double v) { want.push_back(v), sums[row] += v; };
  if (axis == 0)
    for (int i = 0; i < kOperands; ++i)
      for (int k = 0; k < n * kColumns; ++k) add(i * n + k / kColumns, values[i][k]);
  else
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < kOperands; ++i)
        for (int c = 0; c < kColumns; ++c) add(r, values[i][r * kColumns + c]);
  const double tolerance = sizeof(T) == 2 ? 2e-3 : 1e-6;
  auto joined = tw::concat(all, axis);
  p.output("y", joined, want, tolerance);
  p.output("sums", tw::sum(joined, 1), sums, tolerance);
  p.check();
}

TEST_CASE("graph programs: a concatenation of many tensors") {
  for (const int axis : {0, 1})
    for (const bool has_symbol : {false, true}) {
      check_joined<float>(axis, has_symbol);
      check_joined<tw::f16>(axis, has_symbol);
    }
}

}  // namespace graph_program

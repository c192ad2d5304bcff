// Promises of a plan besides its results: symbols, growth, determinism, options, numbers in its reports.
#include <algorithm>
#include <set>

#include "tests/messages.h"
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

using tilewright::test::has;

}  // namespace

TEST_CASE("graph programs: a graph that grows, compiled each time") {
  const int n = 40;
  const auto hx = normal(n * n, 1);
  Numbers doubled, sums(n), bent;
  for (float v : hx) doubled.push_back(2 * double(v));
  for (int i = 0; i < n * n; ++i) sums[i % n] += double(hx[i]);
  for (double v : sums) bent.push_back(std::tanh(v));
  Program p;
  auto x = p.input("x", {n, n}, hx);
  p.output("a", x * 2.0f, doubled);
  tw::Device device = tw::Device::open("cpu");
  const tw::Plan first = p.check_on(device);
  auto total = tw::sum(x, 0);
  p.output("b", total, sums);
  const tw::Plan second = p.check_on(device);
  p.output("c", tw::tanh(total), bent);
  const tw::Plan third = p.check_on(device);
  CHECK(third.kernels().size() <= 2);
  // The first plan stays as it was.
  auto bx = device.upload(hx), ba = device.upload(std::vector<float>(hx.size(), NAN));
  first.run({{"x", bx}, {"a", ba}});
  CHECK(relative_error(numbers_of(ba.download()), doubled) == 0);
  CHECK_THROWS_WITH_AS(first.run({{"x", bx}, {"a", ba}, {"b", bx}}), doctest::Contains("'b'"), tw::Error);
  CHECK_THROWS_WITH_AS(second.run({{"x", bx}, {"a", ba}}), doctest::Contains("'b'"), tw::Error);
}

TEST_CASE("graph programs: one plan for every value of its symbols") {
  tw::Graph graph;
  const tw::Dim batch = graph.dim("batch"), seq = graph.dim("seq", {.min = 8, .max = 512, .multiple_of = 8});
  auto x = graph.input<float>("x", {batch, seq, 12});
  auto halves = tw::reshape(x, {batch, seq / 8, 8, 12});
  graph.output("pooled", tw::mean(halves, 2));
  graph.output("whole", tw::sum(x * x, {1, 2}));
  auto pairs_of = tw::reshape(x, {batch, seq / 2, 2, 12});
  graph.output("pairs", tw::slice(x, 1, 0, seq, 2) + tw::squeeze(tw::slice(pairs_of, 2, 1, 2), 2));
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = graph.compile(device);
    for (const auto& [b, s] : {std::pair{1, 8}, std::pair{3, 64}, std::pair{2, 40}, std::pair{7, 16}}) {
      const auto hx = normal(static_cast<std::size_t>(b * s * 12), static_cast<unsigned>(b + s));
      Numbers pooled(static_cast<std::size_t>(b * s / 8 * 12)), whole(static_cast<std::size_t>(b)),
          pairs(static_cast<std::size_t>(b * s / 2 * 12));
      for (int i = 0; i < b; ++i)
        for (int j = 0; j < s; ++j)
          for (int c = 0; c < 12; ++c) {
            const double v = hx[(i * s + j) * 12 + c];
            pooled[(i * (s / 8) + j / 8) * 12 + c] += v / 8, whole[i] += v * v, pairs[(i * (s / 2) + j / 2) * 12 + c] += v;
          }
      auto bx = device.upload(hx);
      auto bp = device.upload(std::vector<float>(pooled.size(), NAN)), bw = device.upload(std::vector<float>(whole.size(), NAN)),
           pp = device.upload(std::vector<float>(pairs.size(), NAN));
      plan.run({{"x", bx}, {"pooled", bp}, {"whole", bw}, {"pairs", pp}});
      CHECK(relative_error(numbers_of(bp.download()), pooled) < 1e-5);
      CHECK(relative_error(numbers_of(bw.download()), whole) < 1e-5);
      CHECK(relative_error(numbers_of(pp.download()), pairs) < 1e-5);
    }
    CHECK(plan.compilations() == 0);
  }
}

TEST_CASE("graph programs: views with strides, of inputs and of buffers") {
  const int rows = 9, columns = 14;
  const auto hx = normal(rows * 20, 1), hy = normal(columns * rows, 2);
  Numbers want;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) want.push_back(double(hx[i * 20 + j]) + double(hy[j * rows + i]) + double(hx[i * 20]));
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const tw::Dim n = graph.dim("n");
    auto x = graph.input<float>("x", {n, columns}, {20, 1});
    auto y = graph.input<float>("y", {n, columns}, {1, n});
    auto once = graph.input<float>("once", {n, columns}, {20, 0});
    graph.output("z", x + y + once);
    const tw::Plan plan = graph.compile(device);
    auto bx = device.upload(hx), by = device.upload(hy), z = device.upload(std::vector<float>(want.size(), NAN));
    plan.run({{"x", bx}, {"y", by}, {"once", bx}, {"z", tw::view(z, {rows, columns})}});
    CHECK(relative_error(numbers_of(z.download()), want) < 1e-6);
  }
}

TEST_CASE("graph programs: random numbers are the same in every plan, on every device") {
  const int rows = 6, columns = 50;
  std::vector<std::vector<float>> seen;
  const auto hx = normal(rows * columns, 1);
  for (const bool fuse : {true, false})
    for (const std::string& name : devices()) {
      tw::Device device = tw::Device::open(name);
      tw::Graph graph;
      auto x = graph.input<float>("x", {rows, columns});
      auto r = tw::rand(graph, 1234, {rows, columns});
      graph.output("r", r), graph.output("dropped", tw::dropout(x, 0.25, 77));
      graph.output("transposed", tw::transpose(r) * 1.0f);
      const tw::Plan plan = graph.compile(device, {.fuse = fuse});
      auto bx = device.upload(hx);
      auto br = device.allocate<float>(hx.size()), bd = device.allocate<float>(hx.size()), bt = device.allocate<float>(hx.size());
      plan.run({{"x", bx}, {"r", br}, {"dropped", bd}, {"transposed", bt}});
      auto all = br.download();
      const auto dropped = bd.download(), transposed = bt.download();
      int kept = 0;
      for (std::size_t i = 0; i < hx.size(); ++i) {
        kept += dropped[i] != 0;
        CHECK((dropped[i] == 0 || std::fabs(dropped[i] - hx[i] / 0.75f) < 1e-5f));
        CHECK(transposed[i % columns * rows + i / columns] == all[i]);
      }
      CHECK(kept > 190);
      CHECK(kept < 260);
      all.insert(all.end(), dropped.begin(), dropped.end());
      seen.push_back(all);
      CHECK(seen.back() == seen.front());
    }
}

TEST_CASE("graph programs: the same bits at every run") {
  const auto hx = normal(64 * 300, 1), hw = normal(300 * 48, 2);
  for (const std::string& name : devices()) {
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    auto x = graph.input<float>("x", {64, 300}), w = graph.input<float>("w", {300, 48});
    auto y = tw::matmul(tw::softmax(x, 1), w);
    graph.output("y", y), graph.output("sum", tw::sum(y));
    const tw::Plan plan = graph.compile(device);
    auto bx = device.upload(hx), bw = device.upload(hw), y1 = device.allocate<float>(64 * 48), s = device.allocate<float>(1);
    std::set<std::vector<float>> all;
    for (int i = 0; i < 3; ++i) {
      plan.run({{"x", bx}, {"w", bw}, {"y", y1}, {"sum", s}});
      auto bits = y1.download();
      bits.push_back(s.download()[0]);
      all.insert(bits);
    }
    CHECK(all.size() == 1);
  }
}

TEST_CASE("graph programs: without moved roundings every value is rounded to its type") {
  const int n = 400;
  const auto hx = normal(n, 1), hy = normal(n, 2);
  std::vector<tw::f16> x16, y16;
  Numbers want;
  for (int i = 0; i < n; ++i) {
    x16.push_back(tw::f16(hx[i])), y16.push_back(tw::f16(hy[i]));
    const tw::f16 product(float(x16[i]) * float(y16[i]));
    const tw::f16 sum(float(product) + float(x16[i]));
    want.push_back(float(tw::f16(float(sum) / 3.0f)));
  }
  Program p;
  auto x = p.input("x", {n}, x16), y = p.input("y", {n}, y16);
  p.output("z", (x * y + x) / 3.0f, want, 0);
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = p.check_on(device, {.move_rounding = false});
    CHECK(plan.kernels().size() == 1);
  }
}

TEST_CASE("graph programs: without reassociation sums and factors stay where they are written") {
  // 1e8 + 1 - 1e8 is 0 in this order; a factor that leaves the sum would overflow.
  const std::vector<float> hx{1e8f, 1, 3e38f, 1e-3f};
  Program p;
  auto x = p.input("x", {4}, hx);
  p.output("y", (x + 1.0f) - x, {0, 1, 0, double(1e-3f + 1.0f - 1e-3f)}, 0);
  p.output("z", x / 1e30f * 1e30f / 1e10f, {1e8 / 1e10, 1 / 1e10, 3e38 / 1e10, 1e-3 / 1e10}, 1e-5);
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    p.check_on(device, {.reassociate = false});
  }
}

TEST_CASE("graph programs: constants and inputs as outputs, read again by other formulas and kernels") {
  static const tw::Kernel negate(
      "negate", +[](tw::Ptr<const float> x, tw::Ptr<float> y) {
        auto i = tw::arange(0, 4);
        tw::store(y + i, -tw::load(x + i));
      });
  Program p;
  auto c = p.graph.constant<float>({3, -4, 5, 0.5f}, {4}), ones = p.graph.constant<float>({1, 1, 1, 1}, {4});
  auto halves = tw::full<float>(p.graph, {4}, 0.5f);
  auto x = p.input("x", {4}, std::vector<float>{1, 2, 3, 4});
  p.output("c", c, {3, -4, 5, 0.5});
  p.output("again", c, {3, -4, 5, 0.5});
  p.output("halves", halves, {0.5, 0.5, 0.5, 0.5});
  p.output("total", tw::sum(c), {4.5});
  p.output("same", x, {1, 2, 3, 4});
  p.output("moved", x + c + halves, {4.5, -1.5, 8.5, 5});
  p.output("negative", p.graph.call<float>(negate, {.grid = 1}, {{4}}, c), {-3, 4, -5, -0.5});
  p.output("filled", p.graph.call<float>(negate, {.grid = 1}, {{4}}, ones), {-1, -1, -1, -1});
  for (const std::string& name : devices())
    for (const bool fuse : {true, false}) {
      CAPTURE(name);
      CAPTURE(fuse);
      tw::Device device = tw::Device::open(name);
      p.check_on(device, {.fuse = fuse});
    }
}

TEST_CASE("graph programs: numbers of kernels are right") {
  const int m = 96, k = 64, n = 80;
  tw::Graph graph;
  auto a = graph.input<float>("a", {m, k}), b = graph.input<float>("b", {k, n}), bias = graph.input<float>("bias", {n});
  const int line = __LINE__ + 1;
  graph.output("c", tw::matmul(a, b).name("product") + bias);
  for (const std::string target : {"cpu", "sm_75", "sm_80", "sm_90a"}) {
    CAPTURE(target);
    const tw::Plan plan = graph.compile(target);
    const auto kernels = plan.kernels();
    REQUIRE(kernels.size() == 1);
    const tw::PlannedKernel& kernel = kernels[0];
    CHECK(kernel.passes == 1);
    CHECK(kernel.bytes_read == (m * k + k * n + n) * 4);
    CHECK(kernel.bytes_written == m * n * 4);
    CHECK(kernel.flops >= 2.0 * m * n * k);
    CHECK(kernel.flops <= 2.0 * m * n * k + 2 * m * n);
    CHECK(kernel.grid[0] * kernel.grid[1] * kernel.grid[2] >= 1);
    CHECK(has(kernel.tile_ir, "kernel @"));
    CHECK(has(kernel.tile_ir, "dot"));
    CHECK(has(kernel.ptx, ".target " + target) == (target != "cpu"));
    CHECK(!kernel.reason.empty());
    std::set<std::string> covered;
    for (const tw::CoveredNode& c : kernel.covers) {
      covered.insert(c.name);
      CHECK(c.where.line == line);
      CHECK(has(c.where.file, "graph_programs_plan_test.cpp"));
    }
    CHECK(covered.count("add") == 1);
    CHECK(has(*covered.rbegin(), "product"));
    CHECK(plan.intermediate_bytes() == 0);
    CHECK(plan.workspace_bytes() == 0);
    CHECK(plan.proof().exact);
    CHECK(plan.proof().log2_error < -50);
    const tw::Plan separate = graph.compile(target, {.fuse = false});
    CHECK(separate.kernels().size() == 2);
    CHECK(separate.intermediate_bytes() == m * n * 4);
    CHECK(separate.workspace_bytes() >= separate.intermediate_bytes());
    CHECK_THROWS_WITH_AS(graph.compile(target, {.fuse = false, .max_workspace = 1000}), doctest::Contains("max_workspace"), tw::Error);
    CHECK_THROWS_AS(plan.run({}), tw::Error);
  }
}

TEST_CASE("graph programs: a kernel covers what it computes, and no more") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {64, 64}), w = graph.input<float>("w", {64, 64});
  const int first = __LINE__ + 1;
  auto h = tw::matmul(x, w);
  auto wanted = tw::softmax(h, 0);
  const int second = __LINE__ + 1;
  graph.output("y", tw::matmul(tw::transpose(wanted), tw::softmax(h, -1)));
  const tw::Plan plan = graph.compile("sm_80", {.fuse = false});
  int products = 0;
  for (const tw::PlannedKernel& k : plan.kernels()) {
    CHECK(k.covers.size() <= 2);  // a view and the node
    for (const tw::CoveredNode& c : k.covers)
      if (has(c.name, "matmul")) {
        ++products;
        CHECK((c.where.line == first || c.where.line == second));
      }
  }
  CHECK(products == 2);
}

TEST_CASE("graph programs: flops of attention and of a row's sum") {
  const int heads = 2, seq = 128, d = 64;
  tw::Graph graph;
  auto q = graph.input<float>("q", {heads, seq, d}), k = graph.input<float>("k", {heads, seq, d}),
       v = graph.input<float>("v", {heads, seq, d});
  graph.output("out", tw::matmul(tw::softmax(tw::matmul(q, tw::transpose(k)) * 0.125f, -1), v));
  const tw::Plan plan = graph.compile("sm_80");
  const double products = 4.0 * heads * seq * seq * d;
  REQUIRE(plan.kernels().size() == 1);
  CHECK(plan.kernels()[0].flops >= products);
  CHECK(plan.kernels()[0].flops <= 1.1 * products);
  tw::Graph rows;
  rows.output("sum", tw::sum(rows.input<float>("x", {100, 1000}), 1));
  CHECK(rows.compile("cpu").kernels()[0].flops == doctest::Approx(100 * 1000).epsilon(0.02));
}

TEST_CASE("graph programs: node by node, each node is a kernel of its own") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {30, 40});
  auto y = tw::exp(x) + 1.0f;
  graph.output("y", y), graph.output("sum", tw::sum(tw::transpose(y), 0)), graph.output("same", y), graph.output("x again", x);
  tw::Device device = tw::Device::open("cpu");
  const tw::Plan plan = graph.compile(device, {.fuse = false});
  CHECK(plan.kernels().size() <= 5);  // exp, add, sum, and two copies
  auto bx = device.upload(std::vector<float>(1200, 0)), by = device.allocate<float>(1200), bs = device.allocate<float>(30),
       same = device.allocate<float>(1200), again = device.allocate<float>(1200);
  plan.run({{"x", bx}, {"y", by}, {"sum", bs}, {"same", same}, {"x again", again}});
  CHECK(by.download() == std::vector<float>(1200, 2));
  CHECK(same.download() == std::vector<float>(1200, 2));
  CHECK(bs.download() == std::vector<float>(30, 80));
  CHECK(again.download() == std::vector<float>(1200, 0));
  const tw::Plan fused = graph.compile(device);
  CHECK(fused.kernels().size() <= 2);
  CHECK(fused.intermediate_bytes() == 0);
}

}  // namespace graph_program

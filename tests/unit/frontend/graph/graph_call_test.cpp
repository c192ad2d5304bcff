// Kernels of the user as nodes of graphs: arguments, memory, symbols, reports and mistakes.
#include <string>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kTile = 64;

// y = a x + b, element by element.
const tw::Kernel kScaled("scaled", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::F32 a, tw::I32 n, float b) {
  auto i = tw::program_id(0) * kTile + tw::arange(0, kTile);
  tw::store(y + i, tw::load(x + i, i < n) * a + b, i < n);
});

// The sum and the greatest element of each row of a view.
const tw::Kernel kRows("rows", [](tw::View<const float, 2> x, tw::Ptr<float> sums, tw::View<float, 1> most) {
  auto row = tw::program_id(0);
  tw::F32 sum = 0.0f, greatest = -tw::inf;
  for (auto k : tw::range(tw::I64(0), x.extent(1), tw::I64(16))) {
    auto tile = x.load({row, k}, {1, 16});
    auto inside = k + tw::arange(0, 16) < x.extent(1);
    sum += tw::sum(tile);
    greatest = tw::maximum(greatest, tw::max(tw::where(inside, tw::reshape(tile, {16}), -tw::inf)));
  }
  tw::store(sums + row, sum);
  most.store({row}, tw::full<float>({1}, 0.0f) + greatest);
});

int programs(int elements) { return (elements + kTile - 1) / kTile; }

TEST_CASE("graph call: pointers, numbers, extents, scalars and constants") {
  const int n = 150;
  const auto hx = normal(n, 1);
  Numbers want, twice;
  for (float x : hx) want.push_back(2.0 * x + 3), twice.push_back(0.5 * (2.0 * std::exp(double(x)) + 3) - 1);
  Program p;
  auto x = p.input("x", {n}, hx);
  p.output("y", p.graph.call<float>(kScaled, {.grid = programs(n)}, {{n}}, x, 2.0f, n, 3.0f), want);
  auto inner = p.graph.call<float>(kScaled, {.grid = {programs(n)}, .num_warps = 2}, {{n}}, tw::exp(x), 2.0f, tw::Dim(n), 3.0f);
  auto alpha = p.graph.scalar<float>("alpha");
  p.set_number("alpha", 0.5f);
  p.output("twice", p.graph.call<float>(kScaled, tw::Launch{.grid = programs(n)}, {{n}}, inner, alpha, n, -1.0f), twice);
  p.check();
}

TEST_CASE("graph call: views, two results, symbols, formulas before and after") {
  const int rows = 5, columns = 37;
  const auto hx = normal(rows * columns, 2);
  Numbers sums, most;
  double all = 0;
  for (int i = 0; i < rows; ++i) {
    double sum = 0, greatest = -HUGE_VAL;
    for (int j = 0; j < columns; ++j) {
      const double v = std::tanh(double(hx[j * rows + i]));
      sum += v, greatest = std::max(greatest, v);
    }
    sums.push_back(sum), most.push_back(2 * greatest), all += sum;
  }
  Program p;
  const tw::Dim r = p.graph.dim("r"), c = p.graph.dim("c");
  p.set_number("r", rows), p.set_number("c", columns);
  auto x = p.input("x", {c, r}, hx);
  const auto [s, m] = p.graph.call<float, float>(kRows, {.grid = r}, {{r}, {r}}, tw::tanh(tw::transpose(x)));
  p.output("sums", s, sums);
  p.output("again", s, sums);
  p.output("most", m * 2.0f, most);
  p.output("all", tw::sum(s), {all});
  p.check();
}

TEST_CASE("graph call: a result that no output needs, views of inputs, strides, constants") {
  const int rows = 4, columns = 6;
  const auto hx = normal(rows * columns, 3);
  Numbers most, strided, ones;
  for (int i = 0; i < rows; ++i) {
    double greatest = -HUGE_VAL, sum = 0;
    for (int j = 0; j < columns; ++j) greatest = std::max(greatest, double(hx[i * columns + j])), sum += hx[i * columns + j];
    most.push_back(greatest), strided.push_back(sum), ones.push_back(columns);
  }
  Program p;
  auto flat = p.input("x", {rows * columns}, hx);
  const auto [s, m] = p.graph.call<float, float>(kRows, {.grid = rows}, {{rows}, {rows}}, tw::reshape(flat, {rows, columns}));
  p.output("most", m, most);
  // Columns of a transposed matrix in memory.
  std::vector<float> turned(rows * columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) turned[j * rows + i] = hx[i * columns + j];
  p.set("t", turned);
  auto t = p.graph.input<float>("t", {rows, columns}, {1, rows});
  p.output("strided", std::get<0>(p.graph.call<float, float>(kRows, {.grid = rows}, {{rows}, {rows}}, t)), strided);
  auto full = tw::full<float>(p.graph, {rows, columns}, 1);
  p.output("ones", std::get<0>(p.graph.call<float, float>(kRows, {.grid = rows}, {{rows}, {rows}}, full)), ones, 0);
  p.check();
}

TEST_CASE("graph call: between products, scans and sums at places") {
  const int n = 96;
  const auto hx = normal(n, 4);
  std::vector<int32_t> hi;
  for (int i = 0; i < n; ++i) hi.push_back(i % 5);
  Numbers want(5);
  double sum = 0;
  for (int i = 0; i < n; ++i) want[i % 5] += 2 * (sum += hx[i]) + 1;
  Program p;
  auto c = tw::cumsum(p.input("x", {n}, hx), 0);
  auto y = p.graph.call<float>(kScaled, {.grid = programs(n)}, {{n}}, c, 2.0f, n, 1.0f);
  p.output("y", tw::scatter_add(tw::full<float>(p.graph, {5}, 0), p.input("i", {n}, hi), y), want);
  p.check();
}

TEST_CASE("graph call: plans without a device, and reports") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {150});
  auto y = graph.call<float>(kScaled, {.grid = 3}, {{150}}, x, 2.0f, 150, 3.0f).name("scaled x");
  graph.output("y", tw::exp(y));
  const tw::Plan plan = graph.compile("sm_90a");
  REQUIRE(plan.kernels().size() == 2);
  CHECK(plan.kernels()[0].name == "scaled");
  CHECK(plan.kernels()[0].covers[0].name == "scaled x (scaled)");
  CHECK(plan.kernels()[0].bytes_read == 600);
  CHECK(plan.kernels()[0].grid[0] == 3);
  CHECK(plan.kernels()[0].ptx.find(".entry") != std::string::npos);
  CHECK(plan.intermediate_bytes() == 600);
  CHECK(plan.explain().find("scaled x (scaled)") != std::string::npos);
  CHECK(plan.proof().exact);
  CHECK(plan.proof().text.find("kernels of the user") != std::string::npos);
}

template <class F>
void check_refused(const std::string& message, int line, F make) {
  CAPTURE(message);
  try {
    make();
    FAIL("no error");
  } catch (const tw::Error& e) {
    CHECK(std::string(e.what()).find(message) != std::string::npos);
    CHECK(e.where().line == line);
    CHECK(e.where().file.find("graph_call_test") != std::string::npos);
  }
}

TEST_CASE("graph call: mistakes name the line, and the graph remains usable") {
  tw::Graph graph, other;
  auto x = graph.input<float>("x", {4, 6});
  auto z = other.input<float>("z", {8});
  const auto rows = [&](auto t, const tw::detail::tensor::CallShapes& shapes) { graph.call<float, float>(kRows, {.grid = 4}, shapes, t); };
  check_refused("1 shape for 2 results", __LINE__, [&] { rows(x, {{4}}); });
  check_refused("of rank 1; the kernel has a view of rank 2", __LINE__, [&] { rows(tw::reshape(x, {24}), {{4}, {4}}); });
  check_refused("result 2 is [4, 1], of rank 2", __LINE__, [&] { rows(x, {{4}, {4, 1}}); });
  check_refused("' gets a tensor of another graph", __LINE__, [&] { graph.call<float>(kScaled, {.grid = 1}, {{8}}, z, 1.0f, 8, 0.0f); });
  check_refused("num_warps is 3", __LINE__, [&] { graph.call<float>(kScaled, {.grid = 1, .num_warps = 3}, {{24}}, x, 1.0f, 24, 0.0f); });
  check_refused("an extent of the grid is 0", __LINE__, [&] { graph.call<float>(kScaled, {.grid = 0}, {{24}}, x, 1.0f, 24, 0.0f); });
  check_refused("what Graph::scalar gives", __LINE__, [&] { graph.call<float>(kScaled, {.grid = 1}, {{24}}, x, tw::sum(x), 24, 0.0f); });
  check_refused("names no tensor", __LINE__, [&] { graph.call<float>(kScaled, {.grid = 1}, {{24}}, tw::Tensor<float>(), 1.0f, 24, 0.0f); });
  auto y = graph.call<float>(kScaled, {.grid = 1}, {{24}}, x, 1.0f, 24, 0.0f);
  graph.output("y", y);
  CHECK(graph.compile("cpu").kernels().size() == 1);
}

}  // namespace
TEST_CASE("graph call: extents of another graph are refused") {
  tw::Graph graph, other;
  const tw::Dim n = other.dim("n");
  auto x = graph.input<float>("x", {8});
  const auto refused = [&](auto call) {
    CHECK_THROWS_WITH_AS(call(), doctest::Contains("call: extent 'n' has symbols of another graph"), tw::Error);
  };
  refused([&] { graph.call<float>(kScaled, {.grid = n}, {{8}}, x, 2.0f, 8, 3.0f); });
  refused([&] { graph.call<float>(kScaled, {.grid = 1}, {{n}}, x, 2.0f, 8, 3.0f); });
  refused([&] { graph.call<float>(kScaled, {.grid = 1}, {{8}}, x, 2.0f, n, 3.0f); });
}

}  // namespace graph_program

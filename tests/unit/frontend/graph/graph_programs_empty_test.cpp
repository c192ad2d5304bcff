// Tensors without elements: sums of nothing, products of inner extent 0, empty batches.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kColumns = 6;

/// n as a symbol that may be 0, or as a number.
tw::Dim extent_of(Program& p, int n, bool is_symbol) { return is_symbol ? p.graph.dim("n", {.min = 0}) : tw::Dim(n); }

/// Reductions over n rows, element-wise results in rows of n, and concatenations, one part of which may be empty.
template <class T>
void add_reductions(Program& p, const tw::Dim& n, int rows) {
  const auto hx = rounded_to<T>(normal(static_cast<std::size_t>(rows * kColumns), 1)), hy = rounded_to<T>(normal(2 * kColumns, 2));
  Numbers sums(kColumns), products(kColumns, 1), most(kColumns, -HUGE_VAL), means(kColumns), places(kColumns), doubled, joined, padded;
  Numbers positive(kColumns, 0), all(kColumns, 1), scaled(kColumns);
  for (int i = 0; i < rows; ++i)
    for (int c = 0; c < kColumns; ++c) {
      const double v = number_of(hx[i * kColumns + c]);
      sums[c] += v, products[c] *= v;
      if (v > most[c]) most[c] = v, places[c] = i;
      if (v > 0) positive[c] = 1;
      if (!(v > 0)) all[c] = 0;
      doubled.push_back(2 * v), joined.push_back(v);
      scaled[c] += v / 3;
    }
  for (int c = 0; c < kColumns; ++c) means[c] = sums[c] / rows, padded.push_back(7);
  for (T v : hy) joined.push_back(number_of(v));
  for (T v : hx) padded.push_back(number_of(v));
  const double tolerance = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 2 ? 1e-2 : 1e-5;
  auto x = p.input("x", {n, kColumns}, hx), y = p.input("y", {2, kColumns}, hy);
  p.output("doubled", x + x, doubled, tolerance);
  p.output("sums", tw::sum(x, 0), sums, tolerance);
  p.output("scaled", tw::sum(x / 3.0f, 0), scaled, tolerance);
  p.output("products", tw::prod(x, 0), products, tolerance);
  p.output("most", tw::max(x, 0), most, tolerance);
  p.output("means", tw::mean(x, 0), means, tolerance);
  p.output("places", tw::argmax(x, 0), places, 0);
  p.output("positive", tw::any(x > 0.0f, 0), positive, 0);
  p.output("all", tw::all(x > 0.0f, 0), all, 0);
  p.output("joined", tw::concat({x, y}, 0), joined, tolerance);
  p.output("padded", tw::pad(x, 0, 1, 0, 7.0f), padded, tolerance);
  p.output("softmax", tw::sum(tw::softmax(x, 1), 1), Numbers(static_cast<std::size_t>(rows), 1), tolerance);
}

/// Extremes of integers, sums of what does not vary, and an infinite factor in front of a sum of nothing.
void add_constants(Program& p, const tw::Dim& n, int rows) {
  std::vector<int16_t> hi;
  for (int i = 0; i < rows; ++i) hi.push_back(static_cast<int16_t>(5 - 3 * i));
  const double lowest = std::numeric_limits<int16_t>::lowest(), highest = std::numeric_limits<int16_t>::max();
  auto i = p.input("i", {n}, hi);
  auto c = p.input("c", {4}, std::vector<float>{2, 0, -1, HUGE_VALF});
  p.output("max", tw::max(i), {rows > 0 ? 5 : lowest}, 0);
  p.output("min", tw::min(i), {rows > 0 ? 8.0 - 3 * rows : highest}, 0);
  auto repeated = tw::broadcast_to(c, {n, 4});
  p.output("repeated", tw::sum(repeated, 0), rows > 0 ? Numbers{2.0 * rows, 0, -1.0 * rows, HUGE_VAL} : Numbers(4));
  p.output("greatest", tw::max(repeated, 0), rows > 0 ? Numbers{2, 0, -1, HUGE_VAL} : Numbers(4, -HUGE_VAL));
  auto ones = i.to<float>() * 0.0f + 1.0f;
  p.output("divided", tw::sum(tw::expand_dims(ones, 1) / c, 0), rows > 0 ? Numbers{rows / 2.0, HUGE_VAL, -1.0 * rows, 0} : Numbers(4));
}

/// A product over n, one of n rows, and attention to n keys.
void add_products(Program& p, const tw::Dim& n, int rows) {
  constexpr int kQueries = 5, kDim = 8;
  const auto ha = normal(static_cast<std::size_t>(kQueries * rows), 1), hb = normal(static_cast<std::size_t>(rows * kDim), 2),
             hq = normal(kQueries * kDim, 3), hk = normal(static_cast<std::size_t>(rows * kDim), 4);
  Numbers inner(kQueries * kDim), outer(static_cast<std::size_t>(rows * kQueries)), attended(kQueries * kDim);
  for (int i = 0; i < kQueries; ++i) {
    Numbers scores(static_cast<std::size_t>(rows));
    double total = 0;
    for (int j = 0; j < rows; ++j) {
      for (int d = 0; d < kDim; ++d) {
        inner[i * kDim + d] += double(ha[i * rows + j]) * double(hb[j * kDim + d]);
        scores[j] += double(hq[i * kDim + d]) * double(hk[j * kDim + d]);
      }
      outer[j * kQueries + i] = scores[j];
      total += scores[j] = std::exp(scores[j]);
    }
    for (int j = 0; j < rows; ++j)
      for (int d = 0; d < kDim; ++d) attended[i * kDim + d] += scores[j] / total * double(hb[j * kDim + d]);
  }
  auto a = p.input("a", {kQueries, n}, ha), b = p.input("b", {n, kDim}, hb), q = p.input("q", {kQueries, kDim}, hq),
       k = p.input("k", {n, kDim}, hk);
  p.output("inner", tw::matmul(a, b), inner, 2e-3);
  p.output("outer", tw::matmul(k, tw::transpose(q)), outer, 2e-3);
  p.output("attended", tw::matmul(tw::softmax(tw::matmul(q, tw::transpose(k)), -1), b), attended, 2e-3);
}

/// Rows that are picked, added at places, summed up to each, cut to nothing and put in another shape.
void add_places(Program& p, const tw::Dim& n, int count) {
  const auto hx = normal(4 * kColumns, 1), hu = normal(static_cast<std::size_t>(count * kColumns), 2);
  std::vector<int32_t> hi;
  for (int i = 0; i < count; ++i) hi.push_back(i * 3 % 4);
  Numbers picked, added = numbers_of(hx), running, tail, flat;
  for (int i = 0; i < count; ++i)
    for (int c = 0; c < kColumns; ++c) {
      picked.push_back(hx[hi[i] * kColumns + c]);
      added[hi[i] * kColumns + c] += double(hu[i * kColumns + c]);
      running.push_back(double(hu[i * kColumns + c]) + (i > 0 ? running[(i - 1) * kColumns + c] : 0));
      flat.push_back(-double(hu[i * kColumns + c]));
    }
  auto x = p.input("x", {4, kColumns}, hx), u = p.input("u", {n, kColumns}, hu);
  auto i = p.input("i", {n}, hi);
  p.output("picked", tw::gather(x, i), picked);
  p.output("added", tw::scatter_add(x, i, u), added);
  p.output(
      "counts", tw::scatter_add(tw::full<int32_t>(p.graph, {4}, 0), i, tw::full<int32_t>(p.graph, {n}, 1)),
      [&] {
        Numbers counts(4);
        for (int32_t k : hi) counts[k] += 1;
        return counts;
      }(),
      0);
  p.output("running", tw::cumsum(u, 0), running);
  p.output("flat", -tw::reshape(u, {n * kColumns}), flat);
  p.output("tail", tw::slice(u, 0, n, n), tail);
  p.output("turned", tw::flip(tw::transpose(tw::slice(u, 1, 0, 1)), -1), [&] {
    Numbers turned;
    for (int k = count - 1; k >= 0; --k) turned.push_back(hu[k * kColumns]);
    return turned;
  }());
}

/// One program for each row: the row's elements doubled, and its sum.
const tw::Kernel kRows("rows", [](tw::View<const float, 2> x, tw::View<float, 2> doubled, tw::Ptr<float> sums) {
  auto row = tw::program_id(0);
  tw::F32 sum = 0.0f;
  for (auto k : tw::range(tw::I64(0), x.extent(1), tw::I64(16))) {
    auto tile = x.load({row, k}, {1, 16});
    doubled.store({row, k}, tile * 2.0f);
    sum += tw::sum(tile);
  }
  tw::store(sums + row, sum);
});

/// Kernels of the user whose results are empty: both, or the one of rows without elements beside sums of nothing.
void add_calls(Program& p, const tw::Dim& n, int count) {
  const auto hx = normal(static_cast<std::size_t>(count * kColumns), 1);
  Numbers doubled, turned(hx.size()), of_rows(static_cast<std::size_t>(count)), of_columns(kColumns), after;
  for (int i = 0; i < count; ++i)
    for (int c = 0; c < kColumns; ++c) {
      const double v = hx[i * kColumns + c];
      doubled.push_back(2 * v), turned[c * count + i] = 2 * v;
      of_rows[i] += v, of_columns[c] += v;
    }
  for (double v : of_rows) after.push_back(std::exp(v) + 1);
  auto x = p.input("x", {n, kColumns}, hx);
  const auto [rows, row_sums] = p.graph.call<float, float>(kRows, {.grid = n}, {{n, kColumns}, {n}}, x);
  p.output("rows", rows, doubled);
  p.output("row_sums", row_sums, of_rows);
  p.output("after", tw::exp(row_sums) + 1.0f, after);
  const auto [columns, column_sums] = p.graph.call<float, float>(kRows, {.grid = kColumns}, {{kColumns, n}, {kColumns}}, tw::transpose(x));
  p.output("columns", columns, turned);
  p.output("column_sums", column_sums, of_columns);
  p.output("all", tw::sum(columns) + tw::sum(column_sums), {3 * std::accumulate(of_rows.begin(), of_rows.end(), 0.0)});
}

template <class Add>
void check_extents(Add&& add, const Devices& names = devices(), const std::vector<int>& extents = {0, 9}) {
  for (const bool is_symbol : {true, false})
    for (const int n : extents) {
      CAPTURE(is_symbol);
      CAPTURE(n);
      Program p;
      add(p, extent_of(p, n, is_symbol), n);
      for (const std::string& name : names)
        for (const bool fuse : {true, false}) {
          CAPTURE(name);
          CAPTURE(fuse);
          tw::Device device = tw::Device::open(name);
          p.check_on(device, {.fuse = fuse});
        }
    }
}

}  // namespace

TEST_CASE("graph programs: extents of 0, reductions") {
  check_extents(add_reductions<float>);
  check_extents(add_reductions<double>, {"cpu"}, {0});
  check_extents(add_reductions<tw::f16>, {"cpu"}, {0});
}

TEST_CASE("graph programs: extents of 0, extremes and constants") { check_extents(add_constants); }

TEST_CASE("graph programs: extents of 0, products and attention") {
  check_extents(add_products, {"cpu", "emulator:sm_80", "emulator:sm_90a"});
}

TEST_CASE("graph programs: extents of 0, indices, scans and shapes") { check_extents(add_places); }

TEST_CASE("graph programs: extents of 0, kernels of the user") { check_extents(add_calls); }

TEST_CASE("graph programs: one plan with rows, without any, and with rows again") {
  const int columns = 33;
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0});
  auto x = graph.input<float>("x", {n, columns}), w = graph.parameter<float>("w", {columns, 4});
  auto y = tw::matmul(tw::softmax(x, -1), w);
  graph.output("y", y);
  graph.output("total", tw::sum(y, 0));
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = graph.compile(device);
    const std::int64_t compilations = plan.compilations();
    auto bw = device.upload(std::vector<float>(columns * 4, 2));
    for (const std::size_t rows : {5, 0, 70, 0, 1}) {
      CAPTURE(rows);
      auto bx = device.upload(normal(rows * columns, 1));
      auto by = device.upload(std::vector<float>(rows * 4, NAN)), total = device.upload(std::vector<float>(4, NAN));
      plan.run({{"x", tw::view(bx, {static_cast<int64_t>(rows), columns})}, {"w", bw}, {"y", by}, {"total", total}});
      CHECK(relative_error(numbers_of(by.download()), Numbers(rows * 4, 2)) < 2e-3);
      CHECK(relative_error(numbers_of(total.download()), Numbers(4, 2.0 * static_cast<double>(rows))) < 2e-3);
    }
    CHECK(plan.compilations() == compilations);
    CHECK(!plan.explain().empty());
  }
}

TEST_CASE("graph programs: views without elements") {
  const tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0}), m = graph.dim("m", {.min = 0});
  graph.output("y", graph.input<float>("x", {n, m}) * 2.0f);
  graph.output("sums", tw::sum(graph.input<float>("x2", {n, m}), 1));
  const tw::Plan plan = graph.compile(device);
  for (const auto& [rows, columns] : {std::pair{0, 0}, {3, 0}, {0, 3}, {1, 0}, {0, 1}, {3, 2}}) {
    CAPTURE(rows);
    CAPTURE(columns);
    auto x = device.upload(std::vector<float>(rows * columns, 3)), y = device.allocate<float>(rows * columns);
    auto sums = device.upload(std::vector<float>(rows, NAN));
    plan.run(
        {{"x", tw::view(x, {rows, columns})}, {"x2", tw::view(x, {rows, columns})}, {"y", tw::view(y, {rows, columns})}, {"sums", sums}});
    CHECK(y.download() == std::vector<float>(rows * columns, 6));
    CHECK(sums.download() == std::vector<float>(rows, 3.0f * columns));
  }
}

TEST_CASE("graph programs: an extent of 0 where it is not allowed, and negative extents, are mistakes") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n"), m = graph.dim("m", {.min = 0});
  auto x = graph.input<float>("x", {n}), z = graph.input<float>("z", {m});
  graph.output("y", x + 1.0f);
  graph.output("tail", tw::slice(z, 0, 2, m));
  const tw::Plan plan = graph.compile(device);
  auto none = device.allocate<float>(0), two = device.allocate<float>(2), one = device.allocate<float>(1), y = device.allocate<float>(2),
       other = device.allocate<float>(2);
  CHECK_THROWS_WITH_AS(plan.run({{"x", none}, {"z", two}, {"y", none}, {"tail", none}}), doctest::Contains("must be at least 1"),
                       tw::Error);
  CHECK_THROWS_WITH_AS(plan.run({{"x", two}, {"z", one}, {"y", y}, {"tail", other + 0}}), doctest::Contains("must be at least 0"),
                       tw::Error);
  plan.run({{"x", two}, {"z", two}, {"y", y}, {"tail", none}});
}

}  // namespace graph_program

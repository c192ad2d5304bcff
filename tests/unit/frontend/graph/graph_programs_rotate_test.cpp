// Axes that are turned: offsets of each sign and size, extents of 0, 1 and a symbol, element types, and what rotate is fused with.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// The rows of x, where element i becomes element (i + offset) mod n.
Numbers rotated_rows(const Numbers& x, std::int64_t n, std::int64_t offset) {
  Numbers result(x.size());
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto i = static_cast<std::int64_t>(at) % n;
    const std::int64_t to = ((i + offset) % n + n) % n;
    result[at - static_cast<std::size_t>(i) + static_cast<std::size_t>(to)] = x[at];
  }
  return result;
}

template <class T>
void add_rotations(Program& p, const std::string& type, const std::vector<T>& data, int rows, int n) {
  const auto x = p.input(type, {rows, n}, data);
  for (const int offset : {1, -3, n, 5 * n + 2}) {
    const std::string name = type + " by " + std::to_string(offset);
    p.output(name, tw::rotate(x, -1, offset), rotated_rows(numbers_of(data), n, offset), 0);
  }
}

TEST_CASE("graph programs: rotate of each element type, by offsets of each sign and size") {
  constexpr int kRows = 3, kColumns = 37;
  const auto h = normal(kRows * kColumns, 1, 20);
  Program p;
  add_rotations(p, "f32", h, kRows, kColumns);
  add_rotations(p, "f16", rounded_to<tw::f16>(h), kRows, kColumns);
  add_rotations(p, "bf16", rounded_to<tw::bf16>(h), kRows, kColumns);
  add_rotations(p, "f64", std::vector<double>(h.begin(), h.end()), kRows, kColumns);
  add_rotations(p, "i8", rounded_to<std::int8_t>(h), kRows, kColumns);
  add_rotations(p, "i64", rounded_to<std::int64_t>(h), kRows, kColumns);
  p.check();
}

TEST_CASE("graph programs: rotate of axes of 0 and of 1 element, of the first axis, and of a scalar's broadcast") {
  const auto h = normal(5 * 4, 1);
  Program p;
  const auto x = p.input("x", {5, 4}, h);
  p.output("nothing", tw::rotate(tw::slice(x, 0, 2, 2), 0, 3), {});
  p.output("one", tw::rotate(tw::slice(x, 0, 2, 3), 0, -3), {h[8], h[9], h[10], h[11]});
  Numbers first;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) first.push_back(h[(i + 5 - 2) % 5 * 4 + j]);
  p.output("first", tw::rotate(x, 0, 2), first);
  p.output("scalar", tw::rotate(tw::broadcast_to(tw::sum(x), {6}), 0, 1), Numbers(6, [&] {
             double sum = 0;
             for (float v : h) sum += v;
             return sum;
           }()));
  p.check();
}

TEST_CASE("graph programs: rotate inside of formulas is an index: reductions, products, softmax, views and other rotations") {
  constexpr int kRows = 6, kColumns = 24;
  const auto hx = normal(kRows * kColumns, 1), hw = normal(kColumns * 8, 2);
  const Numbers turned = rotated_rows(numbers_of(hx), kColumns, 5);
  Numbers differences, soft, products(kRows * 8), halves, sums(kRows), picked;
  for (int r = 0; r < kRows; ++r) {
    double total = 0;
    for (int c = 0; c < kColumns; ++c) total += std::exp(turned[r * kColumns + c]);
    for (int c = 0; c < kColumns; ++c) {
      const int next = r * kColumns + (c + 1) % kColumns, before = r * kColumns + (c + kColumns - 1) % kColumns;
      differences.push_back(double(hx[next]) - 2 * double(hx[r * kColumns + c]) + double(hx[before]));
      soft.push_back(std::exp(turned[r * kColumns + c]) / total);
      sums[r] += turned[r * kColumns + c] * double(hx[r * kColumns + c]);
      for (int k = 0; k < 8; ++k) products[r * 8 + k] += turned[r * kColumns + c] * double(hw[c * 8 + k]);
    }
    // Half of a row turned by half of it: the halves change places.
    for (int c = 0; c < kColumns; ++c) halves.push_back(hx[r * kColumns + (c + kColumns / 2) % kColumns]);
    picked.push_back(turned[r * kColumns + (7 * r) % kColumns]);
  }
  Program p;
  const auto x = p.input("x", {kRows, kColumns}, hx), w = p.input("w", {kColumns, 8}, hw);
  const auto i = p.input("i", {kRows, 1}, std::vector<std::int32_t>{0, 7, 14, 21, 4, 11});
  const auto t = tw::rotate(x, 1, 5);
  p.output("differences", tw::rotate(x, 1, -1) - 2.0f * x + tw::rotate(x, 1, 1), differences);
  p.output("soft", tw::softmax(t, 1), soft);
  p.output("sums", tw::sum(t * x, 1), sums);
  p.output("products", tw::matmul(t, w), products, 2e-3);
  p.output("twice", tw::rotate(tw::rotate(tw::rotate(x, 1, 20), 1, -4), 1, -11), turned);
  p.output("halves", tw::reshape(tw::rotate(tw::reshape(x, {kRows, 2, kColumns / 2}), 1, 1), {kRows, kColumns}), halves);
  p.output("flat", tw::rotate(tw::reshape(x, {kRows * kColumns}), 0, kColumns), [&] {
    Numbers flat;
    for (int at = 0; at < kRows * kColumns; ++at) flat.push_back(hx[(at + (kRows - 1) * kColumns) % (kRows * kColumns)]);
    return flat;
  }());
  p.output("joined", tw::rotate(tw::concat({tw::slice(x, 1, 0, 10), tw::slice(x, 1, 10, kColumns)}, 1), 1, 5), turned);
  p.output("picked", tw::take_along(t, i, 1), picked);
  p.check();
}

TEST_CASE("graph programs: one plan rotates axes of every size, by numbers and by symbols") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0}), k = graph.dim("k", {.min = 0, .max = 1000});
  const auto x = graph.input<float>("x", {2, n});
  const tw::Dim offsets[] = {1, -1, 50, n - 3, k, 0 - 2 * k, n - k};
  for (std::size_t i = 0; i < std::size(offsets); ++i) graph.output("y" + std::to_string(i), tw::rotate(x, 1, offsets[i]));
  graph.output("sum", tw::sum(tw::rotate(x, 1, 0 - k) * x, 1));
  for (const std::string& name : devices())
    for (const bool fuse : {true, false}) {
      CAPTURE(name);
      CAPTURE(fuse);
      tw::Device device = tw::Device::open(name);
      const tw::Plan plan = graph.compile(device, {.fuse = fuse});
      CHECK(plan.proof().exact);
      for (const int extent : {0, 1, 2, 7, 64, 131})
        for (const int steps : {0, 3, 200}) {
          CAPTURE(extent);
          CAPTURE(steps);
          const auto h = normal(static_cast<std::size_t>(2 * extent), 3);
          const std::int64_t by[] = {1, -1, 50, extent - 3, steps, -2 * steps, extent - steps};
          auto in = device.upload(h);
          auto sums = device.allocate<float>(2);
          std::vector<tw::Buffer<float>> out;
          std::vector<tw::RunArgument> arguments;
          for (std::size_t i = 0; i < std::size(by); ++i) out.push_back(device.allocate<float>(h.size()));
          for (std::size_t i = 0; i < std::size(by); ++i) arguments.emplace_back("y" + std::to_string(i), out[i]);
          arguments.emplace_back("x", std::as_const(in));
          arguments.emplace_back("sum", sums);
          arguments.emplace_back("n", extent);
          arguments.emplace_back("k", steps);
          plan.run(arguments);
          for (std::size_t i = 0; i < std::size(by); ++i) {
            CAPTURE(i);
            CHECK(numbers_of(out[i].download()) == rotated_rows(numbers_of(h), extent, by[i]));
          }
          const Numbers turned = rotated_rows(numbers_of(h), extent, -steps), got = numbers_of(sums.download());
          for (int r = 0; r < 2; ++r) {
            double want = 0;
            for (int c = 0; c < extent; ++c) want += turned[r * extent + c] * double(h[r * extent + c]);
            CHECK(got[r] == doctest::Approx(want).epsilon(1e-4).scale(1));
          }
        }
    }
}

}  // namespace
}  // namespace graph_program

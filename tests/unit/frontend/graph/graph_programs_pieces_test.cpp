// Concatenations of products: the kernel of each piece writes to its place, on hosts and GPUs.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kBatch = 2, kRows = 18, kInner = 40, kColumns = 24;

Numbers product(const Numbers& a, const Numbers& b, int batch, int rows, int inner, int columns) {
  Numbers y(static_cast<std::size_t>(batch * rows * columns));
  for (int n = 0; n < batch; ++n)
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < inner; ++k)
        for (int j = 0; j < columns; ++j)
          y[(n * rows + i) * columns + j] += a[(n * rows + i) * inner + k] * b[(n * inner + k) * columns + j];
  return y;
}

/// What [outer, each of `lengths`] have side by side.
Numbers joined(const std::vector<Numbers>& pieces, int outer) {
  Numbers all;
  for (int i = 0; i < outer; ++i)
    for (const Numbers& p : pieces) {
      const auto length = static_cast<std::ptrdiff_t>(p.size()) / outer;
      all.insert(all.end(), p.begin() + i * length, p.begin() + (i + 1) * length);
    }
  return all;
}

TEST_CASE("programs pieces: products are written in place along each axis") {
  for (const int axis : {0, 1, 2}) {
    CAPTURE(axis);
    Program p;
    std::vector<tw::Tensor<float>> all;
    std::vector<Numbers> want;
    for (int i = 0; i < 3; ++i) {
      const int batch = kBatch + (axis == 0 ? i : 0), rows = kRows + (axis == 1 ? 3 * i : 0),
                columns = kColumns + (axis == 2 ? 8 * i - 3 : 0);
      const auto ha = normal(batch * rows * kInner, 10 + i), hb = normal(batch * kInner * columns, 20 + i);
      all.push_back(tw::matmul(p.input("a" + std::to_string(i), {batch, rows, kInner}, ha),
                               p.input("b" + std::to_string(i), {batch, kInner, columns}, hb), tw::Precision::ieee));
      want.push_back(product(numbers_of(ha), numbers_of(hb), batch, rows, kInner, columns));
    }
    const int outer = axis == 0 ? 1 : axis == 1 ? kBatch : kBatch * kRows;
    const Numbers whole = joined(want, outer);
    p.output("y", tw::concat(all, axis), whole, 1e-5);
    for (const char* name : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
      CAPTURE(name);
      tw::Device device = tw::Device::open(name);
      const tw::Plan plan = p.check_on(device, {.search = tw::Search::off});
      CHECK(plan.kernels().size() == 3);
      std::int64_t written = 0;
      for (const tw::PlannedKernel& k : plan.kernels()) written += k.bytes_written;
      CHECK(written == static_cast<std::int64_t>(sizeof(float) * whole.size()));
      CHECK(plan.explain().find("(part of y)") != std::string::npos);
      CHECK(plan.explain_svg().find("y") != std::string::npos);
    }
  }
}

// A product feeds on what the pieces have written; the buffer of the pieces is the workspace's.
TEST_CASE("programs pieces: a concatenation inside of a formula is memory that several kernels write") {
  Program p;
  const auto n = p.graph.dim("n");
  const auto hx = normal(kRows * kInner, 1), hu = normal(kInner * 12, 2), hv = normal(kInner * 20, 3), hz = normal(kRows * 5, 4),
             hw = normal(37 * 9, 5);
  const auto x = p.input("x", {n, kInner}, hx);
  const auto y = tw::concat(
      std::vector<tw::Tensor<float>>{tw::matmul(x, p.input("u", {kInner, 12}, hu), tw::Precision::ieee), p.input("z", {n, 5}, hz),
                                     tw::relu(tw::matmul(x, p.input("v", {kInner, 20}, hv), tw::Precision::ieee))},
      -1);
  Numbers a = product(numbers_of(hx), numbers_of(hu), 1, kRows, kInner, 12),
          b = product(numbers_of(hx), numbers_of(hv), 1, kRows, kInner, 20);
  for (double& v : b) v = std::max(v, 0.0);
  const Numbers whole = joined({a, numbers_of(hz), b}, kRows), all = product(whole, numbers_of(hw), 1, kRows, 37, 9);
  Numbers some;
  for (int i = 0; i < kRows; ++i) some.insert(some.end(), whole.begin() + i * 37 + 4, whole.begin() + i * 37 + 30);
  p.output("all", tw::matmul(y, p.input("w", {37, 9}, hw), tw::Precision::ieee), all, 1e-5);
  p.output("some", tw::slice(y, 1, 4, 30), some, 1e-5);
  for (const char* name : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = p.check_on(device, {.search = tw::Search::off});
    CHECK(plan.kernels().size() <= 5);
  }
}

}  // namespace
}  // namespace graph_program

// Infinite and NaN elements of the data beside masks: a mask hides what it was written over, and multiplies everything else. Fused as node by
// node.
#include <cmath>
#include <limits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 4, kColumns = 9, kOutputs = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
struct Given {
  tw::Tensor<T> x, y, w;               // [kRows, kColumns]; w: [kColumns, kOutputs]
  tw::Tensor<bool> each, row, output;  // [kRows, kColumns], [kRows, 1], [1, kOutputs]
};

template <class T>
struct Case {
  std::string name;
  std::size_t count;  // of the elements of the result
  std::function<tw::Tensor<T>(const Given<T>&)> formula;
};

template <class T>
std::vector<Case<T>> cases() {
  using G = const Given<T>&;
  const T zero(0), one(1);
  const auto untested = [=](auto t) { return tw::where(tw::isnan(t), zero, t); };
  constexpr std::size_t all = kRows * kColumns, products = kRows * kOutputs;
  return {
      // Factors of an element-wise product that stand outside of the mask.
      {"where(m, x, 0) y", all, [=](G g) { return tw::where(g.each, g.x, zero) * g.y; }},
      {"y where(m, x, 0) 3 + 1", all, [=](G g) { return g.y * tw::where(g.each, g.x, zero) * T(3) + one; }},
      {"cast(m) x", all, [=](G g) { return tw::cast<T>(g.each) * g.x; }},
      {"where(m, 1, 0) x y", all, [=](G g) { return tw::where(g.each, one, zero) * g.x * g.y; }},
      {"where(m, x, 0) where(n, y, 0)", all, [=](G g) { return tw::where(g.each, g.x, zero) * tw::where(g.row, g.y, zero); }},
      {"where(m, x, 0) where(not m, y, 0)", all, [=](G g) { return tw::where(g.each, g.x, zero) * tw::where(!g.each, g.y, zero); }},
      {"where(m, x, 0) exp y", all, [=](G g) { return tw::where(g.each, g.x, zero) * tw::exp(g.y); }},
      {"sum x cast(m)", all, [=](G g) { return tw::sum(g.x, 1, true) * tw::cast<T>(g.each); }},
      {"softmax(x) cast(m)", all, [=](G g) { return tw::softmax(g.x, 1) * tw::cast<T>(g.each); }},
      // Factors of a product that stand inside of it.
      {"where(m, x y, 0)", all, [=](G g) { return tw::where(g.each, g.x * g.y, zero); }},
      {"where(m, where(m, x, 0) y, 0)", all, [=](G g) { return tw::where(g.each, tw::where(g.each, g.x, zero) * g.y, zero); }},
      {"where(m, softmax x, 0)", all, [=](G g) { return tw::where(g.row, tw::softmax(g.x, 1), zero); }},
      {"where(m, exp x / sum, 0) r", all,
       [=](G g) {
         return tw::where(g.each, tw::exp(g.x) / tw::sum(tw::exp(g.x), 1, true), zero) * tw::mean(tw::exp(-g.y * g.y), 1, true);
       }},
      // Masks without the summed axis, beside factors that may be infinite.
      {"(1 / y) where(m, w, 0)", products, [=](G g) { return tw::matmul(one / g.y, tw::where(g.output, g.w, zero)); }},
      {"log |y| where(m, w w, 0)", products, [=](G g) { return tw::matmul(tw::log(tw::abs(g.y)), tw::where(g.output, g.w * g.w, zero)); }},
      {"sum where(m, softmax x, 0)", kRows, [=](G g) { return tw::sum(tw::where(g.row, tw::softmax(g.x, 1), zero), 1); }},
      // Divisors under a mask.
      {"y / where(m, x, 0)", all, [=](G g) { return g.y / tw::where(g.each, g.x, zero); }},
      {"tanh(1 / where(m, max x, 0))", all, [=](G g) { return tw::tanh(one / tw::where(g.each, tw::max(g.x, 1, true), zero)); }},
      {"sum exp(-1 / where(m, x x, 0))", kRows, [=](G g) { return tw::sum(tw::exp(T(-1) / tw::where(g.each, g.x * g.x, zero)), 1); }},
      // Masks that test what they hide.
      {"softmax without NaN, times w", products,
       [=](G g) { return tw::matmul(untested(tw::softmax(g.x, 1)), tw::where(g.output, g.w, one)); }},
      {"sum of softmax without NaN", kRows, [=](G g) { return tw::sum(untested(tw::softmax(g.x, 1)), 1); }},
      {"layer norm without NaN, times w", products,
       [=](G g) {
         const auto centred = g.x - tw::mean(g.x, 1, true);
         return tw::matmul(untested(centred * tw::rsqrt(tw::mean(centred * centred, 1, true) + one)), tw::where(g.output, g.w, one));
       }},
      {"sum of finite scores", kRows, [=](G g) { return tw::sum(tw::where(g.x > T(-100), g.y * tw::softmax(g.x, 1), zero), 1); }},
  };
}

/// Row 0 of x has no such element; row 1 is all -inf; row 2 has a NaN and row 3 an infinity, which the masks hide; y has some where masks hide x.
template <class T>
Numbers run(tw::Device& device, const Case<T>& c, bool is_symbolic, const tw::PlanOptions& options) {
  auto x = normal(kRows * kColumns, 1), y = normal(kRows * kColumns, 2), w = normal(kColumns * kOutputs, 3);
  std::vector<bool> each(kRows * kColumns), row{true, false, true, false}, output(kOutputs, true);
  for (int i = 0; i < kRows * kColumns; ++i) each[i] = i / kColumns != 1 && i % 3 != 0;
  for (int j = 0; j < kColumns; ++j) x[kColumns + j] = -kInfinity;
  x[2 * kColumns + 3] = NAN, x[3 * kColumns + 6] = kInfinity;
  y[kColumns + 2] = NAN, y[3] = -kInfinity, y[2 * kColumns] = kInfinity;
  w[2 * kOutputs + 3] = NAN, output[3] = false;
  tw::Graph g;
  const tw::Dim n = is_symbolic ? g.dim("n") : tw::Dim(kRows), m = is_symbolic ? g.dim("m") : tw::Dim(kColumns);
  const Given<T> given{g.input<T>("x", {n, m}),       g.input<T>("y", {n, m}),      g.input<T>("w", {m, kOutputs}),
                       g.input<bool>("each", {n, m}), g.input<bool>("row", {n, 1}), g.input<bool>("output", {1, kOutputs})};
  // Each is read, so that every run has the same inputs.
  g.output("out", c.formula(given));
  g.output("masks", tw::sum(tw::cast<int>(given.each)) + tw::sum(tw::cast<int>(given.row)) + tw::sum(tw::cast<int>(given.output)));
  g.output("sums", tw::sum(given.x) + tw::sum(given.y) + tw::sum(given.w));
  const tw::Plan plan = g.compile(device, options);
  CHECK(plan.proof().exact);
  const auto bits = [&](const std::vector<bool>& values) {
    auto b = device.allocate<bool>(static_cast<std::int64_t>(values.size()));
    b.upload(values);
    return b;
  };
  auto out = device.upload(rounded_to<T>(std::vector<float>(c.count, -77)));
  auto count = device.allocate<int>(1);
  auto sums = device.allocate<T>(1);
  plan.run({{"x", device.upload(rounded_to<T>(x))},
            {"y", device.upload(rounded_to<T>(y))},
            {"w", device.upload(rounded_to<T>(w))},
            {"each", bits(each)},
            {"row", bits(row)},
            {"output", bits(output)},
            {"out", out},
            {"masks", count},
            {"sums", sums}});
  return numbers_of(out.download());
}

template <class T>
void check(const std::string& name, double tolerance) {
  CAPTURE(name);
  tw::Device device = tw::Device::open(name);
  for (const Case<T>& c : cases<T>())
    for (const bool is_symbolic : {false, true}) {
      CAPTURE(c.name);
      CAPTURE(is_symbolic);
      const Numbers want = run(device, c, is_symbolic, {.fuse = false}), got = run(device, c, is_symbolic, {});
      for (std::size_t i = 0; i < want.size(); ++i) {
        CAPTURE(i);
        CAPTURE(got[i]);
        CAPTURE(want[i]);
        if (std::isfinite(want[i]))
          CHECK(std::fabs(got[i] - want[i]) <= tolerance * (1 + std::fabs(want[i])));
        else
          CHECK_FALSE(std::isfinite(got[i]));
      }
    }
}

}  // namespace

TEST_CASE("graph programs: a mask hides what it was written over, and 0 times what is not finite is NaN") {
  for (const char* device : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
    check<float>(device, 1e-2);  // products of tf32
    check<tw::f16>(device, 3e-2);
  }
  check<double>("cpu", 1e-10);
}

}  // namespace graph_program

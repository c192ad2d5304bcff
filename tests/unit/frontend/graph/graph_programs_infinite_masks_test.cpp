// Averages and maxima of values that a mask or a pad makes infinite, and differences from them: fused as node by node, also where that is NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 4, kColumns = 40;

/// Rows of the mask hold everywhere, everywhere but at one place, at every other place, nowhere.
std::vector<bool> mask() {
  std::vector<bool> all;
  for (int i = 0; i < kRows * kColumns; ++i) {
    const int row = i / kColumns, column = i % kColumns;
    all.push_back(row == 0 || (row == 1 && column != 17) || (row == 2 && column % 2 == 0));
  }
  return all;
}

template <class T>
using Formula = std::function<tw::Tensor<T>(tw::Tensor<T> x, tw::Tensor<T> masked, tw::Tensor<T> z)>;

template <class T>
struct Case {
  std::string name;
  std::size_t count;  // of the elements of the result
  Formula<T> formula;
};

template <class T>
std::vector<Case<T>> cases() {
  const auto centred = [](auto t) { return t - tw::mean(t, {1}, true); };
  const auto weights = [](auto t) { return tw::exp(t - tw::max(t, {1}, true)); };
  return {
      {"sum of differences", kRows, [=](auto, auto t, auto) { return tw::sum(centred(t), {1}); }},
      {"variance", kRows, [=](auto, auto t, auto) { return tw::mean(centred(t) * centred(t), {1}); }},
      {"layer norm", kRows * kColumns, [](auto, auto t, auto z) { return tw::layer_norm(t, z, z); }},
      {"weighted differences", kRows, [=](auto, auto t, auto z) { return tw::sum(centred(t) * z, {1}); }},
      {"product", kRows * kRows, [=](auto, auto t, auto z) { return tw::matmul(centred(t), tw::transpose(z)); }},
      {"pad", kRows,
       [=](auto x, auto, auto) { return tw::sum(centred(tw::pad(x, 1, 1, 1, -std::numeric_limits<float>::infinity())), {1}); }},
      {"entropy", kRows, [](auto, auto t, auto) { return tw::sum(tw::softmax(t, 1) * tw::log_softmax(t, 1), {1}); }},
      {"sum of weights", kRows, [=](auto, auto t, auto) { return tw::sum(weights(t), {1}); }},
      {"weights", kRows * kRows, [=](auto, auto t, auto z) { return tw::matmul(weights(t), tw::transpose(z)); }},
  };
}

template <class T>
Numbers run(tw::Device& device, const Case<T>& c, bool is_symbolic, float fill, bool fuse) {
  tw::Graph g;
  const tw::Dim m = is_symbolic ? g.dim("m") : tw::Dim(kColumns);
  const auto x = g.input<T>("x", {kRows, m}), z = g.input<T>("z", {kRows, m});
  const auto k = g.input<bool>("k", {kRows, m});
  g.output("out", c.formula(x, tw::where(k, x, T(fill)), z));
  const tw::Plan plan = g.compile(device, {.fuse = fuse});
  CHECK(plan.proof().exact);
  if (fuse) CHECK(plan.explain().find("node by node") == std::string::npos);
  auto bits = device.allocate<bool>(kRows * kColumns);
  bits.upload(mask());
  auto out = device.allocate<T>(c.count);
  plan.run({{"x", device.upload(rounded_to<T>(normal(kRows * kColumns, 1)))},
            {"z", device.upload(rounded_to<T>(normal(kRows * kColumns, 2)))},
            {"k", bits},
            {"out", out}});
  return numbers_of(out.download());
}

/// Whether values are not finite at the same places, and elsewhere near: what cancels has the error of the values, which are of the order of 1.
bool is_near(const Numbers& got, const Numbers& want, double tolerance) {
  return std::equal(got.begin(), got.end(), want.begin(), want.end(), [=](double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return !std::isfinite(a) && !std::isfinite(b);
    return std::fabs(a - b) <= tolerance * (kColumns + std::fabs(b));
  });
}

bool have_same_nans(const Numbers& got, const Numbers& want) {
  return std::equal(got.begin(), got.end(), want.begin(), want.end(), [](double a, double b) { return std::isnan(a) == std::isnan(b); });
}

template <class T>
void check_case(const Case<T>& c, const std::string& device_name, bool is_symbolic, float fill, double tolerance) {
  tw::Device device = tw::Device::open(device_name);
  CAPTURE(device_name);
  CAPTURE(c.name);
  CAPTURE(is_symbolic);
  CAPTURE(fill);
  const Numbers fused = run(device, c, is_symbolic, fill, true), unfused = run(device, c, is_symbolic, fill, false);
  CHECK(is_near(fused, unfused, tolerance));
  if (fill < 0) CHECK(have_same_nans(fused, unfused));
  // The mask leaves out nothing of the first row.
  if (c.name != "pad") CHECK(std::isfinite(fused[0]));
}

// The maximum of a row that is hidden whole is -inf, and 0 times it is NaN. The kernel before it stores what the maximum is taken of.
template <class T>
void check_numbers_for_nan(const std::string& device_name, bool has_axis_of_one) {
  CAPTURE(device_name);
  CAPTURE(has_axis_of_one);
  tw::Device device = tw::Device::open(device_name);
  tw::Graph g;
  const tw::Dim n = g.dim("n"), m = g.dim("m");
  const std::vector<tw::Dim> shape = has_axis_of_one ? std::vector<tw::Dim>{1, n, m} : std::vector<tw::Dim>{n, m};
  const auto x = g.input<T>("x", shape);
  const auto k = g.input<bool>("k", shape);
  const auto most = tw::max(tw::where(k, tw::softmax(x, -2), T(-HUGE_VAL)), -1) * T(0);
  g.output("out", tw::where(tw::isnan(most), T(0), most));
  const tw::Plan plan = g.compile(device);
  CHECK(plan.proof().exact);
  // A host reduces narrow floats in parts, one for each processor, and stores nothing.
  const bool has_parts = device_name == "cpu" && std::is_same_v<T, tw::f16>;
  if (!has_parts) CHECK(plan.kernels().size() == 2);
  auto bits = device.allocate<bool>(kRows * kColumns);
  bits.upload(mask());
  auto out = device.allocate<T>(kRows);
  plan.run({{"x", device.upload(rounded_to<T>(normal(kRows * kColumns, 1)))}, {"k", bits}, {"out", out}, {"n", kRows}, {"m", kColumns}});
  CHECK(numbers_of(out.download()) == Numbers(kRows, 0.0));
}

}  // namespace

TEST_CASE("graph programs: a mask hides NaN that is made of the maximum of stored values") {
  for (const bool has_axis_of_one : {false, true})
    for (const std::string device : {"cpu", "emulator:sm_80"}) {
      check_numbers_for_nan<float>(device, has_axis_of_one);
      check_numbers_for_nan<double>(device, has_axis_of_one);
      check_numbers_for_nan<tw::f16>(device, has_axis_of_one);
    }
}

TEST_CASE("graph programs: differences from averages and maxima of values that a mask makes infinite, f32") {
  for (const Case<float>& c : cases<float>())
    for (const bool is_symbolic : {false, true}) check_case(c, "cpu", is_symbolic, is_symbolic ? INFINITY : -INFINITY, 1e-6);
}

TEST_CASE("graph programs: differences from averages and maxima of values that a mask makes infinite, f64") {
  for (const Case<double>& c : cases<double>()) check_case(c, "cpu", false, -INFINITY, 1e-14);
}

TEST_CASE("graph programs: differences from averages and maxima of values that a mask makes infinite, f16 and bf16") {
  for (const Case<tw::f16>& c : cases<tw::f16>()) check_case(c, "cpu", true, -INFINITY, 1e-3);
  for (const Case<tw::bf16>& c : cases<tw::bf16>()) check_case(c, "cpu", false, -INFINITY, 1e-2);
}

TEST_CASE("graph programs: differences from averages and maxima of values that a mask makes infinite, on a GPU") {
  const std::vector<Case<float>> all = cases<float>();
  for (const std::size_t i : {1, 4, 7, 8}) check_case(all[i], "emulator:sm_80", false, -INFINITY, 1e-3);
}

}  // namespace graph_program

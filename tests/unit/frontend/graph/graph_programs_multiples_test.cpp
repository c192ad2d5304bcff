// Sums and differences of multiples by numbers that are not powers of two. The normal form takes such a number out of a sum, so the sum and
// its multiples are computed from each other in one direction only.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 3, kColumns = 40;

template <class T>
struct Given {
  tw::Tensor<T> x, z, w;
  double number;
  static T of(double value) { return T(static_cast<float>(value)); }
  T c() const { return of(number); }
  // The greatest elements of the rows.
  tw::Tensor<T> greatest(const tw::Tensor<T>& t) const { return tw::max(t, 1, true); }
};

struct Formula {
  const char* name;
  std::function<tw::Tensor<tw::f16>(const Given<tw::f16>&)> in_f16;
  std::function<tw::Tensor<tw::bf16>(const Given<tw::bf16>&)> in_bf16;
  std::function<tw::Tensor<float>(const Given<float>&)> in_float;
  std::function<tw::Tensor<double>(const Given<double>&)> in_double;

  template <class T>
  tw::Tensor<T> of(const Given<T>& d) const {
    if constexpr (std::is_same_v<T, tw::f16>)
      return in_f16(d);
    else if constexpr (std::is_same_v<T, tw::bf16>)
      return in_bf16(d);
    else if constexpr (std::is_same_v<T, float>)
      return in_float(d);
    else
      return in_double(d);
  }
};
template <class F>
Formula formula(const char* name, F f) {
  return {name, f, f, f, f};
}

std::vector<Formula> formulas() {
  return {
      formula("a difference as a factor", [](auto d) { return (d.x * d.c() - d.z * d.c()) * d.w; }),
      formula("a difference as a factor, in the other order", [](auto d) { return d.w * (d.z * d.c() - d.x * d.c()); }),
      formula("a sum as a factor", [](auto d) { return (d.x * d.c() + d.z * d.c()) * d.w; }),
      formula("a quotient", [](auto d) { return (d.x / d.c() - d.z / d.c()) * d.w; }),
      formula("an exponent", [](auto d) { return tw::exp2(d.x * d.c() - d.z * d.c()); }),
      formula("multiples twice", [](auto d) { return tw::tanh((d.x * d.c() - d.z * d.c()) * d.c()); }),
      formula("a number as a term", [](auto d) { return (d.x * d.c() - d.c()) * d.w; }),
      formula("a product as a term", [](auto d) { return (d.c() * d.x - d.z * d.w * d.c()) * d.w; }),
      formula("three terms", [](auto d) { return (d.x * d.c() - d.z * d.c() + d.w * d.c()) * (d.x * d.c() - d.z * d.c()); }),
      formula("other multiples", [](auto d) { return (d.x * d.c() - d.z * d.c() * d.of(3)) * d.w; }),
      formula("a difference that is used as it is",
              [](auto d) {
                const auto s = d.x * d.c() - d.z * d.c();
                return s * d.w + s + (d.x - d.z);
              }),
      // The part that is subtracted from is a multiple of the difference, and has no written order, since w cancels.
      formula("a part that is a multiple",
              [](auto d) {
                const auto part = ((d.x * d.c() + d.w) - d.z * d.c() + d.w * d.c()) - d.w;
                const auto rest = d.of(d.number - 1);
                return part - ((d.x * rest - d.z * rest) + d.w * rest);
              }),
      formula("weights of a softmax to the base of two",
              [](auto d) {
                const auto t = d.x * d.c();
                return tw::exp2(t - d.greatest(t));
              }),
      formula("a softmax to the base of two",
              [](auto d) {
                const auto t = d.x * d.c();
                const auto e = tw::exp2(t - d.greatest(t));
                return tw::sum(e * d.z, 1, true) / tw::sum(e, 1, true) * d.w;
              }),
      formula("below a multiple of the greatest", [](auto d) { return (d.x * d.c() - d.greatest(d.x) * d.c()) * d.w; }),
      formula("below the average", [](auto d) { return (d.x * d.c() - tw::mean(d.x * d.c(), 1, true)) * d.w; }),
  };
}

/// The elements of a formula of data of type In, computed in T.
template <class T, class In>
Numbers elements_of(const Formula& f, double number, const char* device_name, const tw::PlanOptions& options) {
  tw::Device device = tw::Device::open(device_name);
  tw::Graph g;
  std::vector<tw::Buffer<In>> buffers;
  for (const unsigned seed : {1u, 2u, 3u}) buffers.push_back(device.upload(rounded_to<In>(normal(kRows * kColumns, seed))));
  const auto input = [&](const char* name) { return g.input<In>(name, {kRows, kColumns}).template to<T>(); };
  const Given<T> d{input("x"), input("z"), input("w"), number};
  g.output("y", f.of(d));
  g.output("all", d.x + d.z + d.w);  // all inputs are used, whatever the formula reads
  const tw::Plan plan = g.compile(device, options);
  CHECK(plan.proof().exact);
  CHECK(plan.explain().find("node by node") == std::string::npos);
  auto result = device.allocate<T>(kRows * kColumns), all = device.allocate<T>(kRows * kColumns);
  plan.run({{"x", buffers[0]}, {"z", buffers[1]}, {"w", buffers[2]}, {"y", result}, {"all", all}});
  return numbers_of(result.download());
}

template <class T>
void check_formulas(double tolerance, const std::vector<double>& numbers) {
  for (const Formula& f : formulas())
    for (const double number : numbers) {
      // Numbers are those of the narrow type in both.
      const double c = number_of(T(static_cast<float>(number)));
      CAPTURE(std::string(f.name));
      CAPTURE(c);
      const Numbers want = elements_of<double, T>(f, c, "cpu", {.fuse = false});
      for (const std::string& device : devices()) {
        CAPTURE(device);
        CHECK(relative_error(elements_of<T, T>(f, c, device.c_str(), {}), want) <= tolerance);
      }
    }
}

constexpr double kOfLogarithm = 1.4426950408889634;

TEST_CASE("graph programs: multiples of sums and differences") { check_formulas<float>(1e-6, {1.5, kOfLogarithm}); }
TEST_CASE("graph programs: multiples of sums and differences of doubles") { check_formulas<double>(1e-15, {kOfLogarithm}); }
TEST_CASE("graph programs: multiples of sums and differences of f16") { check_formulas<tw::f16>(2e-3, {1.5}); }
TEST_CASE("graph programs: multiples of sums and differences of bf16") { check_formulas<tw::bf16>(2e-2, {kOfLogarithm}); }

}  // namespace
}  // namespace graph_program

// A value that two loops compute, or two kernels, has the same bits in both: a maximum is one of the values that it is chosen from.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 7, kColumns = 700, kDim = 32;

template <class T>
struct Inputs {
  tw::Tensor<T> x, z, w, scale, column, q, k;
};

/// A value, and another output in which its parts have further uses.
template <class T>
struct Case {
  const char* name;
  std::function<tw::Tensor<T>(const Inputs<T>&)> value, beside;
};

template <class T>
std::vector<Case<T>> cases() {
  using In = const Inputs<T>&;
  static constexpr float kScale = 3.7f;  // no power of two: multiplication rounds
  const auto at_maximum = [](const tw::Tensor<T>& v, const tw::Tensor<T>& of) {
    return tw::sum(tw::where(v >= tw::max(v, 1, true), tw::sin(of), T(0)), 1);
  };
  const auto product = [](In i) { return tw::matmul(i.q, tw::transpose(i.k)); };
  return {
      {"multiple plus a value", [](In i) { return i.x * T(kScale) + i.z; }, [](In i) { return tw::max(tw::sin(i.x * T(kScale)), 1); }},
      {"row's multiple plus a value", [](In i) { return i.x * i.scale + i.z; }, [](In i) { return tw::max(tw::sin(i.x * i.scale), 1); }},
      {"quotient plus a value", [](In i) { return i.x / i.scale + i.z; }, [](In i) { return tw::max(tw::sin(i.x / i.scale), 1); }},
      {"row's multiple plus a column", [](In i) { return i.x * i.scale + i.column; },
       [](In i) { return tw::max(tw::sin(i.x * i.scale), 1); }},
      {"two products", [](In i) { return i.x * i.w + i.z * i.scale; },
       [=](In i) { return at_maximum(i.x * i.w + i.z * i.scale, i.z * i.scale); }},
      {"value minus a multiple", [](In i) { return i.x - i.z * T(kScale); },
       [=](In i) { return at_maximum(i.x - i.z * T(kScale), i.z * T(kScale)); }},
      {"matrix product plus a column", [=](In i) { return product(i) + i.column; }, [=](In i) { return tw::max(product(i), 1); }},
      {"matrix product plus a value", [=](In i) { return product(i) + i.z; },
       [=](In i) { return at_maximum(product(i) + i.z, product(i)); }},
      {"multiple of a matrix product plus a value", [=](In i) { return product(i) * T(kScale) + i.z; },
       [=](In i) { return at_maximum(product(i) * T(kScale) + i.z, product(i) * T(kScale)); }},
  };
}

template <class T>
void check_maxima(tw::Device& device) {
  for (const Case<T>& c : cases<T>()) {
    CAPTURE(c.name);
    Program p;
    const auto in = [&](const char* name, const std::vector<tw::Dim>& shape, int count, unsigned seed, float deviation = 1) {
      return p.input<T>(name, shape, rounded_to<T>(normal(static_cast<std::size_t>(count), seed, deviation)));
    };
    const Inputs<T> i{in("x", {kRows, kColumns}, kRows * kColumns, 1, 3),
                      in("z", {kRows, kColumns}, kRows * kColumns, 2, 2),
                      in("w", {kRows, kColumns}, kRows * kColumns, 3),
                      in("scale", {kRows, 1}, kRows, 4),
                      in("column", {kColumns}, kColumns, 5),
                      in("q", {kRows, kDim}, kRows * kDim, 6),
                      in("k", {kColumns, kDim}, kColumns * kDim, 7)};
    const tw::Tensor<T> value = c.value(i), maximum = tw::max(value, 1, true);
    // Without equal values in a row one of them is its maximum, and nothing is above it.
    p.output("found", tw::any(value == maximum, 1), Numbers(kRows, 1));
    p.output("not_below", tw::any(value >= maximum, 1), Numbers(kRows, 1));
    p.output("distance", tw::max(value - maximum, 1), Numbers(kRows, 0), 0);
    p.graph.output("beside", c.beside(i));
    p.expect("beside", i.x, Numbers(kRows), HUGE_VAL);  // any values: what matters is that they are computed
    p.check_on(device);
  }
}

}  // namespace

TEST_CASE("graph programs: the maximum of a value is one of its elements") {
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    check_maxima<float>(device);
    check_maxima<double>(device);
    check_maxima<tw::f16>(device);
    check_maxima<tw::bf16>(device);
  }
}

}  // namespace graph_program

// Sums in which large terms cancel: products of data less their averages, and exponents of which several maxima are subtracted. A difference
// that occurs in several terms has one rounding error in all of them, whatever number each term has in front of it.
#include <algorithm>
#include <limits>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tests/unit/frontend/graph/typed_formula.h"

namespace graph_program {
namespace {

constexpr int kRows = 3;

template <class T>
struct Given {
  tw::Tensor<T> a, b, c;
};

template <class T>
tw::Tensor<T> centred(const tw::Tensor<T>& x) {
  return x - tw::mean(x, 1, true);
}
template <class T>
tw::Tensor<T> product(const tw::Tensor<T>& x, const tw::Tensor<T>& y) {
  return tw::matmul(x, tw::transpose(y), tw::Precision::ieee);
}

using Formula = TypedFormula<Given>;
template <class F>
Formula formula(const char* name, F f) {
  return {name, f, f};
}

// Which of two sums is divided by a number depends on the order of their operands: so each formula is there for several tensors.
std::vector<Formula> covariances() {
  return {
      formula("a b", [](auto d) { return product(centred(d.a), centred(d.b)); }),
      formula("b a", [](auto d) { return product(centred(d.b), centred(d.a)); }),
      formula("a c", [](auto d) { return product(centred(d.a), centred(d.c)); }),
      formula("c b", [](auto d) { return product(centred(d.c), centred(d.b)); }),
      formula("a a", [](auto d) { return product(centred(d.a), centred(d.a)); }),
      formula("a b, row by row", [](auto d) { return tw::sum(centred(d.a) * centred(d.b), 1, true); }),
      formula("a b c, row by row", [](auto d) { return tw::sum(centred(d.a) * centred(d.b) * centred(d.c), 1, true); }),
      formula("a (b - c)", [](auto d) { return product(centred(d.a), centred(d.b - d.c)); }),
      formula("3 a less b, and c", [](auto d) { return product(centred(d.a) * 3 - centred(d.b), centred(d.c)); }),
      formula("a b / deviations of a",
              [](auto d) {
                const auto x = centred(d.a);
                return product(x * tw::rsqrt(tw::mean(x * x, 1, true)), centred(d.b));
              }),
      formula("correlations of a",
              [](auto d) {
                const auto x = centred(d.a), z = x / tw::sqrt(tw::mean(x * x, 1, true));
                return product(z, z) / 200;
              }),
  };
}

// One number for each row.
std::vector<Formula> moments() {
  return {
      formula("variances", [](auto d) { return tw::mean(centred(d.a) * centred(d.a), 1); }),
      formula("correlations, row by row",
              [](auto d) {
                const auto x = centred(d.a), y = centred(d.b);
                return tw::mean(x * y, 1) / tw::sqrt(tw::mean(x * x, 1) * tw::mean(y * y, 1));
              }),
      formula("deviations", [](auto d) { return tw::rsqrt(tw::mean(centred(d.c) * centred(d.c), 1) + 1e-5); }),
  };
}

std::vector<Formula> sums_of_logarithms() {
  return {
      formula("two", [](auto d) { return tw::logsumexp(tw::log_softmax(d.a, 1) + tw::log_softmax(d.b, 1), 1, true); }),
      formula("three",
              [](auto d) { return tw::logsumexp(tw::log_softmax(d.a, 1) + tw::log_softmax(d.b, 1) + tw::log_softmax(d.c, 1), 1, true); }),
      formula("a half of one", [](auto d) { return tw::logsumexp(tw::log_softmax(d.a, 1) / 2 + tw::log_softmax(d.c, 1), 1, true); }),
      formula("weights", [](auto d) { return tw::softmax(tw::log_softmax(d.b, 1) + tw::log_softmax(d.c, 1), 1); }),
  };
}

// What a formula gives of three tensors of multiples of 1 / 16 about different means, which are the same but for the means.
template <class T>
class Compiled {
 public:
  Compiled(const Formula& f, const char* device, int columns, const tw::PlanOptions& options)
      : device_(tw::Device::open(device)), columns_(columns) {
    const auto input = [&](const char* name) { return graph_.input<T>(name, {kRows, columns}); };
    const Given<T> d{input("a"), input("b"), input("c")};
    const tw::Tensor<T> y = f.of(d);
    for (int axis = 0; axis < y.rank(); ++axis) elements_ *= static_cast<std::size_t>(y.shape()[static_cast<std::size_t>(axis)].value());
    graph_.output("y", y);
    graph_.output("all", tw::sum(d.a + d.b + d.c));  // all inputs are used, whatever the formula reads
    plan_ = graph_.compile(device_, options);
    CHECK(plan_.proof().exact);
  }

  Numbers run(double mean) {
    const auto about = [&](unsigned seed, double middle) {
      std::vector<T> all;
      for (float x : normal(static_cast<std::size_t>(kRows * columns_), seed, 4))
        all.push_back(static_cast<T>(std::round(middle) + std::round(double(x) * 16) / 16));
      return device_.upload(all);
    };
    const auto a = about(1, mean), b = about(2, 0.7 * mean), c = about(3, -0.4 * mean);
    auto y = device_.allocate<T>(elements_), all = device_.allocate<T>(1);
    plan_.run({{"a", a}, {"b", b}, {"c", c}, {"y", y}, {"all", all}});
    return numbers_of(y.download());
  }

 private:
  tw::Device device_;
  tw::Graph graph_;
  tw::Plan plan_;
  int columns_;
  std::size_t elements_ = 1;
};

double greatest_error(const Numbers& got, const Numbers& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::fabs(got[i] - want[i]);
    if (!(difference <= error)) error = difference;
    size = std::max(size, std::fabs(want[i]));
  }
  return error / size;
}

// Every `each`th of the formulas.
template <class T>
void check_formulas(const std::vector<Formula>& formulas, const char* device, int columns, const std::vector<double>& means,
                    std::size_t each = 1) {
  for (std::size_t i = 0; i < formulas.size(); i += each) {
    const Formula& f = formulas[i];
    CAPTURE(std::string(f.name));
    CAPTURE(columns);
    Compiled<T> fused(f, device, columns, {}), as_written(f, "cpu", columns, {.fuse = false});
    const Numbers want = Compiled<double>(f, "cpu", columns, {.fuse = false}).run(0);
    for (const double mean : means) {
      CAPTURE(mean);
      const double error = greatest_error(fused.run(mean), want), written = greatest_error(as_written.run(mean), want);
      CHECK(error <= 8 * written + 64 * std::numeric_limits<T>::epsilon());
    }
  }
}

TEST_CASE("graph programs: covariances of data far from 0") {
  check_formulas<float>(covariances(), "cpu", 200, {0, 1e4}, 2);
  check_formulas<float>(covariances(), "emulator:sm_80", 200, {1e4}, 3);
}
TEST_CASE("graph programs: covariances of doubles far from 0") {
  check_formulas<double>(covariances(), "cpu", 200, {0, 1e4, 1e8});
  check_formulas<double>(covariances(), "emulator:sm_80", 200, {1e8}, 3);
}
TEST_CASE("graph programs: moments of rows that take several tiles") {
  check_formulas<float>(moments(), "cpu", 20000, {1e4});
  check_formulas<double>(moments(), "cpu", 20000, {1e4, 1e8});
  check_formulas<double>(moments(), "emulator:sm_80", 20000, {1e8}, 2);
}
TEST_CASE("graph programs: exponents with several maxima") {
  check_formulas<float>(sums_of_logarithms(), "cpu", 40, {0, 1e4});
  check_formulas<double>(sums_of_logarithms(), "cpu", 40, {0, 1e4, 1e8});
  check_formulas<double>(sums_of_logarithms(), "cpu", 200, {1e8}, 2);
  check_formulas<double>(sums_of_logarithms(), "emulator:sm_80", 40, {1e8}, 2);
}

}  // namespace
}  // namespace graph_program

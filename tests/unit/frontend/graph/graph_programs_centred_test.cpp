// Sums of squares of values less averages and extremes, of several tensors far from 0: fused, they have the error of the formula as it is
// written.
#include <algorithm>
#include <limits>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tests/unit/frontend/graph/typed_formula.h"

namespace graph_program {
namespace {

constexpr int kRows = 3;

template <class T>
struct Given {
  tw::Tensor<T> y, t, z;
  tw::Tensor<bool> mask;
  tw::Tensor<T> count;  // the number of columns
  static T number(float value) { return static_cast<T>(value); }
};

template <class T>
tw::Tensor<T> centred(const tw::Tensor<T>& x) {
  return x - tw::mean(x, 1, true);
}
template <class T>
tw::Tensor<T> below_greatest(const tw::Tensor<T>& x) {
  return x - tw::max(x, 1, true);
}
// From the average of what the mask shows.
template <class T>
tw::Tensor<T> centred_under(const tw::Tensor<bool>& mask, const tw::Tensor<T>& x) {
  return x - tw::sum(tw::where(mask, x, T(0)), 1, true) / tw::sum(tw::where(mask, T(1), T(0)), 1, true);
}

using Formula = TypedFormula<Given>;
template <class F>
Formula formula(const char* name, F f) {
  return {name, f, f};
}

std::vector<Formula> formulas() {
  return {
      formula("a sum", [](auto d) { return centred(d.y) + centred(d.t); }),
      formula("0.3", [](auto d) { return centred(d.y) - d.number(0.3f) * centred(d.t); }),
      formula("1.7 and -2", [](auto d) { return d.number(1.7f) * centred(d.y) - d.number(2) * centred(d.t); }),
      formula("three tensors", [](auto d) { return (centred(d.y) - centred(d.t) / d.number(7)) * d.number(0.9f) + centred(d.z); }),
      formula("a symbol", [](auto d) { return centred(d.y) - d.count * d.number(0.01f) * centred(d.t); }),
      formula("a mean of a difference", [](auto d) { return d.number(1.1f) * centred(d.y - d.t) + centred(d.z); }),
      formula("two averages of one tensor", [](auto d) { return centred(d.y) - d.number(5.5f) * below_greatest(d.y); }),
      formula("maxima", [](auto d) { return below_greatest(d.y) - d.number(0.3f) * below_greatest(d.t); }),
      formula("a mean and a maximum", [](auto d) { return centred(d.y) - d.number(0.3f) * below_greatest(d.t); }),
      formula("below the maximum of a multiple", [](auto d) { return below_greatest(d.number(1.3f) * centred(d.y)); }),
      formula("an offset by a maximum", [](auto d) { return centred(d.y + tw::max(d.y, 1, true)); }),
      formula("an offset by a maximum that a mask shows",
              [](auto d) {
                const auto all = tw::max(d.y, 1, true), shown = tw::where(all > d.number(0), d.y + all, d.y - all);
                return centred(tw::where(d.mask, shown, d.number(0)) + tw::where(d.mask, d.number(0), shown));
              }),
      formula("a mask",
              [](auto d) {
                const auto e = centred_under(d.mask, d.y) - d.number(0.3f) * centred_under(d.mask, d.t);
                return tw::where(d.mask, e, d.number(0));
              }),
      formula("a mask and a mean",
              [](auto d) { return tw::where(d.mask, centred_under(d.mask, d.y) - d.number(0.3f) * below_greatest(d.t), d.number(0)); }),
  };
}

// Three tensors about different means, and a mask that hides the first columns of a row: nothing, one tile and more, all but one. Elements
// are multiples of a number that the type has at each mean, so that all means have the same squares.
template <class In>
struct Data {
  int columns;
  std::vector<In> y, t, z;
  std::vector<std::uint8_t> mask;

  Data(int n, int mean) : columns(n) {
    const double step = std::is_same_v<In, tw::f16> ? 1 : std::is_same_v<In, float> ? 1.0 / 16 : 1.0 / 4096;
    const auto about = [&](unsigned seed, double middle) {
      std::vector<In> all;
      for (float x : normal(static_cast<std::size_t>(kRows * n), seed, 10)) {
        const double element = middle + std::round(double(x) / step) * step;
        if constexpr (std::is_same_v<In, tw::f16>)
          all.push_back(tw::f16(static_cast<float>(element)));
        else
          all.push_back(static_cast<In>(element));
      }
      return all;
    };
    y = about(1, mean), t = about(2, -7 * mean / 10), z = about(3, 4 * mean / 10);
    const int hidden[kRows] = {0, 2 * n / 3, n - 1};
    for (int r = 0; r < kRows; ++r)
      for (int i = 0; i < n; ++i) mask.push_back(i < hidden[r] ? 0 : 1);
  }
};

// How a graph knows the number of columns.
enum class Columns { constant, symbol, symbol_from_zero, one_less_than_symbol };

// The squares of a formula, compiled once for data of one size.
template <class T, class In>
class Squares {
 public:
  Squares(const Formula& f, const char* device, int columns, Columns kind, const tw::PlanOptions& options)
      : device_(tw::Device::open(device)), columns_(columns), kind_(kind) {
    const tw::Dim n = kind == Columns::constant               ? tw::Dim(columns)
                      : kind == Columns::symbol               ? graph_.dim("n")
                      : kind == Columns::one_less_than_symbol ? graph_.dim("n") - 1
                                                              : graph_.dim("n", {.min = 0});
    const auto input = [&](const char* name) { return graph_.input<In>(name, {kRows, n}).template to<T>(); };
    Given<T> d{input("y"), input("t"), input("z"), graph_.input<std::uint8_t>("mask", {kRows, n}) > std::uint8_t(0),
               tw::sum(tw::full<T>(graph_, {n}, T(1)))};
    const tw::Tensor<T> e = f.of(d);
    // All inputs are used, whatever the formula reads.
    const auto nothing = tw::where(d.mask, T(0) * (d.y + d.t + d.z), T(0));
    graph_.output("squares", tw::sum(e * e, 1));
    graph_.output("rest", tw::sum(nothing, 1));
    plan_ = graph_.compile(device_, options);
    CHECK(plan_.proof().exact);
  }

  Numbers run(const Data<In>& data) {
    const auto y = device_.upload(data.y), t = device_.upload(data.t), z = device_.upload(data.z);
    const auto mask = device_.upload(data.mask);
    auto squares = device_.allocate<T>(kRows), rest = device_.allocate<T>(kRows);
    std::vector<tw::RunArgument> arguments{{"y", y}, {"t", t}, {"z", z}, {"mask", mask}, {"squares", squares}, {"rest", rest}};
    if (kind_ != Columns::constant) arguments.emplace_back("n", kind_ == Columns::one_less_than_symbol ? columns_ + 1 : columns_);
    plan_.run(arguments);
    return numbers_of(squares.download());
  }

 private:
  tw::Device device_;
  tw::Graph graph_;
  tw::Plan plan_;
  int columns_;
  Columns kind_;
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

struct Place {
  const char* device;
  int columns;  // more than one tile
};
// The errors of averages, a few units of their last place, are squared.
template <class T>
double error_of_averages(int mean) {
  const double unit = std::numeric_limits<T>::epsilon() * mean / 10;
  return 16 * std::numeric_limits<T>::epsilon() + 4 * unit * unit;
}

template <class T, class In>
void check_squares(const Place& place, const std::vector<int>& means, const std::vector<Columns>& kinds, std::size_t each = 1,
                   const std::vector<Formula>& all = formulas(), double (*own_error)(int mean) = error_of_averages<T>) {
  for (std::size_t i = 0; i < all.size(); i += each) {
    const Formula& f = all[i];
    CAPTURE(std::string(f.name));
    Squares<T, In> as_written(f, "cpu", place.columns, Columns::constant, {.fuse = false});
    Squares<double, In> exact(f, "cpu", place.columns, Columns::constant, {.fuse = false});
    for (const Columns kind : kinds) {
      Squares<T, In> fused(f, place.device, place.columns, kind, {});
      for (const int mean : means) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(mean);
        const Data<In> data(place.columns, mean);
        // Doubles know no better type: their formulas give the same about each mean.
        const Numbers want = exact.run({place.columns, std::is_same_v<T, double> ? 0 : mean});
        const double error = greatest_error(fused.run(data), want), written = greatest_error(as_written.run(data), want);
        CHECK(error <= 10 * written + own_error(mean));
      }
    }
  }
}

// Values less their average, divided by the root of the average of their squares, which is 1 at least. The average is rounded far from 0: if
// the squares that the root is made of and the squares of the result are those of differences from two roundings of it, the error is not that
// of the formula.
template <class T>
tw::Tensor<T> standardized(const Given<T>& d, const tw::Tensor<T>& x) {
  const auto e = centred(x);
  return e / tw::sqrt(tw::sum(e * e, 1, true) / d.count + T(1));
}
std::vector<Formula> standardized_formulas() {
  return {
      formula("a sum of two", [](auto d) { return standardized(d, d.y + d.z); }),
      formula("a difference", [](auto d) { return standardized(d, d.y - d.t); }),
      formula("a multiple and an offset", [](auto d) { return standardized(d, d.number(2) * d.y + d.number(3)); }),
      formula("a mask and a count that is never 0",
              [](auto d) {
                const auto shown = tw::where(d.mask, d.number(1), d.number(0)), x = d.y + d.z;
                const auto count = tw::sum(shown, 1, true) + d.number(1e-3f);
                const auto e = shown * (x - tw::sum(x * shown, 1, true) / count);
                return e / tw::sqrt(tw::sum(e * e, 1, true) / count + d.number(1));
              }),
  };
}

constexpr Place kHost{"cpu", 2100}, kGpu{"emulator:sm_80", 300};
const std::vector<Columns> kUsual{Columns::constant, Columns::symbol}, kMaybeNone{Columns::symbol_from_zero, Columns::one_less_than_symbol};

TEST_CASE("graph programs: squares of several centred tensors") { check_squares<float, float>(kHost, {0, 10000, 1000000}, kUsual); }
TEST_CASE("graph programs: squares of several centred tensors on a GPU") { check_squares<float, float>(kGpu, {0, 10000, 1000000}, kUsual); }
TEST_CASE("graph programs: squares of several centred tensors of f16") { check_squares<float, tw::f16>(kHost, {0, 1000}, kUsual); }
TEST_CASE("graph programs: squares of several centred tensors of doubles") { check_squares<double, double>(kHost, {0, 1000000}, kUsual); }
TEST_CASE("graph programs: squares of several centred tensors that may have no columns") {
  check_squares<float, float>({"cpu", 71}, {10000, 1000000}, kMaybeNone);
  check_squares<float, float>({"emulator:sm_80", 71}, {10000}, {Columns::symbol_from_zero}, 4);
  check_squares<double, double>({"cpu", 71}, {1000000}, {Columns::symbol_from_zero}, 4);
}

TEST_CASE("graph programs: squares of standardized sums of tensors") {
  const auto rounding = [](int) { return 16.0 * std::numeric_limits<float>::epsilon(); };
  check_squares<float, float>(kHost, {0, 10000, 1000000}, kUsual, 1, standardized_formulas(), rounding);
  check_squares<float, float>(kGpu, {10000, 1000000}, kUsual, 1, standardized_formulas(), rounding);
  check_squares<float, float>({"cpu", 71}, {1000000}, kMaybeNone, 1, standardized_formulas(), rounding);
}

// Rows of two neighbouring numbers, or of one.
TEST_CASE("graph programs: deviations of rows that are nearly constant are numbers") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const int rows = std::string(name) == "cpu" ? 400 : 16, columns = 10000;
    std::vector<float> x;
    const std::vector<float> value = normal(static_cast<std::size_t>(rows), 7, 1), where = normal(std::size_t(rows) * columns, 8, 1);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < columns; ++i) {
        const float v = value[static_cast<std::size_t>(r)] * std::pow(10.0f, float(r % 7 - 3)), least = float(r % 5);
        x.push_back(where[static_cast<std::size_t>(r * columns + i)] > least ? std::nextafter(v, std::numeric_limits<float>::infinity())
                                                                             : v);
      }
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const auto t = graph.input<float>("x", {rows, columns});
    const auto e = centred(t);
    graph.output("deviation", tw::sqrt(tw::mean(e * e, 1)));
    tw::Plan plan = graph.compile(device);
    const auto in = device.upload(x);
    auto out = device.allocate<float>(static_cast<std::size_t>(rows));
    plan.run({{"x", in}, {"deviation", out}});
    for (float deviation : out.download()) CHECK(deviation >= 0);
  }
}

}  // namespace
}  // namespace graph_program

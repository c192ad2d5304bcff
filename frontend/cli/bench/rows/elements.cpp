// Kernels over the elements of matrices: copies, transposition, random numbers, stencils.
#include "tilewright/kernels/elements.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/random.h"
#include "tilewright/kernels/stencil.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

constexpr double kDropped = 0.25;
constexpr double kFilled = 1.5;
constexpr std::uint64_t kSeed = 1;

/// The reference of result y of an element-wise operation, given row by row.
Reference rows_of_y(std::int64_t rows, std::int64_t columns,
                    std::function<void(const Values&, std::int64_t row, std::span<double> to)> row) {
  return {.tensor = "y", .rows = rows, .columns = columns, .operations_a_row = static_cast<double>(columns), .row = std::move(row)};
}

constexpr auto copy = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", s)};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::copy(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  p.references = {exactly(rows_of_y(s[0], s[1], [n = s[1]](const Values& v, std::int64_t row, std::span<double> to) {
    const Reader x = v.at("x");
    for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = x[row * n + i];
  }))};
  return p;
};

constexpr auto transpose = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], n = s[1];
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", {n, m})};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::transpose(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  p.references = {exactly(rows_of_y(n, m, [m, n](const Values& v, std::int64_t row, std::span<double> to) {
    const Reader x = v.at("x");
    for (std::int64_t i = 0; i < m; ++i) to[static_cast<std::size_t>(i)] = x[i * n + row];
  }))};
  return p;
};

constexpr auto fill = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p;
  p.tensors = {result<T>("y", s)};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::fill(t.view<T, 2>("y"), T(kFilled), o); };
  p.references = {
      exactly(rows_of_y(s[0], s[1], [](const Values&, std::int64_t, std::span<double> to) { std::fill(to.begin(), to.end(), kFilled); }))};
  return p;
};

/// A distribution: its mean, its variance, its fourth central moment, and the interval that contains all its numbers.
struct Distribution {
  double mean, variance, fourth, least, most;
};

/// Accepts row `row` of y if its mean and variance are within eight deviations of those of n random numbers; else the reference is NaN.
void check_distribution(const Values& v, std::int64_t row, std::span<double> to, const Distribution& d) {
  const Reader y = v.at("y");
  const auto n = static_cast<double>(to.size());
  double mean = 0, variance = 0;
  bool inside = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = y[row * static_cast<std::int64_t>(to.size()) + static_cast<std::int64_t>(i)];
    inside = inside && to[i] >= d.least && to[i] <= d.most;
    mean += to[i] / n;
    variance += (to[i] - d.mean) * (to[i] - d.mean) / n;
  }
  const bool is_likely = std::abs(mean - d.mean) <= 8 * std::sqrt(d.variance / n) &&
                         std::abs(variance - d.variance) <= 8 * std::sqrt((d.fourth - d.variance * d.variance) / n);
  if (!inside || !is_likely) to[0] = NAN;
}

template <class T>
Problem random_numbers(const Shape& s, const Distribution& d, std::function<void(DeviceTensors&, const Options&)> launch) {
  Problem p;
  p.tensors = {result<T>("y", s)};
  p.launch = std::move(launch);
  p.references = {
      rows_of_y(s[0], s[1], [d](const Values& v, std::int64_t row, std::span<double> to) { check_distribution(v, row, to, d); })};
  return p;
}

constexpr auto random_uniform = []<class T>(std::type_identity<T>, const Shape& s) {
  return random_numbers<T>(s, {0.5, 1.0 / 12, 1.0 / 80, 0, 1},
                           [](DeviceTensors& t, const Options& o) { kernels::random_uniform(t.view<T, 2>("y"), kSeed, 0, 1, o); });
};
constexpr auto random_normal = []<class T>(std::type_identity<T>, const Shape& s) {
  return random_numbers<T>(s, {0, 1, 3, -8, 8},
                           [](DeviceTensors& t, const Options& o) { kernels::random_normal(t.view<T, 2>("y"), kSeed, 0, 1, o); });
};

/// Accepts a row if each element is 0 or x / (1 - p), and the number of zeros agrees with p.
void dropout_row(const Values& v, std::int64_t row, std::span<double> to) {
  const Reader x = v.at("x"), y = v.at("y");
  const auto n = static_cast<std::int64_t>(to.size());
  double zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool dropped = y[row * n + i] == 0;
    zeros += dropped;
    to[static_cast<std::size_t>(i)] = dropped ? 0 : x[row * n + i] / (1 - kDropped);
  }
  const double expected = kDropped * static_cast<double>(n), deviation = std::sqrt(expected * (1 - kDropped));
  if (std::abs(zeros - expected) > 8 * deviation + 1) to[0] = NAN;  // NaN matches no result
}

constexpr auto dropout = []<class T>(std::type_identity<T>, const Shape& s) {
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", s)};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::dropout(t.view<const T, 2>("x"), t.view<T, 2>("y"), kDropped, kSeed, o); };
  p.references = {rows_of_y(s[0], s[1], dropout_row)};
  return p;
};

/// One step of diffusion: the element plus a part of its difference from each neighbour along each axis. Neighbours outside are 0.
template <class T, int Axes>
Problem stencil(const Shape& s) {
  constexpr float kPart = Axes == 2 ? 0.125f : 0.0625f, kRest = 1 - 2 * Axes * kPart;
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", s)};
  p.launch = [](DeviceTensors& t, const Options& o) {
    const auto step = [](const auto& at) {
      if constexpr (Axes == 2)
        return at(0, 0) * kRest + (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) * kPart;
      else
        return at(0, 0, 0) * kRest + (at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1)) * kPart;
    };
    kernels::stencil(t.view<const T, Axes>("x"), t.view<T, Axes>("y"), step, 1, o);
  };
  const std::int64_t n = s[Axes - 1];
  p.references = {rows_of_y(elements_of(s) / n, n, [s, n](const Values& v, std::int64_t row, std::span<double> to) {
    const Reader x = v.at("x");
    for (std::int64_t i = 0; i < n; ++i) {
      double neighbours = 0;
      for (std::int64_t axis = Axes - 1, stride = 1; axis >= 0; stride *= s[static_cast<std::size_t>(axis)], --axis) {
        const std::int64_t at = row * n + i, extent = s[static_cast<std::size_t>(axis)], index = at / stride % extent;
        if (index > 0) neighbours += x[at - stride];
        if (index + 1 < extent) neighbours += x[at + stride];
      }
      to[static_cast<std::size_t>(i)] = x[row * n + i] * kRest + neighbours * kPart;
    }
  })};
  return p;
}

}  // namespace

void add_elements(KernelRows& rows) {
  const DefaultShapes shapes{.emulator = {{32, 256}}, .cpu = {{1024, 1024}, {4096, 4096}}, .gpu = {{8192, 8192}, {8191, 8193}}};
  const std::vector<std::string> axes = {"ROWS", "N"};
  rows.push_back({"transpose", "y[j, i] = x[i, j]", axes, shapes, problems(Floats(), transpose)});
  rows.push_back({"copy", "y = x", axes, shapes, problems(Floats(), copy)});
  rows.push_back({"fill", "y = 1.5", axes, shapes, problems(Floats(), fill)});
  rows.push_back({"random_uniform", "y uniform in [0, 1)", axes, shapes, problems(Floats(), random_uniform)});
  rows.push_back({"random_normal", "y of the normal distribution", axes, shapes, problems(Floats(), random_normal)});
  rows.push_back({"dropout", "y = x / (1 - p), or 0 with probability p = 1/4", axes, shapes, problems(Floats(), dropout)});
  rows.push_back({"stencil", "a step of diffusion: x and its 4 neighbours", axes, shapes,
                  problems(Floats(), []<class T>(std::type_identity<T>, const Shape& s) { return stencil<T, 2>(s); })});
  rows.push_back({"stencil_3d",
                  "the same with 6 neighbours",
                  {"PLANES", "ROWS", "N"},
                  {.emulator = {{4, 16, 64}}, .cpu = {{128, 128, 128}, {256, 256, 256}}, .gpu = {{512, 512, 512}}},
                  problems(Floats(), []<class T>(std::type_identity<T>, const Shape& s) { return stencil<T, 3>(s); })});
}

}  // namespace tilewright::cli::bench

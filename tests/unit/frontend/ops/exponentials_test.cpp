// Sums of exponentials whose scores are near to each other and far from 0, in graphs and in kernels: they refer to the maximum as it is,
// and not to a rounded multiple of it, unless a division by another sum hides the difference.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 5;

/// Scores with steps of the precision that they have.
std::vector<float> scores_at(float mean, int columns) {
  std::vector<float> x = normal(static_cast<std::size_t>(kRows * columns), 1, std::max(1.0f, 2e-7f * mean));
  for (float& v : x) v += mean;
  return x;
}

struct Sums {
  Numbers total, largest_weight, weights, log_weights;
};

Sums sums_of(const std::vector<float>& x, int columns) {
  Sums s;
  for (int r = 0; r < kRows; ++r) {
    const float* row = x.data() + r * columns;
    const double most = *std::max_element(row, row + columns);
    double total = 0;
    for (int c = 0; c < columns; ++c) total += std::exp(double(row[c]) - most);
    s.total.push_back(total), s.largest_weight.push_back(1 / total);
    for (int c = 0; c < columns; ++c) {
      s.weights.push_back(std::exp(double(row[c]) - most) / total);
      s.log_weights.push_back(double(row[c]) - most - std::log(total));
    }
  }
  return s;
}

TEST_CASE("exponentials: sums in graphs refer to the maximum, however great it is") {
  for (const float mean : {0.0f, -1e4f, 1e6f, 1e8f, 1e12f})
    for (const int columns : {33, 200}) {
      CAPTURE(mean);
      CAPTURE(columns);
      const std::vector<float> hx = scores_at(mean, columns);
      const Sums want = sums_of(hx, columns);
      enum class Output : std::uint8_t { total, largest_weight, weights_and_total, log_weights };
      for (const Output output : {Output::total, Output::largest_weight, Output::weights_and_total, Output::log_weights}) {
        Program p;
        auto x = p.input("x", {kRows, columns}, hx);
        auto e = tw::exp(x - tw::max(x, 1, true)), total = tw::sum(e, 1, true);
        switch (output) {
          case Output::total: p.output("total", total, want.total, 2e-6); break;
          case Output::largest_weight: p.output("largest", tw::max(e / total, 1), want.largest_weight, 2e-6); break;
          case Output::weights_and_total:
            p.output("weights", e / total, want.weights, 2e-6);
            p.output("total", total, want.total, 2e-6);
            break;
          case Output::log_weights: p.output("logarithms", tw::log_softmax(x, 1), want.log_weights, 2e-6); break;
        }
        p.check();
      }
    }
}

TEST_CASE("exponentials: the sum and the products of a divided loop refer to the maximum") {
  const int columns = 20000, width = 4;
  const std::vector<float> hx = scores_at(1e6f, columns), hv = normal(columns * width, 3);
  const Sums want = sums_of(hx, columns);
  Numbers sums(kRows * width);
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < columns; ++j)
      for (int c = 0; c < width; ++c) sums[r * width + c] += want.weights[r * columns + j] * want.total[r] * double(hv[j * width + c]);
  Program p;
  auto x = p.input("x", {kRows, columns}, hx), v = p.input("v", {columns, width}, hv);
  auto e = tw::exp(x - tw::max(x, 1, true));
  p.output("total", tw::sum(e, 1), want.total, 1e-5);
  p.output("sums", tw::matmul(e, v, tw::Precision::ieee), sums, 1e-4);
  p.check();
}

TEST_CASE("exponentials: sums of kernels refer to the maximum") {
  using Row = tw::Ptr<const float>;
  const tw::Kernel whole("whole", [](Row x, tw::Ptr<float> total, tw::Ptr<float> weights, tw::I32 columns) {
    const auto at = tw::arange(0, 256);
    const auto v = tw::load(x + tw::program_id(0) * columns + at, at < columns, -tw::inf);
    const auto e = tw::exp(v - tw::max(v, 0));
    tw::store(total + tw::program_id(0), tw::sum(e, 0));
    tw::store(weights + tw::program_id(0) * columns + at, e / tw::sum(e, 0), at < columns);
  });
  const tw::Kernel running("running", [](Row x, tw::Ptr<float> total, tw::Ptr<float> weights, tw::I32 columns) {
    const auto row = x + tw::program_id(0) * columns;
    auto most = tw::full<float>({}, -tw::inf), sum = tw::full<float>({}, 0);
    for (auto i : tw::range(0, columns, 32)) {
      const auto at = i + tw::arange(0, 32);
      const auto v = tw::load(row + at, at < columns, -tw::inf);
      const auto larger = tw::maximum(most, tw::max(v, 0));
      sum = sum * tw::exp(most - larger) + tw::sum(tw::exp(v - larger), 0);
      most = larger;
    }
    tw::store(total + tw::program_id(0), sum);
    for (auto i : tw::range(0, columns, 32)) {
      const auto at = i + tw::arange(0, 32);
      tw::store(weights + tw::program_id(0) * columns + at, tw::exp(tw::load(row + at, at < columns, -tw::inf) - most) / sum, at < columns);
    }
  });
  for (const char* name : {"cpu", "emulator:sm_80", "emulator:sm_90a"})
    for (const float mean : {0.0f, 1e4f, 1e6f, 1e8f}) {
      CAPTURE(name);
      CAPTURE(mean);
      constexpr int kColumns = 150;
      const std::vector<float> hx = scores_at(mean, kColumns);
      const Sums want = sums_of(hx, kColumns);
      const tw::Device device = tw::Device::open(name);
      const tw::Buffer<float> x = device.upload(hx);
      for (const auto* kernel : {&whole, &running}) {
        tw::Buffer<float> total = device.allocate<float>(kRows), weights = device.allocate<float>(kRows * kColumns);
        (*kernel)({.grid = kRows}, x, total, weights, kColumns);
        CHECK(relative_error(numbers_of(total.download()), want.total) < 2e-6);
        CHECK(relative_error(numbers_of(weights.download()), want.weights) < 2e-6);
      }
    }
}

}  // namespace
}  // namespace graph_program

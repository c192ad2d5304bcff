// The rounding of f32 factors in a matrix instruction, by precision and chip: the largest and the mean error.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

constexpr double kUnit = 0x1p-11;  // the error of rounding to tf32's 11 bits
constexpr const char* kDevices[] = {"emulator:sm_80", "emulator:sm_89", "emulator:sm_90a"};
constexpr tw::Precision kPrecisions[] = {tw::Precision::standard, tw::Precision::tf32};

constexpr int kTile = 32;

/// c = a b for matrices of kTile rows, and of kTile columns.
void multiply(tw::Ptr<const float> a, tw::Ptr<const float> b, tw::Ptr<float> c, tw::I32 k, tw::Precision precision) {
  const auto rows = tw::program_id(0) * kTile + tw::arange(0, kTile), columns = tw::arange(0, kTile), ks = tw::arange(0, kTile);
  auto sums = tw::zeros<float>({kTile, kTile});
  for (auto at : tw::range(0, k, kTile)) {
    auto ta = tw::load(a + tw::column(rows) * k + tw::row(at + ks));
    sums = tw::dot(ta, tw::load(b + tw::column(at + ks) * kTile + tw::row(columns)), sums, precision);
  }
  tw::store(c + tw::column(rows) * kTile + tw::row(columns), sums);
}

std::vector<float> product(tw::Device& device, const std::vector<float>& a, const std::vector<float>& b, tw::Precision precision) {
  static const tw::Kernel kernel("multiply", multiply);
  const int k = static_cast<int>(b.size()) / kTile, rows = static_cast<int>(a.size()) / k;
  auto c = device.allocate<float>(rows * kTile);
  kernel({.grid = rows / kTile}, device.upload(a), device.upload(b), c, k, precision);
  return c.download();
}

/// The value that each number has as a factor: its product with 1.
std::vector<float> as_factors(tw::Device& device, const std::vector<float>& x, tw::Precision precision) {
  std::vector<float> identity(kTile * kTile);
  for (int i = 0; i < kTile; ++i) identity[i * (kTile + 1)] = 1;
  return product(device, x, identity, precision);
}

std::vector<float> drawn(std::size_t count, unsigned seed, const std::function<double(std::mt19937&)>& draw) {
  std::mt19937 engine(seed);
  std::vector<float> x(count);
  for (float& v : x) v = static_cast<float>(draw(engine));
  return x;
}

float truncated(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffffe000u); }

bool rounds_to_nearest(const std::string& device, tw::Precision precision) {
  return precision == tw::Precision::tf32 || device == "emulator:sm_90a";
}

}  // namespace

TEST_CASE("dot precision: factors of tf32 are near what they were, and as often above it as below") {
  const auto x = drawn(256 * kTile, 1, [](std::mt19937& e) {
    const double size = std::exp2(std::uniform_real_distribution<double>(-30, 30)(e));
    return e() % 2 == 0 ? size : -size;
  });
  for (const char* name : kDevices)
    for (const tw::Precision precision : kPrecisions) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(precision));
      tw::Device device = tw::Device::open(name);
      const std::vector<float> y = as_factors(device, x, precision);
      double most = 0, sum = 0, squares = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = (double(y[i]) - x[i]) / x[i];
        most = std::max(most, std::isnan(error) ? HUGE_VAL : std::abs(error)), sum += error, squares += error * error;
      }
      const double count = static_cast<double>(x.size());
      CHECK(most <= (rounds_to_nearest(name, precision) ? 1 : 1.28) * kUnit);
      CHECK(std::sqrt(squares / count) <= 0.47 * kUnit);
      CHECK(std::abs(sum / count) <= 0.03 * kUnit);  // for truncated factors it would be 0.72
    }
}

TEST_CASE("dot precision: factors that tf32 holds, infinities and NaNs stay") {
  auto exact = drawn(kTile * kTile, 2, [](std::mt19937& e) {
    return truncated(static_cast<float>(std::exp2(std::uniform_real_distribution<double>(-100, 100)(e))));
  });
  for (int i = 0; i < 40; ++i) exact[i] = std::ldexp(2 - 0x1p-10f, 3 * i - 60), exact[40 + i] = std::ldexp(1 + 0x1p-10f, 3 * i - 60);
  // One in a row, whose other products are of 0 with it. The NaN of an NVIDIA GPU has all bits.
  const float special[] = {HUGE_VALF, -HUGE_VALF, NAN, std::bit_cast<float>(0x7fffffffu), std::bit_cast<float>(0xffffffffu)};
  std::vector<float> x(kTile * kTile, 1);
  for (int i = 0; i < 5; ++i) x[i * kTile + 7] = special[i];
  for (const char* name : kDevices)
    for (const tw::Precision precision : kPrecisions) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(precision));
      tw::Device device = tw::Device::open(name);
      CHECK(as_factors(device, exact, precision) == exact);
      const std::vector<float> y = as_factors(device, x, precision);
      CHECK(y[7] == HUGE_VALF);
      CHECK(y[kTile + 7] == -HUGE_VALF);
      for (int i = 2; i < 5; ++i) CHECK(std::isnan(y[i * kTile + 7]));
    }
}

TEST_CASE("dot precision: errors of factors do not add up in sums of one sign") {
  constexpr int kLong = 4096;
  const auto normal = [](std::mt19937& e) { return std::normal_distribution<double>()(e); };
  for (const bool positive : {false, true}) {
    const auto draw = [&](std::mt19937& e) { return positive ? std::exp(normal(e)) : normal(e); };
    const auto a = drawn(kTile * kLong, 3, draw), b = drawn(kLong * kTile, 4, draw);
    std::vector<double> want(kTile * kTile);
    for (int i = 0; i < kTile; ++i)
      for (int k = 0; k < kLong; ++k)
        for (int j = 0; j < kTile; ++j) want[i * kTile + j] += double(a[i * kLong + k]) * b[k * kTile + j];
    for (const char* name : kDevices)
      for (const tw::Precision precision : kPrecisions) {
        CAPTURE(positive);
        CAPTURE(name);
        CAPTURE(static_cast<int>(precision));
        tw::Device device = tw::Device::open(name);
        const std::vector<float> got = product(device, a, b, precision);
        double errors = 0, squares = 0;
        for (std::size_t i = 0; i < want.size(); ++i) errors += (got[i] - want[i]) * (got[i] - want[i]), squares += want[i] * want[i];
        const double error = std::sqrt(errors / squares);
        // Truncated factors would give 8e-4 and 7e-4.
        CHECK(error <= (positive ? 5e-5 : 3.3e-4));
      }
  }
}

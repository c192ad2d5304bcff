// Fourier transforms: lengths of one and of several passes, batches, strides, both directions.
#include <complex>
#include <numbers>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

using Numbers = std::vector<std::complex<double>>;

std::complex<double> root(std::size_t k, std::size_t n, int sign) {
  return std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

/// Transforms by recursive halving; up to 64 numbers by the definition.
Numbers transform(const Numbers& x, int sign) {
  const std::size_t n = x.size();
  Numbers y(n);
  if (n <= 64) {
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) y[k] += x[j] * root(j * k % n, n, sign);
    return y;
  }
  Numbers even, odd;
  for (std::size_t i = 0; i < n; i += 2) even.push_back(x[i]), odd.push_back(x[i + 1]);
  even = transform(even, sign), odd = transform(odd, sign);
  for (std::size_t k = 0; k < n; ++k) y[k] = even[k % (n / 2)] + root(k, n, sign) * odd[k % (n / 2)];
  return y;
}

/// The error that is allowed, relative to the norm.
template <class T>
constexpr double kAllowed = std::is_same_v<T, float> ? 5e-7 : 1e-15;

template <class T>
void check_fft(tw::Device& device, std::int64_t batch, std::int64_t n, bool inverse, Placement placement = Placement::dense) {
  INFO(batch, " of ", n, inverse ? ", inverse" : "");
  Array<T, 3> x(device, {batch, n, 2}, 1, placement), y(device, {batch, n, 2}, 2, placement);
  kernels::fft(x.view(), y.view(), inverse);
  const auto xs = x.values();
  std::vector<double> want;
  for (std::int64_t b = 0; b < batch; ++b) {
    Numbers numbers;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(2 * (b * n + i));
      numbers.emplace_back(xs[at], xs[at + 1]);
    }
    for (auto z : transform(numbers, inverse ? 1 : -1)) {
      if (inverse) z /= static_cast<double>(n);
      want.push_back(z.real()), want.push_back(z.imag());
    }
  }
  const double e = error(y.values(), want);
  CHECK_MESSAGE(e <= kAllowed<T>, e);
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("fft: every length of one to three passes, both directions") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n = 1; n <= 1024; n *= 2) check_fft<float>(device, n <= 64 ? 5 : 2, n, n % 3 == 1);
    for (std::int64_t n : {1, 8, 16, 128, 512}) check_fft<double>(device, 3, n, n % 3 == 1);
    check_fft<float>(device, 0, 16, false);
    check_fft<float>(device, 301, 4, true);
  });
}

TEST_CASE("fft: strides, and an array without a batch") {
  on_every_device([](tw::Device& device) {
    for (auto placement : {Placement::padded, Placement::reversed}) {
      check_fft<float>(device, 3, 8, false, placement);
      check_fft<double>(device, 3, 64, true, placement);
      check_fft<float>(device, 3, 256, false, placement);  // a program has transforms of one row, whose numbers have gaps
    }
    const auto x = device.upload(std::vector<float>{1, 2, 3, 4});
    auto y = device.upload(std::vector<float>(4, -1)), z = device.upload(std::vector<float>(4, -1));
    kernels::fft(tw::view(x, {2, 2}), tw::view(y, {2, 2}));
    CHECK(y.download() == std::vector<float>{4, 6, -2, -2});
    kernels::fft(tw::view(y, {2, 2}), tw::view(z, {2, 2}), true);
    CHECK(z.download() == std::vector<float>{1, 2, 3, 4});
  });
}

TEST_CASE("fft: long arrays") {
  tw::Device cpu = tw::Device::open("cpu");
  check_fft<float>(cpu, 2, 65536, false);
  check_fft<double>(cpu, 1, 65536, true);
  check_fft<float>(cpu, 1, 1 << 18, true);
  tw::Device emulator = tw::Device::open("emulator:sm_80");
  check_fft<float>(emulator, 1, 65536, true);
}

TEST_CASE("fft: mistakes") {
  tw::Device device = tw::Device::open("cpu");
  auto in = device.allocate<float>(100), out = device.allocate<float>(100);
  // clang-format off
  CHECK_MISTAKE("error: fft: the extent of axis 1 of 'x' is 6; it must be a power of two from 1 to 2^28", kernels::fft(tw::view(in, {2, 6, 2}), tw::view(out, {2, 6, 2})));
  CHECK_MISTAKE("fft: the extent of axis 0 of 'x' is 0; it must be a power of two from 1 to 2^28", kernels::fft(tw::view(in, {0, 2}), tw::view(out, {0, 2})));
  CHECK_MISTAKE("fft: the last extent of 'x' is 3; it must be 2, for real and imaginary parts", kernels::fft(tw::view(in, {2, 4, 3}), tw::view(out, {2, 4, 3})));
  CHECK_MISTAKE("fft: 'y' is [2, 8, 2]; it must be [2, 4, 2] as 'x' is [2, 4, 2]", kernels::fft(tw::view(in, {2, 4, 2}), tw::view(out, {2, 8, 2})));
  CHECK_MISTAKE("fft: 'y', a result, shares memory with 'x'", kernels::fft(tw::view(in, {2, 4, 2}), tw::view(in, {2, 4, 2})));
  // clang-format on
}

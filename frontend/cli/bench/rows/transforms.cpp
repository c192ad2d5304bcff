// Transforms of rows: fft.
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/fft.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;
using Numbers = std::vector<std::complex<double>>;

/// The discrete Fourier transform of numbers whose count is a power of two, by recursive halving.
Numbers transformed(const Numbers& x) {
  const std::size_t n = x.size();
  if (n == 1) return x;
  Numbers even, odd, y(n);
  for (std::size_t i = 0; i < n; i += 2) even.push_back(x[i]), odd.push_back(x[i + 1]);
  even = transformed(even), odd = transformed(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const std::complex<double> term = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)) * odd[k];
    y[k] = even[k] + term, y[k + n / 2] = even[k] - term;
  }
  return y;
}

constexpr auto fft = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t batch = s[0], n = s[1];
  const double steps = std::log2(static_cast<double>(n));
  Problem p;
  p.tensors = {random_input<T>("x", {batch, n, 2}), result<T>("y", {batch, n, 2})};
  p.flops = 5 * static_cast<double>(batch) * static_cast<double>(n) * steps;
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::fft(t.view<const T, 3>("x"), t.view<T, 3>("y"), false, o); };
  p.references = {{.tensor = "y",
                   .rows = batch,
                   .columns = 2 * n,
                   .operations_a_row = 20 * static_cast<double>(n) * steps,
                   .row = [n](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader x = v.at("x");
                     Numbers numbers;
                     for (std::int64_t i = 0; i < n; ++i) numbers.emplace_back(x[(row * n + i) * 2], x[(row * n + i) * 2 + 1]);
                     numbers = transformed(numbers);
                     for (std::size_t i = 0; i < numbers.size(); ++i) to[2 * i] = numbers[i].real(), to[2 * i + 1] = numbers[i].imag();
                   }}};
  return p;
};

}  // namespace

void add_transforms(KernelRows& rows) {
  rows.push_back({"fft",
                  "y = the discrete Fourier transform of each row of complex numbers",
                  {"BATCH", "N"},
                  {.emulator = {{4, 64}}, .cpu = {{4096, 256}, {1, 1 << 20}}, .gpu = {{65536, 1024}, {1, 1 << 24}}},
                  problems(ElementTypes<float, double>(), fft),
                  {},
                  [](const Shape& s) { return std::has_single_bit(static_cast<std::uint64_t>(s[1])) ? "" : "N is a power of two"; }});
}

}  // namespace tilewright::cli::bench

// Step 4 of the tutorial: reductions, and a softmax made of them.
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [softmax]
void softmax(tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 columns, int BLOCK) {
  auto lanes = tw::arange(0, BLOCK);
  auto mask = lanes < columns;
  auto at = tw::program_id(0) * columns + lanes;
  auto x = tw::load(in + at, mask, -tw::inf);
  auto e = tw::exp(x - tw::max(x, 0));
  tw::store(out + at, e / tw::sum(e, 0), mask);
}
// [/softmax]

// [variance]
// Mean and variance of each row in one pass over it: pairs (mean, sum of squared distances, count) combine associatively.
void variance(tw::Ptr<const float> in, tw::Ptr<float> out, int BLOCK) {
  auto x = tw::load(in + tw::program_id(0) * BLOCK + tw::arange(0, BLOCK));
  auto welford = [](auto a, auto b) {
    auto [mean_a, m2_a, n_a] = a;
    auto [mean_b, m2_b, n_b] = b;
    auto n = n_a + n_b;
    auto delta = mean_b - mean_a;
    return std::tuple{mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n, n};
  };
  auto [mean, m2, n] = tw::reduce(std::tuple{x, tw::zeros_like(x), tw::full_like(x, 1)}, 0, welford);
  tw::store(out + tw::program_id(0), m2 / n);
}
// [/variance]

int main() {
  const int rows = 8, columns = 1000, block = 1024;
  std::vector<float> host(rows * columns);
  for (int k = 0; k < rows * columns; ++k) host[k] = std::sin(k * 0.37f) * 5;

  tw::Device device = tw::Device::open();
  auto in = device.upload(host);
  auto out = device.allocate<float>(rows * columns);
  // [launch]
  tw::Kernel kernel("softmax", softmax);
  kernel({.grid = rows}, in, out, columns, tw::next_power_of_two(columns));
  // [/launch]
  const auto result = out.download();
  double worst = 0;
  for (int r = 0; r < rows; ++r) {
    double total = 0, biggest = -INFINITY;
    for (int c = 0; c < columns; ++c) biggest = std::fmax(biggest, host[r * columns + c]);
    for (int c = 0; c < columns; ++c) total += std::exp(host[r * columns + c] - biggest);
    for (int c = 0; c < columns; ++c) {
      const double want = std::exp(host[r * columns + c] - biggest) / total;
      worst = std::fmax(worst, std::fabs(result[r * columns + c] - want) / want);
    }
  }
  std::printf("softmax: %s\n", worst < 1e-5 ? "right to 1e-5" : "wrong");

  std::vector<float> ramp(block);
  for (int k = 0; k < block; ++k) ramp[k] = k;
  auto ramp_on_device = device.upload(ramp);
  auto spread = device.allocate<float>(1);
  tw::Kernel("variance", variance)({.grid = 1}, ramp_on_device, spread, block);
  const double want = (double(block) * block - 1) / 12;
  const double got = spread.download()[0];
  std::printf("variance of 0 ... 1023: %.1f\n", got);
  return worst < 1e-5 && std::fabs(got - want) < 1e-5 * want ? 0 : 1;
}

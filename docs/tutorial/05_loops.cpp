// Step 5 of the tutorial: loops of the kernel, and what they carry.
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [kernel]
// Layer norm of each row, of any length: (x - mean) / sqrt(variance + epsilon).
void layer_norm(tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 columns, float epsilon, int BLOCK) {
  auto lanes = tw::arange(0, BLOCK);
  in += tw::program_id(0) * columns;
  out += tw::program_id(0) * columns;

  auto sum = tw::zeros<float>({BLOCK});
  for (auto c : tw::range(0, columns, BLOCK)) {
    auto at = c + lanes;
    sum += tw::load(in + at, at < columns);
  }
  auto mean = tw::sum(sum, 0) / columns.to<float>();

  auto squares = tw::zeros<float>({BLOCK});
  for (auto c : tw::range(0, columns, BLOCK)) {
    auto at = c + lanes;
    auto centred = tw::where(at < columns, tw::load(in + at, at < columns) - mean, 0.0f);
    squares += centred * centred;
  }
  auto scale = tw::rsqrt(tw::sum(squares, 0) / columns.to<float>() + epsilon);

  for (auto c : tw::range(0, columns, BLOCK)) {
    auto at = c + lanes;
    tw::store(out + at, (tw::load(in + at, at < columns) - mean) * scale, at < columns);
  }
}
// [/kernel]

int main() {
  const int rows = 16, columns = 3000;
  std::vector<float> host(rows * columns);
  for (int k = 0; k < rows * columns; ++k) host[k] = 3 + std::sin(k * 0.71f) * (1 + k / columns);

  tw::Device device = tw::Device::open();
  auto in = device.upload(host);
  auto out = device.allocate<float>(host.size());
  tw::Kernel kernel("layer_norm", layer_norm);
  kernel({.grid = rows}, in, out, columns, 1e-5f, 512);

  const auto result = out.download();
  double worst_mean = 0, worst_square = 0;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int c = 0; c < columns; ++c) mean += result[r * columns + c] / columns;
    for (int c = 0; c < columns; ++c) square += double(result[r * columns + c]) * result[r * columns + c] / columns;
    worst_mean = std::fmax(worst_mean, std::fabs(mean));
    worst_square = std::fmax(worst_square, std::fabs(square - 1));
  }
  const bool right = worst_mean < 1e-5 && worst_square < 1e-4;
  std::printf("each row: mean %s, variance %s\n", worst_mean < 1e-5 ? "0" : "wrong", worst_square < 1e-4 ? "1" : "wrong");
  return right ? 0 : 1;
}

// y = (x - mean) / sqrt(variance + eps) * w + b over each row. The idea: a C++ loop in a kernel, for rows of any length. Its body is
// traced once, and the handles that it assigns are carried from one iteration to the next.
#include <cmath>

#include "example.h"

namespace tw = tilewright;

void layer_norm(tw::Ptr<const float> x, tw::Ptr<const float> w, tw::Ptr<const float> b, tw::Ptr<float> y, tw::I32 columns, tw::F32 eps,
                int BLOCK) {
  auto row = tw::program_id(0) * columns;
  auto lanes = tw::arange(0, BLOCK);
  auto total = tw::zeros<float>({BLOCK}), squares = tw::zeros<float>({BLOCK});
  for (auto at : tw::range(0, columns, BLOCK)) {
    auto c = at + lanes;
    auto v = tw::load(x + row + c, c < columns);  // past the row's end: 0
    total += v;
    squares += v * v;
  }
  auto count = columns.to<float>();
  auto mean = tw::sum(total, 0) / count;
  auto scale = tw::rsqrt(tw::sum(squares, 0) / count - mean * mean + eps);
  for (auto at : tw::range(0, columns, BLOCK)) {
    auto c = at + lanes;
    auto mask = c < columns;
    auto normal = (tw::load(x + row + c, mask) - mean) * scale;
    tw::store(y + row + c, normal * tw::load(w + c, mask) + tw::load(b + c, mask), mask);
  }
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int rows = options.quick ? 19 : 4096, columns = options.quick ? 1000 : 5000;
  const float eps = 1e-5f;
  const auto in = example::normal(std::size_t(rows) * columns, 4);
  const auto ws = example::normal(columns, 5), bs = example::normal(columns, 6);
  std::vector<float> plain_out(in.size(), NAN);
  std::vector<double> want(in.size());
  example::parallel(rows, 1, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const float* v = &in[std::size_t(r) * columns];
      double mean = 0, variance = 0;
      for (int c = 0; c < columns; ++c) mean += v[c] / double(columns);
      for (int c = 0; c < columns; ++c) variance += (v[c] - mean) * (v[c] - mean) / columns;
      for (int c = 0; c < columns; ++c) want[std::size_t(r) * columns + c] = (v[c] - mean) / std::sqrt(variance + eps) * ws[c] + bs[c];
    }
  });

  tw::Device device = options.open();
  auto x = device.upload(in), w = device.upload(ws), b = device.upload(bs);
  auto y = device.upload(std::vector<float>(in.size(), NAN));
  tw::Kernel kernel("layer_norm", layer_norm);

  return example::report(options, device,
                         {.kernel = "layer norm",
                          .size = std::to_string(rows) + " x " + std::to_string(columns) + " f32",
                          .bytes = 2.0 * sizeof(float) * in.size(),
                          .tolerance = 1e-5,
                          .tile =
                              [&] {
                                kernel({.grid = rows}, x, w, b, y, columns, eps, 1024);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                example::parallel(rows, 1, [&](int begin, int end) {
                                  for (int r = begin; r < end; ++r) {
                                    const float* v = &in[std::size_t(r) * columns];
                                    float* to = &plain_out[std::size_t(r) * columns];
                                    float total = 0, squares = 0;
                                    for (int c = 0; c < columns; ++c) total += v[c], squares += v[c] * v[c];
                                    const float mean = total / columns;
                                    const float scale = 1 / std::sqrt(squares / columns - mean * mean + eps);
                                    for (int c = 0; c < columns; ++c) to[c] = (v[c] - mean) * scale * ws[c] + bs[c];
                                  }
                                });
                              },
                          .tile_result = [&] { return y.download(); },
                          .plain_result = [&] { return plain_out; },
                          .want = want});
}

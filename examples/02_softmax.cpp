// Softmax of each row. The idea: reductions, and fusion: a row is read once and written once, what is between stays in the program.
#include <algorithm>
#include <cmath>

#include "example.h"

namespace tw = tilewright;

// A template: the same kernel for f32, f16 and bf16. The arithmetic is in f32, whatever the rows are stored as.
template <class T>
void softmax(tw::Ptr<const T> in, tw::Ptr<T> out, tw::I32 columns, int BLOCK) {
  auto lanes = tw::arange(0, BLOCK);  // a power of two, no smaller than a row
  auto mask = lanes < columns;
  auto at = tw::program_id(0) * columns + lanes;
  auto x = tw::cast<float>(tw::load(in + at, mask, -tw::inf));  // lanes past the row's end weigh nothing
  auto e = tw::exp(x - tw::max(x, 0));
  tw::store(out + at, tw::cast<T>(e / tw::sum(e, 0)), mask);
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int rows = options.quick ? 37 : 4096, columns = options.quick ? 781 : 4096;
  const auto in = example::normal(std::size_t(rows) * columns, 3, 3.0f);
  std::vector<float> plain_out(in.size(), NAN);
  std::vector<double> want(in.size());
  example::parallel(rows, 1, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const float* x = &in[std::size_t(r) * columns];
      const double biggest = *std::max_element(x, x + columns);
      double total = 0;
      for (int c = 0; c < columns; ++c) total += std::exp(x[c] - biggest);
      for (int c = 0; c < columns; ++c) want[std::size_t(r) * columns + c] = std::exp(x[c] - biggest) / total;
    }
  });

  tw::Device device = options.open();
  auto x = device.upload(in);
  auto y = device.upload(std::vector<float>(in.size(), NAN));
  tw::Kernel kernel("softmax", softmax<float>);
  const int block = tw::next_power_of_two(columns);

  return example::report(options, device,
                         {.kernel = "softmax",
                          .size = std::to_string(rows) + " x " + std::to_string(columns) + " f32",
                          .bytes = 2.0 * sizeof(float) * in.size(),
                          .tolerance = 1e-5,
                          .tile =
                              [&] {
                                kernel({.grid = rows}, x, y, columns, block);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                example::parallel(rows, 1, [&](int begin, int end) {
                                  for (int r = begin; r < end; ++r) {
                                    const float* from = &in[std::size_t(r) * columns];
                                    float* to = &plain_out[std::size_t(r) * columns];
                                    float biggest = from[0], total = 0;
                                    for (int c = 1; c < columns; ++c) biggest = std::max(biggest, from[c]);
                                    for (int c = 0; c < columns; ++c) total += to[c] = std::exp(from[c] - biggest);
                                    for (int c = 0; c < columns; ++c) to[c] /= total;
                                  }
                                });
                              },
                          .tile_result = [&] { return y.download(); },
                          .plain_result = [&] { return plain_out; },
                          .want = want});
}

// Step 3 of the tutorial: tiles of rank 2, broadcasting, views.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [kernel]
// out[i, j] = in[i, j] * scale[i] + bias[j], row-major. A program computes a tile of [BM, BN].
void scale_and_shift(tw::Ptr<const float> in, tw::Ptr<const float> scale, tw::Ptr<const float> bias, tw::Ptr<float> out, tw::I32 rows,
                     tw::I32 columns, int BM, int BN) {
  auto i = tw::column(tw::program_id(0) * BM + tw::arange(0, BM));  // [BM, 1]
  auto j = tw::row(tw::program_id(1) * BN + tw::arange(0, BN));     // [1, BN]
  auto at = i * columns + j;                                        // [BM, BN]
  auto mask = i < rows && j < columns;
  auto x = tw::load(in + at, mask);
  tw::store(out + at, x * tw::load(scale + i, i < rows) + tw::load(bias + j, j < columns), mask);
}
// [/kernel]

// [views]
// out = the transpose of in. A view knows its extents and strides: no masks, no offsets.
void transpose(tw::View<const float, 2> in, tw::View<float, 2> out, int B) {
  auto i = tw::program_id(0) * B, j = tw::program_id(1) * B;
  out.store({j, i}, tw::transpose(in.load({i, j}, {B, B})));
}
// [/views]

int main() {
  const int rows = 100, columns = 300;
  std::vector<float> host(rows * columns), scales(rows), biases(columns);
  for (int i = 0; i < rows; ++i) scales[i] = i;
  for (int j = 0; j < columns; ++j) biases[j] = j;
  for (int k = 0; k < rows * columns; ++k) host[k] = k % 10;

  tw::Device device = tw::Device::open();
  auto in = device.upload(host), scale = device.upload(scales), bias = device.upload(biases);
  auto out = device.allocate<float>(rows * columns), turned = device.allocate<float>(rows * columns);
  // [launch]
  tw::Kernel kernel("scale_and_shift", scale_and_shift);
  kernel({.grid = {tw::cdiv(rows, 16), tw::cdiv(columns, 64)}}, in, scale, bias, out, rows, columns, 16, 64);

  tw::Kernel turn("transpose", transpose);
  turn({.grid = {tw::cdiv(rows, 32), tw::cdiv(columns, 32)}}, tw::view(out, {rows, columns}), tw::view(turned, {columns, rows}), 32);
  // [/launch]

  const auto result = turned.download();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      if (result[j * rows + i] != host[i * columns + j] * scales[i] + biases[j]) return 1;
  std::printf("element (99, 299) was %g, is %g, and stands at (299, 99)\n", host[rows * columns - 1], result[rows * columns - 1]);
}

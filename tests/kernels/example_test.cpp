// The program of docs/kernels.md.
#include "tests/kernels/matrices.h"

namespace kernels = tw::kernels;

TEST_CASE("example: the page's program") {
  const char* name = "cpu";
  // [example]
  tw::Device device = tw::Device::open(name);
  auto x = device.upload(std::vector<tw::f16>(512 * 256, tw::f16(0.5f))),
       weights = device.upload(std::vector<tw::f16>(128 * 256, tw::f16(0.25f)));
  auto bias = device.upload(std::vector<float>(128, 1.0f));
  auto hidden = device.allocate<tw::f16>(512 * 128), out = device.allocate<tw::f16>(512 * 128);

  // hidden = relu(x weights^T + bias), and the softmax of its rows.
  kernels::matmul(
      tw::view(x, {512, 256}), tw::transposed(tw::view(weights, {128, 256})), tw::view(hidden, {512, 128}),
      [](auto sum, auto, auto column, auto b) { return tw::relu(sum + tw::load(b + column)); }, bias);
  kernels::softmax(tw::view(hidden, {512, 128}), tw::view(out, {512, 128}));
  // [/example]
  for (tw::f16 h : hidden.download()) CHECK(static_cast<float>(h) == 33);
  for (tw::f16 o : out.download()) CHECK(static_cast<float>(o) == doctest::Approx(1.0 / 128));
}

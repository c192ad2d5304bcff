// Stencils of one to three axes: borders, radii, strides, types, indices.
#include <algorithm>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;
using kernels::Border;

namespace {

/// Element (z, y, x) of a dense array, as the border has it.
double element(const std::vector<double>& a, std::array<std::int64_t, 3> extents, std::array<std::int64_t, 3> index, Border border) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t& i = index[axis];
    if (border == Border::clamp) i = std::clamp<std::int64_t>(i, 0, extents[axis] - 1);
    if (border == Border::wrap) i = (i % extents[axis] + extents[axis]) % extents[axis];
    if (i < 0 || i >= extents[axis]) return 0;
  }
  return a[static_cast<std::size_t>((index[0] * extents[1] + index[1]) * extents[2] + index[2])];
}

template <class T, class Y>
void check_2d(tw::Device& device, std::int64_t rows, std::int64_t columns, Border border, Placement placement) {
  INFO(rows, " x ", columns, ", border ", static_cast<int>(border));
  Array<T, 2> x(device, {rows, columns}, 1, placement);
  Array<Y, 2> y(device, {rows, columns}, 2, placement);
  const auto before = y.values();
  kernels::stencil(
      x.view(), y.view(), [](auto at) { return at(0, 0) * 4 - at(-1, 0) + at(1, 0) * 2 - at(0, -2) * 3 + at(2, 1); }, 2, border);
  const auto a = x.values();
  std::vector<double> want;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto at = [&](std::int64_t dy, std::int64_t dx) { return element(a, {1, rows, columns}, {0, i + dy, j + dx}, border); };
      const bool is_kept = border == Border::keep && (i < 2 || j < 2 || i >= rows - 2 || j >= columns - 2);
      want.push_back(is_kept ? before[want.size()] : at(0, 0) * 4 - at(-1, 0) + at(1, 0) * 2 - at(0, -2) * 3 + at(2, 1));
    }
  CHECK(error(y.values(), want) <= epsilon<Y>());
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("stencil: matrices, every border") {
  on_every_device([](tw::Device& device) {
    for (Border border : {Border::zero, Border::clamp, Border::wrap, Border::keep}) {
      check_2d<float, float>(device, 1, 1, border, Placement::dense);
      check_2d<float, float>(device, 131, 197, border, Placement::padded);
      check_2d<double, double>(device, 3, 65, border, Placement::reversed);
    }
    check_2d<tw::f16, tw::f16>(device, 64, 63, Border::clamp, Placement::dense);
    check_2d<std::int8_t, std::int32_t>(device, 17, 129, Border::zero, Placement::dense);
    check_2d<float, float>(device, 0, 5, Border::clamp, Placement::dense);
  });
}

TEST_CASE("stencil: one and three axes, and indices") {
  on_every_device([](tw::Device& device) {
    Array<float, 3> x(device, {5, 37, 70}, 1, Placement::padded), y(device, {5, 37, 70}, 2, Placement::reversed);
    kernels::stencil(
        x.view(), y.view(),
        [](auto at, auto z, auto, auto column) {
          return at(-1, 0, 0) - at(0, 1, 0) + at(1, 0, -1) * 0.5f + (z * 100 + column).template to<float>();
        },
        1);
    const auto a = x.values(), got = y.values();
    std::vector<double> want;
    for (std::int64_t z = 0; z < 5; ++z)
      for (std::int64_t i = 0; i < 37; ++i)
        for (std::int64_t j = 0; j < 70; ++j) {
          const auto at = [&](std::int64_t dz, std::int64_t dy, std::int64_t dx) {
            return element(a, {5, 37, 70}, {z + dz, i + dy, j + dx}, Border::zero);
          };
          want.push_back(at(-1, 0, 0) - at(0, 1, 0) + at(1, 0, -1) * 0.5 + static_cast<double>(z * 100 + j));
        }
    CHECK(error(got, want) <= epsilon<float>());
    Array<float, 1> line(device, {5000}, 1, Placement::padded), sums(device, {5000}, 2);
    kernels::stencil(line.view(), sums.view(), [](auto at) { return at(-3) + at(3); }, 3, Border::wrap);
    const auto l = line.values();
    std::vector<double> pairs;
    for (std::size_t i = 0; i < 5000; ++i) pairs.push_back(l[(i + 4997) % 5000] + l[(i + 3) % 5000]);
    CHECK(error(sums.values(), pairs) <= epsilon<float>());
  });
}

TEST_CASE("stencil: mistakes") {
  tw::Device device = tw::Device::open("cpu");
  auto in = device.allocate<float>(100), out = device.allocate<float>(100);
  const auto x = tw::view(in, {5, 6}), y = tw::view(out, {5, 6});
  const auto f = [](auto at) { return at(0, 1); };
  // clang-format off
  CHECK_MISTAKE("error: stencil: 'y' is [6, 6]; it must be [5, 6] as 'x' is [5, 6]", kernels::stencil(x, tw::view(out, {6, 6}), f, 1));
  CHECK_MISTAKE("stencil: 'y', a result, shares memory with 'x'", kernels::stencil(x, x, f, 1));
  CHECK_MISTAKE("stencil: radius = -1; it must be 0 to 65536", kernels::stencil(x, y, f, -1));
  CHECK_MISTAKE("stencil: offset 2 along axis 1; the radius is 1", kernels::stencil(x, y, [](auto at) { return at(0, 2); }, 1));
  // clang-format on
}

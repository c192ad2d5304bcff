// Elements and rows added where indices say: lengths, types, equal indices, strides, indices out of range, the same bits each time.
#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// `count` indices from -1 to `end`: the first and the last value are out of range.
template <class I>
std::vector<I> random_indices(std::int64_t count, std::int64_t end) {
  std::mt19937_64 engine(static_cast<unsigned>(count * 7 + end));
  std::vector<I> indices(static_cast<std::size_t>(count));
  for (I& i : indices) i = static_cast<I>(static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(end + 2)) - 1);
  return indices;
}

/// Adds rows of `columns` elements, or elements if Rank is 1, and compares with sums in double precision.
template <class T, class I, std::size_t Rank>
void check_scatter_add(tw::Device& device, std::int64_t n, std::int64_t count, std::int64_t columns, Placement placement,
                       double tolerance) {
  INFO(count, " rows of ", columns, " to ", n);
  const auto shape = [&](std::int64_t rows) {
    if constexpr (Rank == 1)
      return std::array<std::int64_t, 1>{rows};
    else
      return std::array<std::int64_t, 2>{rows, columns};
  };
  Array<T, Rank> x(device, shape(count), 1, placement), y(device, shape(n), 2, placement), again(device, shape(n), 2, placement);
  const auto indices = random_indices<I>(count, n);
  const auto index = device.upload(indices);
  std::vector<double> want = y.values();
  const std::vector<double> xs = x.values();
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (std::int64_t j = 0; j < columns && indices[i] >= 0 && indices[i] < n; ++j)
      want[static_cast<std::size_t>(indices[i] * columns + j)] += xs[i * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)];
  kernels::scatter_add(x.view(), index, y.view());
  kernels::scatter_add(x.view(), index, again.view());
  const auto got = y.values();
  CHECK(got == again.values());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) error += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
  CHECK(std::sqrt(error) <= tolerance * std::sqrt(size));  // false for NaN
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("scatter_add: rows") {
  on_every_device([](tw::Device& device) {
    check_scatter_add<float, std::int32_t, 2>(device, 1, 1, 1, Placement::dense, 1e-6);
    check_scatter_add<float, std::int64_t, 2>(device, 37, 129, 65, Placement::padded, 1e-6);
    check_scatter_add<float, std::int32_t, 2>(device, 3, 1000, 5, Placement::reversed, 1e-6);
    check_scatter_add<tw::f16, std::int32_t, 2>(device, 100, 7, 64, Placement::dense, 1e-3);
    check_scatter_add<double, std::int32_t, 2>(device, 5, 31, 1500, Placement::dense, 1e-15);
    check_scatter_add<std::int32_t, std::int32_t, 2>(device, 50, 200, 3, Placement::padded, 0);
    check_scatter_add<float, std::int32_t, 2>(device, 3, 0, 5, Placement::dense, 0);
    check_scatter_add<float, std::int32_t, 2>(device, 0, 3, 5, Placement::dense, 0);
    check_scatter_add<float, std::int32_t, 2>(device, 3, 4, 0, Placement::dense, 0);
  });
}

TEST_CASE("scatter_add: elements") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t count : {0, 1, 63, 1025, 9001})
      check_scatter_add<float, std::int32_t, 1>(device, 40, count, 1, Placement::padded, 1e-6);
    check_scatter_add<tw::bf16, std::int64_t, 1>(device, 400, 500, 1, Placement::dense, 1e-2);
    check_scatter_add<std::int64_t, std::int32_t, 1>(device, 1, 5000, 1, Placement::dense, 0);
  });
}

TEST_CASE("scatter_add: sums of 16-bit floats are rounded once") {
  on_every_device([](tw::Device& device) {
    // 2051 is between 2050 and 2052, which is even in units of 2: rounded before it is added, the result would be 4.
    const auto ones = device.upload(std::vector<tw::f16>(2051, tw::f16(1.0f)));
    const auto first = device.upload(std::vector<int>(2051, 0));
    auto z = device.upload(std::vector<tw::f16>{tw::f16(-2048.0f)});
    kernels::scatter_add(ones, first, z);
    CHECK(number(z.download()[0]) == 3);
  });
}

TEST_CASE("scatter_add: an index of two axes, slices of two axes, buffers") {
  on_every_device([](tw::Device& device) {
    const auto indices = random_indices<std::int32_t>(12, 4);
    const auto index = device.upload(indices);
    Array<float, 4> x(device, {3, 4, 2, 5}, 1, Placement::padded);
    Array<float, 3> y(device, {4, 2, 5}, 2, Placement::dense);
    auto want = y.values();
    const auto xs = x.values();
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (const std::int32_t to = indices[i / 10]; to >= 0 && to < 4) want[static_cast<std::size_t>(to) * 10 + i % 10] += xs[i];
    kernels::scatter_add(x.view(), tw::view(index, {3, 4}), y.view());
    const auto got = y.values();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-5));

    auto ones = device.upload(std::vector<int>(12, 1)), bins = device.upload(std::vector<int>(4, 10));
    kernels::scatter_add(ones, index, bins);
    std::vector<int> counts(4, 10);
    for (std::int32_t i : indices)
      if (i >= 0 && i < 4) ++counts[static_cast<std::size_t>(i)];
    CHECK(bins.download() == counts);
  });
}

TEST_CASE("scatter_add: mistakes") {
  tw::Device device = tw::Device::open("cpu");
  auto rows = device.allocate<float>(60), table = device.allocate<float>(60);
  auto index = device.allocate<int>(10);
  const auto x = tw::view(rows, {10, 6}), y = tw::view(table, {10, 6});
  // clang-format off
  CHECK_MISTAKE("scatter_add: 'x' is [10, 6]; it must be [9, 6] as 'index' is [9]", kernels::scatter_add(x, tw::view(index, {9}), y));
  CHECK_MISTAKE("scatter_add: 'x' is [10, 6]; the extent of its axis 1 must be 5 as that of axis 1 of 'y', which is [12, 5]", kernels::scatter_add(x, index, tw::view(table, {12, 5})));
  CHECK_MISTAKE("scatter_add: 'y', a result, shares memory with 'x'", kernels::scatter_add(x, index, tw::view(rows, {10, 6})));
  // clang-format on
}

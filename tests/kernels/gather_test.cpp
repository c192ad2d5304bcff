// Gathers: elements and rows, ranks, strides, indices that lead nowhere.
#include <algorithm>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// `count` indices from -2 up to and without `end` + 2: some of them are out of range.
template <class I>
std::vector<I> random_indices(std::int64_t count, std::int64_t end, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<I> indices(static_cast<std::size_t>(count));
  for (I& i : indices) i = static_cast<I>(static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(end + 4)) - 2);
  return indices;
}

/// Rows of `columns` elements.
template <class T, class I>
void check_gather_rows(tw::Device& device, std::int64_t n, std::int64_t count, std::int64_t columns, Placement placement) {
  INFO(n, " rows of ", columns, ", ", count, " chosen");
  Array<T, 2> x(device, {n, columns}, 1, placement), y(device, {count, columns}, 2, placement);
  const auto indices = random_indices<I>(count, n, 3);
  const auto index = device.upload(indices);
  kernels::gather(x.view(), index, y.view());
  const auto xs = x.values();
  std::vector<double> want;
  for (I i : indices)
    for (std::int64_t j = 0; j < columns; ++j)
      want.push_back(i >= 0 && i < n ? xs[static_cast<std::size_t>(static_cast<std::int64_t>(i) * columns + j)] : 0);
  CHECK(y.values() == want);
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("gather: rows of any number and length, types and strides") {
  on_every_device([](tw::Device& device) {
    check_gather_rows<float, std::int32_t>(device, 1, 1, 1, Placement::dense);
    check_gather_rows<float, std::int64_t>(device, 37, 129, 65, Placement::padded);
    check_gather_rows<tw::f16, std::int32_t>(device, 100, 7, 64, Placement::dense);
    check_gather_rows<tw::bf16, std::int64_t>(device, 63, 31, 3, Placement::reversed);
    check_gather_rows<double, std::int32_t>(device, 5, 1000, 1, Placement::dense);
    check_gather_rows<std::int8_t, std::int32_t>(device, 5, 100, 17, Placement::padded);
    check_gather_rows<std::int64_t, std::int64_t>(device, 5, 1, 5000, Placement::dense);
    check_gather_rows<float, std::int32_t>(device, 3, 0, 5, Placement::dense);
    check_gather_rows<float, std::int32_t>(device, 0, 3, 5, Placement::dense);
    check_gather_rows<float, std::int32_t>(device, 3, 4, 0, Placement::dense);
  });
}

TEST_CASE("gather: elements of buffers and of views") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t count : {0, 1, 63, 64, 65, 4099}) {
      const auto indices = random_indices<std::int32_t>(count, 1009, 4);
      const auto index = device.upload(indices);
      Array<float, 1> x(device, {1009}, 1, Placement::padded), dense(device, {1009}, 1);
      auto y = device.upload(std::vector<float>(static_cast<std::size_t>(count), -5)), z = device.upload(y.download());
      kernels::gather(x.view(), index, y);
      const auto source = device.upload([&] {
        auto all = dense.buffer.download();
        return all.resize(1009), all;
      }());
      kernels::gather(source, index, z);
      CHECK(y.download() == z.download());
      const auto xs = x.values();
      const auto got = y.download();
      for (std::size_t i = 0; i < indices.size(); ++i)
        CHECK(got[i] == (indices[i] >= 0 && indices[i] < 1009 ? xs[static_cast<std::size_t>(indices[i])] : 0));
    }
  });
}

TEST_CASE("gather: an index of several axes, slices of several axes") {
  on_every_device([](tw::Device& device) {
    Array<float, 3> x(device, {7, 3, 5}, 1, Placement::reversed);
    const auto indices = random_indices<std::int64_t>(11 * 4, 7, 5);
    const auto index = device.upload(indices);
    Array<float, 4> y(device, {11, 4, 3, 5}, 2, Placement::padded);
    kernels::gather(x.view(), tw::view(index, {11, 4}), y.view());
    const auto xs = x.values(), ys = y.values();
    for (std::size_t i = 0; i < ys.size(); ++i) {
      const std::int64_t from = indices[i / 15];
      CHECK(ys[i] == (from >= 0 && from < 7 ? xs[static_cast<std::size_t>(from) * 15 + i % 15] : 0));
    }
    CHECK(y.gaps_untouched());

    // Elements by an index whose axes are transposed.
    Array<double, 1> table(device, {7}, 1);
    Array<double, 2> z(device, {4, 11}, 3);
    kernels::gather(table.view(), tw::transposed(tw::view(index, {11, 4})), z.view());
    const auto ts = table.values(), zs = z.values();
    for (std::size_t i = 0; i < zs.size(); ++i) {
      const std::int64_t from = indices[i % 11 * 4 + i / 11];
      CHECK(zs[i] == (from >= 0 && from < 7 ? ts[static_cast<std::size_t>(from)] : 0));
    }
  });
}

TEST_CASE("gather: mistakes") {
  tw::Device device = tw::Device::open("cpu"), second = tw::Device::open("emulator:sm_80");
  auto table = device.allocate<float>(100), out = device.allocate<float>(100);
  auto index = device.allocate<int>(10), far = second.allocate<int>(10);
  const auto x = tw::view(table, {10, 6}), y = tw::view(out, {4, 6});
  // clang-format off
  CHECK_MISTAKE("error: gather: 'y' is [5, 6]; it must be [4, 6] as 'index' is [4]", kernels::gather(x, tw::view(index, {4}), tw::view(out, {5, 6})));
  CHECK_MISTAKE("gather: 'y' is [4, 5]; the extent of its axis 1 must be 6 as that of axis 1 of 'x', which is [10, 6]", kernels::gather(x, tw::view(index, {4}), tw::view(out, {4, 5})));
  CHECK_MISTAKE("gather: 'y' is [100]; it must be [10] as 'index' is [10]", kernels::gather(table, index, out));
  CHECK_MISTAKE("gather: 'y', a result, shares memory with 'x'", kernels::gather(x, tw::view(index, {4}), tw::view(table, {4, 6})));
  CHECK_MISTAKE("gather: 'index' is on device 'emulator:sm_80', but 'x' is on device 'cpu'", kernels::gather(x, tw::view(far, {4}), y));
  CHECK_MISTAKE("gather: 'index' is empty", kernels::gather(x, tw::View<int, 1>(), y));
  CHECK_MISTAKE("gather: bm = 3 of the configuration", kernels::gather(x, tw::view(index, {4}), y, {.configuration = kernels::Configuration{.bm = 3}}));
  // clang-format on
}

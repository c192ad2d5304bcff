// Permutations, reshapes and broadcasts of tiles of each rank.
#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

/// Row-major strides.
std::vector<int> strides(const std::vector<int>& shape) {
  std::vector<int> s(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i) s[i] = s[i + 1] * shape[i + 1];
  return s;
}

/// Pointers to a row-major array of this shape.
template <class T>
tw::Ptr<T> pointers(tw::Ptr<T> p, const tw::Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  int stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    tw::I32 i = arange(0, shape[axis]);
    for (int k = 0; k < axis; ++k) i = tw::expand_dims(i, 0);
    for (int k = axis + 1; k < rank; ++k) i = tw::expand_dims(i, -1);
    p = p + i * stride;
    stride *= shape[axis];
  }
  return p;
}

struct Permutation {
  std::array<int, 5> shape, axes;
};

}  // namespace

TEST_CASE("shapes: permutations of five axes") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("permute", [](tw::Ptr<const std::int16_t> x, tw::Ptr<std::int16_t> y, Permutation p) {
      const auto [a, b, c, d, e] = p.shape;
      auto t = tw::permute(load(pointers(x, {a, b, c, d, e})), {p.axes[0], p.axes[1], p.axes[2], p.axes[3], p.axes[4]});
      store(pointers(y, t.shape()), t);
    });
    const std::array<int, 5> shape{2, 4, 1, 8, 16};
    const auto x = random_bits<std::int16_t>(1024, 1);
    const auto in = device.upload(x);
    for (const std::array<int, 5>& axes :
         {std::array{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 0, 2, 4, 3}, {2, 4, 0, 3, 1}, {0, 1, 2, 4, 3}, {3, 4, 1, 2, 0}}) {
      auto out = device.allocate<std::int16_t>(1024);
      kernel({.grid = 1}, in, out, Permutation{shape, axes});
      std::vector<int> to(5);
      for (int i = 0; i < 5; ++i) to[i] = shape[axes[i]];
      const auto from_stride = strides({shape.begin(), shape.end()}), to_stride = strides(to);
      std::vector<std::int16_t> want(1024);
      for (int n = 0; n < 1024; ++n) {
        int from = 0;
        for (int i = 0; i < 5; ++i) from += n / to_stride[i] % to[i] * from_stride[axes[i]];
        want[n] = x[from];
      }
      check_same("permute", out.download(), want);
    }
  });
}

TEST_CASE("shapes: rank 0 to 5 by reshape, squeeze, expand_dims, ravel, broadcast") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("reshape", [](tw::Ptr<const float> x, tw::Ptr<float> y) {
      auto t = load(x + arange(0, 64));
      auto five = tw::reshape(t, {2, 2, 2, 4, 2});
      auto three = tw::reshape(five, {4, 1, 16});
      auto two = tw::squeeze(three, 1);
      CHECK(two.rank() == 2);
      CHECK(two.shape() == tw::Shape{4, 16});
      CHECK(two.extent(-1) == 16);
      auto t2 = tw::transpose(two);  // [16, 4]
      store(y + arange(0, 64), tw::ravel(t2));
      auto wide = tw::broadcast_to(tw::expand_dims(tw::sum(two, 1), 1), {2, 4, 8});
      store(y + 64 + arange(0, 64), tw::ravel(wide));
      tw::F32 scalar = tw::reshape(load(x + arange(7, 8)), {});
      CHECK(scalar.rank() == 0);
      store(y + 128, scalar);
      store(y + 129 + arange(0, 1), scalar);
      store(y + 130 + arange(0, 2), tw::broadcast_to(scalar, {2}));
      store(y + 132 + tw::reshape(arange(0, 4), {1, 2, 1, 2}), tw::full<float>({}, 5) + tw::zeros<float>({2, 1, 2}));
    });
    const auto x = numbers<float>(64, 2);
    auto y = device.allocate<float>(136);
    kernel({.grid = 1}, device.upload(x), y);
    std::vector<double> want;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 4; ++j) want.push_back(x[j * 16 + i]);
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j) {
          double sum = 0;
          for (int n = 0; n < 16; ++n) sum += x[i * 16 + n];
          want.push_back(sum);
        }
    for (int i = 0; i < 4; ++i) want.push_back(x[7]);
    for (int i = 0; i < 4; ++i) want.push_back(5);
    check_close("reshape", y.download(), want, 1e-6, 1e-5);
  });
}

TEST_CASE("shapes: transposing a matrix of every element width, odd sizes") {
  auto transpose = []<class T>(tw::Device& device, T) {
    const tw::Kernel kernel("transpose", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 rows, tw::I32 cols, int block) {
      auto i = tw::program_id(1) * block + arange(0, block);
      auto j = tw::program_id(0) * block + arange(0, block);
      auto t = load(x + column(i) * cols + row(j), column(i) < rows && row(j) < cols);
      store(y + column(j) * rows + row(i), tw::transpose(t), column(j) < cols && row(i) < rows);
    });
    const int rows = 45, cols = 83;
    const auto x = random_bits<T>(rows * cols, 3);
    auto y = device.allocate<T>(rows * cols);
    kernel({.grid = {tw::cdiv(cols, 16), tw::cdiv(rows, 16)}}, device.upload(x), y, rows, cols, 16);
    std::vector<T> want(rows * cols);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) want[j * rows + i] = x[i * cols + j];
    check_same("transpose", y.download(), want);
  };
  on_every_device([&](tw::Device& device) {
    transpose(device, bool());
    transpose(device, std::uint8_t());
    transpose(device, tw::bf16());
    transpose(device, float());
    transpose(device, std::int64_t());
  });
}

TEST_CASE("shapes: pointers, masks and conditions broadcast as numpy's arrays do") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("select", [](tw::Ptr<const std::int32_t> x, tw::Ptr<const std::int32_t> y, tw::Ptr<std::int32_t> out) {
      auto i = column(arange(0, 8)), j = row(arange(0, 16));
      auto even = (i + j) % 2 == 0;
      tw::Ptr<const std::int32_t> from = tw::where(even, x, y);  // scalars of pointers
      auto direct = tw::where(i < 4, x + j, y + j * 2);
      store(out + i * 16 + j, load(from + i) + load(direct));
      // A branch-free swap of rows and columns through an index tile.
      auto index = load(x + arange(0, 8)) & 7;
      store(out + 128 + arange(0, 8), load(y + index));
    });
    std::vector<std::int32_t> x(64), y(64), want;
    for (int i = 0; i < 64; ++i) x[i] = i * 5 + 3, y[i] = 1000 + i;
    auto out = device.allocate<std::int32_t>(136);
    kernel({.grid = 1}, device.upload(x), device.upload(y), out);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 16; ++j) want.push_back(((i + j) % 2 == 0 ? x[i] : y[i]) + (i < 4 ? x[j] : y[j * 2]));
    for (int i = 0; i < 8; ++i) want.push_back(y[x[i] & 7]);
    check_same("where", out.download(), want);
  });
}

TEST_CASE("shapes: a tile of 2^20 elements") {  // 2^15 elements if NVIDIA's assembler is used
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("big", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, int size) {
      auto i = arange(0, size);
      auto v = load(x + i, i < n, 2.0f);
      store(y + i, v * v + 1.0f, i < n);
      store(y + n, tw::sum(v));
      store(y + n + 1, tw::max(v));
      store(y + n + 2, tw::argmin(v).to<float>());
    });
    const int size = device.name().starts_with("cuda") ? 1 << 15 : 1 << 20, n = size - 77;
    const auto x = numbers<float>(n, 8);
    auto y = device.allocate<float>(n + 3);
    kernel({.grid = 1}, device.upload(x), y, n, size);
    std::vector<double> want;
    double sum = 77 * 2, most = -INFINITY, least = INFINITY;
    int at = 0;
    for (int i = 0; i < n; ++i) {
      want.push_back(double(x[i]) * x[i] + 1);
      sum += x[i];
      most = std::max<double>(most, x[i]);
      if (x[i] < least) least = x[i], at = i;
    }
    want.insert(want.end(), {sum, most, double(at)});
    check_close("big", y.download(), want, 1e-4, 1e-5);
  });
}

// Numbers of 8 bits with scales beside them. The ideas: casts to int8 and fp8, the bits of a float as an integer, a tile reshaped into
// blocks that share a scale, and dot_scaled, which multiplies such blocks (the microscaling formats of the Open Compute Project).
#include <cmath>

#include "example.h"

namespace tw = tilewright;

// A row as int8, with the scale that maps its largest element to 127.
void to_int8(tw::Ptr<const float> x, tw::Ptr<std::int8_t> q, tw::Ptr<float> scales, tw::I32 columns, int BLOCK) {
  auto row = tw::program_id(0);
  auto lanes = tw::arange(0, BLOCK);
  auto at = row * columns + lanes;
  auto v = tw::load(x + at, lanes < columns);
  auto largest = tw::max(tw::abs(v), 0);
  auto scale = tw::where(largest > 0, largest / 127, 1);
  tw::store(scales + row, scale);
  tw::store(q + at, tw::rint(v / scale).to<std::int8_t>(), lanes < columns);
}

void from_int8(tw::Ptr<const std::int8_t> q, tw::Ptr<const float> scales, tw::Ptr<float> x, tw::I32 columns, int BLOCK) {
  auto row = tw::program_id(0);
  auto lanes = tw::arange(0, BLOCK);
  auto at = row * columns + lanes;
  tw::store(x + at, tw::load(q + at, lanes < columns).to<float>() * tw::load(scales + row), lanes < columns);
}

// A row as fp8, with a power of two for every 32 elements. Such a scale is a byte, the exponent's field of an f32.
void to_mx(tw::Ptr<const float> x, tw::Ptr<tw::f8e4m3> q, tw::Ptr<std::uint8_t> scales, tw::I32 columns, int BLOCK) {
  auto row = tw::program_id(0);
  auto at = tw::column(tw::arange(0, BLOCK / 32)) * 32 + tw::row(tw::arange(0, 32));  // [blocks, 32]
  auto v = tw::load(x + row * columns + at, at < columns);
  auto exponent = tw::max(tw::abs(v), 1, true).bitcast<std::uint32_t>() >> 23;
  auto scale = tw::maximum(exponent, 8u) - 8u;  // fp8 reaches 1.75 * 2^8
  auto inverse = ((254u - scale) << 23).bitcast<float>();
  tw::store(q + row * columns + at, tw::clamp(v * inverse, -448, 448).to<tw::f8e4m3>(), at < columns);
  auto block = tw::column(tw::arange(0, BLOCK / 32));
  tw::store(scales + row * (columns / 32) + block, scale.to<std::uint8_t>(), block < columns / 32);
}

struct Sizes {
  int m = 64, n = 64, k = 128;
};

// C = A B. A: [M, K] and B's columns: [N, K] as to_mx leaves rows. K is a multiple of 32.
void product(tw::Ptr<const tw::f8e4m3> a, tw::Ptr<const std::uint8_t> a_scales, tw::Ptr<const tw::f8e4m3> b,
             tw::Ptr<const std::uint8_t> b_scales, tw::Ptr<float> c, tw::I32 M, tw::I32 N, tw::I32 K, Sizes t) {
  auto i = tw::program_id(0) * t.m + tw::arange(0, t.m), j = tw::program_id(1) * t.n + tw::arange(0, t.n);
  auto sum = tw::zeros<float>({t.m, t.n});
  for (auto at : tw::range(0, K, t.k)) {
    auto k = at + tw::arange(0, t.k), block = at / 32 + tw::arange(0, t.k / 32);
    const auto scales = [&](tw::Ptr<const std::uint8_t> from, tw::I32 rows, tw::I32 count) {
      return tw::load(from + tw::column(rows) * (K / 32) + tw::row(block), tw::column(rows) < count && tw::row(block) < K / 32);
    };
    auto left = tw::load(a + tw::column(i) * K + tw::row(k), tw::column(i) < M && tw::row(k) < K);
    auto right = tw::load(b + tw::row(j) * K + tw::column(k), tw::row(j) < N && tw::column(k) < K);
    sum = tw::dot_scaled(left, scales(a_scales, i, M), right, scales(b_scales, j, N), sum);
  }
  tw::store(c + tw::column(i) * N + tw::row(j), sum, tw::column(i) < M && tw::row(j) < N);
}

int int8_there_and_back(const example::Options& options, tw::Device& device) {
  const int rows = options.quick ? 13 : 4096, columns = options.quick ? 333 : 1000;
  const auto xs = example::normal(std::size_t(rows) * columns, 21);
  std::vector<float> plain(xs.size(), NAN);
  std::vector<double> want(xs.size());
  const auto there_and_back = [&](auto* out, int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const float* row = &xs[std::size_t(r) * columns];
      float largest = 0;
      for (int i = 0; i < columns; ++i) largest = std::fmax(largest, std::fabs(row[i]));
      const float scale = largest > 0 ? largest / 127 : 1;
      for (int i = 0; i < columns; ++i) out[std::size_t(r) * columns + i] = static_cast<std::int8_t>(std::rint(row[i] / scale)) * scale;
    }
  };
  there_and_back(want.data(), 0, rows);

  auto x = device.upload(xs), scales = device.allocate<float>(rows), back = device.upload(std::vector<float>(xs.size(), NAN));
  auto q = device.allocate<std::int8_t>(xs.size());
  tw::Kernel to("to_int8", to_int8);
  tw::Kernel from("from_int8", from_int8);
  const int block = tw::next_power_of_two(columns);
  return example::report(
      options, device,
      {.kernel = "int8 and back",
       .size = std::to_string(rows) + " x " + std::to_string(columns) + " f32",
       .bytes = 10.0 * static_cast<double>(xs.size()),
       .tolerance = 1e-3,  // another rounding of a quotient moves an element by one step
       .tile =
           [&] {
             to({.grid = rows}, x, q, scales, columns, block);
             from({.grid = rows}, q, scales, back, columns, block);
             device.synchronize();
           },
       .plain = [&] { example::parallel(rows, 1, [&](int begin, int end) { there_and_back(plain.data(), begin, end); }); },
       .tile_result = [&] { return back.download(); },
       .plain_result = [&] { return plain; },
       .want = want});
}

int product_of_fp8(const example::Options& options, tw::Device& device) {
  const int M = options.quick ? 70 : 512, N = options.quick ? 50 : 512, K = options.quick ? 96 : 1024;
  const auto as = example::normal(std::size_t(M) * K, 22), bs = example::normal(std::size_t(N) * K, 23);
  std::vector<float> plain(std::size_t(M) * N, NAN);
  std::vector<double> want(plain.size());
  const auto multiply = [&](auto* out, int begin, int end) {
    for (int i = begin; i < end; ++i)
      for (int j = 0; j < N; ++j) {
        std::remove_reference_t<decltype(*out)> sum = 0;
        for (int k = 0; k < K; ++k) sum += static_cast<decltype(sum)>(as[std::size_t(i) * K + k]) * bs[std::size_t(j) * K + k];
        out[std::size_t(i) * N + j] = sum;
      }
  };
  example::parallel(M, 1, [&](int begin, int end) { multiply(want.data(), begin, end); });

  auto a = device.upload(as), b = device.upload(bs), c = device.upload(std::vector<float>(plain.size(), NAN));
  auto aq = device.allocate<tw::f8e4m3>(as.size()), bq = device.allocate<tw::f8e4m3>(bs.size());
  auto a_scales = device.allocate<std::uint8_t>(as.size() / 32), b_scales = device.allocate<std::uint8_t>(bs.size() / 32);
  tw::Kernel to("to_mx", to_mx);
  tw::Kernel multiply_tiles("product", product);
  const int block = tw::next_power_of_two(K);
  to({.grid = M}, a, aq, a_scales, K, block);
  to({.grid = N}, b, bq, b_scales, K, block);
  const Sizes t;
  return example::report(options, device,
                         {.kernel = "fp8 product",
                          .size = std::to_string(M) + " x " + std::to_string(N) + " x " + std::to_string(K) + " mx",
                          .flops = 2.0 * M * N * K,
                          .tolerance = 0.06,  // three bits of mantissa
                          .tile =
                              [&] {
                                multiply_tiles({.grid = {tw::cdiv(M, t.m), tw::cdiv(N, t.n)}}, aq, a_scales, bq, b_scales, c, M, N, K, t);
                                device.synchronize();
                              },
                          .plain = [&] { example::parallel(M, 1, [&](int begin, int end) { multiply(plain.data(), begin, end); }); },
                          .tile_result = [&] { return c.download(); },
                          .plain_result = [&] { return plain; },
                          .want = want});
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  tw::Device device = options.open();
  const int rows = int8_there_and_back(options, device), blocks = product_of_fp8(options, device);
  return rows != 0 ? rows : blocks;
}

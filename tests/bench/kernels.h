// The kernels that the benchmarks compile and run; tile sizes are compile-time constants, so that a benchmark can try several.
#pragma once
#include <tilewright/tilewright.h>

#include <string>
#include <vector>

namespace bench {

namespace tw = tilewright;

inline tw::Device open_device(const std::string& name) { return name.empty() ? tw::Device::open() : tw::Device::open(name); }

/// Inputs from -0.5 to 0.5, which repeat every 97 elements.
inline std::vector<float> sample_values(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
  return values;
}

/// Does nothing worth measuring: what is left is the launch.
inline void touch(tw::Ptr<std::int32_t> out) { tw::store(out + tw::program_id(0), 1); }

inline void vector_add(tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> z, tw::I32 n, int block) {
  auto i = tw::program_id(0) * block + tw::arange(0, block);
  auto mask = i < n;
  tw::store(z + i, tw::load(x + i, mask) + tw::load(y + i, mask), mask);
}

inline void softmax(tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 columns, int block) {
  auto lanes = tw::arange(0, block);
  auto at = tw::program_id(0) * columns + lanes;
  auto mask = lanes < columns;
  tw::store(out + at, tw::softmax(tw::load(in + at, mask, -tw::inf), 0), mask);
}

inline void layer_norm(tw::Ptr<const float> x, tw::Ptr<const float> w, tw::Ptr<const float> b, tw::Ptr<float> y, tw::I32 columns,
                       int block) {
  auto row = tw::program_id(0) * columns;
  auto lanes = tw::arange(0, block);
  auto total = tw::zeros<float>({block}), squares = tw::zeros<float>({block});
  for (auto at : tw::range(0, columns, block)) {
    auto v = tw::load(x + row + at + lanes, at + lanes < columns);
    total += v;
    squares += v * v;
  }
  auto count = columns.to<float>();
  auto mean = tw::sum(total, 0) / count;
  auto scale = tw::rsqrt(tw::sum(squares, 0) / count - mean * mean + 1e-5f);
  for (auto at : tw::range(0, columns, block)) {
    auto c = at + lanes;
    auto mask = c < columns;
    tw::store(y + row + c, (tw::load(x + row + c, mask) - mean) * scale * tw::load(w + c, mask) + tw::load(b + c, mask), mask);
  }
}

/// Square tiles of `block`.
template <class T>
void matmul(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<float> c, tw::I32 M, tw::I32 N, tw::I32 K, int block) {
  auto [tile_m, tile_n] = tw::grouped_order(tw::program_id(0), tw::cdiv(M, block), tw::cdiv(N, block), 8);
  auto i = tw::column(tile_m * block + tw::arange(0, block)), j = tw::row(tile_n * block + tw::arange(0, block));
  auto k = tw::arange(0, block);
  auto sum = tw::zeros<float>({block, block});
  for (auto at : tw::range(0, K, block)) {
    auto ka = tw::row(at + k), kb = tw::column(at + k);
    sum = tw::dot(tw::load(a + i * K + ka, i < M && ka < K), tw::load(b + kb * N + j, kb < K && j < N), sum);
  }
  tw::store(c + i * N + j, sum, i < M && j < N);
}

/// One head; depth 64.
inline void attention(tw::Ptr<const float> q, tw::Ptr<const float> k, tw::Ptr<const float> v, tw::Ptr<float> out, tw::I32 length,
                      tw::F32 scale, int block) {
  constexpr int kDepth = 64;
  auto base = tw::program_id(1) * length * kDepth;
  auto i = tw::column(tw::program_id(0) * block + tw::arange(0, block));
  auto d = tw::arange(0, kDepth);
  auto rows = tw::load(q + base + i * kDepth + tw::row(d), i < length);
  auto biggest = tw::full<float>({block}, -tw::inf);
  auto total = tw::zeros<float>({block});
  auto sum = tw::zeros<float>({block, kDepth});
  for (auto at : tw::range(0, length, block)) {
    auto j = at + tw::arange(0, block);
    auto keys = tw::load(k + base + tw::column(j) * kDepth + tw::row(d), tw::column(j) < length);
    auto values = tw::load(v + base + tw::column(j) * kDepth + tw::row(d), tw::column(j) < length);
    auto scores = tw::where(tw::row(j) < length, tw::dot(rows, tw::transpose(keys)) * scale, -tw::inf);
    auto bigger = tw::maximum(biggest, tw::max(scores, 1));
    auto weights = tw::exp(scores - tw::column(bigger)), rescale = tw::exp(tw::column(biggest - bigger));
    total = total * tw::reshape(rescale, {block}) + tw::sum(weights, 1);
    sum = tw::dot(weights, values, sum * rescale);
    biggest = bigger;
  }
  tw::store(out + base + i * kDepth + tw::row(d), sum / tw::column(total), i < length);
}

/// All of them, ready to be launched.
struct Kernels {
  tw::Kernel<decltype(bench::touch)> touch{"touch", bench::touch};
  tw::Kernel<decltype(bench::vector_add)> vector_add{"vector_add", bench::vector_add};
  tw::Kernel<decltype(bench::softmax)> softmax{"softmax", bench::softmax};
  tw::Kernel<decltype(bench::layer_norm)> layer_norm{"layer_norm", bench::layer_norm};
  tw::Kernel<decltype(bench::matmul<float>)> matmul{"matmul", bench::matmul<float>};
  tw::Kernel<decltype(bench::attention)> attention{"attention", bench::attention};
};

}  // namespace bench

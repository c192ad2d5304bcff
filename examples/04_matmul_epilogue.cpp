// C = f(A B + bias). The ideas: tiles of rank 2 and dot; tile sizes in a struct of constants; and an epilogue that the caller passes as a
// lambda, applied to the product before it is ever stored.
#include <cmath>

#include "example.h"

namespace tw = tilewright;

struct Sizes {
  int m = 64, n = 64, k = 64, group = 8;
};

// A: [M, K], B: [K, N], bias: [N], C: [M, N], row-major, any sizes. A program computes one tile of C.
template <class Epilogue>
void matmul(tw::Ptr<const float> a, tw::Ptr<const float> b, tw::Ptr<const float> bias, tw::Ptr<float> c, tw::I32 M, tw::I32 N, tw::I32 K,
            Sizes t, Epilogue epilogue) {
  // Neighbouring programs share rows of A and columns of B, so that these are still in a cache.
  auto [tile_m, tile_n] = tw::grouped_order(tw::program_id(0), tw::cdiv(M, t.m), tw::cdiv(N, t.n), t.group);
  auto i = tw::column(tile_m * t.m + tw::arange(0, t.m));  // [m, 1]
  auto j = tw::row(tile_n * t.n + tw::arange(0, t.n));     // [1, n]
  auto k = tw::arange(0, t.k);

  auto sum = tw::zeros<float>({t.m, t.n});
  for (auto at : tw::range(0, K, t.k)) {
    auto ka = tw::row(at + k), kb = tw::column(at + k);
    auto a_tile = tw::load(a + i * K + ka, i < M && ka < K);
    auto b_tile = tw::load(b + kb * N + j, kb < K && j < N);
    sum = tw::dot(a_tile, b_tile, sum);
  }
  tw::store(c + i * N + j, epilogue(sum + tw::load(bias + j, j < N)), i < M && j < N);
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int M = options.quick ? 130 : 1024, N = options.quick ? 67 : 1024, K = options.quick ? 33 : 1024;
  const auto as = example::normal(std::size_t(M) * K, 7), bs = example::normal(std::size_t(K) * N, 8, 0.05f);
  const auto biases = example::normal(N, 9);
  const auto silu = [](auto x) { return x / (1 + std::exp(-x)); };
  std::vector<float> plain_c(std::size_t(M) * N, NAN);
  std::vector<double> want(plain_c.size());
  const auto product = [&](auto* out, int begin, int end) {  // rows begin to end; the order of loops that compilers vectorise
    for (int i = begin; i < end; ++i) {
      auto* row = out + std::size_t(i) * N;
      for (int j = 0; j < N; ++j) row[j] = biases[j];
      for (int k = 0; k < K; ++k)
        for (int j = 0; j < N; ++j)
          row[j] += static_cast<std::remove_reference_t<decltype(row[j])>>(as[std::size_t(i) * K + k]) * bs[std::size_t(k) * N + j];
      for (int j = 0; j < N; ++j) row[j] = silu(row[j]);
    }
  };
  example::parallel(M, 1, [&](int begin, int end) { product(want.data(), begin, end); });

  tw::Device device = options.open();
  auto a = device.upload(as), b = device.upload(bs), bias = device.upload(biases);
  auto c = device.upload(std::vector<float>(plain_c.size(), NAN));
  const auto epilogue = [](tw::F32 x) { return tw::silu(x); };
  tw::Kernel kernel("matmul_silu", matmul<decltype(epilogue)>);
  const Sizes t;

  return example::report(options, device,
                         {.kernel = "matmul + silu",
                          .size = std::to_string(M) + " x " + std::to_string(N) + " x " + std::to_string(K) + " f32",
                          .flops = 2.0 * M * N * K,
                          .tolerance = 1e-3,  // a device that multiplies in tf32 reaches this
                          .tile =
                              [&] {
                                kernel({.grid = tw::cdiv(M, t.m) * tw::cdiv(N, t.n)}, a, b, bias, c, M, N, K, t, epilogue);
                                device.synchronize();
                              },
                          .plain = [&] { example::parallel(M, 1, [&](int begin, int end) { product(plain_c.data(), begin, end); }); },
                          .tile_result = [&] { return c.download(); },
                          .plain_result = [&] { return plain_c; },
                          .want = want});
}

// Step 6 of the tutorial: matrix products.
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [matmul]
void matmul(tw::Ptr<const float> a, tw::Ptr<const float> b, tw::Ptr<float> c, tw::I32 M, tw::I32 N, tw::I32 K, int BM, int BN, int BK) {
  auto i = tw::column(tw::program_id(0) * BM + tw::arange(0, BM));
  auto j = tw::row(tw::program_id(1) * BN + tw::arange(0, BN));
  auto acc = tw::zeros<float>({BM, BN});
  for (auto k0 : tw::range(0, K, BK)) {
    auto k = k0 + tw::arange(0, BK);
    auto x = tw::load(a + i * K + tw::row(k), i < M && tw::row(k) < K);
    auto y = tw::load(b + tw::column(k) * N + j, tw::column(k) < K && j < N);
    acc = tw::dot(x, y, acc);
  }
  tw::store(c + i * N + j, acc, i < M && j < N);
}
// [/matmul]

// [views]
// The product over views, which may have any strides (a transposed operand, a slice), in f16 with f32 sums.
void matmul_views(tw::View<const tw::f16, 2> a, tw::View<const tw::f16, 2> b, tw::View<float, 2> c, int BM, int BN, int BK) {
  auto i = tw::program_id(0) * BM, j = tw::program_id(1) * BN;
  auto acc = tw::zeros<float>({BM, BN});
  for (auto k : tw::range(0, a.extent(1), BK)) acc = tw::dot(a.load({i, k}, {BM, BK}), b.load({k, j}, {BK, BN}), acc);
  c.store({i, j}, acc);
}
// [/views]

int main() {
  const int M = 70, N = 50, K = 90;
  std::vector<float> as(M * K), bs(K * N);
  for (int k = 0; k < M * K; ++k) as[k] = (k * 7 % 11) - 5;
  for (int k = 0; k < K * N; ++k) bs[k] = (k * 5 % 13) - 6;
  const std::vector<tw::f16> small_as(as.begin(), as.end()), small_bs(bs.begin(), bs.end());

  tw::Device device = tw::Device::open();
  auto a = device.upload(as), b = device.upload(bs);
  auto a16 = device.upload(small_as), b16 = device.upload(small_bs);
  auto c = device.allocate<float>(M * N), c16 = device.allocate<float>(M * N);
  // [launch]
  tw::Kernel kernel("matmul", matmul);
  kernel({.grid = {tw::cdiv(M, 32), tw::cdiv(N, 32)}}, a, b, c, M, N, K, 32, 32, 16);
  // [/launch]
  tw::Kernel views("matmul_views", matmul_views);
  views({.grid = {tw::cdiv(M, 32), tw::cdiv(N, 32)}}, tw::view(a16, {M, K}), tw::view(b16, {K, N}), tw::view(c16, {M, N}), 32, 32, 16);

  // Small integers: every order of additions is exact, in f16 operands, too.
  const auto first = c.download(), second = c16.download();
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float want = 0;
      for (int k = 0; k < K; ++k) want += as[i * K + k] * bs[k * N + j];
      if (first[i * N + j] != want || second[i * N + j] != want) return 1;
    }
  std::printf("%d x %d x %d: both products exact, c[69, 49] = %g\n", M, N, K, first[M * N - 1]);
}
